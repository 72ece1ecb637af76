//! Requests as we send them: path, query, body; answers, errors and warnings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::core::Status;
use parking_lot::Mutex;

use kubewright_apimachinery::url::{path_escape, query_escape};

use super::traced::TracedCall;
use super::{Client, Error};
use crate::object::{Kind, ObjectKey};
use crate::trace::{is_confidential, with_context};

/// How many different warnings are remembered; after that all are forgotten and logged once more.
const MOST_WARNINGS: usize = 1000;

/// Warnings of the server that were logged already.
#[derive(Debug, Default)]
pub(super) struct Warnings(Mutex<BTreeSet<String>>);

impl Warnings {
    fn log(&self, headers: &HeaderMap) {
        for warning in headers.get_all(header::WARNING) {
            let Some(text) = warning.to_str().ok().map(warning_text) else {
                continue;
            };
            let mut logged = self.0.lock();
            if logged.len() >= MOST_WARNINGS {
                logged.clear();
            }
            if logged.insert(text.clone()) {
                tracing::warn!(warning = text, "the server warns");
            }
        }
    }
}

/// `299 - "text"` without what surrounds the text.
fn warning_text(warning: &str) -> String {
    let quoted = warning.splitn(3, ' ').nth(2).unwrap_or(warning);
    let text = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(quoted);
    text.replace("\\\"", "\"")
}

/// One request.
pub(super) struct Call<'a> {
    pub(super) verb: &'static str,
    pub(super) method: Method,
    pub(super) kind: &'a Kind,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    /// The namespace and the name, if there is an object.
    pub(super) key: Option<&'a ObjectKey>,
    /// The name that a new object has in its body.
    pub(super) new_name: Option<&'a str>,
    pub(super) subresource: Option<&'a str>,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) accept: Option<&'static str>,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

pub(super) const JSON: &str = "application/json";
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

impl<'a> Call<'a> {
    pub(super) fn new(verb: &'static str, method: Method, kind: &'a Kind) -> Self {
        Call {
            verb,
            method,
            kind,
            namespace: None,
            name: None,
            key: None,
            new_name: None,
            subresource: None,
            query: Vec::new(),
            accept: None,
            content_type: JSON,
            body: Vec::new(),
        }
    }

    /// Of one object.
    pub(super) fn object(mut self, key: &'a ObjectKey) -> Self {
        self.namespace = key.namespace();
        self.name = Some(key.name());
        self.key = Some(key);
        self
    }

    /// What it is about.
    fn what(&self) -> String {
        let Call {
            kind,
            namespace,
            name,
            subresource,
            ..
        } = self;
        let mut what = kind.to_string();
        if let Some(subresource) = subresource {
            let _ = write!(what, "/{subresource}");
        }
        match (namespace, name) {
            (Some(namespace), Some(name)) => _ = write!(what, " {namespace}/{name}"),
            (None, Some(name)) => _ = write!(what, " {name}"),
            (Some(namespace), None) => _ = write!(what, " in namespace {namespace}"),
            (None, None) => {}
        }
        what
    }

    fn uri(&self) -> Result<String, Error> {
        let segments = [self.namespace, self.name, self.subresource];
        if let Some(bad) = segments.into_iter().flatten().find(|segment| !is_segment(segment)) {
            return Err(Error::Invalid {
                kind: self.kind.to_string(),
                problem: format!("{bad:?} cannot be part of a path"),
            });
        }
        if self.kind.is_namespaced() && self.namespace.is_none() && (self.name.is_some() || self.method == Method::POST)
        {
            return Err(Error::Invalid {
                kind: self.kind.to_string(),
                problem: format!("{} has no namespace", self.name.unwrap_or("the object")),
            });
        }
        let mut uri = self.kind.path(self.namespace);
        for segment in [self.name, self.subresource].into_iter().flatten() {
            uri.push('/');
            uri.push_str(&path_escape(segment));
        }
        for (at, (name, value)) in self.query.iter().enumerate() {
            let _ = write!(uri, "{}{name}=", if at == 0 { '?' } else { '&' });
            uri.push_str(&query_escape(value));
        }
        Ok(uri)
    }
}

/// What may be a segment of a path: the server's own rule for names.
fn is_segment(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '%'])
}

impl Client {
    /// Sends a request and returns the code and the text of a good answer.
    pub(super) async fn send(&self, call: Call<'_>) -> Result<(StatusCode, Bytes), Error> {
        let Some(tracing) = TracedCall::begin(self, &call) else {
            return self.send_untraced(call).await;
        };
        let answer = self.send_untraced(call).await;
        tracing.end(self, &answer);
        answer
    }

    async fn send_untraced(&self, call: Call<'_>) -> Result<(StatusCode, Bytes), Error> {
        if call.method != Method::GET && !self.options.dry_run {
            self.shared.fence.check()?;
        }
        let (verb, what) = (call.verb, call.what());
        let is_confidential = is_confidential(call.kind);
        let transport = |source: Box<dyn std::error::Error + Send + Sync>| Error::Transport {
            verb,
            what: what.clone(),
            source,
        };
        let mut request = Request::builder().method(call.method.clone()).uri(call.uri()?);
        if let Some(accept) = call.accept {
            request = request.header(header::ACCEPT, accept);
        }
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, call.content_type);
        }
        let request = request
            .body(Body::from(call.body))
            .map_err(|error| transport(error.into()))?;
        let request = with_context(request);
        let api = |status: Box<Status>| Error::Api {
            verb,
            what: what.clone(),
            status,
            is_confidential,
        };
        let response = match self.shared.kube.send(request).await {
            Ok(response) => response,
            Err(kube::Error::Api(status)) => return Err(api(status)),
            Err(error) => return Err(transport(error.into())),
        };
        self.shared.warnings.log(response.headers());
        let code = response.status();
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| transport(error.into()))?
            .to_bytes();
        if code.is_success() {
            return Ok((code, body));
        }
        let status = serde_json::from_slice::<Status>(&body)
            .unwrap_or_else(|_| Status::failure(String::from_utf8_lossy(&body).trim(), ""));
        Err(api(status.with_code(code.as_u16()).boxed()))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node};

    use super::*;

    #[test]
    fn a_uri_holds_what_it_is_given_and_nothing_more() {
        let kind = Kind::of::<ConfigMap>();
        let key = ObjectKey::namespaced("shop", "a:b");
        let mut call = Call::new("get", Method::GET, &kind).object(&key);
        call.query = vec![("labelSelector", "a in (b,c)".to_owned()), ("limit", "5".to_owned())];
        assert_eq!(
            call.uri().unwrap(),
            "/api/v1/namespaces/shop/configmaps/a:b?labelSelector=a+in+%28b%2Cc%29&limit=5"
        );
        for bad in ["", "..", "a/b", "a%2fb"] {
            let key = ObjectKey::namespaced("shop", bad);
            assert!(
                Call::new("get", Method::GET, &kind).object(&key).uri().is_err(),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_namespaced_object_without_namespace_is_refused_before_it_is_sent() {
        let key = ObjectKey::cluster("a");
        let config_maps = Kind::of::<ConfigMap>();
        let error = Call::new("get", Method::GET, &config_maps)
            .object(&key)
            .uri()
            .unwrap_err();
        assert_eq!(error.to_string(), "ConfigMap: a has no namespace");
        let nodes = Kind::of::<Node>();
        assert_eq!(
            Call::new("get", Method::GET, &nodes).object(&key).uri().unwrap(),
            "/api/v1/nodes/a"
        );
    }

    #[test]
    fn a_warning_is_its_text() {
        assert_eq!(
            warning_text(r#"299 - "unknown field \"spec.x\"""#),
            r#"unknown field "spec.x""#
        );
    }
}
