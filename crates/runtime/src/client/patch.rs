//! Patches: what is sent, and how one is made from the difference of two objects.

use serde::Serialize;
use serde_json::{Map, Value};

/// A change to an object.
///
/// ```
/// use kubewright_runtime::client::Patch;
/// use serde_json::json;
///
/// let before = json!({ "spec": { "replicas": 1, "paused": true }, "status": {} });
/// let after = json!({ "spec": { "replicas": 2 }, "status": {} });
/// let patch = Patch::merge_from(&before, &after).unwrap();
/// assert_eq!(patch, Patch::Merge(json!({ "spec": { "replicas": 2, "paused": null } })));
/// assert!(Patch::merge_from(&after, &after).unwrap().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// A JSON merge patch (RFC 7386): members replace, `null` removes, lists are replaced whole.
    Merge(Value),
    /// A strategic merge patch: as merge, but lists of built-in kinds are merged by key. Custom resources do not know it.
    Strategic(Value),
    /// A JSON patch (RFC 6902): a list of operations.
    Json(Value),
}

impl Patch {
    /// The merge patch that turns one object into another.
    pub fn merge_from<A: Serialize, B: Serialize>(before: &A, after: &B) -> serde_json::Result<Self> {
        let (before, after) = (serde_json::to_value(before)?, serde_json::to_value(after)?);
        let difference = merge_difference(&before, &after);
        Ok(Patch::Merge(difference.unwrap_or_else(|| Value::Object(Map::new()))))
    }

    /// Like [`Patch::merge_from`], but the patch fails with a conflict if the object was changed meanwhile.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::Patch;
    ///
    /// let mut before = ConfigMap::default();
    /// before.metadata.resource_version = Some("7".to_owned());
    /// let mut after = before.clone();
    /// after.immutable = Some(true);
    /// let Patch::Merge(patch) = Patch::merge_from_locked(&before, &after).unwrap() else { unreachable!() };
    /// assert_eq!(patch, serde_json::json!({ "immutable": true, "metadata": { "resourceVersion": "7" } }));
    /// ```
    pub fn merge_from_locked<A: Serialize, B: Serialize>(before: &A, after: &B) -> serde_json::Result<Self> {
        let version = serde_json::to_value(before)?["metadata"]["resourceVersion"].clone();
        let Patch::Merge(mut patch) = Self::merge_from(before, after)? else {
            return Self::merge_from(before, after);
        };
        patch["metadata"]["resourceVersion"] = version;
        Ok(Patch::Merge(patch))
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Patch::Merge(value) | Patch::Strategic(value) => value.as_object().is_some_and(Map::is_empty),
            Patch::Json(value) => value.as_array().is_some_and(Vec::is_empty),
        }
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self {
            Patch::Merge(_) => "application/merge-patch+json",
            Patch::Strategic(_) => "application/strategic-merge-patch+json",
            Patch::Json(_) => "application/json-patch+json",
        }
    }

    pub(super) fn body(&self) -> &Value {
        match self {
            Patch::Merge(value) | Patch::Strategic(value) | Patch::Json(value) => value,
        }
    }
}

/// What must be merged into `before` to get `after`; `None` if they are equal.
pub(super) fn merge_difference(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(after.clone());
    };
    let mut difference = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        difference.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let change = match old.get(name) {
            Some(before) => merge_difference(before, value),
            None => Some(value.clone()),
        };
        if let Some(change) = change {
            difference.insert(name.clone(), change);
        }
    }
    Some(Value::Object(difference))
}
