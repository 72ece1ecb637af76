//! A node and its Pods, with the sums that scheduling a Pod needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::{Node, Taint};

use super::requirements::{Amounts, Port, Requirements, amount};

/// What scheduling reads of a Node object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeDescription {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: Amounts,
}

/// A node and the Pods on it.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeInfo {
    pub(super) exists: bool,
    pub(super) description: NodeDescription,
    pub(super) used: Amounts,
    pub(super) pods: BTreeMap<String, Requirements>,
    /// How many Pods use each host port: more than one if they were bound without the scheduler.
    ports: BTreeMap<Port, usize>,
    /// How many Pods of each controller are on this node.
    siblings: HashMap<String, usize>,
    /// The Pods with anti-affinity.
    repelling: BTreeSet<String>,
}

impl NodeInfo {
    /// Takes over a Node object. Whether anything changed.
    pub(super) fn describe(&mut self, node: &Node) -> bool {
        let spec = node.spec.as_ref();
        let allocatable = node
            .status
            .iter()
            .flat_map(|status| status.allocatable.iter().flatten());
        let description = NodeDescription {
            name: node.metadata.name.clone().unwrap_or_default(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            taints: spec.and_then(|spec| spec.taints.clone()).unwrap_or_default(),
            unschedulable: spec.and_then(|spec| spec.unschedulable) == Some(true),
            allocatable: allocatable
                .map(|(name, quantity)| (name.clone(), amount(name, quantity)))
                .collect(),
        };
        let is_news = !self.exists || self.description != description;
        self.exists = true;
        self.description = description;
        is_news
    }

    /// Adds a Pod.
    pub(super) fn add(&mut self, requirements: Requirements) {
        self.remove(&requirements.uid);
        for (name, amount) in &requirements.amounts {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_add(*amount);
        }
        for port in &requirements.ports {
            *self.ports.entry(port.clone()).or_default() += 1;
        }
        if let Some(controller) = &requirements.controller {
            *self.siblings.entry(controller.clone()).or_default() += 1;
        }
        if !requirements.apart.is_empty() {
            self.repelling.insert(requirements.uid.clone());
        }
        self.pods.insert(requirements.uid.clone(), requirements);
    }

    /// Removes a Pod.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(requirements) = self.pods.remove(uid) else {
            return;
        };
        for (name, amount) in &requirements.amounts {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_sub(*amount);
        }
        for port in &requirements.ports {
            if let Some(count) = self.ports.get_mut(port) {
                *count -= 1;
                if *count == 0 {
                    self.ports.remove(port);
                }
            }
        }
        if let Some(controller) = &requirements.controller
            && let Some(count) = self.siblings.get_mut(controller)
        {
            *count -= 1;
            if *count == 0 {
                self.siblings.remove(controller);
            }
        }
        self.repelling.remove(uid);
    }

    pub(super) fn topology(&self, key: &str) -> Option<&str> {
        self.description.labels.get(key).map(String::as_str)
    }

    /// Whether a Pod on this node uses a host port.
    pub(super) fn has_port(&self, port: &Port) -> bool {
        self.ports.contains_key(port)
    }

    /// How many Pods of the same controller are on this node.
    pub(super) fn siblings_of(&self, requirements: &Requirements) -> usize {
        let controller = requirements.controller.as_ref();
        controller
            .and_then(|controller| self.siblings.get(controller))
            .copied()
            .unwrap_or(0)
    }

    /// The Pods with anti-affinity.
    pub(super) fn repelling(&self) -> impl Iterator<Item = &Requirements> {
        self.repelling.iter().filter_map(|uid| self.pods.get(uid))
    }
}
