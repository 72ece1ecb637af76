//! Whether a Pod fits on a node, and how well: pure.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, Taint, Toleration};
use kubewright_runtime::object::Selector;

use super::needs::{Amounts, Needs, amount};

/// A node, and what is on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: Amounts,
    pub(super) used: Amounts,
    pub(super) pods: BTreeMap<String, Needs>,
    pub(super) exists: bool,
}

impl Host {
    /// Takes over what a node says of itself.
    pub(super) fn describe(&mut self, node: &Node) {
        let spec = node.spec.clone().unwrap_or_default();
        self.exists = true;
        self.name = node.metadata.name.clone().unwrap_or_default();
        self.labels = node.metadata.labels.clone().unwrap_or_default();
        self.taints = spec.taints.unwrap_or_default();
        self.unschedulable = spec.unschedulable == Some(true);
        let allocatable = node
            .status
            .iter()
            .flat_map(|status| status.allocatable.iter().flatten());
        self.allocatable = allocatable
            .map(|(name, quantity)| (name.clone(), amount(name, quantity)))
            .collect();
    }

    /// A Pod comes.
    pub(super) fn add(&mut self, needs: Needs) {
        self.remove(&needs.uid);
        for (name, amount) in &needs.amounts {
            let used = self.used.entry(name.clone()).or_default();
            *used = used.saturating_add(*amount);
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
    }

    fn topology(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

/// Why a Pod does not fit on a node; empty if it does. The words are upstream's.
pub(super) fn reasons<'a>(needs: &Needs, host: &Host, all: &(impl Iterator<Item = &'a Host> + Clone)) -> Vec<String> {
    const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
    let unschedulable = Taint {
        key: UNSCHEDULABLE.to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let one = |reason: &str| vec![reason.to_owned()];
    if host.unschedulable && !is_tolerated(&unschedulable, &needs.tolerations) {
        return one("node(s) were unschedulable");
    }
    let repels = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    if host
        .taints
        .iter()
        .filter(repels)
        .any(|taint| !is_tolerated(taint, &needs.tolerations))
    {
        return one("node(s) had untolerated taint(s)");
    }
    if !selects_node(needs, host) {
        return one("node(s) didn't match Pod's node affinity/selector");
    }
    let taken: BTreeSet<_> = host.pods.values().flat_map(|pod| &pod.ports).collect();
    if needs.ports.iter().any(|port| taken.contains(port)) {
        return one("node(s) didn't have free ports for the requested pod ports");
    }
    let lacking = lacking(needs, host);
    if !lacking.is_empty() {
        return lacking;
    }
    affinity_reason(needs, host, all).map_or_else(Vec::new, one)
}

fn lacking(needs: &Needs, host: &Host) -> Vec<String> {
    let mut reasons = Vec::new();
    let most = host.allocatable.get("pods").copied().unwrap_or(0);
    if host.pods.len() as i64 + 1 > most {
        reasons.push("Too many pods".to_owned());
    }
    for (name, amount) in &needs.amounts {
        let free = host.allocatable.get(name).copied().unwrap_or(0) - host.used.get(name).copied().unwrap_or(0);
        if *amount > free {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    reasons
}

/// Whether a toleration covers a taint.
pub(crate) fn is_tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint))
}

/// Whether one toleration covers a taint.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let empty = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
    if !empty(&toleration.effect) && toleration.effect.as_deref() != Some(&taint.effect) {
        return false;
    }
    if !empty(&toleration.key) && toleration.key.as_deref() != Some(&taint.key) {
        return false;
    }
    match toleration.operator.as_deref() {
        Some("Exists") => true,
        None | Some("" | "Equal") => {
            !empty(&toleration.key)
                && toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
        }
        Some(_) => false,
    }
}

fn selects_node(needs: &Needs, host: &Host) -> bool {
    let selected = needs
        .node_selector
        .iter()
        .all(|(key, value)| host.labels.get(key) == Some(value));
    let node_affinity = needs
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        node_affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    selected && required.is_none_or(|required| required.node_selector_terms.iter().any(|term| term_selects(term, host)))
}

fn term_selects(term: &NodeSelectorTerm, host: &Host) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let name = Some(host.name.as_str());
    // A term that asks for nothing selects nothing.
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|expression| is_met(expression, host.topology(&expression.key)))
        && fields
            .iter()
            .all(|field| is_met(field, name.filter(|_| field.key == "metadata.name")))
}

fn is_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let listed = value.is_some_and(|value| values.iter().any(|other| other == value));
    let compared = || -> Option<std::cmp::Ordering> {
        let bound: i64 = values.first()?.parse().ok()?;
        Some(value?.parse::<i64>().ok()?.cmp(&bound))
    };
    match requirement.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared() == Some(std::cmp::Ordering::Greater),
        "Lt" => compared() == Some(std::cmp::Ordering::Less),
        _ => false,
    }
}

/// Whether a term means a Pod.
fn means(term: &PodAffinityTerm, owner: &Needs, pod: &Needs) -> bool {
    let namespaces = term.namespaces.as_deref().unwrap_or_default();
    let everywhere = term.namespace_selector.is_some();
    let in_scope = if namespaces.is_empty() && !everywhere {
        pod.namespace() == owner.namespace()
    } else {
        everywhere || namespaces.iter().any(|namespace| namespace == pod.namespace())
    };
    let selector = term
        .label_selector
        .as_ref()
        .and_then(|selector| Selector::try_from(selector).ok());
    let labels: Vec<_> = pod.labels.iter().collect();
    in_scope && selector.is_some_and(|selector| selector.matches(&labels))
}

fn affinity_reason<'a>(
    needs: &Needs,
    host: &Host,
    all: &(impl Iterator<Item = &'a Host> + Clone),
) -> Option<&'static str> {
    let required = |needs: &Needs, anti: bool| -> Vec<PodAffinityTerm> {
        let affinity = needs.affinity.as_ref();
        let terms = if anti {
            affinity
                .and_then(|affinity| affinity.pod_anti_affinity.as_ref())
                .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.clone())
        } else {
            affinity
                .and_then(|affinity| affinity.pod_affinity.as_ref())
                .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.clone())
        };
        terms.unwrap_or_default()
    };
    // The Pods in the same place as this host, by a key of topology.
    let near = |key: &str| -> Vec<&'a Needs> {
        let Some(place) = host.topology(key).map(str::to_owned) else {
            return Vec::new();
        };
        let same = all.clone().filter(|other| other.topology(key) == Some(&place));
        same.flat_map(|other| other.pods.values()).collect()
    };
    for term in required(needs, false) {
        let met = near(&term.topology_key).into_iter().any(|pod| means(&term, needs, pod));
        let any = || {
            all.clone()
                .flat_map(|other| other.pods.values())
                .any(|pod| means(&term, needs, pod))
        };
        // The first of a group that wants to be together may go anywhere with such a place.
        let first = means(&term, needs, needs) && host.topology(&term.topology_key).is_some() && !any();
        if !met && !first {
            return Some("node(s) didn't match pod affinity rules");
        }
    }
    for term in required(needs, true) {
        if near(&term.topology_key).into_iter().any(|pod| means(&term, needs, pod)) {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
    }
    for other in all.clone() {
        for pod in other.pods.values().filter(|pod| pod.affinity.is_some()) {
            let repels = required(pod, true).into_iter().any(|term| {
                let place = other.topology(&term.topology_key);
                place.is_some() && place == host.topology(&term.topology_key) && means(&term, pod, needs)
            });
            if repels {
                return Some("node(s) didn't satisfy existing pods anti-affinity rules");
            }
        }
    }
    None
}

/// How well a Pod fits on a node: less is better. Preferences first, then apart from its siblings, then where most is free.
pub(super) fn cost(needs: &Needs, host: &Host) -> (i64, usize, i64, usize, String) {
    let node_affinity = needs
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref());
    let preferred = node_affinity
        .and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref())
        .unwrap_or_default();
    let liking: i64 = preferred
        .iter()
        .filter(|wish| term_selects(&wish.preference, host))
        .map(|wish| i64::from(wish.weight))
        .sum();
    let avoided = host
        .taints
        .iter()
        .any(|taint| taint.effect == "PreferNoSchedule" && !is_tolerated(taint, &needs.tolerations));
    let siblings = host
        .pods
        .values()
        .filter(|pod| pod.controller.is_some() && pod.controller == needs.controller)
        .count();
    let part = |name: &str| {
        let all = host.allocatable.get(name).copied().unwrap_or(0).max(1);
        let used = host.used.get(name).copied().unwrap_or(0);
        (i128::from(used) * 1000 / i128::from(all)) as i64
    };
    let dislike = i64::from(avoided) * 100 - liking;
    (
        dislike,
        siblings,
        part("cpu") + part("memory"),
        host.pods.len(),
        host.name.clone(),
    )
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use kubewright_runtime::object::ObjectKey;

    fn host(name: &str, change: Value) -> Host {
        let mut node = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "zone": "a" } },
            "spec": {},
            "status": { "allocatable": { "cpu": "1", "memory": "1Gi", "pods": "3" } },
        });
        node["spec"] = change;
        let mut host = Host::default();
        host.describe(&serde_json::from_value(node).unwrap());
        host
    }

    fn needs(name: &str, spec: Value) -> Needs {
        let mut pod = json!({
            "metadata": { "name": name, "uid": name, "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "web", "resources": { "requests": { "cpu": "400m" } } }] },
        });
        for (key, value) in spec.as_object().unwrap() {
            pod["spec"][key] = value.clone();
        }
        Needs::of(
            &serde_json::from_value(pod).unwrap(),
            &ObjectKey::namespaced("shop", name),
        )
    }

    fn why(needs: &Needs, host: &Host) -> Vec<String> {
        reasons(needs, host, &[host].into_iter())
    }

    #[test]
    fn a_node_takes_pods_until_it_is_full() {
        let mut host = host("one", json!({}));
        for name in ["a", "b"] {
            assert!(why(&needs(name, json!({})), &host).is_empty());
            host.add(needs(name, json!({})));
        }
        assert_eq!(why(&needs("c", json!({})), &host), ["Insufficient cpu"]);
        host.remove("a");
        assert!(why(&needs("c", json!({})), &host).is_empty());
        let greedy = needs(
            "d",
            json!({ "containers": [{ "name": "x", "resources": { "requests": { "gpu": "1" } } }] }),
        );
        assert_eq!(why(&greedy, &host), ["Insufficient gpu"]);
    }

    #[test]
    fn taints_keep_pods_away_that_do_not_tolerate_them() {
        let tainted = host(
            "one",
            json!({ "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] }),
        );
        assert_eq!(
            why(&needs("a", json!({})), &tainted),
            ["node(s) had untolerated taint(s)"]
        );
        for toleration in [
            json!({ "key": "k", "operator": "Equal", "value": "v" }),
            json!({ "key": "k", "operator": "Exists", "effect": "NoSchedule" }),
            json!({ "operator": "Exists" }),
        ] {
            assert!(why(&needs("a", json!({ "tolerations": [toleration] })), &tainted).is_empty());
        }
        let cordoned = host("two", json!({ "unschedulable": true }));
        assert_eq!(why(&needs("a", json!({})), &cordoned), ["node(s) were unschedulable"]);
    }

    #[test]
    fn selectors_and_node_affinity_choose_nodes() {
        let host = host("one", json!({}));
        assert!(why(&needs("a", json!({ "nodeSelector": { "zone": "a" } })), &host).is_empty());
        let mismatch = ["node(s) didn't match Pod's node affinity/selector"];
        assert_eq!(
            why(&needs("a", json!({ "nodeSelector": { "zone": "b" } })), &host),
            mismatch
        );
        let affinity = |operator: &str, values: Value| {
            json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "zone", "operator": operator, "values": values }] }],
            } } } })
        };
        assert!(why(&needs("a", affinity("In", json!(["a"]))), &host).is_empty());
        assert_eq!(why(&needs("a", affinity("NotIn", json!(["a"]))), &host), mismatch);
        assert_eq!(why(&needs("a", affinity("DoesNotExist", json!([]))), &host), mismatch);
    }

    #[test]
    fn pods_that_avoid_each_other_are_kept_apart() {
        let anti = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "web" } } },
        ] } } });
        let (mut one, two) = (host("one", json!({})), host("two", json!({})));
        one.add(needs("a", anti.clone()));
        let all = [one.clone(), two.clone()];
        assert_eq!(
            reasons(&needs("b", anti.clone()), &one, &all.iter()),
            ["node(s) didn't match pod anti-affinity rules"]
        );
        assert_eq!(
            reasons(&needs("b", json!({})), &one, &all.iter()),
            ["node(s) didn't satisfy existing pods anti-affinity rules"]
        );
        assert!(reasons(&needs("b", anti), &two, &all.iter()).is_empty());
    }

    #[test]
    fn the_emptier_node_is_better() {
        let (mut one, two) = (host("one", json!({})), host("two", json!({})));
        one.add(needs("a", json!({})));
        let pod = needs("b", json!({}));
        assert!(cost(&pod, &two) < cost(&pod, &one));
    }
}
