//! Persistent volumes: exactly one source, which never changes.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Map, Value, json};

use crate::behaviour::{Behaviour, Create};
use crate::pod::options::Options;
use crate::pod::{diff, internal, scheduling, volume_sources, warnings};
use crate::rules::access::{
    IMMUTABLE, at, complain, is_unset, keep, list_at, map_at, map_mut, opt_str_at, part, remove, str_at, strings_at,
};
use crate::rules::resource_names::amounts;
use crate::rules::storage;

pub(crate) struct PersistentVolume;

/// The sources in upstream's order of checking, each with the name of its path in errors.
const SOURCES: [(&str, &str); 22] = [
    ("hostPath", "hostPath"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("nfs", "nfs"),
    ("rbd", "rbd"),
    ("quobyte", "quobyte"),
    ("cephfs", "cephFS"),
    ("iscsi", "iscsi"),
    ("cinder", "cinder"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("scaleIO", "scaleIO"),
    ("local", "local"),
    ("storageos", "storageos"),
    ("csi", "csi"),
];

impl Behaviour for PersistentVolume {
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
            return;
        };
        for (field, value) in [
            ("persistentVolumeReclaimPolicy", "Retain"),
            ("volumeMode", "Filesystem"),
        ] {
            spec.entry(field).or_insert_with(|| value.into());
        }
    }

    fn prepare_create(&self, mut create: Create<'_>) {
        create.set_status(json!({"phase": "Pending"}));
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, errors);
        validate_mount_options(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            return;
        }
        validate_spec(object, errors);
        validate_mount_options(object, errors);
        validate_spec(object, errors);
        validate_change(object, old, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut found = Vec::new();
        for (key, words) in [
            (
                "volume.beta.kubernetes.io/storage-class",
                "deprecated since v1.8; use \"storageClassName\" attribute instead",
            ),
            (
                "volume.beta.kubernetes.io/mount-options",
                "deprecated since v1.31; use \"mountOptions\" attribute instead",
            ),
        ] {
            if at(object, &["metadata", "annotations", key]).is_some() {
                found.push(format!("metadata.annotations[{key}]: {words}"));
            }
        }
        if str_at(object, &["spec", "persistentVolumeReclaimPolicy"]) == "Recycle" {
            let words = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
            found.push(words.to_owned());
        }
        let spec = PathRef::root("spec");
        let affinity = spec.child("nodeAffinity");
        let required = affinity.child("required");
        let path = required.child("nodeSelectorTerms");
        let terms = list_at(object, &["spec", "nodeAffinity", "required", "nodeSelectorTerms"]);
        for (index, term) in terms.iter().enumerate() {
            warnings::node_term(term, false, &path.index(index), &mut found);
        }
        for (source, shown, words) in [
            ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
            (
                "photonPersistentDisk",
                "photonPersistentDisk",
                "deprecated in v1.11, non-functional in v1.16+",
            ),
            ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
            (
                "storageos",
                "storageOS",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "glusterfs",
                "glusterfs",
                "deprecated in v1.25, non-functional in v1.26+",
            ),
            ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
        ] {
            if at(object, &["spec", source]).is_some() {
                found.push(format!("spec.{shown}: {words}"));
            }
        }
        found
    }
}

/// Sets the time at which the phase last changed; `now` is the time as JSON writes it. For creates (`old` is `None`) and updates
/// through `status`, after [`Behaviour::prepare_update`].
pub(crate) fn set_phase_time(object: &mut Value, old: Option<&Value>, now: &str) {
    const TIME: [&str; 2] = ["status", "lastPhaseTransitionTime"];
    let phase = |object| str_at(object, &["status", "phase"]);
    match old {
        Some(old) if phase(old) == phase(object) => {
            if at(object, &TIME).is_none() {
                keep(object, old, &TIME);
            }
            return;
        }
        Some(old) if at(object, &TIME).is_some() && at(object, &TIME) != at(old, &TIME) => return,
        _ => {}
    }
    if let Some(status) = map_mut(object, &["status"]) {
        status.insert("lastPhaseTransitionTime".to_owned(), now.into());
    }
}

/// Everything wrong with the spec of a volume that stands inside another object (a `VolumeAttachment`), which is for CSI alone.
pub(crate) fn validate_inline(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const NOT_INLINE: &str = "may not be specified in the context of inline volumes";
    let forbid = |field: &str, is_set: bool, words: &str, errors: &mut Errors| {
        if is_set {
            errors.push(FieldError::forbidden(&path.child(field), words));
        }
    };
    forbid("claimRef", at(spec, &["claimRef"]).is_some(), NOT_INLINE, errors);
    forbid("capacity", !is_unset(spec, &["capacity"]), NOT_INLINE, errors);
    if at(spec, &["csi"]).is_none() {
        let words = "has to be specified in the context of inline volumes";
        errors.push(FieldError::required(&path.child("csi"), words));
    }
    validate_modes(spec, &path.child("accessModes"), errors);
    let policy = str_at(spec, &["persistentVolumeReclaimPolicy"]);
    let words = "may only be Retain in the context of inline volumes";
    forbid(
        "persistentVolumeReclaimPolicy",
        !matches!(policy, "" | "Retain"),
        words,
        errors,
    );
    forbid(
        "nodeAffinity",
        at(spec, &["nodeAffinity"]).is_some(),
        NOT_INLINE,
        errors,
    );
    validate_sources("", spec, path, errors);
    validate_recycling(spec, path, errors);
    forbid(
        "storageClassName",
        !is_unset(spec, &["storageClassName"]),
        NOT_INLINE,
        errors,
    );
    let mode = opt_str_at(spec, &["volumeMode"]);
    let words = "may not specify volumeMode other than Filesystem in the context of inline volumes";
    forbid(
        "volumeMode",
        mode.is_some_and(|mode| mode != "Filesystem"),
        words,
        errors,
    );
}

fn validate_recycling(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let recycles = str_at(spec, &["persistentVolumeReclaimPolicy"]) == "Recycle";
    if recycles && at(spec, &["hostPath"]).is_some() && is_root(str_at(spec, &["hostPath", "path"])) {
        errors.push(FieldError::forbidden(
            &path.child("persistentVolumeReclaimPolicy"),
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
}

fn validate_spec(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("spec");
    let spec = part(object, "spec");
    validate_modes(spec, &path.child("accessModes"), errors);
    validate_capacity(spec, &path.child("capacity"), errors);
    let policy = str_at(spec, &["persistentVolumeReclaimPolicy"]);
    let policy_path = path.child("persistentVolumeReclaimPolicy");
    if !matches!(policy, "" | "Delete" | "Recycle" | "Retain") {
        errors.push(FieldError::not_supported(
            &policy_path,
            policy,
            ["Delete", "Recycle", "Retain"],
        ));
    }
    validate_affinity(spec, &path.child("nodeAffinity"), errors);
    validate_sources(str_at(object, &["metadata", "name"]), spec, &path, errors);
    validate_recycling(spec, &path, errors);
    storage::validate_class_and_mode(spec, &path, errors);
    if let Some(class) = opt_str_at(spec, &["volumeAttributesClassName"]) {
        let class_path = path.child("volumeAttributesClassName");
        if class.is_empty() {
            errors.push(FieldError::required(&class_path, "an empty string is disallowed"));
        } else {
            complain(&class_path, class, names::dns1123_subdomain(class), errors);
        }
        if at(spec, &["csi"]).is_none() {
            errors.push(FieldError::required(
                &path.child("csi"),
                "has to be specified when using volumeAttributesClassName",
            ));
        }
    }
}

fn validate_modes(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let modes = strings_at(spec, &["accessModes"]);
    if modes.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    storage::validate_access_modes(&modes, path, errors);
}

fn validate_capacity(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let capacity = map_at(spec, &["capacity"]);
    let length = capacity.map_or(0, Map::len);
    if length == 0 {
        errors.push(FieldError::required(path, ""));
    }
    if length > 1 || capacity.is_none_or(|capacity| !capacity.contains_key("storage")) {
        let shown = capacity.map_or(Value::Null, |capacity| Value::Object(capacity.clone()));
        errors.push(FieldError::not_supported(path, shown, ["storage"]));
    }
    for (name, amount) in amounts(capacity) {
        let path = path.key(name);
        if amount.value() < 0 {
            errors.push(FieldError::invalid(
                &path,
                amount.value(),
                "must be a valid resource quantity",
            ));
        }
        if amount.sign() <= 0 {
            errors.push(FieldError::invalid(
                &path,
                amount.to_string(),
                "must be greater than zero",
            ));
        }
    }
}

fn validate_affinity(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(affinity) = at(spec, &["nodeAffinity"]) else {
        return;
    };
    let path = path.child("required");
    match at(affinity, &["required"]) {
        Some(required) => scheduling::validate_node_selector(required, false, &path, errors),
        None => errors.push(FieldError::required(&path, "must specify required node constraints")),
    }
}

/// Checks that there is one source, and what it says; `volume` is the name of the volume.
fn validate_sources(volume: &str, spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut count = 0;
    for (name, shown) in SOURCES {
        let Some(source) = at(spec, &[name]) else { continue };
        if count > 0 && name != "flexVolume" {
            errors.push(FieldError::forbidden(
                &path.child(shown),
                "may not specify more than 1 volume type",
            ));
            continue;
        }
        count += 1;
        match name {
            "local" => validate_local(spec, source, path, errors),
            "csi" => validate_csi(source, &path.child("csi"), errors),
            "iscsi" => volume_sources::validate_iscsi_of_volume(source, volume, &path.child(name), errors),
            _ => {
                volume_sources::validate(name, source, Options::default(), path, errors);
                validate_namespaces(name, source, &path.child(name), errors);
            }
        }
    }
    if count == 0 {
        errors.push(FieldError::required(path, "must specify a volume type"));
    }
}

/// The namespaces in the sources of a persistent volume, which those of a pod do not have.
fn validate_namespaces(name: &str, source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    match name {
        "glusterfs" => {
            let path = path.child("endpointsNamespace");
            match opt_str_at(source, &["endpointsNamespace"]) {
                None => {}
                Some("") => {
                    let words = "if the endpointnamespace is set, it must be a valid namespace name";
                    errors.push(FieldError::invalid(&path, "", words));
                }
                Some(namespace) => complain(&path, namespace, names::dns1123_label(namespace), errors),
            }
        }
        "cinder" | "storageos"
            if at(source, &["secretRef"]).is_some() && str_at(source, &["secretRef", "namespace"]).is_empty() =>
        {
            errors.push(FieldError::required(&path.child("secretRef").child("namespace"), ""));
        }
        "azureFile" if opt_str_at(source, &["secretNamespace"]) == Some("") => {
            errors.push(FieldError::required(&path.child("secretNamespace"), ""));
        }
        _ => {}
    }
}

fn validate_local(spec: &Value, source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let local = path.child("local");
    match str_at(source, &["path"]) {
        "" => errors.push(FieldError::required(&local.child("path"), "")),
        target if target.split('/').any(|part| part == "..") => {
            errors.push(FieldError::invalid(
                &local.child("path"),
                target,
                "must not contain '..'",
            ));
        }
        _ => {}
    }
    if at(spec, &["nodeAffinity"]).is_none() {
        errors.push(FieldError::required(
            &path.child("nodeAffinity"),
            "Local volume requires node affinity",
        ));
    }
}

fn validate_csi(source: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let driver = str_at(source, &["driver"]);
    let driver_path = path.child("driver");
    if driver.is_empty() {
        errors.push(FieldError::required(&driver_path, ""));
    } else {
        if driver.len() > names::LABEL_MAX {
            errors.push(FieldError::too_long(&driver_path, names::LABEL_MAX));
        }
        complain(
            &driver_path,
            driver,
            names::dns1123_subdomain(&driver.to_lowercase()),
            errors,
        );
    }
    if str_at(source, &["volumeHandle"]).is_empty() {
        errors.push(FieldError::required(&path.child("volumeHandle"), ""));
    }
    for name in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let Some(secret) = at(source, &[name]) else { continue };
        let path = path.child(name);
        for field in ["name", "namespace"] {
            let value = str_at(secret, &[field]);
            if value.is_empty() {
                errors.push(FieldError::required(&path.child(field), ""));
            } else if field == "namespace" {
                complain(&path.child(field), value, names::dns1123_label(value), errors);
            } else {
                complain(&path.child(field), value, names::dns1123_subdomain(value), errors);
            }
        }
    }
}

/// Whether a path is the root, however written.
fn is_root(path: &str) -> bool {
    let mut depth = 0usize;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

fn validate_mount_options(object: &Value, errors: &mut Errors) {
    const KEY: &str = "volume.beta.kubernetes.io/mount-options";
    const MOUNTED: [&str; 13] = [
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    ];
    let is_mounted = MOUNTED.iter().any(|source| at(object, &["spec", source]).is_some());
    if !is_mounted && at(object, &["metadata", "annotations", KEY]).is_some() {
        let metadata = PathRef::root("metadata");
        let annotations = metadata.child("annotations");
        errors.push(FieldError::forbidden(
            &annotations.child(KEY),
            "may not specify mount options for this volume type",
        ));
    }
}

/// The source of a volume: the fields of the spec that upstream keeps in a struct of their own.
fn source_of(object: &Value) -> Value {
    let spec = map_at(object, &["spec"]);
    let named = SOURCES
        .iter()
        .filter_map(|(name, _)| spec.and_then(|spec| spec.get_key_value(*name)));
    Value::Object(named.map(|(name, source)| (name.clone(), source.clone())).collect())
}

fn validate_change(object: &Value, old: &Value, errors: &mut Errors) {
    let (mut new_source, old_source) = (source_of(object), source_of(old));
    // The secret for expansion may be added later.
    let secret = ["csi", "controllerExpandSecretRef"];
    if at(&old_source, &["csi"]).is_some() && at(&old_source, &secret).is_none() {
        remove(&mut new_source, &secret);
    }
    if !internal::same("PersistentVolumeSource", &old_source, &new_source) {
        let print = |source| internal::print("PersistentVolumeSource", source).pretty();
        let words = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            diff::unified(&print(&old_source), &print(&new_source))
        );
        let spec = PathRef::root("spec");
        errors.push(FieldError::forbidden(&spec.child("persistentvolumesource"), words));
    }
    if opt_str_at(object, &["spec", "volumeMode"]) != opt_str_at(old, &["spec", "volumeMode"]) {
        let shown = at(object, &["spec", "volumeMode"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(&PathRef::root("volumeMode"), shown, IMMUTABLE));
    }
    validate_affinity_change(object, old, errors);
    let class = |object| opt_str_at(object, &["spec", "volumeAttributesClassName"]);
    if class(old).is_some() && class(object).is_none() {
        let spec = PathRef::root("spec");
        let words = "update from non-nil value to nil is forbidden";
        errors.push(FieldError::forbidden(&spec.child("volumeAttributesClassName"), words));
    }
}

/// The node affinity of a volume may not change, except that deprecated label names may be replaced by the new ones.
fn validate_affinity_change(object: &Value, old: &Value, errors: &mut Errors) {
    const AFFINITY: [&str; 2] = ["spec", "nodeAffinity"];
    let Some(before) = at(old, &AFFINITY) else { return };
    let after = at(object, &AFFINITY).unwrap_or(&Value::Null);
    if after.is_null() || !internal::same("VolumeNodeAffinity", after, &with_renamed_labels(before, after)) {
        let shown = internal::print_optional("VolumeNodeAffinity", after);
        let words = "field is immutable, except for updating from beta label to GA";
        errors.push(internal::invalid(&PathRef::root("nodeAffinity"), &shown, words));
    }
}

/// `before` with the labels that `after` calls by their new names.
fn with_renamed_labels(before: &Value, after: &Value) -> Value {
    let mut renamed = before.clone();
    let old_terms = renamed
        .pointer_mut("/required/nodeSelectorTerms")
        .and_then(Value::as_array_mut);
    let new_terms = list_at(after, &["required", "nodeSelectorTerms"]);
    for (old_term, new_term) in old_terms.into_iter().flatten().zip(new_terms) {
        for field in ["matchExpressions", "matchFields"] {
            let old_requirements = old_term.get_mut(field).and_then(Value::as_array_mut);
            let new_requirements = list_at(new_term, &[field]);
            for (old, new) in old_requirements.into_iter().flatten().zip(new_requirements) {
                if may_be_renamed(str_at(old, &["key"]), str_at(new, &["key"])) {
                    keep(old, new, &["key"]);
                }
            }
        }
    }
    renamed
}

fn may_be_renamed(label: &str, to: &str) -> bool {
    const RENAMED: [(&str, &str); 5] = [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        (
            "failure-domain.beta.kubernetes.io/region",
            "topology.kubernetes.io/region",
        ),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ];
    // A label without a new name may, to upstream, be renamed to none; that is refused elsewhere.
    let is_fixed = RENAMED.iter().all(|(name, _)| *name != label);
    RENAMED.contains(&(label, to)) || is_fixed && to.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_phase_is_that_of_its_last_change() {
        let mut created = json!({"status": {"phase": "Pending"}});
        set_phase_time(&mut created, None, "t1");
        assert_eq!(created["status"]["lastPhaseTransitionTime"], "t1");
        let mut same = json!({"status": {"phase": "Pending"}});
        set_phase_time(&mut same, Some(&created), "t2");
        assert_eq!(same["status"]["lastPhaseTransitionTime"], "t1");
        let mut changed = json!({"status": {"phase": "Bound", "lastPhaseTransitionTime": "t1"}});
        set_phase_time(&mut changed, Some(&created), "t2");
        assert_eq!(changed["status"]["lastPhaseTransitionTime"], "t2");
    }
}
