//! What a Pod needs of a node: resources, ports, selectors, tolerations.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, NodeAffinity, Pod, PodAffinityTerm, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kubewright_runtime::object::{ObjectKey, Selector};

use crate::support::index::controller_of;

/// Amounts of resources by name: CPU in thousandths, everything else in whole units.
pub(super) type Amounts = BTreeMap<String, i64>;

/// A port of a node: protocol and number.
pub(super) type Port = (String, i32);

/// What a Pod requires of its node, and what affinity terms of other Pods read of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Requirements {
    pub(super) key: Option<ObjectKey>,
    pub(super) uid: String,
    pub(super) controller: Option<String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) amounts: Amounts,
    pub(super) ports: BTreeSet<Port>,
    pub(super) node_selector: BTreeMap<String, String>,
    pub(super) node_affinity: Option<NodeAffinity>,
    /// Required affinity.
    pub(super) together: Vec<AffinityTerm>,
    /// Required anti-affinity.
    pub(super) apart: Vec<AffinityTerm>,
    pub(super) tolerations: Vec<Toleration>,
}

/// A term of affinity: the Pods it selects, and the topology key.
#[derive(Clone, Debug)]
pub(super) struct AffinityTerm {
    pub(super) topology_key: String,
    /// The namespaces of the Pods; that of the term's own Pod if there are none.
    namespaces: Vec<String>,
    everywhere: bool,
    selector: Option<Selector>,
}

impl AffinityTerm {
    fn of(term: &PodAffinityTerm) -> Self {
        AffinityTerm {
            topology_key: term.topology_key.clone(),
            namespaces: term.namespaces.clone().unwrap_or_default(),
            everywhere: term.namespace_selector.is_some(),
            selector: term
                .label_selector
                .as_ref()
                .and_then(|selector| Selector::try_from(selector).ok()),
        }
    }

    /// Whether the term of `owner` selects a Pod.
    pub(super) fn means(&self, owner: &Requirements, pod: &Requirements) -> bool {
        let in_scope = if self.namespaces.is_empty() && !self.everywhere {
            pod.namespace() == owner.namespace()
        } else {
            self.everywhere || self.namespaces.iter().any(|namespace| namespace == pod.namespace())
        };
        in_scope
            && self.selector.as_ref().is_some_and(|selector| {
                let labels: Vec<_> = pod.labels.iter().collect();
                selector.matches(&labels)
            })
    }
}

impl Requirements {
    /// What a Pod needs.
    pub(super) fn of(pod: &Pod, key: &ObjectKey) -> Self {
        let mut requirements = Requirements {
            key: Some(key.clone()),
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            controller: controller_of(pod).map(|owner| owner.uid.clone()),
            labels: pod.metadata.labels.clone().unwrap_or_default(),
            ..Requirements::default()
        };
        if let Some(spec) = &pod.spec {
            let terms =
                |terms: Option<&Vec<PodAffinityTerm>>| terms.into_iter().flatten().map(AffinityTerm::of).collect();
            let affinity = spec.affinity.as_ref();
            let together = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
            let apart = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
            requirements.amounts = requests(spec);
            requirements.ports = host_ports(spec);
            requirements.node_selector = spec.node_selector.clone().unwrap_or_default();
            requirements.node_affinity = affinity.and_then(|affinity| affinity.node_affinity.clone());
            requirements.together = terms(
                together.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref()),
            );
            requirements.apart =
                terms(apart.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref()));
            requirements.tolerations = spec.tolerations.clone().unwrap_or_default();
        }
        requirements
    }

    /// The namespace it is in.
    pub(super) fn namespace(&self) -> &str {
        self.key.as_ref().and_then(ObjectKey::namespace).unwrap_or_default()
    }
}

/// An amount in the unit of its resource.
pub(super) fn amount(name: &str, quantity: &Quantity) -> i64 {
    let Ok(parsed) = kubewright_quantity::Quantity::parse(&quantity.0) else {
        return 0;
    };
    if name == "cpu" {
        parsed.milli_value()
    } else {
        parsed.value()
    }
}

fn add(sum: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.saturating_add(*amount);
    }
}

fn raise(most: &mut Amounts, amounts: &Amounts) {
    for (name, amount) in amounts {
        let entry = most.entry(name.clone()).or_default();
        *entry = (*entry).max(*amount);
    }
}

fn of_container(container: &Container) -> Amounts {
    let requests = container
        .resources
        .iter()
        .flat_map(|resources| resources.requests.iter().flatten());
    requests
        .map(|(name, quantity)| (name.clone(), amount(name, quantity)))
        .collect()
}

/// The requests of a Pod: the sum of its containers and sidecars, or those of its largest init container if they are more.
fn requests(spec: &PodSpec) -> Amounts {
    let mut running = Amounts::new();
    for container in &spec.containers {
        add(&mut running, &of_container(container));
    }
    let (mut beside, mut preparing) = (Amounts::new(), Amounts::new());
    for container in spec.init_containers.iter().flatten() {
        let own = of_container(container);
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut beside, &own);
            raise(&mut preparing, &beside);
        } else {
            let mut together = beside.clone();
            add(&mut together, &own);
            raise(&mut preparing, &together);
        }
    }
    add(&mut running, &beside);
    raise(&mut running, &preparing);
    let whole_pod = spec
        .resources
        .iter()
        .flat_map(|resources| resources.requests.iter().flatten());
    for (name, quantity) in whole_pod {
        running.insert(name.clone(), amount(name, quantity));
    }
    let overhead = spec.overhead.iter().flatten();
    add(
        &mut running,
        &overhead
            .map(|(name, quantity)| (name.clone(), amount(name, quantity)))
            .collect(),
    );
    running.retain(|_, amount| *amount != 0);
    running
}

fn host_ports(spec: &PodSpec) -> BTreeSet<Port> {
    let ports = spec
        .containers
        .iter()
        .flat_map(|container| container.ports.iter().flatten());
    ports
        .filter_map(|port| {
            let number = port.host_port.filter(|number| *number > 0)?;
            Some((port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()), number))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_those_of_all_containers_or_of_the_largest_that_prepares_them() {
        let request = |cpu: &str| json!({ "requests": { "cpu": cpu } });
        let spec = serde_json::from_value(json!({
            "containers": [
                { "name": "a", "resources": request("100m") },
                { "name": "b", "resources": { "requests": { "cpu": "0.2", "memory": "1Ki" } } },
            ],
            "initContainers": [
                { "name": "side", "restartPolicy": "Always", "resources": request("50m") },
                { "name": "big", "resources": request("1") },
            ],
            "overhead": { "cpu": "1m" },
        }))
        .unwrap();
        assert_eq!(
            requests(&spec),
            [("cpu".to_owned(), 1051), ("memory".to_owned(), 1024)].into()
        );
    }
}
