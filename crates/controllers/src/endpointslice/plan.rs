//! The slices a Service should have, and how to get there from those it has. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::support::claim::controller_reference;
use crate::support::pods;

pub(super) const SERVICE_LABEL: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";
const HEADLESS: &str = "service.kubernetes.io/headless";
/// So many endpoints are in a slice, at most.
const MOST: usize = 100;

/// What to do with slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) create: Vec<EndpointSlice>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<String>,
}

/// Whether slices of a Service are made here: it selects Pods and is not somewhere else.
pub(super) fn is_managed(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    let selects = spec
        .and_then(|spec| spec.selector.as_ref())
        .is_some_and(|selector| !selector.is_empty());
    selects && spec.and_then(|spec| spec.type_.as_deref()) != Some("ExternalName")
}

/// Plans the slices of a Service with these Pods, given those it has.
pub(super) fn plan(service: &Service, pods: &[&Pod], present: &[&EndpointSlice]) -> Plan {
    let mut plan = Plan::default();
    let mut left: Vec<&EndpointSlice> = present.to_vec();
    left.sort_by_key(|slice| slice.metadata.name.clone());
    for (ports, endpoints) in grouped(service, pods) {
        let chunks: Vec<&[Endpoint]> = if endpoints.is_empty() {
            vec![&[]]
        } else {
            endpoints.chunks(MOST).collect()
        };
        for chunk in chunks {
            let wanted = slice(service, &ports, chunk);
            // A slice that is right already is kept; else any other is changed.
            let same = |slice: &&EndpointSlice| is_same(slice, &wanted);
            let place = left
                .iter()
                .position(same)
                .or(if left.is_empty() { None } else { Some(0) });
            match place.map(|place| left.remove(place)) {
                None => plan.create.push(wanted),
                Some(slice) if is_same(slice, &wanted) => {}
                Some(slice) => plan.update.push(changed(slice, wanted)),
            }
        }
    }
    plan.delete = left
        .into_iter()
        .filter_map(|slice| slice.metadata.name.clone())
        .collect();
    plan
}

fn is_same(slice: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    slice.endpoints == wanted.endpoints
        && slice.ports == wanted.ports
        && slice.metadata.labels == wanted.metadata.labels
        && slice.address_type == wanted.address_type
}

fn changed(slice: &EndpointSlice, wanted: EndpointSlice) -> EndpointSlice {
    EndpointSlice {
        metadata: ObjectMeta {
            labels: wanted.metadata.labels,
            owner_references: wanted.metadata.owner_references,
            ..slice.metadata.clone()
        },
        ..wanted
    }
}

/// Endpoints by the ports they serve: a named port may be another number in each Pod.
fn grouped(service: &Service, pods: &[&Pod]) -> Vec<(Vec<EndpointPort>, Vec<Endpoint>)> {
    let mut groups: BTreeMap<String, (Vec<EndpointPort>, Vec<Endpoint>)> = BTreeMap::new();
    let mut sorted: Vec<&&Pod> = pods.iter().collect();
    sorted.sort_by_key(|pod| pod.metadata.name.clone());
    for pod in sorted {
        let Some(endpoint) = endpoint(service, pod) else {
            continue;
        };
        let ports = ports(service, pod);
        let key = serde_json::to_string(&ports).unwrap_or_default();
        groups
            .entry(key)
            .or_insert_with(|| (ports, Vec::new()))
            .1
            .push(endpoint);
    }
    if groups.is_empty() {
        return vec![(Vec::new(), Vec::new())];
    }
    groups.into_values().collect()
}

fn endpoint(service: &Service, pod: &Pod) -> Option<Endpoint> {
    let address = pod.status.as_ref()?.pod_ip.clone().filter(|ip| !ip.is_empty())?;
    if pods::is_terminal(pod) {
        return None;
    }
    let spec = service.spec.as_ref();
    let early = spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true);
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let serving = pods::is_ready(pod);
    let pod_spec = pod.spec.clone().unwrap_or_default();
    let named = pod_spec.subdomain == service.metadata.name && pod.metadata.namespace == service.metadata.namespace;
    Some(Endpoint {
        addresses: vec![address],
        conditions: Some(EndpointConditions {
            ready: Some(early || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hostname: pod_spec.hostname.filter(|hostname| named && !hostname.is_empty()),
        node_name: pod_spec.node_name,
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    })
}

fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    ports
        .filter_map(|port| {
            Some(EndpointPort {
                name: Some(port.name.clone().unwrap_or_default()),
                port: Some(target(port, pod)?),
                protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
                app_protocol: port.app_protocol.clone(),
            })
        })
        .collect()
}

/// The number of the port in a Pod; a name that no container has means no port.
fn target(port: &ServicePort, pod: &Pod) -> Option<i32> {
    match &port.target_port {
        None | Some(IntOrString::Int(0)) => Some(port.port),
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            let protocol = port.protocol.as_deref().unwrap_or("TCP");
            containers
                .flat_map(|container| container.ports.iter().flatten())
                .find(|own| own.name.as_deref() == Some(name) && own.protocol.as_deref().unwrap_or("TCP") == protocol)
                .map(|own| own.container_port)
        }
    }
}

fn slice(service: &Service, ports: &[EndpointPort], endpoints: &[Endpoint]) -> EndpointSlice {
    let name = service.metadata.name.clone().unwrap_or_default();
    let spec = service.spec.clone().unwrap_or_default();
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    labels.insert(SERVICE_LABEL.to_owned(), name.clone());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    if spec.cluster_ip.as_deref() == Some("None") {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    let is_six = spec
        .ip_families
        .iter()
        .flatten()
        .next()
        .is_some_and(|family| family == "IPv6");
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![controller_reference(service)]),
            ..ObjectMeta::default()
        },
        address_type: if is_six { "IPv6" } else { "IPv4" }.to_owned(),
        endpoints: Some(endpoints.to_vec()),
        ports: (!ports.is_empty()).then(|| ports.to_vec()),
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(ports: Value) -> Service {
        serde_json::from_value(json!({
            "metadata": { "name": "web", "namespace": "shop", "uid": "1" },
            "spec": { "selector": { "app": "web" }, "ports": ports },
        }))
        .unwrap()
    }

    fn pod(name: &str, ready: bool, port: i32) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "shop", "uid": name },
            "spec": { "nodeName": "n", "containers": [{ "name": "c", "ports": [{ "name": "http", "containerPort": port }] }] },
            "status": { "phase": "Running", "podIP": format!("10.0.0.{port}"), "conditions": [
                { "type": "Ready", "status": if ready { "True" } else { "False" } },
            ] },
        }))
        .unwrap()
    }

    #[test]
    fn endpoints_say_whether_they_are_ready() {
        let service = service(json!([{ "port": 80 }]));
        let (a, b) = (pod("a", true, 1), pod("b", false, 2));
        let plan = plan(&service, &[&b, &a], &[]);
        let endpoints = plan.create[0].endpoints.clone().unwrap();
        let ready: Vec<_> = endpoints
            .iter()
            .map(|end| end.conditions.as_ref().unwrap().ready)
            .collect();
        assert_eq!(ready, [Some(true), Some(false)]);
        assert_eq!(plan.create[0].ports.as_ref().unwrap()[0].port, Some(80));
        assert_eq!(super::plan(&service, &[&a, &b], &[&plan.create[0]]), Plan::default());
    }

    #[test]
    fn named_ports_are_looked_up_in_each_pod() {
        let service = service(json!([{ "port": 80, "targetPort": "http" }]));
        let (a, b) = (pod("a", true, 1), pod("b", true, 2));
        let plan = plan(&service, &[&a, &b], &[]);
        assert_eq!(plan.create.len(), 2);
    }

    #[test]
    fn many_endpoints_are_cut_into_slices_and_slices_too_many_are_deleted() {
        let service = service(json!([{ "port": 80 }]));
        let pods: Vec<Pod> = (0..250)
            .map(|number| pod(&format!("p{number:03}"), true, number))
            .collect();
        let all: Vec<&Pod> = pods.iter().collect();
        let made = plan(&service, &all, &[]).create;
        assert_eq!(made.len(), 3);
        let present: Vec<&EndpointSlice> = made.iter().collect();
        let fewer = plan(&service, &all[..1], &present);
        assert_eq!((fewer.create.len(), fewer.update.len(), fewer.delete.len()), (0, 1, 0));
    }
}
