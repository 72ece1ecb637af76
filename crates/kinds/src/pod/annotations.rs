//! The annotations that mean something in a pod, and how they must agree with the fields that replaced them.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use crate::rules::access::{at, opt_str_at, part, str_at};

use super::options::Options;
use super::spec::annotations_of;
use super::{containers, paths, scheduling};

/// Marks the API server's copy of a pod that a kubelet runs from a file.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
/// The annotation for `AppArmor`, older than the field.
pub(crate) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
/// The annotation for a pod's seccomp profile, older than the field.
pub(crate) const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
/// The annotation for a container's seccomp profile, older than the field.
pub(crate) const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Everything wrong with the meaningful annotations of a pod or template; `path` is where its annotations are.
pub(crate) fn validate(object: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let spec = part(object, "spec");
    let annotation = |key: &str| opt_str_at(object, &["metadata", "annotations", key]);
    if let Some(value) = annotation(MIRROR)
        && str_at(spec, &["nodeName"]).is_empty()
    {
        let words = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(FieldError::invalid(&path.key(MIRROR), value, words));
    }
    if let Some(text) = annotation(TOLERATIONS).filter(|text| !text.is_empty()) {
        match serde_json::from_str::<Vec<Value>>(text) {
            Ok(tolerations) => {
                scheduling::validate_tolerations(&tolerations, options, &path.child(TOLERATIONS), errors);
            }
            Err(problem) => errors.push(FieldError::invalid(path, TOLERATIONS, problem.to_string())),
        }
    }
    if !options.invalid_deletion_cost && !deletion_cost_is_valid(object) {
        let value = annotation(DELETION_COST).unwrap_or_default();
        errors.push(FieldError::invalid(
            &path.key(DELETION_COST),
            value,
            "must be a 32bit integer",
        ));
    }
    if let Some(profile) = annotation(SECCOMP_POD) {
        validate_seccomp(profile, &path.child(SECCOMP_POD), errors);
    }
    for (key, profile) in annotations_of(object).filter(|(key, _)| key.starts_with(SECCOMP_CONTAINER)) {
        validate_seccomp(profile, &path.child(key), errors);
    }
    let mut container_names: Option<HashSet<&str>> = None;
    for (key, profile) in annotations_of(object) {
        let Some(container) = key.strip_prefix(APP_ARMOR) else {
            continue;
        };
        if !container_names
            .get_or_insert_with(|| names_of(spec))
            .contains(container)
        {
            errors.push(FieldError::invalid(&path.key(key), container, "container not found"));
        }
        let is_known = matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/");
        if !is_known {
            errors.push(FieldError::invalid(
                &path.key(key),
                profile,
                format!("invalid AppArmor profile name: {}", quote(profile)),
            ));
        }
    }
}

fn names_of(spec: &Value) -> HashSet<&str> {
    containers::all(spec)
        .map(|container| str_at(container, &["name"]))
        .collect()
}

fn validate_seccomp(profile: &str, path: &PathRef<'_>, errors: &mut Errors) {
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => {}
        _ => match profile.strip_prefix("localhost/") {
            Some(file) => paths::validate_descending(file, path, errors),
            None => errors.push(FieldError::invalid(path, profile, "must be a valid seccomp profile")),
        },
    }
}

/// Whether the deletion cost, if any, is a 32-bit integer written without a plus sign or leading zeros.
pub(crate) fn deletion_cost_is_valid(object: &Value) -> bool {
    let Some(cost) = opt_str_at(object, &["metadata", "annotations", DELETION_COST]) else {
        return true;
    };
    let digits = cost.strip_prefix('-').unwrap_or(cost);
    let canonical = cost == "0" || (!digits.starts_with(['0', '+']) && !digits.is_empty());
    canonical && cost.parse::<i32>().is_ok()
}

/// Which of these annotations may appear, change or go on an update: none.
pub(crate) fn validate_update(object: &Value, old: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let value_in = |object: &Value, key: &str| -> Option<String> {
        opt_str_at(object, &["metadata", "annotations", key]).map(str::to_owned)
    };
    let what = |key: &str| match key {
        MIRROR => Some("mirror pod annotation"),
        _ if key.starts_with(APP_ARMOR) => Some("AppArmor annotations"),
        _ => None,
    };
    for (key, value) in annotations_of(old) {
        if value_in(object, key).as_deref() != Some(value)
            && let Some(what) = what(key)
        {
            errors.push(FieldError::forbidden(
                &path.key(key),
                format!("may not remove or update {what}"),
            ));
        }
    }
    for (key, _) in annotations_of(object) {
        if value_in(old, key).is_none()
            && let Some(what) = what(key)
        {
            errors.push(FieldError::forbidden(&path.key(key), format!("may not add {what}")));
        }
    }
    validate(object, options, path, errors);
}

/// Annotation and field may both name a profile, but only the same one.
pub(crate) fn validate_agreement(object: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let spec = part(object, "spec");
    let annotation = |key: &str| opt_str_at(object, &["metadata", "annotations", key]);
    let seccomp = |profile: Option<&Value>, key: &str, path: &PathRef<'_>, errors: &mut Errors| {
        if let (Some(profile), Some(value)) = (profile, annotation(key)) {
            let default = ["runtime/default", "docker/default"];
            agree(
                profile,
                value,
                &default,
                "seccomp",
                &path.child("seccompProfile"),
                errors,
            );
        }
    };
    let pod_context = path.child("securityContext");
    seccomp(
        at(spec, &["securityContext", "seccompProfile"]),
        SECCOMP_POD,
        &pod_context,
        errors,
    );
    containers::visit(spec, path, |container, path| {
        let key = format!("{SECCOMP_CONTAINER}{}", str_at(container, &["name"]));
        let profile = at(container, &["securityContext", "seccompProfile"]);
        seccomp(profile, &key, &path.child("securityContext"), errors);
    });
    if str_at(spec, &["os", "name"]) == "windows" {
        return;
    }
    let of_pod = at(spec, &["securityContext", "appArmorProfile"]);
    containers::visit(spec, path, |container, path| {
        let key = format!("{APP_ARMOR}{}", str_at(container, &["name"]));
        let profile = at(container, &["securityContext", "appArmorProfile"]).or(of_pod);
        if let (Some(profile), Some(value)) = (profile, annotation(&key)) {
            let path = path.child("securityContext");
            agree(
                profile,
                value,
                &["runtime/default"],
                "apparmor",
                &path.child("appArmorProfile"),
                errors,
            );
        }
    });
}

fn agree(profile: &Value, annotation: &str, default: &[&str], what: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let agrees = match str_at(profile, &["type"]) {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => default.contains(&annotation),
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => false,
            Some(file) => {
                if opt_str_at(profile, &["localhostProfile"]) != Some(file) {
                    let words = format!("{what} profile in annotation and field must match");
                    errors.push(FieldError::forbidden(&path.child("localhostProfile"), words));
                }
                true
            }
        },
        _ => true,
    };
    if !agrees {
        errors.push(FieldError::forbidden(
            &path.child("type"),
            format!("{what} type in annotation and field must match"),
        ));
    }
}
