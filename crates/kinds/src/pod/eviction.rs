//! `pods/eviction`: a deletion that a disruption budget may refuse.

use serde_json::{Map, Value, json};

use crate::rules::access::{at, int_at, is_unset, list_at, map_at, map_mut, str_at};
use crate::rules::labels;

use super::conditions;

const MAX_DISRUPTED_PODS: usize = 2000;
const VIOLATION: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// The answer to an eviction.
#[derive(Clone, Debug, PartialEq)]
pub enum EvictionDecision {
    /// Delete the pod. With `pinned`, only at the resourceVersion that was checked.
    Allowed {
        /// The deletion requires the resourceVersion that was checked (unless the pod has already ended).
        pinned: bool,
        /// The budget with this disruption counted, to be written to its status first.
        budget: Option<Box<Value>>,
    },
    /// 429 `TooManyRequests`.
    TooManyRequests {
        /// The Status' message.
        message: &'static str,
        /// The message of its one cause, of type `DisruptionBudget`.
        cause: String,
        /// The seconds for `Retry-After`; zero sends none.
        retry_after: u64,
    },
    /// 403 `Forbidden` on `poddisruptionbudget` of group `policy`.
    Forbidden {
        /// The budget's name.
        budget: String,
        /// Why.
        reason: &'static str,
    },
    /// A Status of code 500 without reason.
    Unsupported(&'static str),
}

/// Checks the eviction of `pod` against the budgets of its namespace.
pub fn decide(pod: &Value, budgets: &[Value], now: &str) -> EvictionDecision {
    let phase = str_at(pod, &["status", "phase"]);
    let is_deleted = !is_unset(pod, &["metadata", "deletionTimestamp"]);
    if is_deleted || matches!(phase, "Succeeded" | "Failed" | "Pending") {
        return EvictionDecision::Allowed {
            pinned: !is_deleted && phase == "Pending",
            budget: None,
        };
    }
    let pod_labels = map_at(pod, &["metadata", "labels"]);
    let mut matching = budgets
        .iter()
        .filter(|budget| labels::selector_matches(at(budget, &["spec", "selector"]), pod_labels));
    let Some(budget) = matching.next() else {
        return EvictionDecision::Allowed {
            pinned: false,
            budget: None,
        };
    };
    if matching.next().is_some() {
        return EvictionDecision::Unsupported(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        );
    }
    let (healthy, desired) = (of_status(budget, "currentHealthy"), of_status(budget, "desiredHealthy"));
    if !conditions::is_true(pod, "Ready") {
        let always = str_at(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow";
        if always || (healthy >= desired && desired > 0) {
            return EvictionDecision::Allowed {
                pinned: true,
                budget: None,
            };
        }
    }
    count(budget, str_at(pod, &["metadata", "name"]), now)
}

fn of_status(budget: &Value, field: &str) -> i64 {
    int_at(budget, &["status", field])
}

fn count(budget: &Value, pod: &str, now: &str) -> EvictionDecision {
    let name = str_at(budget, &["metadata", "name"]);
    if of_status(budget, "observedGeneration") < int_at(budget, &["metadata", "generation"]) {
        return EvictionDecision::TooManyRequests {
            message: VIOLATION,
            cause: format!("The disruption budget {name} is still being processed by the server."),
            retry_after: 10,
        };
    }
    let allowed = of_status(budget, "disruptionsAllowed");
    if allowed < 0 {
        return EvictionDecision::Forbidden {
            budget: name.to_owned(),
            reason: "pdb disruptions allowed is negative",
        };
    }
    if map_at(budget, &["status", "disruptedPods"]).is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        let reason = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return EvictionDecision::Forbidden {
            budget: name.to_owned(),
            reason,
        };
    }
    if allowed == 0 {
        return EvictionDecision::TooManyRequests {
            message: VIOLATION,
            cause: exhausted(budget, name),
            retry_after: 0,
        };
    }
    let mut counted = budget.clone();
    if let Some(status) = map_mut(&mut counted, &["status"]) {
        status.insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
        if allowed == 1 {
            set_exhausted(status, now);
        }
    }
    if let Some(pods) = map_mut(&mut counted, &["status", "disruptedPods"]) {
        pods.insert(pod.to_owned(), now.into());
    }
    EvictionDecision::Allowed {
        pinned: false,
        budget: Some(Box::new(counted)),
    }
}

fn exhausted(budget: &Value, name: &str) -> String {
    let (healthy, desired) = (of_status(budget, "currentHealthy"), of_status(budget, "desiredHealthy"));
    let condition = list_at(budget, &["status", "conditions"])
        .iter()
        .find(|condition| str_at(condition, &["type"]) == "DisruptionAllowed")
        .filter(|condition| str_at(condition, &["status"]) == "False" && !str_at(condition, &["message"]).is_empty());
    let (reason, message) = condition
        .map(|condition| (str_at(condition, &["reason"]), str_at(condition, &["message"])))
        .unwrap_or_default();
    match condition {
        Some(_) if reason == "SyncFailed" => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
            )
        }
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some(_) => format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

fn set_exhausted(status: &mut Map<String, Value>, now: &str) {
    let observed = status.get("observedGeneration").cloned().unwrap_or_default();
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let mut condition = json!({
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": observed,
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    });
    match conditions
        .iter_mut()
        .find(|known| str_at(known, &["type"]) == "DisruptionAllowed")
    {
        Some(known) => {
            if str_at(known, &["status"]) == "False" {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

/// Marks the pod as chosen for disruption, which happens before it is deleted.
pub fn mark(pod: &mut Value, now: &str) {
    conditions::set(
        pod,
        "DisruptionTarget",
        "True",
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
        now,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({
            "metadata": {"name": "p", "labels": {"l": "m"}},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        })
    }

    fn budget(allowed: i64, healthy: i64, desired: i64) -> Value {
        json!({
            "metadata": {"name": "b", "generation": 1},
            "spec": {"selector": {"matchLabels": {"l": "m"}}},
            "status": {
                "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired,
            },
        })
    }

    fn cause(decision: EvictionDecision) -> (String, u64) {
        match decision {
            EvictionDecision::TooManyRequests {
                message: VIOLATION,
                cause,
                retry_after,
            } => (cause, retry_after),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_exhausted_budget_refuses() {
        let decision = decide(&pod(), &[budget(0, 1, 1)], "");
        assert_eq!(
            cause(decision),
            (
                "The disruption budget b needs 1 healthy pods and has 1 currently".to_owned(),
                0
            )
        );
    }

    #[test]
    fn a_budget_that_is_not_observed_yet_asks_to_try_again() {
        let mut unseen = budget(1, 2, 1);
        unseen["metadata"]["generation"] = 2.into();
        let words = "The disruption budget b is still being processed by the server.";
        assert_eq!(cause(decide(&pod(), &[unseen], "")), (words.to_owned(), 10));
    }

    #[test]
    fn an_allowed_disruption_is_counted() {
        let EvictionDecision::Allowed {
            pinned: false,
            budget: Some(counted),
        } = decide(&pod(), &[budget(1, 2, 1)], "now")
        else {
            panic!("the budget allows one");
        };
        assert_eq!(
            counted["status"],
            json!({
                "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 1,
                "disruptedPods": {"p": "now"},
                "conditions": [{
                    "type": "DisruptionAllowed", "status": "False", "observedGeneration": 1,
                    "lastTransitionTime": "now", "reason": "InsufficientPods", "message": "",
                }],
            })
        );
    }

    #[test]
    fn pods_that_do_not_run_are_evicted_without_asking() {
        let mut waiting = pod();
        waiting["status"]["phase"] = "Pending".into();
        assert_eq!(
            decide(&waiting, &[budget(0, 0, 1)], ""),
            EvictionDecision::Allowed {
                pinned: true,
                budget: None
            }
        );
    }

    #[test]
    fn two_budgets_for_one_pod_are_too_many() {
        assert!(matches!(
            decide(&pod(), &[budget(1, 2, 1), budget(1, 2, 1)], ""),
            EvictionDecision::Unsupported(_)
        ));
    }
}
