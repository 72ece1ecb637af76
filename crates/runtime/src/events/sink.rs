//! Where events are sent: the server, or a list in tests.

use std::future::Future;

use kube::core::params::{Patch, PatchParams, PostParams};
use kube::core::request::Request;
use serde_json::Value;

use super::series::Event;

/// Why an event was not taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There is no such event to patch.
    NotFound,
    /// There is one of that name already.
    Exists,
    /// The server will not take it, however often it is asked.
    Rejected(String),
    /// The server did not say.
    Unreachable(String),
}

pub(super) trait Sink: Send + Sync + 'static {
    fn create(&self, event: &Event) -> impl Future<Output = Result<(), Refusal>> + Send;
    fn patch(&self, event: &Event) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// Through `kube`'s client.
pub(super) struct KubeSink(pub(super) kube::Client);

impl KubeSink {
    async fn send(&self, request: Result<http::Request<Vec<u8>>, kube::core::request::Error>) -> Result<(), Refusal> {
        let request = request.map_err(|error| Refusal::Rejected(error.to_string()))?;
        match self.0.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err(match status.code {
                404 => Refusal::NotFound,
                409 if status.reason == "AlreadyExists" => Refusal::Exists,
                _ => Refusal::Rejected(status.message),
            }),
            Err(error) => Err(Refusal::Unreachable(error.to_string())),
        }
    }
}

fn events(namespace: &str) -> Request {
    Request::new(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"))
}

impl Sink for KubeSink {
    async fn create(&self, event: &Event) -> Result<(), Refusal> {
        let body = event.object().to_string().into_bytes();
        self.send(events(&event.namespace).create(&PostParams::default(), body))
            .await
    }

    async fn patch(&self, event: &Event) -> Result<(), Refusal> {
        let patch = Patch::Strategic(event.patch());
        self.send(events(&event.namespace).patch(&event.name, &PatchParams::default(), &patch))
            .await
    }
}
