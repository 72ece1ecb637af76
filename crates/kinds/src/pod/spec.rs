//! Everything wrong with a pod's spec, in the order upstream finds it.

use std::collections::{HashMap, HashSet};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{
    at, bool_at, complain, entries_at, list_at, opt_bool_at, opt_int_at, opt_str_at, str_at, strings_at,
};
use crate::rules::{labels, net};

use super::options::Options;
use super::{containers, internal, network, resources, scheduling, security, volumes, windows};

/// What the rules of one spec share.
pub(crate) struct Scope<'a> {
    /// The spec under validation.
    pub(crate) spec: &'a Value,
    /// The tolerances because of the stored object.
    pub(crate) options: Options,
    /// The valid volumes, by name: mounts may refer to them.
    pub(crate) volumes: HashMap<&'a str, &'a Value>,
}

impl<'a> Scope<'a> {
    /// The volume called `name`.
    pub(crate) fn volume(&self, name: &str) -> Option<&'a Value> {
        self.volumes.get(name).copied()
    }
}

/// Everything wrong with `spec`. `metadata` is the pod's, absent in a template.
pub(crate) fn validate(
    spec: &Value,
    metadata: Option<&Value>,
    options: Options,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    if at(spec, &["terminationGracePeriodSeconds"]).is_none() {
        errors.push(FieldError::required(&path.child("terminationGracePeriodSeconds"), ""));
    }
    let volumes = volumes::validate(spec, metadata, options, &path.child("volumes"), errors);
    let scope = Scope { spec, options, volumes };
    validate_resource_claims(spec, metadata, &path.child("resourceClaims"), errors);
    containers::validate(&scope, &path.child("containers"), errors);
    containers::validate_init(&scope, &path.child("initContainers"), errors);
    containers::validate_ephemeral(&scope, &path.child("ephemeralContainers"), errors);
    resources::validate_pod_level(&scope, path, errors);
    validate_host_ports(&scope, &path.child("containers"), errors);
    one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], path, errors);
    one_of(
        spec,
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        path,
        errors,
    );
    labels::validate_labels(at(spec, &["nodeSelector"]), &path.child("nodeSelector"), errors);
    security::validate_pod(&scope, &path.child("securityContext"), errors);
    scheduling::validate_affinity(&scope, &path.child("affinity"), errors);
    network::validate_dns(spec, &path.child("dnsConfig"), errors);
    for (index, gate) in list_at(spec, &["readinessGates"]).iter().enumerate() {
        let name = str_at(gate, &["conditionType"]);
        let path = path.child("readinessGates");
        let path = path.index(index);
        complain(&path.child("conditionType"), name, names::qualified_name(name), errors);
    }
    scheduling::validate_gates(spec, &path.child("schedulingGates"), errors);
    scheduling::validate_spread(&scope, &path.child("topologySpreadConstraints"), errors);
    windows::validate_host_process(spec, path, errors);
    validate_user_namespace(&scope, path, errors);
    validate_hostname_override(spec, path, errors);
    validate_names_and_numbers(spec, path, errors);
    if !list_at(spec, &["tolerations"]).is_empty() {
        scheduling::validate_tolerations(
            list_at(spec, &["tolerations"]),
            options,
            &path.child("tolerations"),
            errors,
        );
    }
    validate_host_aliases(spec, &path.child("hostAliases"), errors);
    validate_late_names(spec, path, errors);
    if at(spec, &["overhead"]).is_some() {
        resources::validate_overhead(&scope, &path.child("overhead"), errors);
    }
    windows::validate_os(spec, path, errors);
    validate_file_key_refs(spec, path, errors);
}

fn validate_host_aliases(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, alias) in list_at(spec, &["hostAliases"]).iter().enumerate() {
        let path = path.index(index);
        net::validate_ip_of_old_field(&path.child("ip"), str_at(alias, &["ip"]), &[], errors);
        let path = path.child("hostnames");
        for (index, host) in strings_at(alias, &["hostnames"]).into_iter().enumerate() {
            complain(&path.index(index), host, names::dns1123_subdomain(host), errors);
        }
    }
}

fn one_of(spec: &Value, field: &str, supported: &[&str], path: &PathRef<'_>, errors: &mut Errors) {
    let value = str_at(spec, &[field]);
    if value.is_empty() {
        errors.push(FieldError::required(&path.child(field), ""));
    } else if !supported.contains(&value) {
        errors.push(FieldError::not_supported(&path.child(field), value, supported));
    }
}

fn validate_resource_claims(spec: &Value, metadata: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let is_mirror = metadata
        .and_then(|metadata| at(metadata, &["annotations", "kubernetes.io/config.mirror"]))
        .is_some();
    let mut names_seen = HashSet::new();
    for (index, claim) in list_at(spec, &["resourceClaims"]).iter().enumerate() {
        if is_mirror {
            errors.push(FieldError::forbidden(
                &PathRef::root(""),
                "static pods do not support resource claims",
            ));
            continue;
        }
        let path = path.index(index);
        let name = str_at(claim, &["name"]);
        let name_path = path.child("name");
        if name.is_empty() {
            errors.push(FieldError::required(&name_path, ""));
        } else if names_seen.contains(name) {
            errors.push(FieldError::duplicate(&name_path, name));
        } else {
            complain(&name_path, name, names::dns1123_label(name), errors);
            names_seen.insert(name);
        }
        let direct = opt_str_at(claim, &["resourceClaimName"]);
        let template = opt_str_at(claim, &["resourceClaimTemplateName"]);
        let words = match (direct, template) {
            (Some(_), Some(_)) => {
                Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
            }
            (None, None) => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            _ => None,
        };
        if let Some(words) = words {
            errors.push(internal::invalid(
                &path,
                &internal::print("PodResourceClaim", claim),
                words,
            ));
        }
        for (field, name) in [("resourceClaimName", direct), ("resourceClaimTemplateName", template)] {
            if let Some(name) = name {
                complain(&path.child(field), name, names::dns1123_subdomain(name), errors);
            }
        }
    }
}

/// On the node's network, `hostPort` must equal `containerPort`.
fn validate_host_ports(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    if !bool_at(scope.spec, &["hostNetwork"]) {
        return;
    }
    for (index, container) in list_at(scope.spec, &["containers"]).iter().enumerate() {
        let path = path.index(index);
        let path = path.child("ports");
        for (index, port) in list_at(container, &["ports"]).iter().enumerate() {
            let host = opt_int_at(port, &["hostPort"]).unwrap_or_default();
            let inside = opt_int_at(port, &["containerPort"]).unwrap_or_default();
            if (scope.options.is_pod || host != 0) && host != inside {
                let words = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&path.index(index).child("hostPort"), host, words));
            }
        }
    }
}

fn validate_user_namespace(scope: &Scope<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    const WORDS: &str = "when `hostUsers` is false";
    let spec = scope.spec;
    if opt_bool_at(spec, &["hostUsers"]) != Some(false) {
        return;
    }
    if bool_at(spec, &["hostNetwork"]) && !scope.options.host_network_in_user_namespace {
        errors.push(FieldError::forbidden(&path.child("hostNetwork"), WORDS));
    }
    if bool_at(spec, &["hostPID"]) {
        errors.push(FieldError::forbidden(&path.child("HostPID"), WORDS));
    }
    if bool_at(spec, &["hostIPC"]) {
        errors.push(FieldError::forbidden(&path.child("HostIPC"), WORDS));
    }
    if !scope.options.devices_in_user_namespace {
        containers::visit(spec, path, |container, path| {
            if !list_at(container, &["volumeDevices"]).is_empty() {
                errors.push(FieldError::forbidden(&path.child("volumeDevices"), WORDS));
            }
        });
    }
}

fn validate_hostname_override(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(name) = opt_str_at(spec, &["hostnameOverride"]) else {
        return;
    };
    let path = path.child("hostnameOverride");
    if bool_at(spec, &["setHostnameAsFQDN"]) {
        errors.push(FieldError::forbidden(
            &path,
            "may not be specified when setHostnameAsFQDN is true",
        ));
    }
    if bool_at(spec, &["hostNetwork"]) {
        errors.push(FieldError::forbidden(
            &path,
            "may not be specified when hostNetwork is true",
        ));
    }
    if name.len() > 64 {
        errors.push(FieldError::too_long(&path, 64));
    }
    complain(&path, name, names::dns1123_subdomain(name), errors);
}

fn validate_names_and_numbers(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (field, rule) in [
        (
            "serviceAccountName",
            names::dns1123_subdomain as fn(&str) -> Vec<String>,
        ),
        ("nodeName", names::dns1123_subdomain),
    ] {
        let name = str_at(spec, &[field]);
        if !name.is_empty() {
            complain(&path.child(field), name, rule(name), errors);
        }
    }
    if let Some(seconds) = opt_int_at(spec, &["activeDeadlineSeconds"]) {
        complain(
            &path.child("activeDeadlineSeconds"),
            seconds,
            names::in_range(seconds, 1, i64::from(i32::MAX)),
            errors,
        );
    }
    for field in ["hostname", "subdomain"] {
        let name = str_at(spec, &[field]);
        if !name.is_empty() {
            complain(&path.child(field), name, names::dns1123_label(name), errors);
        }
    }
}

fn validate_late_names(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let priority_class = str_at(spec, &["priorityClassName"]);
    if !priority_class.is_empty() {
        let complaints = names::dns1123_subdomain(priority_class);
        complain(&path.child("priorityClassName"), priority_class, complaints, errors);
    }
    if let Some(name) = opt_str_at(spec, &["runtimeClassName"]) {
        complain(
            &path.child("runtimeClassName"),
            name,
            names::dns1123_subdomain(name),
            errors,
        );
    }
    if at(spec, &["preemptionPolicy"]).is_some() {
        one_of(
            spec,
            "preemptionPolicy",
            &["PreemptLowerPriority", "Never"],
            path,
            errors,
        );
    }
}

/// A variable read from a file needs the volume that holds it.
fn validate_file_key_refs(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let volumes: HashMap<&str, &Value> = list_at(spec, &["volumes"])
        .iter()
        .map(|volume| (str_at(volume, &["name"]), volume))
        .collect();
    containers::visit(spec, path, |container, path| {
        for (index, variable) in list_at(container, &["env"]).iter().enumerate() {
            let Some(reference) = at(variable, &["valueFrom", "fileKeyRef"]) else {
                continue;
            };
            let name = str_at(reference, &["volumeName"]);
            let path = path.child("env");
            let path = path.index(index);
            let path = path.child("valueFrom");
            let path = path.child("fileKeyRef");
            let path = path.child("volumeName");
            match volumes.get(name) {
                None => errors.push(FieldError::not_found(&path, name)),
                Some(volume) if at(volume, &["emptyDir"]).is_none() => {
                    errors.push(FieldError::invalid(
                        &path,
                        name,
                        "referenced volume must be of type emptyDir",
                    ));
                }
                Some(_) => {}
            }
        }
    });
}

/// The annotations of a pod or template, by key.
pub(crate) fn annotations_of(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    entries_at(object, &["metadata", "annotations"])
}
