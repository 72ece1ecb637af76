//! Affinity and anti-affinity between one Pod and all others: gathered once for the Pod, checked for each node.

use std::collections::BTreeSet;

use super::node_info::NodeInfo;
use super::requirements::{AffinityTerm, Requirements};

/// The affinity of a Pod to the Pods that are on nodes.
pub(super) struct PodAffinity<'a> {
    together: Vec<MatchingPods<'a>>,
    apart: Vec<MatchingPods<'a>>,
    /// The topology domains, by key and value, whose Pods have anti-affinity to this Pod.
    repelled_from: BTreeSet<(&'a str, &'a str)>,
}

/// The topology domains of the Pods that a term selects.
struct MatchingPods<'a> {
    term: &'a AffinityTerm,
    domains: BTreeSet<&'a str>,
    /// Whether the term selects any Pod, also one whose node lacks the topology key.
    any: bool,
    /// Whether the term selects the Pod that is being scheduled.
    own: bool,
}

impl<'a> MatchingPods<'a> {
    fn new(term: &'a AffinityTerm, requirements: &'a Requirements, nodes: impl Iterator<Item = &'a NodeInfo>) -> Self {
        let mut matching = MatchingPods {
            term,
            domains: BTreeSet::new(),
            any: false,
            own: term.means(requirements, requirements),
        };
        for info in nodes {
            if info.pods.values().any(|pod| term.means(requirements, pod)) {
                matching.any = true;
                matching.domains.extend(info.topology(&term.topology_key));
            }
        }
        matching
    }

    fn is_at(&self, info: &NodeInfo) -> bool {
        info.topology(&self.term.topology_key)
            .is_some_and(|domain| self.domains.contains(domain))
    }

    /// Whether the Pod is the first of a group with affinity to itself: such a Pod may go to any node with the topology key.
    fn may_begin_at(&self, info: &NodeInfo) -> bool {
        self.own && !self.any && info.topology(&self.term.topology_key).is_some()
    }
}

impl<'a> PodAffinity<'a> {
    /// Looks at the Pods of all nodes.
    pub(super) fn around(requirements: &'a Requirements, nodes: &(impl Iterator<Item = &'a NodeInfo> + Clone)) -> Self {
        let matching = |terms: &'a [AffinityTerm]| {
            terms
                .iter()
                .map(|term| MatchingPods::new(term, requirements, nodes.clone()))
                .collect()
        };
        let mut repelled_from = BTreeSet::new();
        for info in nodes.clone() {
            for pod in info.repelling() {
                for term in pod.apart.iter().filter(|term| term.means(pod, requirements)) {
                    let domain = info.topology(&term.topology_key);
                    repelled_from.extend(domain.map(|domain| (term.topology_key.as_str(), domain)));
                }
            }
        }
        PodAffinity {
            together: matching(&requirements.together),
            apart: matching(&requirements.apart),
            repelled_from,
        }
    }

    /// Why the Pod cannot be on a node, in upstream's words.
    pub(super) fn reason(&self, info: &NodeInfo) -> Option<&'static str> {
        if !self
            .together
            .iter()
            .all(|matching| matching.is_at(info) || matching.may_begin_at(info))
        {
            return Some("node(s) didn't match pod affinity rules");
        }
        if self.apart.iter().any(|matching| matching.is_at(info)) {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
        let kept = |(key, domain): &(&str, &str)| info.topology(key) == Some(*domain);
        if self.repelled_from.iter().any(kept) {
            return Some("node(s) didn't satisfy existing pods anti-affinity rules");
        }
        None
    }
}
