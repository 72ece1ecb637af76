//! What a cluster would refuse is refused here: an API server in this process is given every object, strictly.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use http::{Request, StatusCode};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_cluster::bundle::Bundle;
use kubewright_description::Description;
use kubewright_manifests::definitions::locate;
use kubewright_manifests::yaml;
use serde_json::{Value, json};

use crate::project::Project;

/// Why a cluster would not take the objects.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    #[error("a cluster would refuse this:\n{}", .0.join("\n"))]
    Refused(Vec<String>),
    #[error("cannot start the API server that checks")]
    Server(#[source] std::io::Error),
}

/// Has an API server judge everything. The answer are complaints about samples, which are their author's business.
pub(crate) fn verify(project: &Project, operator: &Description, bundle: &Bundle) -> Result<Vec<String>, VerifyError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(VerifyError::Server)?;
    runtime.block_on(async {
        // Samples are verified with the definitions before they get a conversion webhook, which does not run here.
        let mut plain = VerificationServer::new();
        let mut refusals = Vec::new();
        for definition in &bundle.manifests.definitions {
            refusals.extend(plain.judge(definition, operator).await);
        }
        let mut complaints = Vec::new();
        if refusals.is_empty() {
            let (samples, unreadable) = samples(project);
            complaints.extend(unreadable);
            for (file, sample) in samples {
                let refused = plain.judge(&sample, operator).await;
                complaints.extend(refused.into_iter().map(|refusal| format!("{file}: {refusal}")));
            }
            let mut judge = VerificationServer::new();
            for object in bundle.all() {
                refusals.extend(judge.judge(object, operator).await);
            }
        }
        if refusals.is_empty() {
            Ok(complaints)
        } else {
            Err(VerifyError::Refused(refusals))
        }
    })
}

/// The samples of a project, with their files, and a complaint about each file that cannot be read.
fn samples(project: &Project) -> (Vec<(String, Value)>, Vec<String>) {
    let Ok(entries) = std::fs::read_dir(project.root().join("config/samples")) else {
        return (Vec::new(), Vec::new());
    };
    let mut files: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
        .filter(|file| file != "kustomization.yaml")
        .collect();
    files.sort();
    let (mut samples, mut complaints) = (Vec::new(), Vec::new());
    for file in files {
        let path = format!("config/samples/{file}");
        let text = match project.text(&path) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                complaints.push(kubewright_cluster::with_sources(&error));
                continue;
            }
        };
        match yaml::read(&text) {
            Ok(objects) => samples.extend(objects.into_iter().map(|object| (path.clone(), object))),
            Err(error) => complaints.push(format!(
                "{path} is not YAML: {}",
                kubewright_cluster::with_sources(&error)
            )),
        }
    }
    (samples, complaints)
}

/// An API server, and what it serves.
struct VerificationServer {
    server: ApiServer,
    /// Resource and whether it has namespaces, by kind, by group and version.
    known: BTreeMap<String, BTreeMap<String, (String, bool)>>,
    /// The namespaces there are.
    namespaces: BTreeSet<String>,
}

impl VerificationServer {
    fn new() -> VerificationServer {
        VerificationServer {
            server: ApiServer::new(Options::new()),
            known: BTreeMap::new(),
            namespaces: BTreeSet::new(),
        }
    }

    /// Creates an object; what the server has against it, line by line.
    async fn judge(&mut self, object: &Value, operator: &Description) -> Vec<String> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let what = format!("{kind} {name}");
        // Kinds of others, such as cert-manager's, are not known here.
        let Some((resource, namespaced)) = self.resource(version, kind).await else {
            return match text("/apiVersion") {
                "" => vec![format!("{what}: it has no apiVersion")],
                _ => Vec::new(),
            };
        };
        let namespace = match text("/metadata/namespace") {
            "" => "default",
            namespace => namespace,
        };
        let base = group_path(version);
        // Namespaces of others, for which there are roles, are there on the cluster.
        if namespaced && self.namespaces.insert(namespace.to_owned()) {
            let missing = json!({ "metadata": { "name": namespace } });
            self.send("POST", "/api/v1/namespaces", missing.to_string()).await;
        }
        let path = if namespaced {
            format!("{base}/namespaces/{namespace}/{resource}?fieldValidation=Strict")
        } else {
            format!("{base}/{resource}?fieldValidation=Strict")
        };
        let (code, answer) = self.send("POST", &path, object.to_string()).await;
        // A sample may be there in two files.
        if code.is_success() || code == StatusCode::CONFLICT {
            // A new definition is a new kind.
            if kind == "CustomResourceDefinition" {
                self.known.clear();
            }
            return Vec::new();
        }
        lines(&what, name, &answer, operator)
    }

    async fn resource(&mut self, version: &str, kind: &str) -> Option<(String, bool)> {
        if !self.known.contains_key(version) {
            let (code, answer) = self.send("GET", &group_path(version), String::new()).await;
            let mut kinds = BTreeMap::new();
            for resource in answer["resources"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|_| code.is_success())
            {
                let name = resource["name"].as_str().unwrap_or_default();
                if !name.contains('/') {
                    let kind = resource["kind"].as_str().unwrap_or_default().to_owned();
                    let namespaced = resource["namespaced"].as_bool().unwrap_or_default();
                    kinds.insert(kind, (name.to_owned(), namespaced));
                }
            }
            self.known.insert(version.to_owned(), kinds);
        }
        self.known.get(version)?.get(kind).cloned()
    }

    async fn send(&self, method: &str, path: &str, body: String) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(body.into());
        let Ok(request) = request else {
            // A name that no address can have.
            return (
                StatusCode::BAD_REQUEST,
                json!({ "message": format!("bad path {path}") }),
            );
        };
        let response = self.server.handle(request).await;
        let code = response.status();
        let bytes = http_body_util::BodyExt::collect(response.into_body()).await;
        let bytes = bytes.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

fn group_path(version: &str) -> String {
    if version.contains('/') {
        format!("/apis/{version}")
    } else {
        format!("/api/{version}")
    }
}

/// A refusal, with the types and fields it means.
fn lines(what: &str, name: &str, answer: &Value, operator: &Description) -> Vec<String> {
    let causes = answer["details"]["causes"].as_array().cloned().unwrap_or_default();
    if causes.is_empty() {
        let message = answer["message"].as_str().unwrap_or("it was refused without a word");
        return vec![format!("{what}: {message}")];
    }
    let line = |cause: &Value| {
        let field = cause["field"].as_str().unwrap_or_default();
        let message = cause["message"].as_str().unwrap_or_default();
        let mut line = match locate(name, field, operator) {
            Some(location) => format!("{location}: {message}"),
            None => format!("{what}: {message}"),
        };
        if !field.is_empty() {
            let _ = write!(line, " (at {field})");
        }
        line
    };
    causes.iter().map(line).collect()
}
