//! Service accounts: of a reference to a Secret only the name is kept.

use serde_json::{Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{at, list_at, str_at};

const ENFORCE_MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

pub(crate) struct ServiceAccount;

impl Behaviour for ServiceAccount {
    fn prepare_create(&self, create: Create<'_>) {
        keep_only_names(create.object);
    }

    fn prepare_update(&self, update: Update<'_>) {
        keep_only_names(update.object);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let annotated = |object: &Value| at(object, &["metadata", "annotations", ENFORCE_MOUNTABLE]).is_some();
        if !annotated(object) || old.is_some_and(annotated) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{ENFORCE_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )]
    }
}

fn keep_only_names(object: &mut Value) {
    let names: Vec<Value> = list_at(object, &["secrets"])
        .iter()
        .map(|secret| match str_at(secret, &["name"]) {
            "" => json!({}),
            name => json!({"name": name}),
        })
        .collect();
    if let Some(fields) = object.as_object_mut().filter(|_| !names.is_empty()) {
        fields.insert("secrets".to_owned(), names.into());
    }
}
