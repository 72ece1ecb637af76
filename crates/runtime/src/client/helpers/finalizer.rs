//! Finalizers: an object that has one is not deleted before its controller removes it.

use kube::Resource;

/// Adds a finalizer. Returns whether it was missing.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::helpers::{add_finalizer, has_finalizer, remove_finalizer};
///
/// let mut object = ConfigMap::default();
/// assert!(add_finalizer(&mut object, "example.com/cleanup"));
/// assert!(!add_finalizer(&mut object, "example.com/cleanup"));
/// assert!(has_finalizer(&object, "example.com/cleanup"));
/// assert!(remove_finalizer(&mut object, "example.com/cleanup"));
/// assert_eq!(object.metadata.finalizers, None);
/// ```
pub fn add_finalizer<K: Resource>(object: &mut K, finalizer: &str) -> bool {
    if has_finalizer(object, finalizer) {
        return false;
    }
    object
        .meta_mut()
        .finalizers
        .get_or_insert_default()
        .push(finalizer.to_owned());
    true
}

/// Removes a finalizer. Returns whether it was there.
pub fn remove_finalizer<K: Resource>(object: &mut K, finalizer: &str) -> bool {
    let finalizers = &mut object.meta_mut().finalizers;
    let Some(present) = finalizers else {
        return false;
    };
    let before = present.len();
    present.retain(|other| other != finalizer);
    let removed = before != present.len();
    if present.is_empty() {
        *finalizers = None;
    }
    removed
}

/// Whether an object has a finalizer.
pub fn has_finalizer<K: Resource>(object: &K, finalizer: &str) -> bool {
    object
        .meta()
        .finalizers
        .iter()
        .flatten()
        .any(|other| other == finalizer)
}
