//! Reading and writing objects by name, with errors that say what is missing.

use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use kube::core::Status;
use serde_json::Value;
use tokio::time::timeout;

use super::error::KeepError;
use super::permission::Permission;
use super::target::Target;

/// The field manager of all writes of this module.
pub(super) const FIELD_MANAGER: &str = "kubewright-certificates";

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// No object is longer.
const LONGEST: usize = 16 << 20;

/// One object.
#[derive(Clone, Debug)]
pub(super) struct ObjectRef {
    group: &'static str,
    resource: &'static str,
    namespace: Option<String>,
    name: String,
    /// As people call it.
    pub(super) what: String,
}

impl ObjectRef {
    pub(super) fn secret(namespace: &str, name: &str) -> Result<Self, KeepError> {
        Ok(ObjectRef {
            group: "",
            resource: "secrets",
            namespace: Some(checked(namespace)?),
            name: checked(name)?,
            what: format!("Secret {namespace}/{name}"),
        })
    }

    pub(super) fn target(target: &Target) -> Result<Self, KeepError> {
        Ok(ObjectRef {
            group: target.kind.group(),
            resource: target.kind.resource(),
            namespace: None,
            name: checked(&target.name)?,
            what: target.to_string(),
        })
    }

    fn path(&self) -> String {
        let ObjectRef {
            group, resource, name, ..
        } = self;
        let group = if group.is_empty() {
            "/api/v1".to_owned()
        } else {
            format!("/apis/{group}/v1")
        };
        match &self.namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{resource}/{name}"),
            None => format!("{group}/{resource}/{name}"),
        }
    }

    fn rule(&self, verb: &str) -> Permission {
        Permission {
            namespace: self.namespace.clone(),
            api_group: self.group.to_owned(),
            resource: self.resource.to_owned(),
            resource_names: vec![self.name.clone()],
            verbs: vec![verb.to_owned()],
        }
    }
}

/// What may be part of a path; the server's own rules are stricter.
fn checked(name: &str) -> Result<String, KeepError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_');
    let is_name = !name.is_empty() && name != "." && name != ".." && name.bytes().all(allowed);
    if is_name {
        Ok(name.to_owned())
    } else {
        Err(KeepError::Name(name.to_owned()))
    }
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Written {
    /// It is done; this is the object now.
    Done(Value),
    /// Somebody else was faster, or the object is gone: read it again.
    Stale,
}

/// How an object is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    /// Creates it if it is not there, by apply: a right to create can be limited to a name that way.
    Apply,
    /// Replaces it, if it still has the resourceVersion in the body.
    Replace,
    /// Changes it by a JSON patch.
    Patch,
}

/// Objects of the cluster.
#[derive(Clone)]
pub(super) struct Objects(pub(super) kube::Client);

impl Objects {
    /// The object; `None` where there is none.
    pub(super) async fn get(&self, place: &ObjectRef) -> Result<Option<Value>, KeepError> {
        let request = Request::builder().method(Method::GET).uri(place.path());
        match self.send("get", place, request, Vec::new()).await? {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(refused("get", place, &status)),
        }
    }

    /// Writes the object.
    pub(super) async fn write(&self, place: &ObjectRef, write: Write, body: &Value) -> Result<Written, KeepError> {
        let (verb, method, content_type) = match write {
            Write::Apply => ("patch", Method::PATCH, "application/apply-patch+yaml"),
            Write::Replace => ("update", Method::PUT, "application/json"),
            Write::Patch => ("patch", Method::PATCH, "application/json-patch+json"),
        };
        let uri = format!("{}?fieldManager={FIELD_MANAGER}", place.path());
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::CONTENT_TYPE, content_type);
        match self.send(verb, place, request, body.to_string().into_bytes()).await? {
            Ok(object) => Ok(Written::Done(object)),
            Err(status) if status.code == 409 => Ok(Written::Stale),
            // What is applied need not be there: its namespace is missing.
            Err(status) if status.code == 404 && !matches!(write, Write::Apply) => Ok(Written::Stale),
            Err(status) => Err(refused(verb, place, &status)),
        }
    }

    /// Reads a response: the object, or the error. Bodies are never logged, since they may be those of Secrets.
    async fn send(
        &self,
        verb: &'static str,
        place: &ObjectRef,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Result<Value, Box<Status>>, KeepError> {
        let unreachable = |source: Box<dyn std::error::Error + Send + Sync>| KeepError::Unreachable {
            verb,
            what: place.what.clone(),
            source,
        };
        let request = request
            .body(Body::from(body))
            .map_err(|error| unreachable(error.into()))?;
        let asking = async {
            let answer = match self.0.send(request).await {
                Ok(answer) => answer,
                Err(kube::Error::Api(status)) => return Ok(Err(status)),
                Err(error) => return Err(unreachable(error.into())),
            };
            let code = answer.status();
            let read = Limited::new(answer.into_body(), LONGEST).collect().await;
            let bytes = read.map_err(unreachable)?.to_bytes();
            if code.is_success() {
                let not_json = |_| unreachable("its answer is not JSON".into());
                return serde_json::from_slice(&bytes).map(Ok).map_err(not_json);
            }
            let status = serde_json::from_slice::<Status>(&bytes)
                .unwrap_or_else(|_| Status::failure(&format!("status {code}"), ""));
            Ok(Err(status.with_code(code.as_u16()).boxed()))
        };
        timeout(PATIENCE, asking)
            .await
            .unwrap_or_else(|late| Err(unreachable(late.into())))
    }
}

fn refused(verb: &'static str, place: &ObjectRef, status: &Status) -> KeepError {
    if status.code == 403 {
        // Creation by apply is sent as a patch, but the server refuses it as a create.
        let verb = if status.message.contains("cannot create resource") {
            "create"
        } else {
            verb
        };
        return KeepError::Forbidden {
            message: status.message.clone(),
            rule: Box::new(place.rule(verb)),
        };
    }
    KeepError::Refused {
        verb,
        what: place.what.clone(),
        message: status.message.clone(),
    }
}
