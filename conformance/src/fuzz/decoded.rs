//! A server whose answers in protobuf are read, so that versions, uids and times in them are told as in JSON, and a difference has a name.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use kubewright_schema::Types;
use kubewright_schema::protobuf::{self, Envelope};
use serde_json::Value;

use crate::kubelet::ServePort;
use crate::target::{AuditAnnotations, Compaction, ResponseFuture, RunPodFuture, Target, UpgradeFuture};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The server behind it.
pub(super) struct Decoded(pub(super) Arc<dyn Target>);

/// An object in protobuf as JSON; `None` where the bytes are not one of a built-in kind.
fn read(bytes: &[u8]) -> Option<Value> {
    let envelope = Envelope::open(bytes).ok()?;
    let (group, version) = envelope
        .api_version
        .rsplit_once('/')
        .unwrap_or(("", &envelope.api_version));
    let kind = Types::builtin().kind(group, version, &envelope.kind)?;
    let mut object = protobuf::decode(kind, envelope.raw).ok()?;
    object["apiVersion"] = envelope.api_version.into();
    object["kind"] = envelope.kind.into();
    Some(object)
}

impl Target for Decoded {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture<'_> {
        Box::pin(async move {
            let response = self.0.send(request).await?;
            // A watch is a stream of its own content type, which has no end to wait for.
            if response.headers().get(CONTENT_TYPE).is_none_or(|kind| kind != PROTOBUF) {
                return Ok(response);
            }
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let bytes = read(&bytes).map_or(bytes, |object| object.to_string().into());
            let body = Full::new(bytes).map_err(|never| match never {});
            Ok(Response::from_parts(head, body.boxed_unsync()))
        })
    }

    fn upgrade(&self, request: Request<Bytes>) -> UpgradeFuture<'_> {
        self.0.upgrade(request)
    }

    fn run_pod<'a>(&'a self, namespace: &'a str, pod: &'a str, ports: Vec<(String, ServePort)>) -> RunPodFuture<'a> {
        self.0.run_pod(namespace, pod, ports)
    }

    fn compact(&self) -> Compaction<'_> {
        self.0.compact()
    }

    fn audit_annotations<'a>(&'a self, id: &'a str) -> AuditAnnotations<'a> {
        self.0.audit_annotations(id)
    }

    fn takes_effect_within(&self) -> Duration {
        self.0.takes_effect_within()
    }
}

#[cfg(test)]
mod tests {
    use crate::embedded::Embedded;

    use super::*;

    #[tokio::test]
    async fn an_answer_in_protobuf_is_the_object_and_a_watch_stays_a_stream() {
        let server = Decoded(Embedded::start());
        let ask = async |path: &str, accept: &str| {
            let request = Request::get(path).header("accept", accept).body(Bytes::new()).unwrap();
            let response = server.send(request).await.unwrap();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            serde_json::from_slice::<Value>(&body).ok()
        };
        for path in [
            "/api/v1/namespaces/default",
            "/api/v1/namespaces",
            "/api/v1/namespaces/none",
        ] {
            let json = ask(path, "application/json").await;
            assert!(json.is_some(), "{path}");
            assert_eq!(ask(path, PROTOBUF).await, json, "{path}");
        }
        let watch = "/api/v1/namespaces?watch=1&timeoutSeconds=1";
        assert_eq!(
            ask(watch, "application/vnd.kubernetes.protobuf;stream=watch").await,
            None
        );
    }
}
