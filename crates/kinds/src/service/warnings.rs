//! The `Warning` headers about a Service.

use kubewright_apimachinery::field::PathRef;
use serde_json::Value;

use super::spec::{NONE, Spec, text};
use super::validate::has_annotation;
use crate::rules::access::list_at;
use crate::rules::net::{cidr_warnings, ip_warnings};

pub(super) fn of(service: &Value) -> Vec<String> {
    let spec = Spec::of(service);
    let mut warnings = Vec::new();
    if has_annotation(service, "service.kubernetes.io/topology-aware-hints") {
        warnings.push(
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead"
                .to_owned(),
        );
    }
    let root = PathRef::root("spec");
    let single = spec.text("clusterIP");
    if !single.is_empty() && single != NONE {
        let path = root.child("clusterIPs");
        for (index, address) in spec.cluster_ips().into_iter().enumerate() {
            warnings.extend(ip_warnings(&path.index(index), address));
        }
    }
    let headless = spec.service_type() == "ClusterIP" && single == NONE;
    let external_ips = spec.texts("externalIPs");
    if headless {
        let ignored = [
            ("loadBalancerIP", !spec.text("loadBalancerIP").is_empty()),
            ("externalIPs", !external_ips.is_empty()),
            ("SessionAffinity", spec.text("sessionAffinity") != "None"),
        ];
        for (field, _) in ignored.into_iter().filter(|(_, set)| *set) {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    let path = root.child("externalIPs");
    for (index, address) in external_ips.iter().enumerate() {
        warnings.extend(ip_warnings(&path.index(index), address));
    }
    if !external_ips.is_empty() && !headless && !spec.is_external_name() {
        warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    let balancer = spec.text("loadBalancerIP");
    if !balancer.is_empty() {
        warnings.extend(ip_warnings(&root.child("loadBalancerIP"), balancer));
    }
    let path = root.child("loadBalancerSourceRanges");
    for (index, range) in spec.texts("loadBalancerSourceRanges").into_iter().enumerate() {
        warnings.extend(cidr_warnings(&path.index(index), range));
    }
    if spec.is_external_name() && !external_ips.is_empty() {
        warnings.push(r#"spec.externalIPs is ignored when spec.type is "ExternalName""#.to_owned());
    }
    if !spec.is_external_name() && !spec.text("externalName").is_empty() {
        warnings.push(r#"spec.externalName is ignored when spec.type is not "ExternalName""#.to_owned());
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        warnings.push(r#"spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#.to_owned());
    }
    warnings
}

/// The warnings about the addresses in the status of a load balancer, for Services and Ingresses.
pub(crate) fn of_balancer(object: &Value) -> Vec<String> {
    let status = PathRef::root("status");
    let balancer = status.child("loadBalancer");
    let path = balancer.child("ingress");
    let ingresses = list_at(object, &["status", "loadBalancer", "ingress"])
        .iter()
        .enumerate();
    ingresses
        .flat_map(|(index, ingress)| ip_warnings(&path.index(index), text(ingress, "ip")))
        .collect()
}
