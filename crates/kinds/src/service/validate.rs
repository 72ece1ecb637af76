//! Everything that can be wrong with a Service, in upstream's order.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use super::cluster_ips;
use super::spec::{Spec, int, text};
use crate::networking::endpoint_address;
use crate::rules::access::{complain, entries_at, opt_str_at};
use crate::rules::net::{parse_ip_sloppy, validate_cidr_of_old_field, validate_ip_of_old_field};
use crate::rules::printed;
use crate::rules::{labels, ports};

const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";

/// The longest time a client may stick to a pod: a day.
const AFFINITY_TIMEOUT_MAX: i64 = 86_400;

/// Everything wrong with what changed.
pub(super) fn validate_change(service: &Value, old: &Value, errors: &mut Errors) {
    let (is, was) = (Spec::of(service), Spec::of(old));
    cluster_ips::validate_address_change(is, was, errors);
    cluster_ips::validate_family_change(is, was, errors);
    if is.is_load_balancer() && was.is_load_balancer() && is.get("loadBalancerClass") != was.get("loadBalancerClass") {
        let shown = is.get("loadBalancerClass").cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(
            &PathRef::root("spec").child("loadBalancerClass"),
            shown,
            "may not change once set",
        ));
    }
    validate_load_balancer_class(is, errors);
    if was.needs_health_check()
        && is.needs_health_check()
        && was.number("healthCheckNodePort") != is.number("healthCheckNodePort")
    {
        errors.push(FieldError::forbidden(
            &PathRef::root("spec").child("healthCheckNodePort"),
            "field is immutable",
        ));
    }
}

/// Everything wrong with the Service as it stands.
pub(super) fn validate(service: &Value, old: Option<&Value>, errors: &mut Errors) {
    let is = Spec::of(service);
    let was = old.map(Spec::of);
    let spec = PathRef::root("spec");
    validate_topology_annotations(service, errors);
    if is.ports().is_empty() && !is.is_headless() && !is.is_external_name() {
        errors.push(FieldError::required(&spec.child("ports"), ""));
    }
    validate_type_fields(is, errors);
    validate_ports(is, errors);
    labels::validate_labels(is.get("selector"), &spec.child("selector"), errors);
    validate_affinity(is, errors);
    cluster_ips::validate(is, was, errors);
    validate_external_ips(is, was, errors);
    let kind = is.service_type();
    if kind.is_empty() {
        errors.push(FieldError::required(&spec.child("type"), ""));
    } else if !matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName") {
        let supported = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
        errors.push(FieldError::not_supported(&spec.child("type"), kind, supported));
    }
    validate_port_pairs(is, errors);
    validate_source_ranges(service, old, errors);
    if is.get("allocateLoadBalancerNodePorts").is_some() && !is.is_load_balancer() {
        errors.push(FieldError::forbidden(
            &spec.child("allocateLoadBalancerNodePorts"),
            ONLY_BALANCED,
        ));
    }
    validate_load_balancer_class(is, errors);
    validate_traffic_policies(is, errors);
}

fn validate_topology_annotations(service: &Value, errors: &mut Errors) {
    let annotation = |name| opt_str_at(service, &["metadata", "annotations", name]);
    if let (Some(hints), Some(mode)) = (annotation(TOPOLOGY_HINTS), annotation(TOPOLOGY_MODE))
        && hints != mode
    {
        let metadata = PathRef::root("metadata");
        let annotations = metadata.child("annotations");
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(FieldError::invalid(&annotations.key(TOPOLOGY_MODE), mode, detail));
    }
}

fn validate_type_fields(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    match is.service_type() {
        kind @ ("LoadBalancer" | "NodePort") if is.is_headless() => {
            let path = spec.child("clusterIPs");
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.push(FieldError::invalid(&path.index(0), "None", detail));
        }
        "ExternalName" => {
            let forbidden = "may not be set for ExternalName services";
            for field in ["clusterIPs", "ipFamilies"] {
                if !is.list(field).is_empty() {
                    errors.push(FieldError::forbidden(&spec.child(field), forbidden));
                }
            }
            if is.get("ipFamilyPolicy").is_some() {
                errors.push(FieldError::forbidden(&spec.child("ipFamilyPolicy"), forbidden));
            }
            // A trailing dot says that the name is fully qualified.
            let external = is.text("externalName");
            let name = external.strip_suffix('.').unwrap_or(external);
            let path = spec.child("externalName");
            if name.is_empty() {
                errors.push(FieldError::required(&path, ""));
            } else {
                complain(&path, name, names::dns1123_subdomain(name), errors);
            }
        }
        _ => {}
    }
}

fn validate_ports(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let ports_path = spec.child("ports");
    let mut seen = HashSet::new();
    for (index, port) in is.ports().iter().enumerate() {
        let path = ports_path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            complain(&path.child("name"), name, names::dns1123_label(name), errors);
            if !seen.insert(name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
        } else if is.ports().len() > 1 {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        let number = int(port, "port");
        complain(&path.child("port"), number, names::port_number(number), errors);
        let protocol = Some(text(port, "protocol")).filter(|protocol| !protocol.is_empty());
        ports::validate_protocol(protocol, &path, errors);
        let target = path.child("targetPort");
        match port.get("targetPort") {
            Some(Value::String(name)) => complain(&target, name.as_str(), names::port_name(name), errors),
            number => {
                let number = number.and_then(Value::as_i64).unwrap_or_default();
                complain(&target, number, names::port_number(number), errors);
            }
        }
        ports::validate_app_protocol(port, &path, errors);
    }
}

fn validate_affinity(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("sessionAffinity");
    match is.text("sessionAffinity") {
        "" => errors.push(FieldError::required(&path, "")),
        "None" => {}
        "ClientIP" => {
            let config = spec.child("sessionAffinityConfig");
            let client = config.child("clientIP");
            let seconds = is
                .get("sessionAffinityConfig")
                .and_then(|config| config.pointer("/clientIP/timeoutSeconds"))
                .and_then(Value::as_i64)
                .unwrap_or_default();
            if !(1..=AFFINITY_TIMEOUT_MAX).contains(&seconds) {
                let detail = format!("must be greater than 0 and less than {AFFINITY_TIMEOUT_MAX}");
                errors.push(FieldError::invalid(&client.child("timeoutSeconds"), seconds, detail));
            }
        }
        other => errors.push(FieldError::not_supported(&path, other, ["ClientIP", "None"])),
    }
}

fn validate_external_ips(is: Spec<'_>, was: Option<Spec<'_>>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("externalIPs");
    let before = was.map(|was| was.texts("externalIPs")).unwrap_or_default();
    for (index, address) in is.texts("externalIPs").into_iter().enumerate() {
        let known = errors.len();
        validate_ip_of_old_field(&path.index(index), address, &before, errors);
        if errors.len() == known {
            endpoint_address::validate(address, &path.index(index), errors);
        }
    }
}

/// Ports and node ports are unique per protocol, and only some types have node ports.
fn validate_port_pairs(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("ports");
    let with_node_port = || {
        is.ports()
            .iter()
            .enumerate()
            .filter(|(_, port)| int(port, "nodePort") != 0)
    };
    if is.service_type() == "ClusterIP" {
        for (index, _) in with_node_port() {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&path.index(index).child("nodePort"), detail));
        }
    }
    let mut seen = HashSet::new();
    for (index, port) in with_node_port() {
        let node_port = int(port, "nodePort");
        if !seen.insert((text(port, "protocol"), node_port)) {
            errors.push(FieldError::duplicate(&path.index(index).child("nodePort"), node_port));
        }
    }
    let mut seen = HashSet::new();
    for (index, port) in is.ports().iter().enumerate() {
        let (protocol, number) = (text(port, "protocol"), int(port, "port"));
        if !seen.insert((protocol, number)) {
            errors.push(duplicate_port(&path.index(index), protocol, number));
        }
    }
}

/// Upstream prints its internal port structure, fields in its order; a JSON value would sort them.
fn duplicate_port(path: &PathRef<'_>, protocol: &str, number: i64) -> FieldError {
    let protocol = Value::from(protocol);
    let detail = format!(
        r#"{{"Name":"","Protocol":{protocol},"AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}"#
    );
    printed::duplicate(path, detail)
}

fn validate_source_ranges(service: &Value, old: Option<&Value>, errors: &mut Errors) {
    let is = Spec::of(service);
    let ranges = is.texts("loadBalancerSourceRanges");
    let annotation = |service| opt_str_at(service, &["metadata", "annotations", SOURCE_RANGES]);
    if !ranges.is_empty() {
        let spec = PathRef::root("spec");
        let path = spec.child("LoadBalancerSourceRanges");
        if !is.is_load_balancer() {
            errors.push(FieldError::forbidden(&path, ONLY_BALANCED));
        }
        let before = old
            .map(|old| Spec::of(old).texts("loadBalancerSourceRanges"))
            .unwrap_or_default();
        let before: Vec<&str> = before.into_iter().map(str::trim).collect();
        for (index, range) in ranges.into_iter().enumerate() {
            validate_cidr_of_old_field(&path.index(index), range.trim(), &before, errors);
        }
    } else if let Some(value) = annotation(service) {
        let metadata = PathRef::root("metadata");
        let annotations = metadata.child("annotations");
        let path = annotations.key(SOURCE_RANGES);
        if !is.is_load_balancer() {
            errors.push(FieldError::forbidden(&path, ONLY_BALANCED));
        }
        let changed = old.is_none_or(|old| annotation(old).unwrap_or_default() != value);
        if changed && !value.trim().is_empty() {
            for range in value.trim().split(',') {
                validate_cidr_of_old_field(&path, range.trim(), &[], errors);
            }
        }
    }
}

fn validate_load_balancer_class(is: Spec<'_>, errors: &mut Errors) {
    let Some(class) = is.get("loadBalancerClass").and_then(Value::as_str) else {
        return;
    };
    let spec = PathRef::root("spec");
    let path = spec.child("loadBalancerClass");
    if is.is_load_balancer() {
        complain(&path, class, names::qualified_name(class), errors);
    } else {
        errors.push(FieldError::forbidden(&path, ONLY_BALANCED));
    }
}

fn validate_traffic_policies(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("externalTrafficPolicy");
    let supported = ["Cluster", "Local"];
    match (is.externally_accessible(), is.text("externalTrafficPolicy")) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, policy) => {
            errors.push(FieldError::invalid(
                &path,
                policy,
                "may only be set for externally-accessible services",
            ));
        }
        (true, "") => errors.push(FieldError::required(&path, "")),
        (true, policy) => errors.push(FieldError::not_supported(&path, policy, supported)),
    }
    let path = spec.child("healthCheckNodePort");
    match (is.needs_health_check(), is.number("healthCheckNodePort")) {
        (false, 0) => {}
        (false, port) => {
            let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(FieldError::invalid(&path, port, detail));
        }
        (true, 0) => errors.push(FieldError::required(&path, "")),
        (true, port) => complain(&path, port, names::port_number(port), errors),
    }
    let path = spec.child("internalTrafficPolicy");
    match is.get("internalTrafficPolicy").and_then(Value::as_str) {
        None if matches!(is.service_type(), "ClusterIP" | "NodePort" | "LoadBalancer") => {
            errors.push(FieldError::required(&path, ""));
        }
        Some(policy) if !supported.contains(&policy) => {
            errors.push(FieldError::not_supported(&path, policy, supported));
        }
        _ => {}
    }
    if let Some(distribution) = is.get("trafficDistribution").and_then(Value::as_str) {
        let supported = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        if !supported.contains(&distribution) {
            errors.push(FieldError::not_supported(
                &spec.child("trafficDistribution"),
                distribution,
                supported,
            ));
        }
    }
}

/// Everything wrong with the load balancer a status reports.
pub(super) fn validate_status(service: &Value, old: &Value, errors: &mut Errors) {
    let ingresses = |object| crate::rules::access::list_at(object, &["status", "loadBalancer", "ingress"]);
    let status = PathRef::root("status");
    let balancer = status.child("loadBalancer");
    let path = balancer.child("ingress");
    if !Spec::of(service).is_load_balancer() && !ingresses(service).is_empty() {
        errors.push(FieldError::forbidden(
            &path,
            "may only be used when `spec.type` is 'LoadBalancer'",
        ));
        return;
    }
    let before: Vec<&str> = ingresses(old)
        .iter()
        .map(|ingress| text(ingress, "ip"))
        .filter(|ip| !ip.is_empty())
        .collect();
    for (index, ingress) in ingresses(service).iter().enumerate() {
        let path = path.index(index);
        let address = text(ingress, "ip");
        if !address.is_empty() {
            validate_ip_of_old_field(&path.child("ip"), address, &before, errors);
        }
        let mode_path = path.child("ipMode");
        match opt_str_at(ingress, &["ipMode"]) {
            None if !address.is_empty() => {
                errors.push(FieldError::required(&mode_path, "must be specified when `ip` is set"));
            }
            Some(_) if address.is_empty() => {
                errors.push(FieldError::forbidden(
                    &mode_path,
                    "may not be specified when `ip` is not set",
                ));
            }
            Some(mode) if !matches!(mode, "VIP" | "Proxy") => {
                errors.push(FieldError::not_supported(&mode_path, mode, ["Proxy", "VIP"]));
            }
            _ => {}
        }
        validate_host_name(text(ingress, "hostname"), &path.child("hostname"), errors);
    }
}

/// A load balancer's name: a DNS name that is no address.
pub(crate) fn validate_host_name(name: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if name.is_empty() {
        return;
    }
    complain(path, name, names::dns1123_subdomain(name), errors);
    if parse_ip_sloppy(name).is_some() {
        errors.push(FieldError::invalid(path, name, "must be a DNS name, not an IP address"));
    }
}

/// Whether the object has an annotation.
pub(super) fn has_annotation(service: &Value, name: &str) -> bool {
    entries_at(service, &["metadata", "annotations"]).any(|(key, _)| key == name)
}
