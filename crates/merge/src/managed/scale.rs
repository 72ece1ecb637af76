//! Owners of an object seen through its `scale` subresource, and back: the only field they share is replicas.

use serde_json::Value;

use super::{DecodeError, FieldSet, ManagedFields, ManagedFieldsEntry, PathElement};

/// The version that the subresource is served at.
const SCALE_VERSION: &str = "autoscaling/v1";
const SCALE_REPLICAS: &str = "spec.replicas";

/// Where an object keeps its replicas, for each of its apiVersions; `None` for a version without `scale`.
pub type ReplicasPaths<'a> = [(&'a str, Option<&'a str>)];

fn is_known(paths: &ReplicasPaths<'_>, api_version: &str) -> bool {
    paths.iter().any(|(version, _)| *version == api_version)
}

fn path_at<'a>(paths: &ReplicasPaths<'a>, api_version: &str) -> Option<&'a str> {
    paths
        .iter()
        .find(|(version, _)| *version == api_version)
        .and_then(|(_, path)| *path)
}

fn steps(path: &str) -> Vec<PathElement> {
    path.split('.').map(PathElement::field).collect()
}

/// `managedFields` of the scale of an object: those that own its replicas.
pub fn scale_managed_fields(parent: &Value, paths: &ReplicasPaths<'_>) -> Result<Option<Value>, DecodeError> {
    let parent = ManagedFields::decode(parent.clone())?;
    let mut scale = ManagedFields::default();
    for entry in parent.iter() {
        if let Some(path) = path_at(paths, &entry.api_version)
            && entry.set().contains(&steps(path))
        {
            let set = FieldSet::of_fields(&[SCALE_REPLICAS]);
            scale.put(ManagedFieldsEntry::new(
                entry.id.clone(),
                SCALE_VERSION,
                entry.time.as_deref(),
                set,
            ));
        }
    }
    Ok(scale.encode())
}

/// `managedFields` of an object at `api_version` once its scale has these `managedFields`.
///
/// As upstream, an entry that is new here has no time.
pub fn parent_managed_fields(
    parent: &Value,
    scale: &Value,
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Result<Option<Value>, DecodeError> {
    let parent = ManagedFields::decode(parent.clone())?;
    let mut scale = ManagedFields::decode(scale.clone())?;
    let mut merged = ManagedFields::default();
    for entry in parent.iter().filter(|entry| is_known(paths, &entry.api_version)) {
        let owned = path_at(paths, &entry.api_version).filter(|path| entry.set().contains(&steps(path)));
        let mut entry = entry.clone();
        if let Some(path) = owned
            && scale.take(&entry.id).is_none()
        {
            entry.replace_set(entry.set().difference(&FieldSet::of_fields(&[path])));
            if entry.set().is_empty() {
                continue;
            }
        }
        merged.put(entry);
    }
    let replicas = path_at(paths, api_version);
    for entry in scale
        .iter()
        .filter(|entry| entry.set().contains(&steps(SCALE_REPLICAS)))
    {
        let set = replicas.map(|path| FieldSet::of_fields(&[path])).unwrap_or_default();
        let time = parent.get(&entry.id).and_then(|known| known.time.as_deref());
        merged.put(ManagedFieldsEntry::new(entry.id.clone(), api_version, time, set));
    }
    Ok(merged.encode())
}
