//! Containers of all three sorts: regular, init and ephemeral.

use std::collections::{BTreeSet, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, int_at, list_at, opt_int_at, opt_str_at, str_at};

use super::spec::Scope;
use super::{env, mounts, probes, resources, security};

/// The lists of a spec that hold containers, in upstream's order of visiting them.
pub(crate) const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Every container of a spec.
pub(crate) fn all(spec: &Value) -> impl Iterator<Item = &Value> {
    LISTS.into_iter().flat_map(|list| list_at(spec, &[list]))
}

/// Calls `see` with every container of a spec and its place.
pub(crate) fn visit(spec: &Value, path: &PathRef<'_>, mut see: impl FnMut(&Value, &PathRef<'_>)) {
    for list in LISTS {
        let path = path.child(list);
        for (index, container) in list_at(spec, &[list]).iter().enumerate() {
            see(container, &path.index(index));
        }
    }
}

/// Calls `change` with every container of a spec.
pub(crate) fn visit_mut(spec: &mut Value, mut change: impl FnMut(&mut Value)) {
    for list in LISTS {
        if let Some(containers) = spec.get_mut(list).and_then(Value::as_array_mut) {
            containers.iter_mut().for_each(&mut change);
        }
    }
}

/// Everything wrong with the regular containers.
pub(crate) fn validate(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let containers = list_at(scope.spec, &["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut names = HashSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        validate_common(scope, container, &path, errors);
        let name = str_at(container, &["name"]);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        probes::validate_life(scope.spec, container, &path, errors);
        validate_restart_policy(container, &path, errors);
    }
    let mut ports = HashSet::new();
    for (index, container) in containers.iter().enumerate() {
        validate_host_port_conflicts(container, &path.index(index), &mut ports, errors);
    }
}

/// Everything wrong with the init containers.
pub(crate) fn validate_init(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
    let mut names: HashSet<&str> = list_at(scope.spec, &["containers"])
        .iter()
        .map(|container| str_at(container, &["name"]))
        .collect();
    for (index, container) in list_at(scope.spec, &["initContainers"]).iter().enumerate() {
        let list_path = path;
        let path = path.index(index);
        validate_common(scope, container, &path, errors);
        validate_restart_policy_of_init(container, &path, errors);
        let is_sidecar = opt_str_at(container, &["restartPolicy"]) == Some("Always");
        let name = str_at(container, &["name"]);
        if names.contains(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        } else if !name.is_empty() {
            names.insert(name);
        }
        // Upstream checks each init container by itself and so names the first.
        validate_host_port_conflicts(container, &list_path.index(0), &mut HashSet::new(), errors);
        if is_sidecar {
            probes::validate_life(scope.spec, container, &path, errors);
        } else {
            for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if at(container, &[field]).is_some() {
                    errors.push(FieldError::forbidden(&path.child(field), ONLY_SIDECARS));
                }
            }
        }
        if !is_sidecar && !scope.options.restarting_init_resize {
            let path = path.child("resizePolicy");
            for (index, policy) in list_at(container, &["resizePolicy"]).iter().enumerate() {
                if str_at(policy, &["restartPolicy"]) == "RestartContainer" {
                    errors.push(FieldError::invalid(
                        &path.index(index).child("restartPolicy"),
                        "RestartContainer",
                        "must not be set to 'RestartContainer' for non-sidecar initContainers",
                    ));
                }
            }
        }
    }
}

/// Everything wrong with the ephemeral containers.
pub(crate) fn validate_ephemeral(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    const NOT_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
    /// In the order Go declares a container's fields.
    const FORBIDDEN: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let others: HashSet<&str> = ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| list_at(scope.spec, &[list]))
        .map(|container| str_at(container, &["name"]))
        .collect();
    let mut names = others.clone();
    for (index, container) in list_at(scope.spec, &["ephemeralContainers"]).iter().enumerate() {
        let path = path.index(index);
        validate_common(scope, container, &path, errors);
        validate_image_is_trimmed(container, &path, errors);
        let name = str_at(container, &["name"]);
        if !names.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        let target = str_at(container, &["targetContainerName"]);
        if !target.is_empty() && !others.contains(target) {
            errors.push(FieldError::not_found(&path.child("targetContainerName"), target));
        }
        for field in FORBIDDEN {
            // Go compares with the zero value, which an empty list or an empty text behind a pointer is not.
            let is_set = match at(container, &[field]) {
                None => false,
                Some(Value::Object(fields)) if field == "resources" => !fields.is_empty(),
                Some(_) => true,
            };
            if is_set {
                errors.push(FieldError::forbidden(&path.child(field), NOT_EPHEMERAL));
            }
        }
        let path = path.child("volumeMounts");
        for (index, mount) in list_at(container, &["volumeMounts"]).iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !str_at(mount, &[field]).is_empty() {
                    errors.push(FieldError::forbidden(&path.index(index).child(field), NOT_EPHEMERAL));
                }
            }
        }
    }
}

/// A pod's images may not be padded; a template's may, since templates with padding exist.
pub(crate) fn validate_images_are_trimmed(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for list in ["containers", "initContainers"] {
        let path = path.child(list);
        for (index, container) in list_at(spec, &[list]).iter().enumerate() {
            validate_image_is_trimmed(container, &path.index(index), errors);
        }
    }
}

pub(crate) fn validate_image_is_trimmed(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let image = str_at(container, &["image"]);
    if image.trim().len() != image.len() {
        errors.push(FieldError::invalid(
            &path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        ));
    }
}

fn validate_common(scope: &Scope<'_>, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let name = str_at(container, &["name"]);
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else {
        complain(&path.child("name"), name, names::dns1123_label(name), errors);
    }
    if str_at(container, &["image"]).is_empty() {
        errors.push(FieldError::required(&path.child("image"), ""));
    }
    match str_at(container, &["terminationMessagePolicy"]) {
        "File" | "FallbackToLogsOnError" => {}
        "" => errors.push(FieldError::required(&path.child("terminationMessagePolicy"), "")),
        other => errors.push(FieldError::not_supported(
            &path.child("terminationMessagePolicy"),
            other,
            ["File", "FallbackToLogsOnError"],
        )),
    }
    validate_ports(container, &path.child("ports"), errors);
    env::validate(container, &path.child("env"), errors);
    env::validate_from(container, &path.child("envFrom"), errors);
    mounts::validate(scope, container, &path.child("volumeMounts"), errors);
    mounts::validate_devices(scope, container, &path.child("volumeDevices"), errors);
    validate_pull_policy(
        str_at(container, &["imagePullPolicy"]),
        &path.child("imagePullPolicy"),
        errors,
    );
    resources::validate_container(scope, container, &path.child("resources"), errors);
    validate_resize_policy(scope.spec, container, &path.child("resizePolicy"), errors);
    security::validate_container(scope.spec, container, &path.child("securityContext"), errors);
}

/// When an image is pulled.
pub(crate) fn validate_pull_policy(policy: &str, path: &PathRef<'_>, errors: &mut Errors) {
    match policy {
        "Always" | "IfNotPresent" | "Never" => {}
        "" => errors.push(FieldError::required(path, "")),
        other => errors.push(FieldError::not_supported(
            path,
            other,
            ["Always", "IfNotPresent", "Never"],
        )),
    }
}

fn validate_ports(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, port) in list_at(container, &["ports"]).iter().enumerate() {
        let place = path.index(index);
        let name = str_at(port, &["name"]);
        if !name.is_empty() {
            let complaints = names::port_name(name);
            if complaints.is_empty() {
                if !seen.insert(name) {
                    errors.push(FieldError::duplicate(&place.child("name"), name));
                }
            } else {
                complain(&place.child("name"), name, complaints, errors);
            }
        }
        match int_at(port, &["containerPort"]) {
            0 => errors.push(FieldError::required(&place.child("containerPort"), "")),
            number => complain(
                &place.child("containerPort"),
                number,
                names::port_number(number),
                errors,
            ),
        }
        match int_at(port, &["hostPort"]) {
            0 => {}
            number => complain(&place.child("hostPort"), number, names::port_number(number), errors),
        }
        match str_at(port, &["protocol"]) {
            "TCP" | "UDP" | "SCTP" => {}
            "" => errors.push(FieldError::required(&place.child("protocol"), "")),
            other => {
                errors.push(FieldError::not_supported(
                    &place.child("protocol"),
                    other,
                    ["SCTP", "TCP", "UDP"],
                ));
            }
        }
    }
}

fn validate_host_port_conflicts(
    container: &Value,
    path: &PathRef<'_>,
    taken: &mut HashSet<String>,
    errors: &mut Errors,
) {
    let path = path.child("ports");
    for (index, port) in list_at(container, &["ports"]).iter().enumerate() {
        let number = opt_int_at(port, &["hostPort"]).unwrap_or_default();
        if number == 0 {
            continue;
        }
        let claim = format!("{}/{}/{number}", str_at(port, &["protocol"]), str_at(port, &["hostIP"]));
        if taken.contains(&claim) {
            errors.push(FieldError::duplicate(&path.index(index).child("hostPort"), claim));
        } else {
            taken.insert(claim);
        }
    }
}

fn validate_resize_policy(spec: &Value, container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let never_restarts = str_at(spec, &["restartPolicy"]) == "Never";
    let mut seen = HashSet::new();
    for (index, policy) in list_at(container, &["resizePolicy"]).iter().enumerate() {
        let (resource, restart) = (str_at(policy, &["resourceName"]), str_at(policy, &["restartPolicy"]));
        if !seen.insert(resource) {
            errors.push(FieldError::duplicate(&path.index(index), resource));
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.push(FieldError::required(path, "")),
            other => errors.push(FieldError::not_supported(path, other, ["cpu", "memory"])),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.push(FieldError::required(path, "")),
            other => errors.push(FieldError::not_supported(
                path,
                other,
                ["NotRequired", "RestartContainer"],
            )),
        }
        if never_restarts && restart != "NotRequired" {
            let words = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(path, restart, words));
        }
    }
}

/// Upstream looks at the rules of an init container only if there is a policy that they are exceptions of.
fn validate_restart_policy_of_init(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let has_policy = at(container, &["restartPolicy"]).is_some();
    if has_policy {
        validate_restart_policy(container, path, errors);
    } else if !list_at(container, &["restartPolicyRules"]).is_empty() {
        errors.push(FieldError::required(&path.child("restartPolicy"), POLICY_FOR_RULES));
    }
}

const POLICY_FOR_RULES: &str = "must specify restartPolicy when restart rules are used";

fn validate_restart_policy(container: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    const MAX_RULES: usize = 20;
    const MAX_CODES: usize = 255;
    let rules = list_at(container, &["restartPolicyRules"]);
    match opt_str_at(container, &["restartPolicy"]) {
        None if rules.is_empty() => return,
        None => errors.push(FieldError::required(&path.child("restartPolicy"), POLICY_FOR_RULES)),
        Some("Always" | "Never" | "OnFailure") => {}
        Some(other) => errors.push(FieldError::not_supported(
            &path.child("restartPolicy"),
            other,
            ["Always", "Never", "OnFailure"],
        )),
    }
    let path = path.child("restartPolicyRules");
    if rules.len() > MAX_RULES {
        errors.push(FieldError::too_many(&path, rules.len(), MAX_RULES));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let action = str_at(rule, &["action"]);
        if !matches!(action, "Restart" | "RestartAllContainers") {
            let supported = ["Restart", "RestartAllContainers"];
            errors.push(FieldError::not_supported(&path.child("action"), action, supported));
        }
        let path = path.child("exitCodes");
        let Some(codes) = at(rule, &["exitCodes"]) else {
            errors.push(FieldError::required(&path, "must be specified"));
            continue;
        };
        let operator = str_at(codes, &["operator"]);
        if !matches!(operator, "In" | "NotIn") {
            errors.push(FieldError::not_supported(
                &path.child("operator"),
                operator,
                ["In", "NotIn"],
            ));
        }
        let values = list_at(codes, &["values"]);
        if values.len() > MAX_CODES {
            errors.push(FieldError::too_many(&path.child("values"), values.len(), MAX_CODES));
        }
    }
}
