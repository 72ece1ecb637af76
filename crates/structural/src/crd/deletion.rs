//! The end of a definition (C4): how it is marked, and what its status says while its objects are deleted and when they
//! are gone.

use serde_json::{Value, json};

use super::access::object_mut;
use super::conditions::{self, Condition};

/// The finalizer that deletes the objects of a kind before its definition goes (C4).
pub const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The first request to delete a definition only marks it: it gets a deletion time, the cleanup finalizer and the
/// condition `Terminating`. Does nothing to a definition that is already marked.
pub fn prepare_delete(object: &mut Value, now: &str) {
    let Some(metadata) = object_mut(object, &["metadata"]) else {
        return;
    };
    if metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return;
    }
    metadata.insert("deletionTimestamp".to_owned(), now.into());
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if !finalizers.is_array() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    {
        finalizers.push(FINALIZER.into());
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    Condition::new(conditions::TERMINATING, "True", "InstanceDeletionPending", message).set(object, now);
}

/// The definition while its objects are being deleted.
pub fn in_progress(object: &Value, now: &str) -> Value {
    let message = "CustomResource deletion is in progress";
    saying(
        object,
        Condition::new(conditions::TERMINATING, "True", "InstanceDeletionInProgress", message),
        now,
    )
}

/// The definition after its last object has gone, without the finalizer that waited for it.
pub fn completed(object: &Value, now: &str) -> Value {
    let condition = if conditions::is_true(object, conditions::ESTABLISHED) {
        let message = "removed all instances";
        Condition::new(conditions::TERMINATING, "False", "InstanceDeletionCompleted", message)
    } else {
        let message = "resource was never established";
        Condition::new(conditions::TERMINATING, "False", "NeverEstablished", message)
    };
    let mut done = saying(object, condition, now);
    if let Some(metadata) = object_mut(&mut done, &["metadata"])
        && let Some(finalizers) = metadata.get_mut("finalizers").and_then(Value::as_array_mut)
    {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        }
    }
    done
}

#[expect(clippy::needless_pass_by_value, reason = "made for this one call")]
fn saying(object: &Value, condition: Condition, now: &str) -> Value {
    let mut changed = object.clone();
    condition.set(&mut changed, now);
    changed
}
