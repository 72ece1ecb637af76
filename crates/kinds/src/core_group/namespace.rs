//! Namespaces: the finalizer that waits for their content to be deleted, the label with their name, the phase (D8).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::meta::finalizer_is_known;
use crate::rules::access::{at, complain, keep, map_mut, str_at, strings_at};

/// The label every namespace has, with its own name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(crate) struct Namespace;

impl Behaviour for Namespace {
    fn default(&self, object: &mut Value) {
        label_with_name(object);
    }

    fn prepare_create(&self, mut create: Create<'_>) {
        create.set_status(json!({"phase": "Active"}));
        let object = create.object;
        // A generated name is known only now.
        label_with_name(object);
        let mut finalizers: Vec<Value> = strings_at(object, &["spec", "finalizers"])
            .into_iter()
            .map(Value::from)
            .collect();
        if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        if let Some(spec) = map_mut(object, &["spec"]) {
            spec.insert("finalizers".to_owned(), finalizers.into());
        }
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        match update.subresource {
            Some("status") => update.keep_unwritten(),
            Some("finalize") => keep(update.object, update.old, &["status"]),
            _ => {
                keep(update.object, update.old, &["spec", "finalizers"]);
                keep(update.object, update.old, &["status"]);
            }
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("spec");
        let path = path.child("finalizers");
        for finalizer in strings_at(object, &["spec", "finalizers"]) {
            validate_finalizer(finalizer, &path, errors);
        }
    }

    fn validate_update(&self, object: &Value, _old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        match subresource {
            Some("status") => validate_phase(object, errors),
            Some("finalize") => {
                let path = PathRef::root("spec");
                let path = path.child("finalizers");
                for (index, finalizer) in strings_at(object, &["spec", "finalizers"]).into_iter().enumerate() {
                    validate_finalizer(finalizer, &path.index(index), errors);
                }
            }
            _ => self.validate_create(object, errors),
        }
    }
}

fn label_with_name(object: &mut Value) {
    let name = str_at(object, &["metadata", "name"]).to_owned();
    if name.is_empty() {
        return;
    }
    if let Some(labels) = map_mut(object, &["metadata", "labels"]) {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

fn validate_finalizer(finalizer: &str, path: &PathRef<'_>, errors: &mut Errors) {
    complain(path, finalizer, names::qualified_name(finalizer), errors);
    finalizer_is_known(finalizer, path, errors);
}

fn validate_phase(object: &Value, errors: &mut Errors) {
    let phase = str_at(object, &["status", "phase"]);
    let (expected, state) = match at(object, &["metadata", "deletionTimestamp"]) {
        None => ("Active", "empty"),
        Some(_) => ("Terminating", "not empty"),
    };
    if phase != expected {
        let path = PathRef::root("status");
        // The capital letter is upstream's.
        let words = format!("may only be '{expected}' if `deletionTimestamp` is {state}");
        errors.push(FieldError::invalid(&path.child("Phase"), phase, words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn refusals(object: &Value, subresource: &str) -> Vec<String> {
        let mut errors = Errors::new();
        Namespace.validate_update(object, &json!({}), Some(subresource), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let living = json!({"status": {"phase": "Terminating"}});
        assert_eq!(
            refusals(&living, "status"),
            ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"]
        );
        let dying = json!({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}, "status": {"phase": "Active"}});
        assert_eq!(
            refusals(&dying, "status"),
            ["status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty"]
        );
    }

    #[test]
    fn only_finalize_changes_finalizers() {
        let old = json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        let sent = json!({"spec": {"finalizers": ["example.com/b"]}, "status": {"phase": "Terminating"}});
        let mut object = sent.clone();
        Namespace.prepare_update(Update {
            object: &mut object,
            old: &old,
            subresource: None,
        });
        assert_eq!(object, old);
        let mut object = sent;
        Namespace.prepare_update(Update {
            object: &mut object,
            old: &old,
            subresource: Some("finalize"),
        });
        assert_eq!(
            object,
            json!({"spec": {"finalizers": ["example.com/b"]}, "status": {"phase": "Active"}})
        );
        assert_eq!(
            refusals(&json!({"spec": {"finalizers": ["kubernetes", "a b"]}}), "finalize"),
            [
                "spec.finalizers[1]: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "spec.finalizers[1]: Invalid value: \"a b\": name is neither a standard finalizer name nor is it fully qualified",
            ]
        );
    }
}
