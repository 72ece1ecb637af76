//! The answers of `etcd`: health and version, and a refusal of everything that would store or read.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::VERSION;

/// What a client is told that wants to store or to read something.
const STORES_NOTHING: &str = "this etcd stores nothing: it stands in for etcd beside the kube-apiserver of Kubewright, which has the \
                              objects in its memory";
/// The code of gRPC for what is not implemented.
const UNIMPLEMENTED: u16 = 12;

/// Answers a request, of which the body does not matter.
pub(super) fn answer<B>(request: &Request<B>) -> Response<Full<Bytes>> {
    let is_grpc = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    if is_grpc {
        return grpc_refusal();
    }
    let path = request.uri().path();
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some((kind, text)) = page(path)
    {
        return respond(StatusCode::OK, kind, text);
    }
    if path.starts_with("/v3/") || path.starts_with("/v2/") {
        let refusal = json!({ "error": STORES_NOTHING, "code": UNIMPLEMENTED, "message": STORES_NOTHING });
        return respond(StatusCode::NOT_IMPLEMENTED, "application/json", refusal.to_string());
    }
    respond(
        StatusCode::NOT_FOUND,
        "text/plain; charset=utf-8",
        "404 page not found\n".to_owned(),
    )
}

/// A page of the real one.
fn page(path: &str) -> Option<(&'static str, String)> {
    let json = |value: Value| ("application/json", value.to_string());
    let cluster = VERSION.rsplit_once('.').map_or(VERSION, |(minor, _)| minor);
    Some(match path {
        "/health" => json(json!({ "health": "true", "reason": "" })),
        "/version" => json(json!({
            "etcdserver": VERSION, "etcdcluster": format!("{cluster}.0"), "storage": format!("{cluster}.0"),
        })),
        "/livez" | "/readyz" => ("text/plain; charset=utf-8", "ok\n".to_owned()),
        "/metrics" => (
            "text/plain; version=0.0.4; charset=utf-8",
            format!(
                "# TYPE etcd_server_has_leader gauge\netcd_server_has_leader 1\n\
                 # TYPE etcd_server_version gauge\netcd_server_version{{server_version=\"{VERSION}\"}} 1\n"
            ),
        ),
        _ => return None,
    })
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An answer of gRPC that is over with its headers.
fn grpc_refusal() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from(UNIMPLEMENTED));
    headers.insert("grpc-message", HeaderValue::from_static(STORES_NOTHING));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn asked(method: &str, path: &str, kind: &str) -> Response<Full<Bytes>> {
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        answer(&request.body(()).unwrap())
    }

    async fn text(response: Response<Full<Bytes>>) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn probes_are_answered() {
        for path in ["/health", "/version", "/livez", "/readyz", "/metrics"] {
            assert_eq!(asked("GET", path, "").status(), 200, "{path}");
        }
        assert_eq!(
            text(asked("GET", "/health", "")).await,
            r#"{"health":"true","reason":""}"#
        );
        assert!(
            text(asked("GET", "/version", ""))
                .await
                .contains(r#""etcdserver":"3.7.3""#)
        );
        assert_eq!(asked("GET", "/nothing", "").status(), 404);
    }

    #[tokio::test]
    async fn who_wants_to_store_is_told_that_nothing_is() {
        let refused = asked("POST", "/etcdserverpb.KV/Put", "application/grpc+proto");
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["grpc-status"]),
            (200, &HeaderValue::from(12))
        );
        assert!(
            refused.headers()["grpc-message"]
                .to_str()
                .unwrap()
                .contains("stores nothing")
        );
        let refused = asked("POST", "/v3/kv/put", "application/json");
        assert_eq!(refused.status(), 501);
        assert!(text(refused).await.contains("stores nothing"));
    }
}
