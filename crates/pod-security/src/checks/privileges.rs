//! Who a container is, and what it may become.

use serde_json::Value;

use super::{
    distinct, has_own_users, is_windows, named, of_context, of_pod_context, quoted, setters, these_containers,
    violation,
};
use crate::Violation;
use crate::pod::containers;

const TRUE: Option<&Value> = Some(&Value::Bool(true));
const FALSE: Option<&Value> = Some(&Value::Bool(false));

pub(super) fn privileged(pod: &Value) -> Option<Violation> {
    let names = named(pod, |container| of_context(container, "privileged") == TRUE);
    if names.is_empty() {
        return None;
    }
    violation(
        "privileged",
        format!(
            "{} must not set securityContext.privileged=true",
            these_containers(&names)
        ),
    )
}

pub(super) fn escalation(pod: &Value) -> Option<Violation> {
    let names = named(pod, |container| {
        of_context(container, "allowPrivilegeEscalation") != FALSE
    });
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        these_containers(&names)
    );
    violation("allowPrivilegeEscalation != false", detail)
}

pub(super) fn escalation_1_25(pod: &Value) -> Option<Violation> {
    if is_windows(pod) { None } else { escalation(pod) }
}

pub(super) fn proc_mount(pod: &Value) -> Option<Violation> {
    let unusual = |container| {
        let mount = of_context(container, "procMount").and_then(Value::as_str);
        mount.filter(|mount| *mount != "Default")
    };
    let names = named(pod, |container| unusual(container).is_some());
    if names.is_empty() {
        return None;
    }
    let mounts = quoted(&distinct(containers(pod).filter_map(unusual)));
    violation(
        "procMount",
        format!(
            "{} must not set securityContext.procMount to {mounts}",
            these_containers(&names)
        ),
    )
}

pub(super) fn proc_mount_1_35(pod: &Value) -> Option<Violation> {
    if has_own_users(pod) { None } else { proc_mount(pod) }
}

pub(super) fn non_root(pod: &Value) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let of_pod = of_pod_context(pod, "runAsNonRoot");
    let explicit = named(pod, |container| of_context(container, "runAsNonRoot") == FALSE);
    if let Some(these) = setters(of_pod == FALSE, &explicit) {
        return violation(
            REASON,
            format!("{these} must not set securityContext.runAsNonRoot=false"),
        );
    }
    let implicit = named(pod, |container| {
        of_pod != TRUE && of_context(container, "runAsNonRoot").is_none()
    });
    if implicit.is_empty() {
        return None;
    }
    violation(
        REASON,
        format!(
            "pod or {} must set securityContext.runAsNonRoot=true",
            these_containers(&implicit)
        ),
    )
}

pub(super) fn non_root_1_35(pod: &Value) -> Option<Violation> {
    if has_own_users(pod) { None } else { non_root(pod) }
}

pub(super) fn user(pod: &Value) -> Option<Violation> {
    let is_root = |user: Option<&Value>| user.and_then(Value::as_i64) == Some(0);
    let names = named(pod, |container| is_root(of_context(container, "runAsUser")));
    let these = setters(is_root(of_pod_context(pod, "runAsUser")), &names)?;
    violation("runAsUser=0", format!("{these} must not set runAsUser=0"))
}

pub(super) fn user_1_35(pod: &Value) -> Option<Violation> {
    if has_own_users(pod) { None } else { user(pod) }
}
