//! The checks, each with the versions in which it changed.

mod capabilities;
mod host;
mod privileges;
mod profiles;
mod sysctls;
mod volumes;

use serde_json::Value;

use crate::pod::{containers, text};
use crate::{Level, Violation};

/// What a check says of a Pod.
pub(crate) type CheckPod = fn(&Value) -> Option<Violation>;

/// A check of the standards.
pub(crate) struct Check {
    pub(crate) id: &'static str,
    pub(crate) level: Level,
    /// The check of the baseline in whose place this one stands.
    pub(crate) overrides: Option<&'static str>,
    /// Since which minor version it is as it is, ascending.
    versions: &'static [(u64, CheckPod)],
}

impl Check {
    /// The check as it is in a version; none before its first.
    pub(crate) fn at(&self, minor: u64) -> Option<CheckPod> {
        let (_, check) = self.versions.iter().rev().find(|(since, _)| *since <= minor)?;
        Some(*check)
    }
}

const fn baseline(id: &'static str, versions: &'static [(u64, CheckPod)]) -> Check {
    Check {
        id,
        level: Level::Baseline,
        overrides: None,
        versions,
    }
}

const fn restricted(id: &'static str, overrides: Option<&'static str>, versions: &'static [(u64, CheckPod)]) -> Check {
    Check {
        id,
        level: Level::Restricted,
        overrides,
        versions,
    }
}

/// All checks, in the order in which their results are printed: by level, then by id.
pub(crate) const CHECKS: [Check; 19] = [
    baseline("appArmorProfile", &[(0, profiles::app_armor)]),
    baseline("capabilities_baseline", &[(0, capabilities::baseline)]),
    baseline("hostNamespaces", &[(0, host::namespaces)]),
    baseline("hostPathVolumes", &[(0, volumes::host_path)]),
    baseline("hostPorts", &[(0, host::ports)]),
    baseline("hostProbesAndHostLifecycle", &[(34, host::probes)]),
    baseline("privileged", &[(0, privileges::privileged)]),
    baseline(
        "procMount",
        &[(0, privileges::proc_mount), (35, privileges::proc_mount_1_35)],
    ),
    baseline(
        "seLinuxOptions",
        &[(0, profiles::selinux), (31, profiles::selinux_1_31)],
    ),
    baseline(
        "seccompProfile_baseline",
        &[(0, profiles::seccomp_annotations), (19, profiles::seccomp)],
    ),
    baseline(
        "sysctls",
        &[
            (0, sysctls::check),
            (27, sysctls::check_1_27),
            (29, sysctls::check_1_29),
            (32, sysctls::check_1_32),
        ],
    ),
    baseline("windowsHostProcess", &[(0, host::windows_process)]),
    restricted(
        "allowPrivilegeEscalation",
        None,
        &[(8, privileges::escalation), (25, privileges::escalation_1_25)],
    ),
    restricted(
        "capabilities_restricted",
        Some("capabilities_baseline"),
        &[(22, capabilities::restricted), (25, capabilities::restricted_1_25)],
    ),
    restricted(
        "procMount_restricted",
        Some("procMount"),
        &[(35, privileges::proc_mount)],
    ),
    restricted(
        "restrictedVolumes",
        Some("hostPathVolumes"),
        &[(0, volumes::restricted)],
    ),
    restricted(
        "runAsNonRoot",
        None,
        &[(0, privileges::non_root), (35, privileges::non_root_1_35)],
    ),
    restricted(
        "runAsUser",
        None,
        &[(23, privileges::user), (35, privileges::user_1_35)],
    ),
    restricted(
        "seccompProfile_restricted",
        Some("seccompProfile_baseline"),
        &[
            (19, profiles::seccomp_restricted),
            (25, profiles::seccomp_restricted_1_25),
        ],
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "a check ends with it")]
fn violation(reason: &'static str, detail: String) -> Option<Violation> {
    Some(Violation { reason, detail })
}

/// A part of a container's security context.
fn of_context<'c>(container: &'c Value, key: &str) -> Option<&'c Value> {
    container
        .get("securityContext")?
        .get(key)
        .filter(|value| !value.is_null())
}

/// A part of the Pod's security context.
fn of_pod_context<'p>(pod: &'p Value, key: &str) -> Option<&'p Value> {
    of_context(pod.get("spec")?, key)
}

/// The names of the containers for which something holds.
fn named<'p>(pod: &'p Value, is_meant: impl Fn(&'p Value) -> bool) -> Vec<&'p str> {
    containers(pod)
        .filter(|container| is_meant(container))
        .map(|container| text(container, "name"))
        .collect()
}

/// `container "a"`, `containers "a", "b"`.
fn these_containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        one_or_more("container", "containers", names.len()),
        quoted(names)
    )
}

/// The Pod, if it is meant, and these containers.
fn setters(is_pod: bool, names: &[&str]) -> Option<String> {
    let pod = is_pod.then(|| "pod".to_owned());
    let containers = (!names.is_empty()).then(|| these_containers(names));
    let setters: Vec<String> = pod.into_iter().chain(containers).collect();
    (!setters.is_empty()).then(|| setters.join(" and "))
}

fn quoted<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    if items.is_empty() {
        return String::new();
    }
    format!("\"{}\"", items.join("\", \""))
}

fn one_or_more<'w>(one: &'w str, more: &'w str, count: usize) -> &'w str {
    if count == 1 { one } else { more }
}

/// Each once, in their order.
fn distinct<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let items: std::collections::BTreeSet<T> = items.into_iter().collect();
    items.into_iter().collect()
}

fn is_windows(pod: &Value) -> bool {
    pod.pointer("/spec/os/name").and_then(Value::as_str) == Some("windows")
}

/// Whether the Pod has users of its own, so that its root is nobody outside.
fn has_own_users(pod: &Value) -> bool {
    pod.pointer("/spec/hostUsers") == Some(&Value::Bool(false))
}
