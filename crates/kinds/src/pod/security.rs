//! Security contexts of pods and containers, and the profiles they name.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, bool_at, complain, list_at, opt_bool_at, opt_int_at, opt_str_at, part, str_at};

use super::spec::Scope;
use super::{internal, paths, windows};

const SYSCTL: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const SYSCTL_MAX: usize = 253;
const ENOUGH: usize = 16;

/// Everything wrong with the pod's security context.
pub(crate) fn validate_pod(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let spec = scope.spec;
    let context = part(spec, "securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        validate_id(context, field, path, errors);
    }
    for (index, group) in list_at(context, &["supplementalGroups"]).iter().enumerate() {
        let group = group.as_i64().unwrap_or_default();
        let path = path.child("supplementalGroups");
        complain(&path.index(index), group, names::unix_id(group), errors);
    }
    if bool_at(spec, &["hostPID"]) && bool_at(spec, &["shareProcessNamespace"]) {
        let words = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(&path.child("shareProcessNamespace"), true, words));
    }
    validate_sysctls(scope, context, &path.child("sysctls"), errors);
    validate_choice(
        context,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
        path,
        errors,
    );
    validate_seccomp(at(context, &["seccompProfile"]), &path.child("seccompProfile"), errors);
    windows::validate_options(at(context, &["windowsOptions"]), &path.child("windowsOptions"), errors);
    validate_app_armor(
        at(context, &["appArmorProfile"]),
        &path.child("appArmorProfile"),
        errors,
    );
    validate_choice(context, "supplementalGroupsPolicy", &["Merge", "Strict"], path, errors);
    let policies: &[&str] = if scope.options.any_selinux_policy {
        &["MountOption", "Recursive"]
    } else {
        &["Recursive"]
    };
    validate_choice(context, "seLinuxChangePolicy", policies, path, errors);
}

/// Everything wrong with a container's security context.
pub(crate) fn validate_container(spec: &Value, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(context) = at(container, &["securityContext"]) else {
        return;
    };
    for field in ["runAsUser", "runAsGroup"] {
        validate_id(context, field, path, errors);
    }
    if let Some(mount) = opt_str_at(context, &["procMount"]) {
        let path = path.child("procMount");
        if !matches!(mount, "Default" | "Unmasked") {
            errors.push(FieldError::not_supported(&path, mount, ["Default", "Unmasked"]));
        }
        if mount == "Unmasked" && opt_bool_at(spec, &["hostUsers"]) != Some(false) {
            errors.push(FieldError::invalid(
                &path,
                mount,
                "`hostUsers` must be false to use `Unmasked`",
            ));
        }
    }
    validate_seccomp(at(context, &["seccompProfile"]), &path.child("seccompProfile"), errors);
    if opt_bool_at(context, &["allowPrivilegeEscalation"]) == Some(false) {
        let mut refuse = |words| {
            errors.push(internal::invalid(
                path,
                &internal::print("SecurityContext", context),
                words,
            ));
        };
        if bool_at(context, &["privileged"]) {
            refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        for _ in list_at(context, &["capabilities", "add"])
            .iter()
            .filter(|name| *name == "CAP_SYS_ADMIN")
            // Each repeats the whole context.
            .take(ENOUGH)
        {
            refuse("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    windows::validate_options(at(context, &["windowsOptions"]), &path.child("windowsOptions"), errors);
    validate_app_armor(
        at(context, &["appArmorProfile"]),
        &path.child("appArmorProfile"),
        errors,
    );
}

fn validate_id(context: &Value, field: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(id) = opt_int_at(context, &[field]) {
        complain(&path.child(field), id, names::unix_id(id), errors);
    }
}

fn validate_choice(context: &Value, field: &str, supported: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(value) = opt_str_at(context, &[field]).filter(|value| !supported.contains(value)) {
        errors.push(FieldError::not_supported(&path.child(field), value, supported));
    }
}

fn validate_sysctls(scope: &Scope<'_>, context: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, sysctl) in list_at(context, &["sysctls"]).iter().enumerate() {
        let place = path.index(index);
        let path = place.child("name");
        let name = str_at(sysctl, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if !is_sysctl(name) {
            let words = format!("must have at most {SYSCTL_MAX} characters and match regex {SYSCTL}");
            errors.push(FieldError::invalid(&path, name, words));
        } else if seen.contains(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        if !scope.options.host_sysctls
            && let Some(field) = shared_namespace(scope.spec, name)
        {
            errors.push(FieldError::invalid(
                &path,
                name,
                format!("may not be specified when '{field}' is true"),
            ));
        }
        seen.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= SYSCTL_MAX
        && name.split(['.', '/']).all(|segment| {
            let bytes = segment.as_bytes();
            bytes.first().is_some_and(|byte| alphanumeric(*byte))
                && bytes.last().is_some_and(|byte| alphanumeric(*byte))
                && bytes
                    .iter()
                    .all(|byte| alphanumeric(*byte) || matches!(byte, b'-' | b'_'))
        })
}

/// The field by which the pod shares the sysctl's kernel namespace with its node.
fn shared_namespace(spec: &Value, sysctl: &str) -> Option<&'static str> {
    const IPC: [&str; 10] = [
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.shm",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.msg",
    ];
    let slashed = sysctl
        .find(['.', '/'])
        .is_some_and(|index| sysctl.as_bytes()[index] == b'/');
    let swap = |c: char| match c {
        '.' if slashed => '/',
        '/' if slashed => '.',
        other => other,
    };
    let name: String = sysctl.chars().map(swap).take_while(|c| *c != '*').collect();
    if bool_at(spec, &["hostNetwork"]) && name.starts_with("net.") {
        return Some("hostNetwork");
    }
    let is_ipc = IPC.contains(&name.as_str()) || name.starts_with("fs.mqueue.");
    (bool_at(spec, &["hostIPC"]) && is_ipc).then_some("hostIPC")
}

/// Whether a stored spec sets sysctls of a namespace it shares with its node.
pub(crate) fn has_host_sysctls(spec: &Value) -> bool {
    list_at(spec, &["securityContext", "sysctls"])
        .iter()
        .any(|sysctl| shared_namespace(spec, str_at(sysctl, &["name"])).is_some())
}

fn validate_seccomp(profile: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(profile) = profile else { return };
    let kind = str_at(profile, &["type"]);
    match kind {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => errors.push(FieldError::required(
            &path.child("type"),
            "type is required when seccompProfile is set",
        )),
        other => errors.push(FieldError::not_supported(
            &path.child("type"),
            other,
            ["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
    let path = path.child("localhostProfile");
    match (kind, opt_str_at(profile, &["localhostProfile"])) {
        ("Localhost", None) => {
            errors.push(FieldError::required(
                &path,
                "must be set when seccomp type is Localhost",
            ));
        }
        ("Localhost", Some(file)) => paths::validate_descending(file, &path, errors),
        (_, Some(_)) => errors.push(internal::invalid(
            &path,
            &internal::print("SeccompProfile", profile),
            "can only be set when seccomp type is Localhost",
        )),
        (_, None) => {}
    }
}

/// Everything wrong with an `AppArmor` profile.
pub(crate) fn validate_app_armor(profile: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    const MAX: usize = 4095;
    const REQUIRED: &str = "must be set when AppArmor type is Localhost";
    let Some(profile) = profile else { return };
    let name = opt_str_at(profile, &["localhostProfile"]);
    let name_path = path.child("localhostProfile");
    match (str_at(profile, &["type"]), name) {
        ("Localhost", None) => errors.push(FieldError::required(&name_path, REQUIRED)),
        ("Localhost", Some(name)) => {
            if name.trim() != name {
                errors.push(FieldError::invalid(
                    &name_path,
                    name,
                    "must not be padded with whitespace",
                ));
            } else if name.is_empty() {
                errors.push(FieldError::required(&name_path, REQUIRED));
            }
            if name.len() > MAX {
                errors.push(FieldError::too_long(&name_path, MAX));
            }
        }
        ("RuntimeDefault" | "Unconfined", name) => {
            if let Some(name) = name {
                errors.push(FieldError::invalid(
                    &name_path,
                    name,
                    "can only be set when AppArmor type is Localhost",
                ));
            }
        }
        ("", _) => {
            errors.push(FieldError::required(
                &path.child("type"),
                "type is required when appArmorProfile is set",
            ));
        }
        (other, _) => errors.push(FieldError::not_supported(
            &path.child("type"),
            other,
            ["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}
