//! Whether a Pod fits on a node, and how well: pure.

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration};
use kubewright_apimachinery::labels::Operator;

use super::node_info::NodeInfo;
use super::pod_affinity::PodAffinity;
use super::requirements::Requirements;

/// Why a Pod does not fit on a node; empty if it does. The words are upstream's.
pub(super) fn reasons(requirements: &Requirements, info: &NodeInfo, affinity: &PodAffinity<'_>) -> Vec<String> {
    let one = |reason: &str| vec![reason.to_owned()];
    if info.description.unschedulable && !is_tolerated(&unschedulable(), &requirements.tolerations) {
        return one("node(s) were unschedulable");
    }
    let repels = |taint: &&Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    if info
        .description
        .taints
        .iter()
        .filter(repels)
        .any(|taint| !is_tolerated(taint, &requirements.tolerations))
    {
        return one("node(s) had untolerated taint(s)");
    }
    if !selects_node(requirements, info) {
        return one("node(s) didn't match Pod's node affinity/selector");
    }
    if requirements.ports.iter().any(|port| info.has_port(port)) {
        return one("node(s) didn't have free ports for the requested pod ports");
    }
    let lacking = lacking(requirements, info);
    if !lacking.is_empty() {
        return lacking;
    }
    affinity.reason(info).map_or_else(Vec::new, one)
}

/// The taint that a cordoned node counts as having.
fn unschedulable() -> Taint {
    Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    }
}

fn lacking(requirements: &Requirements, info: &NodeInfo) -> Vec<String> {
    let mut reasons = Vec::new();
    let most = info.description.allocatable.get("pods").copied().unwrap_or(0);
    if info.pods.len() as i64 + 1 > most {
        reasons.push("Too many pods".to_owned());
    }
    for (name, amount) in &requirements.amounts {
        let free =
            info.description.allocatable.get(name).copied().unwrap_or(0) - info.used.get(name).copied().unwrap_or(0);
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

fn selects_node(requirements: &Requirements, info: &NodeInfo) -> bool {
    let selected = requirements
        .node_selector
        .iter()
        .all(|(key, value)| info.description.labels.get(key) == Some(value));
    let required = requirements
        .node_affinity
        .as_ref()
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    selected && required.is_none_or(|required| selects(required, &info.description.name, |key| info.topology(key)))
}

/// Whether a selector selects a node of this name, whose labels are looked up.
pub(super) fn selects<'n>(selector: &NodeSelector, node: &str, label: impl Fn(&str) -> Option<&'n str>) -> bool {
    let mut terms = selector.node_selector_terms.iter();
    terms.any(|term| term_selects(term, node, &label))
}

fn term_selects<'n>(term: &NodeSelectorTerm, node: &str, label: impl Fn(&str) -> Option<&'n str>) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let name = Some(node);
    // A term that asks for nothing selects nothing.
    !(expressions.is_empty() && fields.is_empty())
        && expressions
            .iter()
            .all(|expression| is_met(expression, label(&expression.key)))
        && fields
            .iter()
            .all(|field| is_met(field, name.filter(|_| field.key == "metadata.name")))
}

fn is_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.iter().flatten().map(String::as_str);
    Operator::named(&requirement.operator).is_some_and(|operator| operator.holds(value, values))
}

/// How well a Pod fits on a node; less is better: by preferences, then by Pods of the same controller, then by free resources.
pub(super) fn cost<'a>(requirements: &Requirements, info: &'a NodeInfo) -> (i64, usize, i64, usize, &'a str) {
    let preferred = requirements
        .node_affinity
        .as_ref()
        .and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_deref())
        .unwrap_or_default();
    let liking: i64 = preferred
        .iter()
        .filter(|wish| term_selects(&wish.preference, &info.description.name, |key| info.topology(key)))
        .map(|wish| i64::from(wish.weight))
        .sum();
    let avoided = info
        .description
        .taints
        .iter()
        .any(|taint| taint.effect == "PreferNoSchedule" && !is_tolerated(taint, &requirements.tolerations));
    let part = |name: &str| {
        let all = info.description.allocatable.get(name).copied().unwrap_or(0).max(1);
        let used = info.used.get(name).copied().unwrap_or(0);
        (i128::from(used) * 1000 / i128::from(all)) as i64
    };
    let dislike = i64::from(avoided) * 100 - liking;
    (
        dislike,
        info.siblings_of(requirements),
        part("cpu") + part("memory"),
        info.pods.len(),
        info.description.name.as_str(),
    )
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use kubewright_runtime::object::ObjectKey;

    fn info(name: &str, change: Value) -> NodeInfo {
        let mut node = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name, "zone": "a" } },
            "spec": {},
            "status": { "allocatable": { "cpu": "1", "memory": "1Gi", "pods": "3" } },
        });
        node["spec"] = change;
        let mut info = NodeInfo::default();
        info.describe(&serde_json::from_value(node).unwrap());
        info
    }

    fn requirements(name: &str, spec: Value) -> Requirements {
        let mut pod = json!({
            "metadata": { "name": name, "uid": name, "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "web", "resources": { "requests": { "cpu": "400m" } } }] },
        });
        for (key, value) in spec.as_object().unwrap() {
            pod["spec"][key] = value.clone();
        }
        Requirements::of(
            &serde_json::from_value(pod).unwrap(),
            &ObjectKey::namespaced("shop", name),
        )
    }

    fn among(requirements: &Requirements, info: &NodeInfo, all: &[NodeInfo]) -> Vec<String> {
        reasons(requirements, info, &PodAffinity::around(requirements, &all.iter()))
    }

    fn why(requirements: &Requirements, info: &NodeInfo) -> Vec<String> {
        among(requirements, info, std::slice::from_ref(info))
    }

    #[test]
    fn a_node_takes_pods_until_it_is_full() {
        let mut info = info("one", json!({}));
        for name in ["a", "b"] {
            assert!(why(&requirements(name, json!({})), &info).is_empty());
            info.add(requirements(name, json!({})));
        }
        assert_eq!(why(&requirements("c", json!({})), &info), ["Insufficient cpu"]);
        info.remove("a");
        assert!(why(&requirements("c", json!({})), &info).is_empty());
        let greedy = requirements(
            "d",
            json!({ "containers": [{ "name": "x", "resources": { "requests": { "gpu": "1" } } }] }),
        );
        assert_eq!(why(&greedy, &info), ["Insufficient gpu"]);
    }

    #[test]
    fn taints_keep_pods_away_that_do_not_tolerate_them() {
        let tainted = info(
            "one",
            json!({ "taints": [{ "key": "k", "value": "v", "effect": "NoSchedule" }] }),
        );
        assert_eq!(
            why(&requirements("a", json!({})), &tainted),
            ["node(s) had untolerated taint(s)"]
        );
        for toleration in [
            json!({ "key": "k", "operator": "Equal", "value": "v" }),
            json!({ "key": "k", "operator": "Exists", "effect": "NoSchedule" }),
            json!({ "operator": "Exists" }),
        ] {
            assert!(why(&requirements("a", json!({ "tolerations": [toleration] })), &tainted).is_empty());
        }
        let cordoned = info("two", json!({ "unschedulable": true }));
        assert_eq!(
            why(&requirements("a", json!({})), &cordoned),
            ["node(s) were unschedulable"]
        );
    }

    #[test]
    fn selectors_and_node_affinity_choose_nodes() {
        let info = info("one", json!({}));
        assert!(why(&requirements("a", json!({ "nodeSelector": { "zone": "a" } })), &info).is_empty());
        let mismatch = ["node(s) didn't match Pod's node affinity/selector"];
        assert_eq!(
            why(&requirements("a", json!({ "nodeSelector": { "zone": "b" } })), &info),
            mismatch
        );
        let affinity = |operator: &str, values: Value| {
            json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "zone", "operator": operator, "values": values }] }],
            } } } })
        };
        assert!(why(&requirements("a", affinity("In", json!(["a"]))), &info).is_empty());
        assert_eq!(
            why(&requirements("a", affinity("NotIn", json!(["a"]))), &info),
            mismatch
        );
        assert_eq!(
            why(&requirements("a", affinity("DoesNotExist", json!([]))), &info),
            mismatch
        );
    }

    #[test]
    fn pods_that_avoid_each_other_are_kept_apart() {
        let anti = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "web" } } },
        ] } } });
        let (mut one, two) = (info("one", json!({})), info("two", json!({})));
        one.add(requirements("a", anti.clone()));
        let all = [one.clone(), two.clone()];
        assert_eq!(
            among(&requirements("b", anti.clone()), &one, &all),
            ["node(s) didn't match pod anti-affinity rules"]
        );
        assert_eq!(
            among(&requirements("b", json!({})), &one, &all),
            ["node(s) didn't satisfy existing pods anti-affinity rules"]
        );
        assert!(among(&requirements("b", anti), &two, &all).is_empty());
    }

    #[test]
    fn pods_that_want_to_be_together_follow_the_first_of_them() {
        let together = json!({ "affinity": { "podAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
            { "topologyKey": "kubernetes.io/hostname", "labelSelector": { "matchLabels": { "app": "web" } } },
        ] } } });
        let (mut one, two) = (info("one", json!({})), info("two", json!({})));
        let pod = requirements("a", together.clone());
        for info in [&one, &two] {
            assert!(among(&pod, info, &[one.clone(), two.clone()]).is_empty());
        }
        one.add(pod);
        let all = [one.clone(), two.clone()];
        assert!(among(&requirements("b", together.clone()), &one, &all).is_empty());
        let alone = ["node(s) didn't match pod affinity rules"];
        assert_eq!(among(&requirements("b", together), &two, &all), alone);
    }

    #[test]
    fn a_port_of_the_node_is_free_again_when_its_pod_goes() {
        let port = json!({ "containers": [{ "name": "x", "ports": [{ "containerPort": 80, "hostPort": 80 }] }] });
        let mut info = info("one", json!({}));
        info.add(requirements("a", port.clone()));
        let taken = ["node(s) didn't have free ports for the requested pod ports"];
        assert_eq!(why(&requirements("b", port.clone()), &info), taken);
        info.remove("a");
        assert!(why(&requirements("b", port), &info).is_empty());
    }

    #[test]
    fn the_emptier_node_is_better() {
        let (mut one, two) = (info("one", json!({})), info("two", json!({})));
        one.add(requirements("a", json!({})));
        let pod = requirements("b", json!({}));
        assert!(cost(&pod, &two) < cost(&pod, &one));
    }
}
