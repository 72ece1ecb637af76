//! Environment variables: their names, and where their values come from.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, complain_if_set, list_at, require_name, str_at};
use crate::rules::name_rule::NameRule;
use crate::rules::resource_names::quantity;

use super::paths;

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const VARIABLE_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The fields of a pod that a file of a downward API volume may hold.
pub(crate) const FILE_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Everything wrong with a container's variables.
pub(crate) fn validate(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, variable) in list_at(container, &["env"]).iter().enumerate() {
        let path = path.index(index);
        require_name(variable, "name", names::env_var_name, &path, errors);
        validate_source(variable, &path.child("valueFrom"), errors);
    }
}

fn validate_source(variable: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(source) = at(variable, &["valueFrom"]) else {
        return;
    };
    let mut sources = 0;
    if let Some(reference) = at(source, &["fieldRef"]) {
        sources += 1;
        validate_field_ref(reference, &VARIABLE_FIELDS, &path.child("fieldRef"), errors);
    }
    if let Some(reference) = at(source, &["resourceFieldRef"]) {
        sources += 1;
        validate_resource_field_ref(reference, false, &path.child("resourceFieldRef"), errors);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = at(source, &[field]) {
            sources += 1;
            validate_key_ref(reference, &path.child(field), errors);
        }
    }
    if let Some(reference) = at(source, &["fileKeyRef"]) {
        sources += 1;
        validate_file_key_ref(reference, &path.child("fileKeyRef"), errors);
    }
    if sources == 0 {
        let words =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.push(FieldError::invalid(path, "", words));
    } else if !str_at(variable, &["value"]).is_empty() {
        errors.push(FieldError::invalid(
            path,
            "",
            "may not be specified when `value` is not empty",
        ));
    } else if sources > 1 {
        errors.push(FieldError::invalid(
            path,
            "",
            "may not have more than one field specified at a time",
        ));
    }
}

/// A reference to a field of the pod.
pub(crate) fn validate_field_ref(reference: &Value, supported: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    let version = str_at(reference, &["apiVersion"]);
    if version.is_empty() {
        errors.push(FieldError::required(&path.child("apiVersion"), ""));
        return;
    }
    let field = str_at(reference, &["fieldPath"]);
    let field_path = path.child("fieldPath");
    if field.is_empty() {
        errors.push(FieldError::required(&field_path, ""));
        return;
    }
    match known_field(version, field) {
        Err(problem) => {
            errors.push(FieldError::invalid(
                &field_path,
                field,
                format!("error converting fieldPath: {problem}"),
            ));
        }
        Ok(field) => match subscripted(field) {
            Some(("metadata.annotations", key)) => {
                let key = key.to_lowercase();
                complain(path, key.as_str(), names::qualified_name(&key), errors);
            }
            Some(("metadata.labels", key)) => complain(path, key, names::qualified_name(key), errors),
            Some((field, _)) => errors.push(FieldError::invalid(path, field, "does not support subscript")),
            None if supported.contains(&field) => {}
            None => errors.push(FieldError::not_supported(&field_path, field, supported)),
        },
    }
}

fn known_field<'a>(version: &str, field: &'a str) -> Result<&'a str, String> {
    const KNOWN: [&str; 14] = [
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    if version != "v1" {
        return Err(format!("unsupported pod version: {version}"));
    }
    match subscripted(field) {
        Some(("metadata.annotations" | "metadata.labels", _)) => Ok(field),
        Some(_) => Err(format!("field label does not support subscript: {field}")),
        None if field == "spec.host" => Ok("spec.nodeName"),
        None if KNOWN.contains(&field) => Ok(field),
        None => Err(format!("field label not supported: {field}")),
    }
}

/// `path['key']` as path and key.
fn subscripted(field: &str) -> Option<(&str, &str)> {
    let (path, key) = field.strip_suffix("']")?.split_once("['")?;
    (!path.is_empty()).then_some((path, key))
}

/// A reference to a resource of a container; from a volume it must name the container.
pub(crate) fn validate_resource_field_ref(reference: &Value, in_volume: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let resource = str_at(reference, &["resource"]);
    if in_volume && str_at(reference, &["containerName"]).is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix)) {
        errors.push(FieldError::not_supported(&path.child("resource"), resource, RESOURCES));
    }
    validate_divisor(reference, resource, path, errors);
}

fn validate_divisor(reference: &Value, resource: &str, path: &PathRef<'_>, errors: &mut Errors) {
    const SIZES: [&str; 13] = [
        "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
    ];
    const SIZE_WORDS: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let Some(divisor) = quantity(&reference["divisor"]) else {
        return;
    };
    if divisor.is_zero() {
        return;
    }
    let divisor = divisor.to_string();
    let (supported, words) = match resource {
        "limits.cpu" | "requests.cpu" => (
            &["1m", "1"][..],
            "only divisor's values 1m and 1 are supported with the cpu resource".to_owned(),
        ),
        "limits.memory" | "requests.memory" => (
            &SIZES[..],
            format!("only divisor's values {SIZE_WORDS} are supported with the memory resource"),
        ),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (
            &SIZES[..],
            format!("only divisor's values {SIZE_WORDS} are supported with the local ephemeral storage resource"),
        ),
        _ if HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix)) => (
            &SIZES[..],
            format!("only divisor's values {SIZE_WORDS} are supported with the hugepages resource"),
        ),
        _ => return,
    };
    if !supported.contains(&divisor.as_str()) {
        errors.push(FieldError::invalid(&path.child("divisor"), resource, words));
    }
}

fn validate_key_ref(reference: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(reference, &["name"]);
    complain(&path.child("name"), name, names::dns1123_subdomain(name), errors);
    require_name(reference, "key", names::config_map_key, path, errors);
}

fn validate_file_key_ref(reference: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    require_name(reference, "key", names::env_var_name, path, errors);
    require_name(reference, "volumeName", names::dns1123_label, path, errors);
    let file = str_at(reference, &["path"]);
    if file.is_empty() {
        errors.push(FieldError::required(&path.child("path"), ""));
    } else {
        paths::validate_no_backsteps(file, &path.child("path"), errors);
    }
}

/// Everything wrong with the `ConfigMaps` and Secrets a container takes its variables from.
pub(crate) fn validate_from(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, source) in list_at(container, &["envFrom"]).iter().enumerate() {
        let place = path.index(index);
        complain_if_set(source, "prefix", names::env_var_name, &place, errors);
        let mut sources = 0;
        for field in ["configMapRef", "secretRef"] {
            let Some(reference) = at(source, &[field]) else {
                continue;
            };
            sources += 1;
            let name = str_at(reference, &["name"]);
            let name_path = place.child(field);
            let name_path = name_path.child("name");
            if name.is_empty() {
                errors.push(FieldError::required(&name_path, ""));
            } else {
                complain(&name_path, name, NameRule::DnsSubdomain.prefix(name), errors);
            }
        }
        match sources {
            0 => errors.push(FieldError::invalid(
                path,
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            )),
            1 => {}
            _ => errors.push(FieldError::invalid(
                path,
                "",
                "may not have more than one field specified at a time",
            )),
        }
    }
}
