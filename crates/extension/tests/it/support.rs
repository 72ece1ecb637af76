//! Asking a server.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_extension::ApiServer;
use serde_json::Value;

/// Sends a request, and reads the answer: JSON, or text as a JSON text.
pub(crate) async fn ask(server: &ApiServer, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let content_type = match (method.as_str(), path.contains("fieldManager")) {
        ("PATCH", true) => "application/apply-patch+yaml",
        ("PATCH", false) => "application/merge-patch+json",
        _ => "application/json",
    };
    send(server, method, path, &[("content-type", content_type)], body).await
}

/// The same with headers of its own.
pub(crate) async fn send(
    server: &ApiServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> (StatusCode, Value) {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = server.handle(request.body(body).unwrap()).await;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let value =
        serde_json::from_slice(&bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    (status, value)
}

/// A GET.
pub(crate) async fn get(server: &ApiServer, path: &str) -> (StatusCode, Value) {
    ask(server, Method::GET, path, Value::Null).await
}
