//! A server with an aggregated API in this process.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

pub(crate) const ROOT: &str = "/apis/widgets.example.com/v1";

/// A server whose group `widgets.example.com` is answered by `answer`; everything but the resources of the version, which is there.
pub(crate) fn aggregating<F>(answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static) -> ApiServer
where
    F: Future<Output = Answer> + Send + 'static,
{
    let server = ApiServer::new(Options::new().seed(7));
    serve(&server, answer);
    server
}

pub(crate) fn serve<F>(server: &ApiServer, answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static)
where
    F: Future<Output = Answer> + Send + 'static,
{
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let is_check = request.uri().path() == ROOT && request.headers()["x-remote-user"] == "system:kube-aggregator";
        let answer = answer.clone();
        async move { Ok::<_, Infallible>(if is_check { resources() } else { answer(request).await }) }
    });
    server.serve_service_with("default", "widgets", 443, service);
}

/// The resources of the version.
pub(crate) fn resources() -> Answer {
    json_answer(&json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "widgets.example.com/v1",
        "resources": [{"name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget", "verbs": ["get", "list"]}],
    }))
}

pub(crate) fn json_answer(body: &Value) -> Answer {
    let response = Response::builder().header("content-type", "application/json");
    response.body(full(body.to_string())).unwrap()
}

pub(crate) fn text_answer(code: u16, text: &str) -> Answer {
    Response::builder().status(code).body(full(text.to_owned())).unwrap()
}

pub(crate) fn full(text: String) -> UnsyncBoxBody<Bytes, std::io::Error> {
    Full::from(text).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn api_service(group: &str) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": format!("v1.{group}")},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15,
                 "service": {"namespace": "default", "name": "widgets"}},
    })
}

/// Registers the API, and waits until requests are passed on.
pub(crate) async fn register(server: &ApiServer) {
    let (code, body) = ask(
        server,
        "POST",
        API_SERVICES,
        &api_service("widgets.example.com").to_string(),
    )
    .await;
    assert_eq!(code, 201, "{body}");
    available(server, "True").await;
}

pub(crate) const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// Waits until the condition of the `APIService` is this; returns it.
pub(crate) async fn available(server: &ApiServer, status: &str) -> Value {
    for _ in 0..1000 {
        let (_, body) = ask(server, "GET", &format!("{API_SERVICES}/v1.widgets.example.com"), "").await;
        let service: Value = serde_json::from_str(&body).unwrap();
        let condition = &service["status"]["conditions"][0];
        if condition["status"] == status {
            return condition.clone();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the APIService never came to be {status}");
}

pub(crate) async fn ask(server: &ApiServer, method: &str, path: &str, body: &str) -> (StatusCode, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let response = server.handle(request.body(Bytes::from(body.to_owned())).unwrap()).await;
    let code = response.status();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (code, String::from_utf8_lossy(&body).into_owned())
}
