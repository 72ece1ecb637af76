//! What typed Go clients see of a server: bodies, answers and watches in protobuf (H5, H6).

use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Body, Options};
use kubewright_schema::Types;
use kubewright_schema::protobuf::{self, Envelope};
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn server() -> ApiServer {
    ApiServer::new(Options::new())
}

fn encoded(object: &Value) -> Bytes {
    protobuf::encode_object(Types::builtin(), object).unwrap().into()
}

fn decoded(bytes: &[u8]) -> Value {
    let envelope = Envelope::open(bytes).unwrap();
    let (group, version) = envelope
        .api_version
        .split_once('/')
        .unwrap_or(("", &envelope.api_version));
    let ty = Types::builtin().kind(group, version, &envelope.kind).unwrap();
    let mut object = protobuf::decode(ty, envelope.raw).unwrap();
    object["kind"] = envelope.kind.into();
    object
}

async fn send(server: &ApiServer, method: &str, path: &str, body: Bytes) -> Response<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, PROTOBUF)
        .header(header::CONTENT_TYPE, PROTOBUF)
        .body(body)
        .unwrap();
    server.handle(request).await
}

/// The answer to a request, whose type must be protobuf.
async fn ask(server: &ApiServer, method: &str, path: &str, body: Bytes) -> (StatusCode, Value) {
    let response = send(server, method, path, body).await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], PROTOBUF);
    let status = response.status();
    (
        status,
        decoded(&response.into_body().collect().await.unwrap().to_bytes()),
    )
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "c", "image": "i", "resources": { "limits": { "cpu": "100m" } } }] },
    })
}

#[tokio::test]
async fn an_object_lives_from_create_to_delete_in_protobuf() {
    let server = server();
    let (status, created) = ask(&server, "POST", PODS, encoded(&pod("p"))).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(created["spec"]["restartPolicy"], "Always");
    assert_eq!(created["spec"]["containers"][0]["resources"]["requests"]["cpu"], "100m");

    let mut changed = created.clone();
    changed["apiVersion"] = "v1".into();
    changed["metadata"]["labels"] = json!({ "a": "b" });
    let (status, updated) = ask(&server, "PUT", &format!("{PODS}/p"), encoded(&changed)).await;
    assert_eq!(
        (status, &updated["metadata"]["labels"]["a"]),
        (StatusCode::OK, &json!("b"))
    );
    let (status, refused) = ask(&server, "PUT", &format!("{PODS}/p"), encoded(&changed)).await;
    assert_eq!((status, &refused["reason"]), (StatusCode::CONFLICT, &json!("Conflict")));

    let (_, list) = ask(&server, "GET", PODS, Bytes::new()).await;
    assert_eq!(list["kind"], "PodList");
    assert_eq!(list["items"][0]["metadata"]["uid"], created["metadata"]["uid"]);

    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": { "uid": "another" },
    });
    let (status, _) = ask(&server, "DELETE", &format!("{PODS}/p"), encoded(&options)).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0 });
    let (status, _) = ask(&server, "DELETE", &format!("{PODS}/p"), encoded(&options)).await;
    assert_eq!(status, StatusCode::OK);
    let (status, missing) = ask(&server, "GET", &format!("{PODS}/p"), Bytes::new()).await;
    assert_eq!(
        (status, &missing["details"]["name"]),
        (StatusCode::NOT_FOUND, &json!("p"))
    );
}

/// Cuts the next frame out of a stream: four bytes of length, then an event.
async fn frame(body: &mut Body, rest: &mut Vec<u8>) -> (String, Value) {
    loop {
        if let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if after.len() >= length {
                let event = event(&after[..length]);
                rest.drain(..4 + length);
                return event;
            }
        }
        let chunk = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        rest.extend_from_slice(&chunk.expect("the watch goes on").unwrap().into_data().unwrap());
    }
}

/// The type of a `WatchEvent`, its first field, and the object in its own envelope.
fn event(bytes: &[u8]) -> (String, Value) {
    let kind_length = usize::from(bytes[1]);
    let kind = String::from_utf8(bytes[2..2 + kind_length].to_vec()).unwrap();
    let start = bytes.windows(4).position(|window| window == b"k8s\0").unwrap();
    (kind, decoded(&bytes[start..]))
}

#[tokio::test]
async fn a_watch_in_protobuf_has_frames_with_their_length() {
    let server = server();
    ask(&server, "POST", PODS, encoded(&pod("first"))).await;
    let response = send(&server, "GET", &format!("{PODS}?watch=1"), Bytes::new()).await;
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    let (mut body, mut rest) = (response.into_body(), Vec::new());
    let (kind, object) = frame(&mut body, &mut rest).await;
    assert_eq!((kind.as_str(), &object["metadata"]["name"]), ("ADDED", &json!("first")));
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0 });
    ask(&server, "DELETE", &format!("{PODS}/first"), encoded(&options)).await;
    ask(&server, "POST", PODS, encoded(&pod("second"))).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&("ADDED".to_owned(), json!("second"))) {
        let (kind, object) = frame(&mut body, &mut rest).await;
        seen.push((kind, object["metadata"]["name"].clone()));
    }
    assert!(seen.contains(&("DELETED".to_owned(), json!("first"))), "{seen:?}");
}
