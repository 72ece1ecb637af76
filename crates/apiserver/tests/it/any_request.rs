//! No request panics the server, and none is left without an answer: bodies, queries and headers from a fuzzer.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Sends a request and reads the whole answer; a panic would be a 500 that says so.
async fn answer(server: &ApiServer, method: &str, path: &str, content_type: &str, body: Bytes) -> (u16, Bytes) {
    let Ok(request) = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(body)
    else {
        return (0, Bytes::new());
    };
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let body = response
        .into_body()
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    (code, body.unwrap_or_default())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.expect("a runtime").block_on(future)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z./-]{0,12}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("metadata"),
        Just("name"),
        Just("spec"),
        Just("containers"),
        Just("selector"),
        Just("template"),
        Just("labels"),
        Just("ports"),
        Just("data"),
        Just("status"),
        Just("managedFields"),
        Just("ownerReferences"),
        Just("finalizers"),
        Just("$patch"),
        Just("$setElementOrder/containers"),
        Just("apiVersion"),
        Just("kind"),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..5).prop_map(|entries| entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

const COLLECTIONS: [&str; 6] = [
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/services",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
];

const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_object_can_be_sent(
        collection in proptest::sample::select(&COLLECTIONS[..]),
        mut object in any_json(),
        patch in any_json(),
        language in proptest::sample::select(&PATCHES[..]),
    ) {
        block_on(async {
            let server = ApiServer::new(Options::new());
            if let Some(object) = object.as_object_mut() {
                object.entry("metadata").or_insert_with(|| json!({ "name": "a" }));
            }
            let (code, text) =
                answer(&server, "POST", collection, "application/json", object.to_string().into()).await;
            assert!(!is_panic(&text), "{object} panicked");
            assert!((200..600).contains(&code));
            for target in [collection.to_owned() + "/a", collection.to_owned() + "/a/status"] {
                let path = format!("{target}?fieldManager=fuzz&force=true");
                let path = if language.contains("apply") { path } else { path.replace("&force=true", "") };
                let (_, text) = answer(&server, "PATCH", &path, language, patch.to_string().into()).await;
                assert!(!is_panic(&text), "{patch} panicked on {object}");
            }
            let (_, text) = answer(&server, "PUT", &(collection.to_owned() + "/a"), "application/json", patch.to_string().into()).await;
            assert!(!is_panic(&text), "PUT of {patch} panicked on {object}");
            let (_, text) = answer(&server, "DELETE", collection, "application/json", patch.to_string().into()).await;
            assert!(!is_panic(&text), "DELETE with {patch} panicked");
        });
    }

    #[test]
    fn any_bytes_can_be_sent(body in proptest::collection::vec(any::<u8>(), 0..200), language in 0..3usize) {
        let content_type = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"][language];
        block_on(async {
            let server = ApiServer::new(Options::new());
            for method in ["POST", "DELETE"] {
                let (code, text) =
                    answer(&server, method, COLLECTIONS[0], content_type, Bytes::from(body.clone())).await;
                assert!(!is_panic(&text) && code != 0);
            }
        });
    }

    #[test]
    fn any_query_can_be_asked(query in "[a-zA-Z0-9=&%+,!()._/-]{0,80}", watch in any::<bool>()) {
        block_on(async {
            let server = ApiServer::new(Options::new());
            let watch = if watch { "&watch=1&timeoutSeconds=1" } else { "" };
            let path = format!("{}?{query}{watch}", COLLECTIONS[0]);
            let (_, text) = answer(&server, "GET", &path, "", Bytes::new()).await;
            assert!(!is_panic(&text), "{path} panicked");
        });
    }

    #[test]
    fn any_path_can_be_asked(path in "(/(api|apis|v1|apps|namespaces|default|pods|watch|status|openapi|v3|[a-z%./]{0,6})){0,9}") {
        block_on(async {
            let server = ApiServer::new(Options::new());
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
                if path.contains("watch") && method == "GET" {
                    continue;
                }
                let (_, text) = answer(&server, method, &path, "application/json", Bytes::from_static(b"{}")).await;
                assert!(!is_panic(&text), "{method} {path} panicked");
            }
        });
    }
}

fn is_panic(body: &[u8]) -> bool {
    body.starts_with(b"This request caused apiserver to panic")
}
