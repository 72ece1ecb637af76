//! Where a container mounts its volumes, as file systems and as block devices.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::rules::access::{at, bool_at, list_at, opt_str_at, str_at};

use super::paths;
use super::spec::Scope;

/// Everything wrong with a container's mounts.
pub(crate) fn validate(scope: &Scope<'_>, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let devices = list_at(container, &["volumeDevices"]);
    let device_names: HashSet<&str> = devices.iter().map(|device| str_at(device, &["name"])).collect();
    let device_paths: HashSet<&str> = last_by_name(devices, "devicePath");
    let mut mount_paths = HashSet::new();
    for (index, mount) in list_at(container, &["volumeMounts"]).iter().enumerate() {
        let place = path.index(index);
        let (name, mount_path) = (str_at(mount, &["name"]), str_at(mount, &["mountPath"]));
        if name.is_empty() {
            errors.push(FieldError::required(&place.child("name"), ""));
        }
        if scope.volume(name).is_none() {
            errors.push(FieldError::not_found(&place.child("name"), name));
        }
        if mount_path.is_empty() {
            errors.push(FieldError::required(&place.child("mountPath"), ""));
        }
        if !mount_paths.insert(mount_path) {
            errors.push(FieldError::invalid(
                &place.child("mountPath"),
                mount_path,
                "must be unique",
            ));
        }
        if device_names.contains(name) {
            errors.push(FieldError::invalid(
                &place.child("name"),
                name,
                "must not already exist in volumeDevices",
            ));
        }
        if device_paths.contains(mount_path) {
            let words = "must not already exist as a path in volumeDevices";
            errors.push(FieldError::invalid(&place.child("mountPath"), mount_path, words));
        }
        let (sub_path, expression) = (str_at(mount, &["subPath"]), str_at(mount, &["subPathExpr"]));
        if !sub_path.is_empty() {
            paths::validate_descending(sub_path, &path.child("subPath"), errors);
        }
        if !expression.is_empty() {
            if !sub_path.is_empty() {
                let words = "subPathExpr and subPath are mutually exclusive";
                errors.push(FieldError::invalid(&place.child("subPathExpr"), expression, words));
            }
            paths::validate_descending(expression, &path.child("subPathExpr"), errors);
        }
        validate_propagation(mount, container, &path.child("mountPropagation"), errors);
        validate_recursive_read_only(mount, &path.child("recursiveReadOnly"), errors);
    }
}

fn validate_propagation(mount: &Value, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const SUPPORTED: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
    let Some(mode) = opt_str_at(mount, &["mountPropagation"]) else {
        return;
    };
    if !SUPPORTED.contains(&mode) {
        errors.push(FieldError::not_supported(path, mode, SUPPORTED));
    }
    if mode == "Bidirectional" && !bool_at(container, &["securityContext", "privileged"]) {
        let words = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path, words));
    }
}

fn validate_recursive_read_only(mount: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    match opt_str_at(mount, &["recursiveReadOnly"]) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !bool_at(mount, &["readOnly"]) {
                errors.push(FieldError::forbidden(
                    path,
                    "may only be specified when readOnly is true",
                ));
            }
            if opt_str_at(mount, &["mountPropagation"]).is_some_and(|mode| mode != "None") {
                let words = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path, words));
            }
        }
        Some(other) => {
            errors.push(FieldError::not_supported(
                path,
                other,
                ["Disabled", "Enabled", "IfPossible"],
            ));
        }
    }
}

/// Everything wrong with a container's block devices.
pub(crate) fn validate_devices(scope: &Scope<'_>, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mounts = list_at(container, &["volumeMounts"]);
    let mount_names: HashSet<&str> = mounts.iter().map(|mount| str_at(mount, &["name"])).collect();
    let mount_paths: HashSet<&str> = last_by_name(mounts, "mountPath");
    let (mut names, mut device_paths) = (HashSet::new(), HashSet::new());
    for (index, device) in list_at(container, &["volumeDevices"]).iter().enumerate() {
        let place = path.index(index);
        let (name_path, path_path) = (place.child("name"), place.child("devicePath"));
        let (name, device_path) = (str_at(device, &["name"]), str_at(device, &["devicePath"]));
        if name.is_empty() {
            errors.push(FieldError::required(&name_path, ""));
        }
        if names.contains(name) {
            errors.push(FieldError::invalid(&name_path, name, "must be unique"));
        }
        match scope.volume(name) {
            None => errors.push(FieldError::not_found(&name_path, name)),
            Some(volume) => {
                let is_claim = ["persistentVolumeClaim", "ephemeral"]
                    .iter()
                    .any(|kind| at(volume, &[kind]).is_some());
                if !is_claim {
                    let words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                    errors.push(FieldError::invalid(&name_path, name, words));
                }
            }
        }
        if device_path.is_empty() {
            errors.push(FieldError::required(&path_path, ""));
        }
        if device_paths.contains(device_path) {
            errors.push(FieldError::invalid(&path_path, device_path, "must be unique"));
        }
        if paths::has_backsteps(device_path) {
            errors.push(FieldError::invalid(
                &path_path,
                device_path,
                "can not contain backsteps ('..')",
            ));
        } else {
            device_paths.insert(device_path);
        }
        if mount_names.contains(name) {
            errors.push(FieldError::invalid(
                &name_path,
                name,
                "must not already exist in volumeMounts",
            ));
        }
        if mount_paths.contains(device_path) {
            let words = "must not already exist as a path in volumeMounts";
            errors.push(FieldError::invalid(&path_path, device_path, words));
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}

/// The values of `field`; of entries with one name only the last counts, as in upstream's map.
fn last_by_name<'a>(entries: &'a [Value], field: &str) -> HashSet<&'a str> {
    let by_name: HashMap<&str, &str> = entries
        .iter()
        .map(|entry| (str_at(entry, &["name"]), str_at(entry, &[field])))
        .collect();
    by_name.into_values().collect()
}
