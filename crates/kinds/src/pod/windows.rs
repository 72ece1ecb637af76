//! What is particular to Windows pods, and what they may not have.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, bool_at, complain, is_unset, opt_bool_at, opt_str_at, str_at};

use super::containers;

const CREDENTIAL_SPEC_MAX_KIB: usize = 64;
const DOMAIN_MAX: usize = 256;
const USER_MAX: usize = 104;

/// Everything wrong with `windowsOptions`.
pub(crate) fn validate_options(options: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(options) = options else { return };
    if let Some(name) = opt_str_at(options, &["gmsaCredentialSpecName"]) {
        complain(
            &path.child("gmsaCredentialSpecName"),
            name,
            names::dns1123_subdomain(name),
            errors,
        );
    }
    if let Some(spec) = opt_str_at(options, &["gmsaCredentialSpec"]) {
        let path = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            errors.push(FieldError::invalid(
                &path,
                spec,
                "gmsaCredentialSpec cannot be an empty string",
            ));
        } else if spec.len() > CREDENTIAL_SPEC_MAX_KIB * 1024 {
            let words = format!("gmsaCredentialSpec size must be under {CREDENTIAL_SPEC_MAX_KIB} KiB");
            errors.push(FieldError::invalid(&path, spec, words));
        }
    }
    if let Some(name) = opt_str_at(options, &["runAsUserName"]) {
        complain(&path.child("runAsUserName"), name, user_name(name), errors);
    }
}

fn user_name(name: &str) -> Vec<String> {
    let complain = |words: &str| vec![words.to_owned()];
    if name.is_empty() {
        return complain("runAsUserName cannot be an empty string");
    }
    if name.chars().any(|c| c.is_ascii_control()) {
        return complain("runAsUserName cannot contain control characters");
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return complain("runAsUserName cannot contain more than one backslash"),
    };
    let mut complaints = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_MAX {
            complaints.push(format!(
                "runAsUserName's Domain length must be under {DOMAIN_MAX} characters"
            ));
        }
        if !is_net_bios(domain) && !is_dns(domain) {
            complaints.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        complaints.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_MAX {
        complaints.push(format!(
            "runAsUserName's User length must not be longer than {USER_MAX} characters"
        ));
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        complaints.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains([
        '"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']',
    ]) {
        complaints.push(r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#.to_owned());
    }
    complaints
}

fn is_net_bios(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// Host-process containers: all or none, on the node's network.
pub(crate) fn validate_host_process(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const FIELD: [&str; 3] = ["securityContext", "windowsOptions", "hostProcess"];
    let of_pod = opt_bool_at(spec, &FIELD);
    let (mut total, mut host_processes) = (0, 0);
    containers::visit(spec, path, |container, path| {
        total += 1;
        let own = opt_bool_at(container, &FIELD);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let words = format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            let path = path.child("securityContext");
            errors.push(FieldError::invalid(
                &path.child("windowsOptions").child("hostProcess"),
                own,
                words,
            ));
        }
        if own.or(of_pod) == Some(true) {
            host_processes += 1;
        }
    });
    if host_processes == 0 {
        return;
    }
    if host_processes != total {
        let words = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(path, "", words));
    }
    if !bool_at(spec, &["hostNetwork"]) {
        let words = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(&path.child("hostNetwork"), false, words));
    }
}

/// The pod's operating system, and the fields only the other one has.
pub(crate) fn validate_os(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if at(spec, &["os"]).is_none() {
        return;
    }
    match str_at(spec, &["os", "name"]) {
        "" => errors.push(FieldError::required(&path.child("os").child("name"), "")),
        "linux" => validate_linux(spec, path, errors),
        "windows" => validate_windows(spec, path, errors),
        other => errors.push(FieldError::not_supported(
            &path.child("os"),
            other,
            ["linux", "windows"],
        )),
    }
}

fn validate_linux(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const WORDS: &str = "windows options cannot be set for a linux pod";
    const FIELD: [&str; 2] = ["securityContext", "windowsOptions"];
    if at(spec, &FIELD).is_some() {
        errors.push(FieldError::forbidden(
            &path.child("securityContext").child("windowsOptions"),
            WORDS,
        ));
    }
    containers::visit(spec, path, |container, path| {
        if at(container, &FIELD).is_some() {
            errors.push(FieldError::forbidden(
                &path.child("securityContext").child("windowsOptions"),
                WORDS,
            ));
        }
    });
}

fn validate_windows(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const WORDS: &str = "cannot be set for a windows pod";
    /// Where it is, and whether false counts as absent.
    const OF_POD: [(&[&str], bool); 15] = [
        (&["securityContext", "appArmorProfile"], false),
        (&["securityContext", "seLinuxOptions"], false),
        (&["hostUsers"], false),
        (&["hostPID"], true),
        (&["hostIPC"], true),
        (&["securityContext", "seccompProfile"], false),
        (&["securityContext", "fsGroup"], false),
        (&["securityContext", "fsGroupChangePolicy"], false),
        (&["securityContext", "sysctls"], true),
        (&["shareProcessNamespace"], false),
        (&["securityContext", "runAsUser"], false),
        (&["securityContext", "runAsGroup"], false),
        (&["securityContext", "supplementalGroups"], false),
        (&["securityContext", "supplementalGroupsPolicy"], false),
        (&["securityContext", "seLinuxChangePolicy"], false),
    ];
    const OF_CONTAINER: [&str; 10] = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    for (field, empty_is_absent) in OF_POD {
        let absent = if empty_is_absent {
            is_unset(spec, field)
        } else {
            at(spec, field).is_none()
        };
        if !absent {
            match field {
                [outer, inner] => errors.push(FieldError::forbidden(&path.child(outer).child(inner), WORDS)),
                _ => errors.push(FieldError::forbidden(&path.child(field[0]), WORDS)),
            }
        }
    }
    containers::visit(spec, path, |container, path| {
        let Some(context) = at(container, &["securityContext"]) else {
            return;
        };
        for field in OF_CONTAINER {
            if at(context, &[field]).is_some() {
                errors.push(FieldError::forbidden(
                    &path.child("securityContext").child(field),
                    WORDS,
                ));
            }
        }
    });
}
