//! A node and what is on it, with the sums that are asked for whenever a Pod is placed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use k8s_openapi::api::core::v1::{Node, Taint};

use super::needs::{Amounts, Needs, Port, amount};

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: Amounts,
}

/// A node, and what is on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    pub(super) exists: bool,
    pub(super) description: Description,
    pub(super) used: Amounts,
    pub(super) pods: BTreeMap<String, Needs>,
    /// How many Pods have a port. Without admission it may be more than one.
    ports: BTreeMap<Port, usize>,
    /// How many Pods each controller has here.
    siblings: HashMap<String, usize>,
    /// The Pods that keep others away.
    repelling: BTreeSet<String>,
}

impl Host {
    /// Takes over what a node says of itself. Whether that is news.
    pub(super) fn describe(&mut self, node: &Node) -> bool {
        let spec = node.spec.as_ref();
        let allocatable = node
            .status
            .iter()
            .flat_map(|status| status.allocatable.iter().flatten());
        let description = Description {
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

    /// A Pod comes.
    pub(super) fn add(&mut self, needs: Needs) {
        self.remove(&needs.uid);
        for (name, amount) in &needs.amounts {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_add(*amount);
        }
        for port in &needs.ports {
            *self.ports.entry(port.clone()).or_default() += 1;
        }
        if let Some(controller) = &needs.controller {
            *self.siblings.entry(controller.clone()).or_default() += 1;
        }
        if !needs.apart.is_empty() {
            self.repelling.insert(needs.uid.clone());
        }
        self.pods.insert(needs.uid.clone(), needs);
    }

    /// A Pod goes.
    pub(super) fn remove(&mut self, uid: &str) {
        let Some(needs) = self.pods.remove(uid) else {
            return;
        };
        for (name, amount) in &needs.amounts {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_sub(*amount);
        }
        for port in &needs.ports {
            if let Some(count) = self.ports.get_mut(port) {
                *count -= 1;
                if *count == 0 {
                    self.ports.remove(port);
                }
            }
        }
        if let Some(controller) = &needs.controller
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

    /// Whether a Pod here has a port.
    pub(super) fn has_port(&self, port: &Port) -> bool {
        self.ports.contains_key(port)
    }

    /// How many Pods of the same controller are here.
    pub(super) fn siblings_of(&self, needs: &Needs) -> usize {
        let controller = needs.controller.as_ref();
        controller
            .and_then(|controller| self.siblings.get(controller))
            .copied()
            .unwrap_or(0)
    }

    /// The Pods that keep others away.
    pub(super) fn repelling(&self) -> impl Iterator<Item = &Needs> {
        self.repelling.iter().filter_map(|uid| self.pods.get(uid))
    }
}
