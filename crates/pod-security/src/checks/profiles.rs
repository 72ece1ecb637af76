//! Profiles by which a kernel confines a container: `AppArmor`, `SELinux`, seccomp.

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::{
    distinct, is_windows, named, of_context, of_pod_context, one_or_more, quoted, setters, these_containers, violation,
};
use crate::Violation;
use crate::pod::{containers, text};

const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
const SELINUX_TYPES: [&str; 5] = [
    "",
    "container_t",
    "container_init_t",
    "container_kvm_t",
    "container_engine_t",
];

/// The type of a profile, unless it is one of those that are allowed.
fn bad_type(profile: Option<&Value>) -> Option<&str> {
    let kind = text(profile?, "type");
    (!matches!(kind, "RuntimeDefault" | "Localhost")).then_some(kind)
}

fn annotations(pod: &Value) -> impl Iterator<Item = (&str, &str)> {
    let annotations = pod.pointer("/metadata/annotations").and_then(Value::as_object);
    let annotations = annotations.into_iter().flatten();
    annotations.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

pub(super) fn app_armor(pod: &Value) -> Option<Violation> {
    let of_pod = bad_type(of_pod_context(pod, "appArmorProfile"));
    let of_container = |container| bad_type(of_context(container, "appArmorProfile"));
    let names = named(pod, |container| of_container(container).is_some());
    let values = distinct(of_pod.into_iter().chain(containers(pod).filter_map(of_container)));
    let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
    let is_allowed = |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let annotated = annotations(pod)
        .filter(|(key, value)| key.starts_with(APP_ARMOR_PREFIX) && !is_allowed(value))
        .map(|(key, value)| format!("{key}={}", quote(value)));
    let mut annotated = distinct(annotated);
    let of_annotations = one_or_more("annotation", "annotations", annotated.len()).to_owned();
    let of_annotations = (!annotated.is_empty()).then_some(of_annotations);
    values.append(&mut annotated);
    let these: Vec<String> = setters(of_pod.is_some(), &names)
        .into_iter()
        .chain(of_annotations)
        .collect();
    if these.is_empty() {
        return None;
    }
    let reason = one_or_more(
        "forbidden AppArmor profile",
        "forbidden AppArmor profiles",
        values.len(),
    );
    violation(
        reason,
        format!(
            "{} must not set AppArmor profile type to {}",
            these.join(" and "),
            quoted(&values)
        ),
    )
}

pub(super) fn selinux(pod: &Value) -> Option<Violation> {
    selinux_beyond(pod, &SELINUX_TYPES[..4])
}

pub(super) fn selinux_1_31(pod: &Value) -> Option<Violation> {
    selinux_beyond(pod, &SELINUX_TYPES)
}

fn selinux_beyond(pod: &Value, types: &[&str]) -> Option<Violation> {
    let is_bad = |options: Option<&Value>| {
        options.is_some_and(|options| {
            !types.contains(&text(options, "type"))
                || !text(options, "user").is_empty()
                || !text(options, "role").is_empty()
        })
    };
    let of_pod = of_pod_context(pod, "seLinuxOptions");
    let of_container = |container| of_context(container, "seLinuxOptions");
    let names = named(pod, |container| is_bad(of_container(container)));
    let these = setters(is_bad(of_pod), &names)?;
    let options: Vec<&Value> = of_pod
        .into_iter()
        .chain(containers(pod).filter_map(of_container))
        .collect();
    let bad_types = distinct(
        options
            .iter()
            .map(|options| text(options, "type"))
            .filter(|kind| !types.contains(kind)),
    );
    let mut data = Vec::new();
    if !bad_types.is_empty() {
        data.push(format!(
            "{} {}",
            one_or_more("type", "types", bad_types.len()),
            quoted(&bad_types)
        ));
    }
    for field in ["user", "role"] {
        if options.iter().any(|options| !text(options, field).is_empty()) {
            data.push(format!("{field} may not be set"));
        }
    }
    let detail = format!(
        "{these} set forbidden securityContext.seLinuxOptions: {}",
        data.join("; ")
    );
    violation("seLinuxOptions", detail)
}

pub(super) fn seccomp_annotations(pod: &Value) -> Option<Violation> {
    let names = named(pod, |_| true);
    let is_meant = |key: &str| {
        key == SECCOMP_POD
            || key
                .strip_prefix(SECCOMP_PREFIX)
                .is_some_and(|name| names.contains(&name))
    };
    let is_allowed =
        |value: &str| matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
    let bad = annotations(pod)
        .filter(|(key, value)| is_meant(key) && !is_allowed(value))
        .map(|(key, value)| format!("{key}={}", quote(value)));
    let bad = distinct(bad);
    if bad.is_empty() {
        return None;
    }
    let word = one_or_more("annotation", "annotations", bad.len());
    violation("seccompProfile", format!("forbidden {word} {}", bad.join(", ")))
}

pub(super) fn seccomp(pod: &Value) -> Option<Violation> {
    let of_pod = bad_type(of_pod_context(pod, "seccompProfile"));
    let of_container = |container| bad_type(of_context(container, "seccompProfile"));
    let names = named(pod, |container| of_container(container).is_some());
    let these = setters(of_pod.is_some(), &names)?;
    let values = distinct(of_pod.into_iter().chain(containers(pod).filter_map(of_container)));
    let detail = format!(
        "{these} must not set securityContext.seccompProfile.type to {}",
        quoted(&values)
    );
    violation("seccompProfile", detail)
}

pub(super) fn seccomp_restricted(pod: &Value) -> Option<Violation> {
    if let Some(explicit) = seccomp(pod) {
        return Some(explicit);
    }
    if of_pod_context(pod, "seccompProfile").is_some() {
        return None;
    }
    let names = named(pod, |container| of_context(container, "seccompProfile").is_none());
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        these_containers(&names)
    );
    violation("seccompProfile", detail)
}

pub(super) fn seccomp_restricted_1_25(pod: &Value) -> Option<Violation> {
    if is_windows(pod) { None } else { seccomp_restricted(pod) }
}
