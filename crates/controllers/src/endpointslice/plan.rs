//! The slices a Service should have, and how to get there from those it has. Pure.
//! An endpoint stays in the slice it is in: who watches slices sees as little change as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::net::IpAddr;

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

/// The nodes that exist, of those that matter, and the zones they are in.
pub(super) type Zones = BTreeMap<String, Option<String>>;

/// What to do with slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) create: Vec<EndpointSlice>,
    pub(super) update: Vec<EndpointSlice>,
    pub(super) delete: Vec<String>,
    /// Pods that were left out for now, and why.
    pub(super) skipped: Vec<String>,
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
pub(super) fn plan(service: &Service, pods: &[&Pod], zones: &Zones, present: &[&EndpointSlice]) -> Plan {
    let mut plan = Plan::default();
    let families = families(service);
    let mut left: Vec<&EndpointSlice> = present.to_vec();
    left.sort_by_key(|slice| slice.metadata.name.clone());
    for family in &families {
        let (own, others) = left.into_iter().partition(|slice| slice.address_type == *family);
        left = others;
        plan_family(service, pods, zones, own, family, &mut plan);
    }
    // No address of the Service is of their family any more.
    plan.delete
        .extend(left.into_iter().filter_map(|slice| slice.metadata.name.clone()));
    plan
}

fn plan_family(
    service: &Service,
    pods: &[&Pod],
    zones: &Zones,
    present: Vec<&EndpointSlice>,
    family: &'static str,
    plan: &mut Plan,
) {
    let mut groups = grouped(service, pods, zones, family, &mut plan.skipped);
    let mut placed = Placed::default();
    let mut unwanted = Vec::new();
    let mut by_ports: BTreeMap<String, Vec<&EndpointSlice>> = BTreeMap::new();
    for slice in present {
        let ports = key_of(slice.ports.as_deref().unwrap_or_default());
        if is_owned(slice, service) && groups.contains_key(&ports) {
            by_ports.entry(ports).or_default().push(slice);
        } else {
            unwanted.push(slice);
        }
    }
    for (key, (ports, endpoints)) in &mut groups {
        let template = slice(service, ports, &[], family);
        let slices = by_ports.remove(key).unwrap_or_default();
        placed.place(&template, &slices, endpoints);
    }
    unwanted.append(&mut placed.emptied);
    if placed.create.is_empty() && placed.update.is_empty() && !placed.some_stay {
        let placeholder = slice(service, &[], &[], family);
        match unwanted.iter().position(|slice| is_same(slice, &placeholder)) {
            Some(place) => {
                unwanted.remove(place);
            }
            None => placed.create.push(placeholder),
        }
    }
    // Rather than make one slice and delete another, change that.
    for slice in unwanted {
        let reusable = is_owned(slice, service).then(|| placed.create.pop()).flatten();
        match reusable {
            Some(wanted) => placed.update.push(changed(slice, wanted)),
            None => plan.delete.extend(slice.metadata.name.clone()),
        }
    }
    plan.create.append(&mut placed.create);
    plan.update.append(&mut placed.update);
}

/// Where endpoints of the same ports went.
#[derive(Default)]
struct Placed<'a> {
    create: Vec<EndpointSlice>,
    update: Vec<EndpointSlice>,
    emptied: Vec<&'a EndpointSlice>,
    some_stay: bool,
}

impl<'a> Placed<'a> {
    fn place(&mut self, template: &EndpointSlice, present: &[&'a EndpointSlice], wanted: &mut Vec<Endpoint>) {
        let mut updates: Vec<EndpointSlice> = Vec::new();
        let mut unchanged: Vec<&EndpointSlice> = Vec::new();
        for slice in present {
            let before = endpoints_of(slice);
            let mut kept = Vec::new();
            for endpoint in before {
                if let Some(place) = wanted.iter().position(|other| is_same_endpoint(other, endpoint)) {
                    kept.push(wanted.remove(place));
                }
            }
            if kept.is_empty() && !before.is_empty() {
                self.emptied.push(slice);
            } else if kept != before || slice.metadata.labels != template.metadata.labels {
                updates.push(with_endpoints(&changed(slice, template.clone()), kept));
            } else {
                unchanged.push(slice);
            }
        }
        // The fuller first.
        updates.sort_by_key(|slice| std::cmp::Reverse(length(slice)));
        for slice in &mut updates {
            fill(slice, wanted);
        }
        while !wanted.is_empty() {
            let room = |slice: &&EndpointSlice| length(slice) + wanted.len() <= MOST && wanted.len() < MOST;
            let fullest = unchanged
                .iter()
                .enumerate()
                .filter(|(_, slice)| room(slice))
                .max_by_key(|(_, slice)| length(slice))
                .map(|(place, _)| place);
            if let Some(place) = fullest {
                let mut slice = unchanged.remove(place).clone();
                fill(&mut slice, wanted);
                updates.push(slice);
            } else {
                let mut slice = template.clone();
                fill(&mut slice, wanted);
                self.create.push(slice);
            }
        }
        self.some_stay |= !unchanged.is_empty();
        self.update.append(&mut updates);
    }
}

fn length(slice: &EndpointSlice) -> usize {
    endpoints_of(slice).len()
}

/// The types of some versions of Kubernetes have an optional list, those of others a list.
fn endpoints_of(slice: &EndpointSlice) -> &[Endpoint] {
    Option::<&Vec<Endpoint>>::from(&slice.endpoints).map_or(&[], Vec::as_slice)
}

#[allow(
    clippy::useless_conversion,
    reason = "with the types of some versions of Kubernetes it is none"
)]
fn fill(slice: &mut EndpointSlice, wanted: &mut Vec<Endpoint>) {
    let mut endpoints = Option::<Vec<Endpoint>>::from(mem::take(&mut slice.endpoints)).unwrap_or_default();
    let room = MOST.saturating_sub(endpoints.len()).min(wanted.len());
    endpoints.extend(wanted.drain(..room));
    slice.endpoints = endpoints.into();
}

fn with_endpoints(slice: &EndpointSlice, endpoints: Vec<Endpoint>) -> EndpointSlice {
    EndpointSlice {
        endpoints: endpoints.into(),
        ..slice.clone()
    }
}

/// Whether two endpoints are the same one, whatever they say of themselves.
fn is_same_endpoint(left: &Endpoint, right: &Endpoint) -> bool {
    let target = |endpoint: &Endpoint| endpoint.target_ref.as_ref().and_then(|target| target.uid.clone());
    left.addresses == right.addresses && left.hostname == right.hostname && target(left) == target(right)
}

fn is_same(slice: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    let ports = |slice: &EndpointSlice| slice.ports.clone().unwrap_or_default();
    length(slice) == 0
        && length(wanted) == 0
        && ports(slice) == ports(wanted)
        && slice.metadata.labels == wanted.metadata.labels
        && slice.metadata.owner_references == wanted.metadata.owner_references
}

fn is_owned(slice: &EndpointSlice, service: &Service) -> bool {
    let owners = slice.metadata.owner_references.iter().flatten();
    owners
        .into_iter()
        .any(|owner| owner.kind == "Service" && Some(&owner.uid) == service.metadata.uid.as_ref())
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

/// The families of addresses a Service has, as slices call them.
fn families(service: &Service) -> BTreeSet<&'static str> {
    let spec = service.spec.as_ref();
    let named = spec.and_then(|spec| spec.ip_families.as_deref()).unwrap_or_default();
    let mut families: BTreeSet<_> = named
        .iter()
        .map(|family| if family == "IPv6" { "IPv6" } else { "IPv4" })
        .collect();
    if families.is_empty() {
        let address = spec.and_then(|spec| spec.cluster_ip.as_deref()).unwrap_or_default();
        let is_six = address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
        families.insert(if is_six { "IPv6" } else { "IPv4" });
    }
    families
}

fn key_of(ports: &[EndpointPort]) -> String {
    serde_json::to_string(ports).unwrap_or_default()
}

/// Endpoints by the ports they serve: a named port may be another number in each Pod.
fn grouped(
    service: &Service,
    pods: &[&Pod],
    zones: &Zones,
    family: &str,
    skipped: &mut Vec<String>,
) -> BTreeMap<String, (Vec<EndpointPort>, Vec<Endpoint>)> {
    let mut groups: BTreeMap<String, (Vec<EndpointPort>, Vec<Endpoint>)> = BTreeMap::new();
    let mut sorted: Vec<&&Pod> = pods.iter().filter(|pod| has_address(pod)).collect();
    sorted.sort_by_key(|pod| pod.metadata.name.clone());
    for pod in sorted {
        let ports = ports(service, pod);
        let (_, endpoints) = groups.entry(key_of(&ports)).or_insert_with(|| (ports, Vec::new()));
        let zone = zones.get(pods::node_of(pod));
        if zone.is_none() && !publishes_early(service) {
            skipped.push(format!(
                "skipping Pod {} for Service {}/{}: Node {} Not Found",
                pod.metadata.name.as_deref().unwrap_or_default(),
                service.metadata.namespace.as_deref().unwrap_or_default(),
                service.metadata.name.as_deref().unwrap_or_default(),
                pods::node_of(pod)
            ));
            continue;
        }
        endpoints.extend(endpoint(service, pod, zone.cloned().flatten(), family));
    }
    groups
}

/// Whether a Pod is somewhere, and will be for a while.
fn has_address(pod: &Pod) -> bool {
    let has = |pod: &Pod| {
        let status = pod.status.as_ref()?;
        let address = status.pod_ip.as_deref().unwrap_or_default();
        Some(!address.is_empty() || status.pod_ips.as_ref().is_some_and(|all| !all.is_empty()))
    };
    !pods::is_terminal(pod) && has(pod) == Some(true)
}

fn publishes_early(service: &Service) -> bool {
    let spec = service.spec.as_ref();
    spec.and_then(|spec| spec.publish_not_ready_addresses) == Some(true)
}

fn endpoint(service: &Service, pod: &Pod, zone: Option<String>, family: &str) -> Option<Endpoint> {
    let status = pod.status.as_ref()?;
    let all: Vec<String> = match status.pod_ips.as_deref() {
        None | Some([]) => status.pod_ip.iter().cloned().collect(),
        Some(all) => all.iter().map(|address| address.ip.clone()).collect(),
    };
    let addresses = all.iter().filter_map(|address| address.parse::<IpAddr>().ok());
    let addresses: Vec<String> = addresses
        .filter(|address| address.is_ipv6() == (family == "IPv6"))
        .map(|address| address.to_string())
        .collect();
    if addresses.is_empty() {
        return None;
    }
    let terminating = pod.metadata.deletion_timestamp.is_some();
    let serving = pods::is_ready(pod);
    let pod_spec = pod.spec.clone().unwrap_or_default();
    let named = pod_spec.subdomain == service.metadata.name && pod.metadata.namespace == service.metadata.namespace;
    Some(Endpoint {
        addresses,
        conditions: Some(EndpointConditions {
            ready: Some(publishes_early(service) || (serving && !terminating)),
            serving: Some(serving),
            terminating: Some(terminating),
        }),
        hostname: pod_spec.hostname.filter(|hostname| named && !hostname.is_empty()),
        node_name: pod_spec.node_name.filter(|node| !node.is_empty()),
        zone: zone.filter(|zone| !zone.is_empty()),
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

fn slice(service: &Service, ports: &[EndpointPort], endpoints: &[Endpoint], family: &str) -> EndpointSlice {
    let name = service.metadata.name.clone().unwrap_or_default();
    let spec = service.spec.clone().unwrap_or_default();
    let mut labels = service.metadata.labels.clone().unwrap_or_default();
    // A Service cannot say these things of its slices.
    labels.remove(HEADLESS);
    labels.insert(SERVICE_LABEL.to_owned(), name.clone());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    if matches!(spec.cluster_ip.as_deref(), None | Some("" | "None")) {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: service.metadata.namespace.clone(),
            labels: Some(labels),
            owner_references: Some(vec![controller_reference(service)]),
            ..ObjectMeta::default()
        },
        address_type: family.to_owned(),
        endpoints: endpoints.to_vec().into(),
        ports: (!ports.is_empty()).then(|| ports.to_vec()),
    }
}
