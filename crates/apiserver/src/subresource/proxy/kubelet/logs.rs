//! `/containerLogs`: the log of a container. What the kubelet refuses is text, not a Status.

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_apimachinery::go::quote;

use super::route::ContainerPath;
use super::{Kubelet, plain};
use crate::logs::LogOptions;
use crate::subresource::log;
use crate::wire::body::Body;

pub(super) fn answer(kubelet: Kubelet<'_>, at: ContainerPath<'_>) -> Response<Body> {
    let refused = |code, why: &str| plain(code, why);
    let call = kubelet.call;
    // As clients asked for the end of a log long ago.
    let query = match kubelet.query.text("tail") {
        "" => kubelet.query.clone(),
        "all" => kubelet.query.replaced("tailLines", None),
        lines => kubelet.query.replaced("tailLines", Some(lines)),
    };
    let name = at.pod.name;
    if let Err(refusal) = LogOptions::parse(&query, name, call.server.clock.now()) {
        let why = match refusal.code {
            StatusCode::BAD_REQUEST => r#"{"message": "Unable to decode query."}"#,
            _ => r#"{"message": "Invalid request."}"#,
        };
        return refused(refusal.code, why);
    }
    let Some(pod) = kubelet.pod(at.pod) else {
        return refused(StatusCode::NOT_FOUND, &format!("pod {} does not exist", quote(name)));
    };
    if !pod.has(at.container) {
        let why = format!("container {} not found in pod {}", quote(at.container), quote(name));
        return refused(StatusCode::NOT_FOUND, &why);
    }
    match log::read(call, None, &query, (at.pod.namespace, name, at.container)) {
        Err(refusal) => refused(refusal.code, &refusal.message),
        Ok(mut response) => {
            // Go finds out what the beginning of an answer is; nothing is nothing.
            response.headers_mut().remove(header::CONTENT_TYPE);
            if http_body::Body::size_hint(response.body()).exact() != Some(0) {
                let kind = HeaderValue::from_static("text/plain; charset=utf-8");
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
            }
            response
        }
    }
}
