//! Persistent volume claims: two names for the data source, and a spec of which only the size may change, once bound.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value, json};

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::{claims, diff, internal};
use crate::rules::access::{
    IMMUTABLE, at, complain, keep, map_at, map_mut, opt_str_at, part, remove, str_at, strings_at,
};
use crate::rules::resource_names::{amount, amounts, is_native};

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) struct PersistentVolumeClaim;

impl Behaviour for PersistentVolumeClaim {
    fn prepare_create(&self, mut create: Create<'_>) {
        create.set_status(json!({"phase": "Pending"}));
        drop_disabled_sources(create.object, None);
        pair_sources(create.object);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        if update.subresource.is_none() {
            drop_disabled_sources(update.object, Some(update.old));
            pair_sources(update.object);
        }
    }

    /// The phase is one: a claim is created with an empty status.
    fn is_created_without_defaults(&self, _object: &Value) -> bool {
        true
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        claims::validate(part(object, "spec"), &PathRef::root("spec"), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
            return;
        }
        self.validate_create(object, errors);
        validate_class_annotation(object, old, errors);
        validate_change(object, old, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if at(object, &["metadata", "annotations", CLASS_ANNOTATION]).is_some() {
            warnings.push(format!(
                "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        for field in ["requests", "limits"] {
            let size = at(object, &["spec", "resources", field, "storage"]).map(amount);
            if let Some(size) = size.filter(|size| !size.is_integer()) {
                warnings.push(format!(
                    "spec.resources.{field}[storage]: fractional byte value \"{size}\" is invalid, must be an integer"
                ));
            }
        }
        warnings
    }
}

/// A source in another namespace is behind a gate that is off; only claims and snapshots may be named the old way.
fn drop_disabled_sources(object: &mut Value, old: Option<&Value>) {
    let was_set = |field| old.is_some_and(|old| at(old, &["spec", field]).is_some());
    if !str_at(object, &["spec", "dataSourceRef", "namespace"]).is_empty() && !was_set("dataSourceRef") {
        remove(object, &["spec", "dataSourceRef"]);
    }
    if was_set("dataSource") || was_set("dataSourceRef") || at(object, &["spec", "dataSourceRef"]).is_some() {
        return;
    }
    let source = |field| str_at(object, &["spec", "dataSource", field]);
    let known = [
        ("", "PersistentVolumeClaim"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    ];
    if !known.contains(&(source("apiGroup"), source("kind"))) {
        remove(object, &["spec", "dataSource"]);
    }
}

/// `dataSource` and `dataSourceRef` are kept equal: whichever is set is copied to the other.
fn pair_sources(object: &mut Value) {
    let source = at(object, &["spec", "dataSource"]).cloned();
    let reference = at(object, &["spec", "dataSourceRef"]).cloned();
    let (target, from) = match (source, reference) {
        (Some(source), None) => ("dataSourceRef", source),
        (None, Some(reference)) if str_at(&reference, &["namespace"]).is_empty() => ("dataSource", reference),
        _ => return,
    };
    let mut paired = Map::new();
    for field in ["apiGroup", "kind", "name"] {
        if let Some(value) = at(&from, &[field]) {
            paired.insert(field.to_owned(), value.clone());
        }
    }
    // Both print their group, as null when there is none.
    paired.entry("apiGroup").or_insert(Value::Null);
    if let Some(spec) = map_mut(object, &["spec"]) {
        spec.insert(target.to_owned(), paired.into());
    }
}

fn annotation(object: &Value) -> Option<&str> {
    opt_str_at(object, &["metadata", "annotations", CLASS_ANNOTATION])
}

/// Whether the class moves from the old annotation into the spec, which is allowed.
fn moves_class_from_annotation(object: &Value, old: &Value) -> bool {
    let (new_class, old_class) = (
        opt_str_at(object, &["spec", "storageClassName"]),
        opt_str_at(old, &["spec", "storageClassName"]),
    );
    annotation(old).is_some_and(|class| {
        old_class.is_none() && new_class == Some(class) && annotation(object).is_none_or(|kept| kept == class)
    })
}

fn validate_class_annotation(object: &Value, old: &Value, errors: &mut Errors) {
    let (new, before) = (
        annotation(object).unwrap_or_default(),
        annotation(old).unwrap_or_default(),
    );
    if !moves_class_from_annotation(object, old) && new != before {
        let metadata = PathRef::root("metadata");
        errors.push(FieldError::invalid(
            &metadata.child("annotations").child(CLASS_ANNOTATION),
            new,
            IMMUTABLE,
        ));
    }
}

fn storage(object: &Value, path: &[&str]) -> Quantity {
    at(object, path).map_or_else(|| Quantity::from_int(0), amount)
}

fn validate_change(object: &Value, old: &Value, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let is_bound = str_at(object, &["status", "phase"]) == "Bound";
    let (compared, before) = (comparable_spec(object, old, is_bound), comparable_before(object, old));
    if !internal::same("PersistentVolumeClaimSpec", &before, &compared) {
        let print = |spec| internal::print("PersistentVolumeClaimSpec", spec).pretty();
        let words =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden(
            &spec,
            format!("{words}\n{}", diff::unified(&print(&before), &print(&compared))),
        ));
    }
    let request = ["spec", "resources", "requests", "storage"];
    let (new_size, old_size) = (storage(object, &request), storage(old, &request));
    if new_size < old_size && new_size <= storage(old, &["status", "capacity", "storage"]) {
        let path = spec.child("resources");
        let path = path.child("requests");
        errors.push(FieldError::forbidden(
            &path.child("storage"),
            "field can not be less than status.capacity",
        ));
    }
    if opt_str_at(object, &["spec", "volumeMode"]) != opt_str_at(old, &["spec", "volumeMode"]) {
        let shown = at(object, &["spec", "volumeMode"]).cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(&PathRef::root("volumeMode"), shown, IMMUTABLE));
    }
    let class = |object| opt_str_at(object, &["spec", "volumeAttributesClassName"]);
    if class(object) != class(old) && at(old, &["status", "currentVolumeAttributesClassName"]).is_some() {
        let state = match class(object) {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        let words = format!("update to {state} is forbidden when status.currentVolumeAttributesClassName is not nil");
        errors.push(FieldError::forbidden(&spec.child("volumeAttributesClassName"), words));
    }
}

/// The new spec, with what may change made equal to the old one.
fn comparable_spec(object: &Value, old: &Value, is_bound: bool) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or(Value::Null);
    let old_spec = part(old, "spec");
    let old_class = opt_str_at(old, &["spec", "storageClassName"]);
    let new_class = opt_str_at(object, &["spec", "storageClassName"]);
    let names_class_first =
        old_class.is_none() && new_class.is_some() && annotation(old).is_none_or(|class| new_class == Some(class));
    if names_class_first || moves_class_from_annotation(object, old) {
        remove(&mut spec, &["storageClassName"]);
    }
    if is_bound {
        if at(&spec, &["resources", "requests"]).is_some() {
            keep(&mut spec, old_spec, &["resources", "requests", "storage"]);
        }
        keep(&mut spec, old_spec, &["volumeAttributesClassName"]);
    }
    spec
}

/// The old spec; an unbound claim may still get its volume's name.
fn comparable_before(object: &Value, old: &Value) -> Value {
    let mut spec = old.get("spec").cloned().unwrap_or(Value::Null);
    if str_at(old, &["spec", "volumeName"]).is_empty() {
        let new_spec = part(object, "spec");
        keep(&mut spec, new_spec, &["volumeName"]);
    }
    pair_sources_of_spec(&mut spec);
    spec
}

fn pair_sources_of_spec(spec: &mut Value) {
    let mut wrapped = json!({ "spec": spec.take() });
    pair_sources(&mut wrapped);
    *spec = wrapped["spec"].take();
}

const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

fn validate_status(object: &Value, errors: &mut Errors) {
    if strings_at(object, &["spec", "accessModes"]).is_empty() {
        let spec = PathRef::root("Spec");
        errors.push(FieldError::required(&spec.child("accessModes"), ""));
    }
    let status = PathRef::root("status");
    let path = status.child("capacity");
    for (name, amount) in amounts(map_at(object, &["status", "capacity"])) {
        validate_basic(&amount, &path.key(name), errors);
    }
    let path = status.child("allocatedResourceStatuses");
    for (name, state) in map_at(object, &["status", "allocatedResourceStatuses"])
        .into_iter()
        .flatten()
    {
        validate_resource_key(name, &path, errors);
        if !RESIZE_STATES.contains(&state.as_str().unwrap_or_default()) {
            errors.push(FieldError::not_supported(&path, name.as_str(), RESIZE_STATES));
        }
    }
    let path = status.child("allocatedResources");
    for (name, amount) in amounts(map_at(object, &["status", "allocatedResources"])) {
        if validate_resource_key(name, &path, errors) {
            validate_basic(&amount, &path.key(name), errors);
        }
    }
}

fn validate_basic(amount: &Quantity, path: &PathRef<'_>, errors: &mut Errors) {
    if amount.value() < 0 {
        errors.push(FieldError::invalid(
            path,
            amount.value(),
            "must be a valid resource quantity",
        ));
    }
}

fn validate_resource_key(name: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let before = errors.len();
    complain(path, name, names::qualified_name(name), errors);
    if errors.len() == before && is_native(name) && name != "storage" {
        errors.push(FieldError::not_supported(path, name, ["storage"]));
    }
    errors.len() == before
}

#[cfg(test)]
mod tests {
    use super::*;
    fn bound(change: fn(&mut Value)) -> Vec<String> {
        let old = json!({
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}},
                "storageClassName": "c", "volumeMode": "Filesystem",
            },
            "status": {
                "phase": "Bound", "capacity": {"storage": "1Gi"}, "currentVolumeAttributesClassName": "x",
            },
        });
        let mut new = old.clone();
        change(&mut new["spec"]);
        let mut errors = Errors::new();
        PersistentVolumeClaim.validate_update(&new, &old, None, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bound_claim_may_grow_and_shrink_back_to_what_it_has() {
        assert_eq!(
            bound(|spec| spec["resources"]["requests"]["storage"] = "3Gi".into()),
            Vec::<String>::new()
        );
        assert_eq!(
            bound(|spec| spec["resources"]["requests"]["storage"] = "1500Mi".into()),
            Vec::<String>::new()
        );
        assert_eq!(
            bound(|spec| spec["resources"]["requests"]["storage"] = "1Gi".into()),
            ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"]
        );
    }

    #[test]
    fn a_bound_claim_may_change_its_attributes_class_but_not_drop_it() {
        assert_eq!(
            bound(|spec| spec["volumeAttributesClassName"] = "v".into()),
            Vec::<String>::new()
        );
        assert_eq!(
            bound(|spec| spec["volumeAttributesClassName"] = "".into()),
            [
                "spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil"
            ]
        );
    }

    #[test]
    fn other_changes_of_a_bound_claim_are_shown() {
        assert_eq!(
            bound(|spec| spec["resources"]["limits"] = json!({"storage": "5Gi"})),
            [
                "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -4,7 +4,9 @@\n  ],\n  \"Selector\": null,\n  \"Resources\": {\n-  \"Limits\": null,\n+  \"Limits\": {\n+   \"storage\": \"5Gi\"\n+  },\n   \"Requests\": {\n    \"storage\": \"2Gi\"\n   }\n"
            ]
        );
    }
}
