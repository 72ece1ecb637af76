//! Steps from the samples of a project: each file is created, and in the end all of them are deleted.

use std::path::Path;
use std::sync::Arc;

use kubewright_runtime::operator::Operator;
use serde_json::Value;

use super::scenario::Step;
use crate::{Error, TestEnv, manifests};

/// The steps that the samples in a folder make. Samples of kinds that the operator's program serves itself are left out: nobody
/// creates those.
pub(super) fn steps(folder: &Path, operator: &Operator) -> Result<Vec<Step>, Error> {
    let served = operator.describe().aggregated;
    let is_served = |object: &Value| served.iter().any(|own| object["kind"] == *own.kind);
    let mut steps = Vec::new();
    let mut all = Vec::new();
    for file in manifests::files(folder)? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "kustomization" {
            continue;
        }
        let objects = manifests::read(&file)?;
        // A sample in another version of its kind is the same object: one of them is created.
        let is_there = |object: &Value| all.iter().any(|other| is_same(other, object));
        let objects: Vec<Value> = objects
            .into_iter()
            .filter(|object| !is_served(object) && !is_there(object))
            .collect();
        if objects.is_empty() {
            continue;
        }
        all.extend(objects.iter().cloned());
        steps.push(step(format!("create {name}"), objects, Action::Apply));
    }
    if steps.is_empty() {
        return Err(Error::Unmet(format!(
            "{} has no sample to explore: put an object of a kind of yours there, as `kubewright create api` does",
            folder.display()
        )));
    }
    steps.push(step("delete".to_owned(), all, Action::Delete));
    Ok(steps)
}

/// Whether two manifests are of one object, perhaps in two versions.
fn is_same(one: &Value, other: &Value) -> bool {
    let group = |object: &Value| {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        api_version.split_once('/').map(|(group, _)| group.to_owned())
    };
    let named = |object: &Value| {
        let metadata = &object["metadata"];
        (
            object["kind"].clone(),
            metadata["namespace"].clone(),
            metadata["name"].clone(),
        )
    };
    group(one) == group(other) && named(one) == named(other)
}

#[derive(Clone, Copy)]
enum Action {
    Apply,
    Delete,
}

fn step(name: String, objects: Vec<Value>, action: Action) -> Step {
    Step {
        name,
        action: Arc::new(move |env: Arc<TestEnv>| {
            let objects = objects.clone();
            Box::pin(async move {
                match action {
                    Action::Apply => drop(env.apply(Value::Array(objects)).await),
                    Action::Delete => env.delete_objects(&objects).await,
                }
            })
        }),
    }
}
