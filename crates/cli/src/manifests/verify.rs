//! What a cluster would refuse is refused here: an API server in this process is given every object, strictly.

use std::fmt::Write as _;

use kubewright_apiserver::Options;
use kubewright_cluster::bundle::Bundle;
use kubewright_description::Description;
use kubewright_manifests::definitions::locate;
use kubewright_manifests::yaml;
use serde_json::Value;

use crate::project::Project;
use crate::trial_server::{Created, TrialServer};

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
        let mut plain = TrialServer::new(Options::new());
        let mut refusals = Vec::new();
        for definition in &bundle.manifests.definitions {
            refusals.extend(judge(&mut plain, definition, operator).await);
        }
        let mut complaints = Vec::new();
        if refusals.is_empty() {
            let (samples, unreadable) = samples(project);
            complaints.extend(unreadable);
            for (file, sample) in samples {
                let refused = judge(&mut plain, &sample, operator).await;
                complaints.extend(refused.into_iter().map(|refusal| format!("{file}: {refusal}")));
            }
            let mut server = TrialServer::new(Options::new());
            for object in bundle.all() {
                refusals.extend(judge(&mut server, object, operator).await);
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

/// Creates an object; what the server has against it, line by line.
async fn judge(server: &mut TrialServer, object: &Value, operator: &Description) -> Vec<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let name = text("/metadata/name");
    let what = format!("{} {name}", text("/kind"));
    match server.create(object).await {
        // A sample may be there in two files.
        Created::Stored => Vec::new(),
        // Kinds of others, such as cert-manager's, are not known here.
        Created::UnknownKind => match text("/apiVersion") {
            "" => vec![format!("{what}: it has no apiVersion")],
            _ => Vec::new(),
        },
        Created::Refused(answer) => lines(&what, name, &answer, operator),
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
