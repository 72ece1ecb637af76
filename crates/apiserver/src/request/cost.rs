//! Which requests take long, told before they are worked on, so that they leave the threads that serve everybody.
//!
//! What counts is how many bytes are read, checked and written; that is known without looking into them.

use crate::registry::{BuiltInId, Verb};
use crate::request::call::Call;
use crate::transport::Notice;
use crate::wire::negotiate::Output;
use crate::wire::respond::accepts_gzip;

/// The bytes of objects from which on a write takes long: some milliseconds.
const LONG_WRITE: usize = 64 * 1024;
/// How many steps of a pattern cost as much as reading one byte of an object.
const STEPS_OF_A_BYTE: usize = 16;
/// What the rules of a definition may cost for one object before any write takes long: some milliseconds. The limit of all is a hundred times that.
const LONG_RULES: u64 = 100_000;
/// How much makes a list long whose objects are served as they are stored.
const LONG_LIST: Length = Length {
    objects: 20_000,
    bytes: 4 * 1024 * 1024,
};
/// How much makes a list long of which another form is made, or that is compressed.
const LONG_LIST_OF_ANOTHER_FORM: Length = Length {
    objects: 500,
    bytes: 256 * 1024,
};

/// How many objects there are, or how large they are all together.
#[derive(Clone, Copy)]
struct Length {
    objects: usize,
    bytes: usize,
}

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
    let compresses = || accepts_gzip(call.headers);
    match verb {
        Verb::Watch => false,
        Verb::Get if call.output != Output::JSON => live() >= LONG_WRITE,
        Verb::Get => compresses() && live() >= LONG_LIST_OF_ANOTHER_FORM.bytes,
        Verb::List if call.output == Output::JSON && resource.custom().is_none() => {
            is_longer(call, LONG_LIST) || (compresses() && has_bytes(call, LONG_LIST_OF_ANOTHER_FORM.bytes))
        }
        Verb::List | Verb::DeleteCollection => is_longer(call, LONG_LIST_OF_ANOTHER_FORM),
        // Its patterns, rules and schemas are compiled, its objects deleted.
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete if is_compiled => true,
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => {
            let bytes = call.body.len() + if verb == Verb::Create { 0 } else { live() };
            let (steps, rules) = resource.custom().map_or((1, 0), |version| {
                let schema = version.schema();
                (schema.pattern_steps(), schema.rule_cost())
            });
            bytes.saturating_mul(1 + steps / STEPS_OF_A_BYTE) >= LONG_WRITE
                || (verb != Verb::Delete && rules >= LONG_RULES)
        }
    }
}

fn is_longer(call: &Call<'_>, limit: Length) -> bool {
    let objects = call.server.store.snapshot(call.resource().table).len();
    objects >= limit.objects || has_bytes(call, limit.bytes)
}

/// Whether the listed objects have so many bytes. Only as many are looked at as it takes to reach them, and never more than a short list has.
fn has_bytes(call: &Call<'_>, limit: usize) -> bool {
    let snapshot = call.server.store.snapshot(call.resource().table);
    let namespace = Some(call.target.namespace).filter(|namespace| !namespace.is_empty());
    let mut bytes = 0;
    snapshot.records(namespace, None).take(LONG_LIST.objects).any(|record| {
        bytes += record.body.len();
        bytes >= limit
    })
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
        ask_for(server, method, path, (accept, "identity"), body).await
    }

    /// The same with what the client takes, and how it may be compressed.
    async fn ask_for(
        server: &ApiServer,
        method: Method,
        path: &str,
        (accept, coding): (&str, &'static str),
        body: Bytes,
    ) -> (u16, usize) {
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
                .header(header::ACCEPT_ENCODING, coding)
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
        definition_of(&json!({"text": {"type": "string", "pattern": pattern}}))
    }

    fn definition_of(properties: &serde_json::Value) -> Bytes {
        let schema = json!({"type": "object", "properties": properties});
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
        for index in stored()..super::LONG_LIST_OF_ANOTHER_FORM.objects - 1 {
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

    #[tokio::test]
    async fn a_list_of_few_large_objects_leaves_if_it_is_compressed_or_takes_another_form() {
        const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let server = ApiServer::new(Options::new());
        let list = async |path: &str, form| ask_for(&server, Method::GET, path, form, Bytes::new()).await;
        for index in 0..20 {
            let body = config_map(&format!("c{index}"), 100_000);
            assert_eq!(ask(&server, Method::POST, CONFIG_MAPS, JSON, body).await.0, 201);
            let expected = usize::from(index >= 2);
            for form in [(JSON, "gzip"), (TABLE, "identity"), ("application/yaml", "identity")] {
                assert_eq!(list(CONFIG_MAPS, form).await, (200, expected), "{index} {form:?}");
            }
            // Two megabytes that are served as they are stored.
            assert_eq!(list(CONFIG_MAPS, (JSON, "identity")).await, (200, 0));
        }
        // What is not listed does not count.
        let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
        assert_eq!(list(elsewhere, (JSON, "gzip")).await, (200, 0));
        for index in 20..42 {
            let body = config_map(&format!("c{index}"), 100_000);
            ask(&server, Method::POST, CONFIG_MAPS, JSON, body).await;
        }
        assert_eq!(list(CONFIG_MAPS, (JSON, "identity")).await, (200, 1));
    }

    #[tokio::test]
    async fn a_value_for_rules_that_may_cost_much_leaves_although_it_is_small() {
        const WORDS: &str = "/apis/example.com/v1/namespaces/default/words";
        let numbers = |rule: &str, most: u32| {
            let rules = json!([{"rule": rule}]);
            json!({"numbers": {
                "type": "array",
                "maxItems": most,
                "items": {"type": "integer"},
                "x-kubernetes-validations": rules,
            }})
        };
        for (properties, steps) in [
            (numbers("self.all(x, x > 0)", 100), 0),
            (numbers("self.all(x, self.all(y, x + y > 0))", 200), 1),
        ] {
            let server = ApiServer::new(Options::new());
            let made = ask(&server, Method::POST, DEFINITIONS, JSON, definition_of(&properties)).await;
            assert_eq!(made.0, 201, "{properties}");
            let word =
                json!({"apiVersion": "example.com/v1", "kind": "Word", "metadata": {"name": "a"}, "numbers": [1]});
            let answer = ask(&server, Method::POST, WORDS, JSON, word.to_string().into()).await;
            assert_eq!(answer, (201, steps), "{properties}");
        }
    }
}
