//! Requests made to hurt: each is answered, and neither work nor answer grows with the square of what was sent.

use std::fmt::Write as _;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

async fn ask(server: &ApiServer, method: &str, path: &str, body: String) -> (u16, Bytes) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Bytes::from(body))
        .expect("a request");
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    (code, body.to_bytes())
}

fn value(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("JSON")
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn thousands_of_wrong_values_get_an_answer_of_ordinary_size() {
    let server = ApiServer::new(Options::new());
    let scopes: Vec<String> = (0..4000).map(|number| format!("scope-{number}")).collect();
    let quota = json!({ "metadata": { "name": "q" }, "spec": { "scopes": scopes } });
    let path = "/api/v1/namespaces/default/resourcequotas";
    let (code, body) = ask(&server, "POST", path, quota.to_string()).await;
    assert_eq!(code, 422);
    assert!(body.len() < 32 << 20, "the answer has {} bytes", body.len());
}

#[tokio::test]
async fn a_hundred_thousand_unknown_fields_are_complained_about_in_time() {
    let server = ApiServer::new(Options::new());
    let mut fields = String::new();
    for number in 0..100_000 {
        let _ = write!(fields, ",\"f{number}\":1");
    }
    let body = format!("{{\"metadata\":{{\"name\":\"a\"}}{fields}}}");
    let (code, body) = ask(&server, "POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict"), body).await;
    assert_eq!(code, 400);
    let message = value(&body)["message"].as_str().map(str::to_owned).unwrap_or_default();
    assert!(
        message.contains(r#"unknown field "f0", unknown field "f1""#),
        "{}",
        &message[..200]
    );
}

#[tokio::test]
async fn owners_given_twice_are_found_among_many() {
    let server = ApiServer::new(Options::new());
    let owner = |number: usize| json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": format!("u{number}") });
    let owners: Vec<Value> = (0..20_000).chain([7]).map(owner).collect();
    let object = json!({ "metadata": { "name": "a", "ownerReferences": owners } });
    let (code, body) = ask(&server, "POST", CONFIG_MAPS, object.to_string()).await;
    assert_eq!(code, 201, "{}", String::from_utf8_lossy(&body[..body.len().min(300)]));
    assert_eq!(
        value(&body)["metadata"]["ownerReferences"].as_array().map(Vec::len),
        Some(20_000)
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_ask_for_any_timeout() {
    let server = ApiServer::new(Options::new());
    let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={}", i64::MAX);
    let request = Request::get(path).body(Bytes::new()).expect("a request");
    assert_eq!(server.handle(request).await.status(), 200);
}

#[tokio::test]
async fn the_largest_generation_can_be_deleted() {
    let server = ApiServer::new(Options::new());
    let object = json!({ "metadata": { "name": "a", "generation": i64::MAX, "finalizers": ["example.com/x"] } });
    ask(&server, "POST", CONFIG_MAPS, object.to_string()).await;
    let (code, body) = ask(&server, "DELETE", &format!("{CONFIG_MAPS}/a"), String::new()).await;
    assert_eq!(code, 200);
    assert_eq!(value(&body)["metadata"]["generation"], i64::MIN);
}

#[tokio::test]
async fn a_stream_of_large_objects_comes_in_pieces() {
    let server = ApiServer::new(Options::new());
    for number in 0..8 {
        let object = json!({ "metadata": { "name": format!("a{number}") }, "data": { "k": "x".repeat(900_000) } });
        let (code, _) = ask(&server, "POST", CONFIG_MAPS, object.to_string()).await;
        assert_eq!(code, 201);
    }
    let request = Request::get(format!("{CONFIG_MAPS}?watch=1"))
        .body(Bytes::new())
        .expect("a request");
    let mut body = server.handle(request).await.into_body();
    for _ in 0..4 {
        let frame = body.frame().await.expect("a frame").expect("no error");
        assert!(frame.into_data().is_ok_and(|bytes| bytes.len() < 2 << 20));
    }
}

#[tokio::test]
async fn thousands_of_warnings_are_told_in_a_few_headers() {
    let server = ApiServer::new(Options::new());
    let definition = json!({
        "metadata": { "name": "boats.shop.example.com" },
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": { "plural": "boats", "kind": "Boat" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, _) = ask(&server, "POST", definitions, definition.to_string()).await;
    assert_eq!(code, 201);
    let finalizers: Vec<String> = (0..5000).map(|number| format!("finalizer-{number}")).collect();
    let boat = json!({
        "apiVersion": "shop.example.com/v1",
        "kind": "Boat",
        "metadata": { "name": "a", "finalizers": finalizers },
    });
    let request = Request::builder()
        .method("POST")
        .uri("/apis/shop.example.com/v1/namespaces/default/boats")
        .header("content-type", "application/json")
        .body(Bytes::from(boat.to_string()))
        .expect("a request");
    let response = server.handle(request).await;
    assert_eq!(response.status(), 201);
    let told = response.headers().get_all("warning").iter().count();
    // As the real server does.
    assert_eq!(told, 30);
}

#[tokio::test]
async fn what_a_stranger_sends_is_not_kept_whole() {
    let server = ApiServer::new(Options::new());
    let id = "x".repeat(1 << 20);
    let request = Request::get("/api/v1/secrets").header("audit-id", id);
    let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status().as_u16(), 403);
    let kept: usize = server.audit().events().iter().map(|event| event.id.len()).sum();
    assert!(kept <= 64, "{kept} bytes");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_wrong_token() {
    let server = ApiServer::new(Options::new());
    let token = http::HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap();
    let request = Request::get("/version").header("authorization", token);
    let response = server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    assert_eq!(response.status().as_u16(), 401);
}

#[tokio::test]
async fn nothing_is_written_through_a_path_of_watches() {
    let server = ApiServer::new(Options::new());
    let object = json!({ "metadata": { "name": "a" } }).to_string();
    assert_eq!(ask(&server, "POST", CONFIG_MAPS, object.clone()).await.0, 201);
    for method in ["DELETE", "PUT", "PATCH", "POST"] {
        let path = "/api/v1/watch/namespaces/default/configmaps/a";
        assert_eq!(ask(&server, method, path, object.clone()).await.0, 405, "{method}");
    }
}

#[test]
fn options_do_not_show_their_tokens() {
    let options = Options::new().token("s3cret", kubewright_apiserver::User::admin());
    assert!(!format!("{options:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_long_method_is_not_kept_whole_either() {
    let server = ApiServer::new(Options::new());
    let request = Request::builder().method("X".repeat(100_000).as_str()).uri("/version");
    server.handle_as(None, request.body(Bytes::new()).unwrap()).await;
    let events = server.audit().events();
    let kept = events.last().map(|event| format!("{event:?}").len());
    assert!(kept.is_some_and(|kept| kept < 4096), "{kept:?} bytes");
}

#[tokio::test]
async fn a_listener_does_not_show_the_administrators_key() {
    let server = ApiServer::new(Options::new());
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = server.listen(address).await.unwrap();
    assert!(!format!("{listener:?}").contains("PRIVATE KEY"));
}
