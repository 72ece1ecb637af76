//! What a change of type clears: fields that no longer apply and that the client did not change as well.

use serde_json::{Value, json};

use super::spec::{Spec, spec_mut};
use crate::rules::access::map_mut;

/// A stored `ExternalName` Service never shows `internalTrafficPolicy`; a wrong value is left for validation to refuse.
pub(super) fn hide_internal_traffic_policy(service: &mut Value) {
    let spec = Spec::of(service);
    if spec.is_external_name()
        && matches!(spec.text("internalTrafficPolicy"), "Cluster" | "Local")
        && let Some(spec) = spec_mut(service)
    {
        spec.remove("internalTrafficPolicy");
    }
}

/// Clears what the new type has no use for.
pub(super) fn drop_type_dependent_fields(service: &mut Value, old: &Value) {
    let (was, is) = (Spec::of(old), Spec::of(service));
    let uses_ports = |spec: Spec<'_>| matches!(spec.service_type(), "NodePort" | "LoadBalancer");
    let unchanged = |field: &str| was.get(field) == is.get(field);

    let mut dropped: Vec<&str> = Vec::new();
    if was.needs_cluster_ip() && !is.needs_cluster_ip() {
        if was.text("clusterIP") == is.text("clusterIP") && was.cluster_ips() == is.cluster_ips() {
            dropped.extend(["clusterIP", "clusterIPs"]);
        }
        dropped.extend(
            ["ipFamilies", "ipFamilyPolicy"]
                .into_iter()
                .filter(|field| unchanged(field)),
        );
    }
    let drop_ports = uses_ports(was) && !uses_ports(is) && was.node_port_set().is_superset(&is.node_port_set());
    if was.needs_health_check() && !is.needs_health_check() && unchanged("healthCheckNodePort") {
        dropped.push("healthCheckNodePort");
    }
    if was.is_load_balancer() && !is.is_load_balancer() {
        let fields = ["allocateLoadBalancerNodePorts", "loadBalancerClass"];
        dropped.extend(fields.into_iter().filter(|field| unchanged(field)));
    }
    if was.externally_accessible() && !is.externally_accessible() && unchanged("externalTrafficPolicy") {
        dropped.push("externalTrafficPolicy");
    }
    let balanced = is.is_load_balancer();

    if let Some(spec) = spec_mut(service) {
        for field in dropped {
            spec.remove(field);
        }
        if drop_ports {
            for port in spec
                .get_mut("ports")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if let Some(port) = port.as_object_mut() {
                    port.remove("nodePort");
                }
            }
        }
    }
    if !balanced && let Some(status) = map_mut(service, &["status"]) {
        status.insert("loadBalancer".into(), json!({}));
    }
}
