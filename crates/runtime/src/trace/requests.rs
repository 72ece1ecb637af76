//! Requests that a reconciler sends past the client, through [`Client::kube`](crate::client::Client::kube).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response};
use kube::client::Body;
use tokio::time::Instant;

use super::Trace;
use super::call::{CallTarget, RawCall, WriteAnswer};
use super::raw::RawEvent;

/// A client that sends through `client` and records what it sends.
pub(crate) fn traced(client: kube::Client, trace: &Trace) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let trace = trace.clone();
    let send = tower::service_fn(move |request: Request<Body>| {
        let (client, trace) = (client.clone(), trace.clone());
        async move {
            let request = super::with_context(request);
            let (method, path) = (request.method().clone(), Arc::from(request.uri().path()));
            let began = Instant::now();
            let answer = client.send(request).await;
            trace.record_timed(|now| {
                let call = called(&method, path, &answer, now.duration_since(began));
                RawEvent::Called(Arc::new(call))
            });
            answer
        }
    });
    kube::Client::new(send, namespace)
}

fn called<E: std::fmt::Display>(
    method: &Method,
    path: Arc<str>,
    answer: &Result<Response<Body>, E>,
    took: Duration,
) -> RawCall {
    let (code, error) = match answer {
        Ok(response) => {
            let status = response.status();
            let failed = !status.is_success() && !status.is_informational();
            let reason = failed.then(|| status.canonical_reason().unwrap_or("it failed").to_owned());
            (Some(status.as_u16()), reason)
        }
        Err(error) => (None, Some(error.to_string())),
    };
    RawCall {
        verb: lowercase(method),
        target: CallTarget::Path(path),
        dry_run: false,
        sent: None,
        code,
        error,
        cached: None,
        answer: WriteAnswer::None,
        took,
    }
}

/// The name of a method.
fn lowercase(method: &Method) -> Cow<'static, str> {
    let name = match *method {
        Method::GET => "get",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::HEAD => "head",
        Method::OPTIONS => "options",
        Method::TRACE => "trace",
        Method::CONNECT => "connect",
        _ => return method.as_str().to_lowercase().into(),
    };
    name.into()
}
