//! A Service's defaults that depend on its other fields.

use serde_json::{Map, Value, json};

use super::spec::{Spec, int, spec_mut, text};
use crate::rules::access::set_default;

/// How long a client stays with a Pod by default: three hours.
const AFFINITY_TIMEOUT_SECONDS: i64 = 10_800;

pub(super) fn apply(service: &mut Value) {
    let spec = Spec::of(service);
    let kind = spec.service_type().to_owned();
    let affinity = spec.text("sessionAffinity").to_owned();
    let external = spec.externally_accessible();
    let Some(spec) = spec_mut(service) else { return };

    if affinity == "None" {
        spec.remove("sessionAffinityConfig");
    }
    if affinity == "ClientIP" {
        let config = spec.entry("sessionAffinityConfig").or_insert(Value::Null);
        if config.pointer("/clientIP/timeoutSeconds").is_none_or(Value::is_null) {
            *config = json!({ "clientIP": { "timeoutSeconds": AFFINITY_TIMEOUT_SECONDS } });
        }
    }
    target_own_ports(spec);
    let mut fill = |field: &str, value: Value| {
        let slot = spec.entry(field).or_insert(Value::Null);
        // Behind a pointer, an empty text is a value like others.
        let is_unset = slot.is_null() || field != "internalTrafficPolicy" && *slot == json!("");
        if is_unset {
            *slot = value;
        }
    };
    if external {
        fill("externalTrafficPolicy", "Cluster".into());
    }
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        fill("internalTrafficPolicy", "Cluster".into());
    }
    if kind == "LoadBalancer" {
        fill("allocateLoadBalancerNodePorts", true.into());
        name_address_modes(service);
    }
}

/// A port leads to the same port of its pods unless it says to which.
fn target_own_ports(spec: &mut Map<String, Value>) {
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let number = int(port, "port");
        if let Some(port) = port.as_object_mut() {
            let target = port.entry("targetPort").or_insert(Value::Null);
            if target.is_null() || *target == json!(0) || *target == json!("") {
                *target = number.into();
            }
        }
    }
}

/// An address of a load balancer is a virtual one unless it says otherwise.
fn name_address_modes(service: &mut Value) {
    let ingresses = service
        .pointer_mut("/status/loadBalancer/ingress")
        .and_then(Value::as_array_mut);
    for ingress in ingresses.into_iter().flatten() {
        if !text(ingress, "ip").is_empty() {
            set_default(ingress, &[], "ipMode", "VIP");
        }
    }
}
