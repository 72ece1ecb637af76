//! What a kubelet or controller may write into a pod's status.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{IMMUTABLE, at, complain, int_at, list_at, opt_str_at, part, str_at};
use crate::rules::net;

use super::options::Options;
use super::{annotations, container_status, internal};

/// Everything wrong with an update of the status.
pub(crate) fn validate(pod: &Value, old: &Value, options: Options, errors: &mut Errors) {
    let metadata = PathRef::root("metadata");
    annotations::validate_update(pod, old, options, &metadata.child("annotations"), errors);
    let path = PathRef::root("status");
    let status = part(pod, "status");
    let before = part(old, "status");
    validate_conditions(status, &path.child("conditions"), errors);
    validate_nomination(pod, old, &path.child("nominatedNodeName"), errors);
    let observed = int_at(status, &["observedGeneration"]);
    if observed < 0 {
        let path = path.child("observedGeneration");
        errors.push(FieldError::invalid(&path, observed, "must be a non-negative integer"));
    }
    let class = str_at(status, &["qosClass"]);
    if class != str_at(before, &["qosClass"]) {
        errors.push(FieldError::invalid(&path.child("qosClass"), class, IMMUTABLE));
    }
    for (list, of_spec) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
    ] {
        let containers = list_at(old, &["spec", of_spec]);
        validate_transitions(status, before, list, Some((old, containers)), &path.child(list), errors);
    }
    let ephemeral = "ephemeralContainerStatuses";
    validate_transitions(status, before, ephemeral, None, &path.child(ephemeral), errors);
    validate_claim_statuses(pod, status, &path.child("resourceClaimStatuses"), errors);
    let extended = path.child("extendedResourceClaimStatus");
    container_status::validate_extended_claim(pod, &extended, errors);
    validate_addresses(status, before, "podIPs", "PodIP", &path, errors);
    if let Some(first) = list_at(status, &["hostIPs"]).first() {
        let address = str_at(first, &["ip"]);
        if str_at(status, &["hostIP"]) != address {
            let place = path.child("hostIPs");
            let place = place.index(0);
            errors.push(FieldError::invalid(
                &place.child("ip"),
                address,
                "must be equal to `hostIP`",
            ));
        }
    }
    validate_addresses(status, before, "hostIPs", "HostIP", &path, errors);
    for list in container_status::LISTS {
        container_status::validate_users(pod, list, &path.child(list), errors);
    }
    let [main, init, ephemeral] = container_status::LISTS;
    container_status::validate_allocated(pod, main, "containers", &path.child(main), errors);
    container_status::validate_allocated(pod, init, "initContainers", &path.child(init), errors);
    container_status::forbid_allocated(pod, ephemeral, &path.child(ephemeral), errors);
}

fn validate_conditions(status: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, condition) in list_at(status, &["conditions"]).iter().enumerate() {
        let path = path.index(index);
        let observed = int_at(condition, &["observedGeneration"]);
        if observed < 0 {
            let path = path.child("observedGeneration");
            errors.push(FieldError::invalid(&path, observed, "must be a non-negative integer"));
        }
        let kind = str_at(condition, &["type"]);
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            complain(&path.child("Type"), kind, names::qualified_name(kind), errors);
        }
    }
}

fn validate_nomination(pod: &Value, old: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let field = ["status", "nominatedNodeName"];
    let name = str_at(pod, &field);
    if name.is_empty() || name == str_at(old, &field) {
        return;
    }
    complain(path, name, names::dns1123_subdomain(name), errors);
    if !str_at(old, &["spec", "nodeName"]).is_empty() {
        errors.push(FieldError::forbidden(
            path,
            "may not be set on pods that are already bound to a node",
        ));
    }
}

/// A terminated container that is not restarted stays terminated. `spec` is absent for ephemeral containers, which are
/// never restarted.
fn validate_transitions(
    status: &Value,
    before: &Value,
    list: &str,
    spec: Option<(&Value, &[Value])>,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    if spec.is_some_and(|(old, _)| every_container_may_restart(old)) {
        return;
    }
    let now: HashMap<&str, &Value> = list_at(status, &[list])
        .iter()
        .rev()
        .map(|status| (str_at(status, &["name"]), status))
        .collect();
    let containers: HashMap<&str, &Value> = spec
        .map(|(_, containers)| {
            containers
                .iter()
                .map(|container| (str_at(container, &["name"]), container))
                .collect()
        })
        .unwrap_or_default();
    for (index, was) in list_at(before, &[list]).iter().enumerate() {
        let name = str_at(was, &["name"]);
        let Some(end) = at(was, &["state", "terminated"]) else {
            continue;
        };
        let Some(now) = now.get(name) else { continue };
        if at(now, &["state", "terminated"]).is_some() {
            continue;
        }
        let may_restart = spec.is_some_and(|(old, _)| {
            let code = int_at(end, &["exitCode"]);
            containers
                .get(name)
                .is_some_and(|container| restarts(container, old, code))
        });
        if !may_restart {
            let words = "may not be transitioned to non-terminated state";
            errors.push(FieldError::forbidden(&path.index(index).child("state"), words));
        }
    }
}

/// Whether a container has a rule that restarts all containers, so that none stays terminated.
fn every_container_may_restart(old: &Value) -> bool {
    ["containers", "initContainers"]
        .iter()
        .flat_map(|list| list_at(old, &["spec", list]))
        .flat_map(|container| list_at(container, &["restartPolicyRules"]))
        .any(|rule| str_at(rule, &["action"]) == "RestartAllContainers")
}

/// Whether a container that exited with `code` is restarted: by its rules, its own policy, or the pod's.
fn restarts(container: &Value, pod: &Value, code: i64) -> bool {
    for rule in list_at(container, &["restartPolicyRules"]) {
        let listed = list_at(rule, &["exitCodes", "values"])
            .iter()
            .any(|value| value.as_i64() == Some(code));
        let matches = match str_at(rule, &["exitCodes", "operator"]) {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        if matches && str_at(rule, &["action"]) == "Restart" {
            return true;
        }
    }
    match opt_str_at(container, &["restartPolicy"]).unwrap_or_else(|| str_at(pod, &["spec", "restartPolicy"])) {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

fn validate_claim_statuses(pod: &Value, status: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let known: HashSet<&str> = list_at(pod, &["spec", "resourceClaims"])
        .iter()
        .map(|claim| str_at(claim, &["name"]))
        .collect();
    let mut seen = HashSet::new();
    for (index, status) in list_at(status, &["resourceClaimStatuses"]).iter().enumerate() {
        let path = path.index(index);
        let name = str_at(status, &["name"]);
        if !known.contains(name) {
            let words = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(FieldError::invalid(&path.child("name"), name, words));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        if let Some(claim) = opt_str_at(status, &["resourceClaimName"]) {
            complain(
                &path.child("resourceClaimName"),
                claim,
                names::dns1123_subdomain(claim),
                errors,
            );
        }
    }
}

fn validate_addresses(status: &Value, before: &Value, list: &str, kind: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child(list);
    let address = |entry| str_at(entry, &["ip"]);
    let addresses: Vec<&str> = list_at(status, &[list]).iter().map(address).collect();
    let known: Vec<&str> = list_at(before, &[list]).iter().map(address).collect();
    for (index, address) in addresses.iter().enumerate() {
        net::validate_ip_of_old_field(&path.index(index), address, &known, errors);
    }
    if addresses.len() > 1 {
        let unreadable = addresses
            .iter()
            .position(|address| net::parse_ip_sloppy(address).is_none());
        if let Some(index) = unreadable {
            let address = addresses[index];
            let problem = format!("failed to check for dual stack with error:invalid IP[{index}]: {address}");
            errors.push(FieldError::internal(&path, problem));
        }
        let families: HashSet<bool> = addresses
            .iter()
            .filter_map(|address| net::parse_ip_sloppy(address))
            .map(|ip| ip.is_ipv6())
            .collect();
        if unreadable.is_some() || families.len() < 2 || addresses.len() > 2 {
            let shown = internal::print_list(kind, &status[list]);
            errors.push(internal::invalid(
                &path,
                &shown,
                "may specify no more than one IP for each IP family",
            ));
        }
    }
}
