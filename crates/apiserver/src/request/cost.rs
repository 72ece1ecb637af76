//! Which requests take long, told before they are worked on, so that they leave the threads that serve everybody.
//!
//! What counts is how many bytes are read, checked and written; that is known without looking into them.

use crate::registry::{BuiltInId, Verb};
use crate::request::call::Call;
use crate::transport::Notice;
use crate::wire::negotiate::Output;

/// The bytes of objects from which on a write takes long: some milliseconds.
const LONG_WRITE: usize = 64 * 1024;
/// How many steps of a pattern cost as much as reading one byte of an object.
const STEPS_OF_A_BYTE: usize = 16;
/// How many objects make a list long: those that are served as they are stored, and those of which another form is made.
const LONG_LIST: usize = 20_000;
const LONG_LIST_OF_ANOTHER_FORM: usize = 500;

/// Leaves the threads that serve everybody if the request takes long.
pub(super) async fn leave_if_long(call: &Call<'_>, verb: Verb) {
    if let Some(notice) = call.parts.extensions.get::<Notice>()
        && takes_long(call, verb)
    {
        notice.announce().await;
    }
}

/// The same for a page outside the resource tree.
pub(super) async fn leave_for_page(parts: &http::request::Parts, path: &str) {
    // Documents are made from the schemas of all kinds when they are asked for.
    if path.starts_with("/openapi")
        && let Some(notice) = parts.extensions.get::<Notice>()
    {
        notice.announce().await;
    }
}

fn takes_long(call: &Call<'_>, verb: Verb) -> bool {
    let resource = call.resource();
    let is_compiled =
        resource.is(BuiltInId::CustomResourceDefinitions) || &*resource.group == "admissionregistration.k8s.io";
    let live = || {
        let record = call.server.store.get(resource.table, &call.key());
        record.map_or(0, |record| record.body.len())
    };
    match verb {
        Verb::Watch => false,
        Verb::Get => call.output != Output::JSON && live() >= LONG_WRITE,
        Verb::List | Verb::DeleteCollection => {
            let limit = if verb == Verb::List && call.output == Output::JSON && resource.custom().is_none() {
                LONG_LIST
            } else {
                LONG_LIST_OF_ANOTHER_FORM
            };
            call.server.store.snapshot(resource.table).len() >= limit
        }
        // Its patterns, rules and schemas are compiled, its objects deleted.
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete if is_compiled => true,
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => {
            let bytes = call.body.len() + if verb == Verb::Create { 0 } else { live() };
            let steps = resource.custom().map_or(1, |version| version.schema().pattern_steps());
            bytes.saturating_mul(1 + steps / STEPS_OF_A_BYTE) >= LONG_WRITE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::{Method, Request, header};
    use serde_json::json;

    use crate::access::Identity;
    use crate::registry::BuiltInId;
    use crate::server::ApiServer;
    use crate::server::options::Options;

    /// Asks as a connection does, and says how the answer was and how many steps of it were made elsewhere.
    async fn ask(server: &ApiServer, method: Method, path: &str, accept: &str, body: Bytes) -> (u16, usize) {
        let threads = Arc::clone(&server.server.threads);
        let before = threads.steps();
        let (path, accept, server) = (path.to_owned(), accept.to_owned(), server.clone());
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let answer = threads.run(|notice| async move {
            let request = Request::builder().method(method).uri(path).extension(notice);
            let request = request
                .header(header::ACCEPT, accept)
                .header(header::CONTENT_TYPE, content_type)
                .body(())
                .unwrap();
            server.serve(&Identity::admin(), &request.into_parts().0, body).await
        });
        let status = match answer.await {
            Ok(response) => response.status().as_u16(),
            Err(never) => match never {},
        };
        (status, threads.steps() - before)
    }

    const JSON: &str = "application/json";
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    fn config_map(name: &str, bytes: usize) -> Bytes {
        let object = json!({"metadata": {"name": name}, "data": {"text": "x".repeat(bytes)}});
        object.to_string().into()
    }

    fn definition(pattern: &str) -> Bytes {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let names = json!({"plural": "words", "singular": "word", "kind": "Word", "listKind": "WordList"});
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "words.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        });
        object.to_string().into()
    }

    #[tokio::test]
    async fn what_is_small_stays_and_what_is_large_leaves() {
        let server = ApiServer::new(Options::new());
        let none = Bytes::new;
        for (method, path, body, expected) in [
            (Method::GET, "/healthz", none(), (200, 0)),
            (Method::POST, CONFIG_MAPS, config_map("small", 100), (201, 0)),
            (Method::POST, CONFIG_MAPS, config_map("large", 100_000), (201, 1)),
            (Method::GET, &format!("{CONFIG_MAPS}/large"), none(), (200, 0)),
            // A small patch of a large object.
            (
                Method::PATCH,
                &format!("{CONFIG_MAPS}/large"),
                r#"{"data":{"a":"b"}}"#.into(),
                (200, 1),
            ),
            (
                Method::PATCH,
                &format!("{CONFIG_MAPS}/small"),
                r#"{"data":{"a":"b"}}"#.into(),
                (200, 0),
            ),
            (Method::GET, CONFIG_MAPS, none(), (200, 0)),
            (Method::GET, "/openapi/v3/apis/apps/v1", none(), (200, 1)),
            (Method::POST, DEFINITIONS, definition("^a+$"), (201, 1)),
        ] {
            let answer = ask(&server, method.clone(), path, JSON, body).await;
            assert_eq!(answer, expected, "{method} {path}");
        }
        let yaml = ask(
            &server,
            Method::GET,
            &format!("{CONFIG_MAPS}/large"),
            "application/yaml",
            none(),
        )
        .await;
        assert_eq!(yaml, (200, 1));
    }

    #[tokio::test]
    async fn a_value_for_a_pattern_of_many_steps_leaves_although_it_is_small() {
        const WORDS: &str = "/apis/example.com/v1/namespaces/default/words";
        for (pattern, steps) in [("^é+$", 0), (r"(\pL{30}){30}z|é", 1)] {
            let server = ApiServer::new(Options::new());
            assert_eq!(
                ask(&server, Method::POST, DEFINITIONS, JSON, definition(pattern))
                    .await
                    .0,
                201
            );
            let word = json!({"apiVersion": "example.com/v1", "kind": "Word", "metadata": {"name": "a"}, "text": "é".repeat(1000)});
            let answer = ask(&server, Method::POST, WORDS, JSON, word.to_string().into()).await;
            assert_eq!(answer, (201, steps), "{pattern}");
        }
    }

    #[tokio::test]
    async fn a_long_list_in_another_form_leaves() {
        let server = ApiServer::new(Options::new());
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let stored = || {
            let config_maps = BuiltInId::ConfigMaps.resource();
            server.server.store.snapshot(config_maps.table).len()
        };
        for index in stored()..super::LONG_LIST_OF_ANOTHER_FORM - 1 {
            let made = ask(
                &server,
                Method::POST,
                CONFIG_MAPS,
                JSON,
                config_map(&format!("c{index}"), 1),
            )
            .await;
            assert_eq!(made, (201, 0));
        }
        assert_eq!(
            ask(&server, Method::GET, CONFIG_MAPS, table, Bytes::new()).await,
            (200, 0)
        );
        ask(&server, Method::POST, CONFIG_MAPS, JSON, config_map("last", 1)).await;
        assert_eq!(
            ask(&server, Method::GET, CONFIG_MAPS, table, Bytes::new()).await,
            (200, 1)
        );
        assert_eq!(
            ask(&server, Method::GET, CONFIG_MAPS, JSON, Bytes::new()).await,
            (200, 0)
        );
    }
}
