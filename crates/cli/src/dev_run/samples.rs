//! The objects of `config/samples`: read, and applied once the operator's webhooks answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kubewright_cluster::progress::Progress;
use kubewright_cluster::{ApplyOutcome, Cluster, Error, Reference, is_redirected, status};
use kubewright_codec::yaml;
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How long webhooks may take to answer.
const ANSWERED_WITHIN: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(300);

/// What is wrong with a sample.
#[derive(Debug, thiserror::Error)]
pub(super) enum SampleError {
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    #[error("{}: {why}", path.display())]
    Yaml { path: PathBuf, why: String },
    #[error("{}: an object of it does not say its apiVersion, kind and name", .0.display())]
    Nameless(PathBuf),
}

/// Where a project has them.
pub(super) const FOLDER: &str = "config/samples";

/// The samples of a project.
pub(super) fn read(root: &Path) -> Result<Vec<Value>, SampleError> {
    objects(&root.join(FOLDER))
}

/// The objects of a file, or of all files of a folder that are no kustomizations.
pub(super) fn objects(path: &Path) -> Result<Vec<Value>, SampleError> {
    if path.is_file() {
        let text = fs::read_to_string(path).map_err(|error| SampleError::Read(path.to_owned(), error))?;
        return documents(path, &text);
    }
    let mut paths: Vec<PathBuf> = fs::read_dir(path)
        .map_err(|error| SampleError::Read(path.to_owned(), error))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_sample(path))
        .collect();
    paths.sort();
    let mut objects = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| SampleError::Read(path.clone(), error))?;
        objects.extend(documents(&path, &text)?);
    }
    Ok(objects)
}

fn is_sample(path: &Path) -> bool {
    let is_yaml = path
        .extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml");
    let name = path.file_stem().unwrap_or_default();
    is_yaml && name != "kustomization"
}

/// The objects of a file with several documents.
fn documents(path: &Path, text: &str) -> Result<Vec<Value>, SampleError> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    let mut objects = Vec::new();
    for part in parts {
        let decoded = yaml::decode(part.as_bytes()).map_err(|error| SampleError::Yaml {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        if decoded.value.is_null() {
            continue;
        }
        if Reference::of(&decoded.value).is_none() {
            return Err(SampleError::Nameless(path.to_owned()));
        }
        objects.push(decoded.value);
    }
    Ok(objects)
}

/// Applies samples and reports each, once the webhook configurations point to this machine.
pub(super) async fn apply(cluster: &Cluster, samples: &[Value], webhooks: &[Reference], progress: &Progress) {
    if !wait_for(cluster, webhooks).await {
        progress.warn("the operator has not taken its webhooks: samples are applied without them");
    }
    for sample in samples {
        let Some(reference) = Reference::of(sample) else {
            continue;
        };
        let deadline = Instant::now() + ANSWERED_WITHIN;
        loop {
            let done = cluster.apply_all(std::slice::from_ref(sample), false, |_| {}).await;
            let refusal = match done {
                Ok(mut report) => match report.refused.pop() {
                    None => {
                        let outcome = report.applied.first().map(|applied| applied.outcome);
                        progress.note(format!("sample {reference} {}", told(outcome)));
                        break;
                    }
                    Some((_, refusal)) => refusal,
                },
                Err(error) => error,
            };
            if !is_unanswered(&refusal) || Instant::now() >= deadline {
                progress.warn(format!("sample {reference} was refused: {refusal}"));
                break;
            }
            sleep(PAUSE).await;
        }
    }
}

/// Returns once webhooks are called on this machine; whether they are.
async fn wait_for(cluster: &Cluster, webhooks: &[Reference]) -> bool {
    let deadline = Instant::now() + ANSWERED_WITHIN;
    for webhook in webhooks {
        // An error, such as a missing right to read webhooks, ends the wait.
        while let Ok(Some(live)) = cluster.get(webhook).await
            && !is_redirected(&live)
        {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(PAUSE).await;
        }
    }
    true
}

fn told(outcome: Option<ApplyOutcome>) -> &'static str {
    match outcome {
        Some(ApplyOutcome::Created) => "created",
        Some(ApplyOutcome::Configured) => "configured",
        _ => "unchanged",
    }
}

/// Whether a webhook could not be reached.
fn is_unanswered(error: &Error) -> bool {
    status(error).is_some_and(|status| status.code == 500 && status.message.contains("webhook"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_documents_of_all_files_but_the_kustomization() {
        let folder = tempfile::tempdir().unwrap();
        let samples = folder.path().join("config/samples");
        fs::create_dir_all(&samples).unwrap();
        fs::write(samples.join("kustomization.yaml"), "resources: []").unwrap();
        fs::write(
            samples.join("b.yaml"),
            "# two of them\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: c}\n",
        )
        .unwrap();
        fs::write(
            samples.join("a.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        )
        .unwrap();
        let names: Vec<String> = read(folder.path())
            .unwrap()
            .iter()
            .map(|sample| Reference::of(sample).unwrap().to_string())
            .collect();
        assert_eq!(names, ["configmap/a", "configmap/b", "secret/c"]);
    }

    #[test]
    fn a_sample_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("config/samples"));
        let samples = folder.path().join("config/samples");
        fs::create_dir_all(&samples).unwrap();
        for (text, part) in [("a: [", "a.yaml: "), ("kind: ConfigMap", "does not say its apiVersion")] {
            fs::write(samples.join("a.yaml"), text).unwrap();
            let error = read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
