//! An API server in this process, on which commands try what a cluster would do with objects.

use std::collections::{BTreeMap, BTreeSet};

use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Collected};
use kubewright_apiserver::{ApiServer, Options, User};
use serde_json::{Value, json};

/// An API server, and what it serves.
pub(crate) struct TrialServer {
    server: ApiServer,
    /// What it serves, by group and version and then by kind.
    known: BTreeMap<String, BTreeMap<String, Resource>>,
    /// The namespaces there are.
    namespaces: BTreeSet<String>,
}

/// Where objects of a kind are.
#[derive(Clone)]
pub(crate) struct Resource {
    /// The path of its group and version.
    base: String,
    name: String,
    pub(crate) is_namespaced: bool,
}

impl Resource {
    /// The path of the objects, in a namespace if they have one.
    pub(crate) fn path(&self, namespace: &str) -> String {
        let Resource { base, name, .. } = self;
        if self.is_namespaced {
            format!("{base}/namespaces/{namespace}/{name}")
        } else {
            format!("{base}/{name}")
        }
    }
}

/// What the server answered.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// What became of an object.
pub(crate) enum Created {
    /// It is stored.
    Stored,
    /// It was refused with this `Status`.
    Refused(Value),
    /// The server does not know its kind.
    UnknownKind,
}

impl TrialServer {
    pub(crate) fn new(options: Options) -> TrialServer {
        TrialServer {
            server: ApiServer::new(options),
            known: BTreeMap::new(),
            namespaces: BTreeSet::from(["default".to_owned()]),
        }
    }

    /// Another one in the same state.
    pub(crate) fn fork(&self) -> TrialServer {
        TrialServer {
            server: self.server.fork(),
            known: self.known.clone(),
            namespaces: self.namespaces.clone(),
        }
    }

    pub(crate) fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Creates an object, strictly, in a namespace that is made if need be. An object that is there already is left alone.
    pub(crate) async fn create(&mut self, object: &Value) -> Created {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let kind = text("/kind");
        let Some(resource) = self.resource(text("/apiVersion"), kind).await else {
            return Created::UnknownKind;
        };
        let namespace = match text("/metadata/namespace") {
            "" => "default",
            namespace => namespace,
        };
        if resource.is_namespaced {
            self.ensure_namespace(namespace).await;
        }
        let path = format!("{}?fieldValidation=Strict", resource.path(namespace));
        let answer = self.send("POST", &path, object.to_string()).await;
        if !answer.code.is_success() && answer.code != StatusCode::CONFLICT {
            return Created::Refused(answer.body);
        }
        // A new definition is a new kind.
        if kind == "CustomResourceDefinition" {
            self.known.clear();
        }
        Created::Stored
    }

    /// Creates a namespace that is not there.
    pub(crate) async fn ensure_namespace(&mut self, name: &str) {
        if self.namespaces.insert(name.to_owned()) {
            let missing = json!({ "metadata": { "name": name } });
            self.send("POST", "/api/v1/namespaces", missing.to_string()).await;
        }
    }

    /// Whether there is a resource of this name, or a subresource as in `pods/status`.
    pub(crate) async fn serves(&self, version: &str, resource: &str) -> bool {
        let answer = self.send("GET", &base(version), String::new()).await;
        let resources = answer.body["resources"].as_array();
        resources.is_some_and(|resources| resources.iter().any(|known| known["name"] == resource))
    }

    /// Where objects of a kind are, if the server knows it.
    pub(crate) async fn resource(&mut self, version: &str, kind: &str) -> Option<Resource> {
        if version.is_empty() {
            return None;
        }
        if !self.known.contains_key(version) {
            let base = base(version);
            let answer = self.send("GET", &base, String::new()).await;
            let resources = answer.body["resources"].as_array();
            let mut kinds = BTreeMap::new();
            for resource in resources.into_iter().flatten().filter(|_| answer.code.is_success()) {
                let name = resource["name"].as_str().unwrap_or_default();
                if !name.contains('/') {
                    let kind = resource["kind"].as_str().unwrap_or_default().to_owned();
                    let resource = Resource {
                        base: base.clone(),
                        name: name.to_owned(),
                        is_namespaced: resource["namespaced"].as_bool().unwrap_or_default(),
                    };
                    kinds.insert(kind, resource);
                }
            }
            self.known.insert(version.to_owned(), kinds);
        }
        self.known.get(version)?.get(kind).cloned()
    }

    /// Sends a request of the administrator.
    pub(crate) async fn send(&self, method: &str, path: &str, body: String) -> Answer {
        self.send_as(None, method, path, body).await
    }

    /// Sends a request of a user; `None` is the administrator.
    pub(crate) async fn send_as(&self, user: Option<&User>, method: &str, path: &str, body: String) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(body.into());
        let Ok(request) = request else {
            // A name that no address can have.
            return Answer {
                code: StatusCode::BAD_REQUEST,
                headers: HeaderMap::new(),
                body: json!({ "message": format!("bad path {path}") }),
            };
        };
        let response = match user {
            Some(user) => self.server.handle_as(Some(user), request).await,
            None => self.server.handle(request).await,
        };
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
        Answer {
            code: parts.status,
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        }
    }
}

/// The path of a group and version.
pub(crate) fn base(version: &str) -> String {
    if version.contains('/') {
        format!("/apis/{version}")
    } else {
        format!("/api/{version}")
    }
}
