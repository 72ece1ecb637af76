//! What the policies of a Job say: about a Pod that failed, and about success before every index has succeeded. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::batch::v1::{PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, SuccessPolicy};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::indexes;

/// What the failure policy of a Job makes of a failed Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailureAction {
    /// It counts against the limits.
    Count,
    /// It does not.
    Ignore,
    /// Its index has failed for good.
    FailIndex,
    /// The Job has failed, for this reason.
    FailJob(String),
}

/// The action of the first rule that matches a failed Pod; `Count` if none does.
pub(super) fn failure_action(policy: Option<&PodFailurePolicy>, pod: &Pod) -> FailureAction {
    let place = format!(
        "{}/{}",
        pod.metadata.namespace.as_deref().unwrap_or_default(),
        pod.metadata.name.as_deref().unwrap_or_default()
    );
    let rules = policy.into_iter().flat_map(|policy| &policy.rules);
    for (number, rule) in rules.enumerate() {
        let cause = if let Some(codes) = &rule.on_exit_codes {
            exit_code(pod, codes)
                .map(|(container, code)| format!("Container {container} for pod {place} failed with exit code {code}"))
        } else {
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let patterns = rule.on_pod_conditions.as_deref().unwrap_or_default();
            let mut meant = conditions.filter(|condition| {
                patterns.iter().any(|pattern| {
                    // The types of some versions of Kubernetes have an optional text, those of others a text.
                    let status = Option::<&String>::from(&pattern.status).map_or("True", String::as_str);
                    pattern.type_ == condition.type_ && status == condition.status
                })
            });
            meant
                .next()
                .map(|condition| format!("Pod {place} has condition {}", condition.type_))
        };
        let Some(cause) = cause else {
            continue;
        };
        match rule.action.as_str() {
            "Ignore" => return FailureAction::Ignore,
            "Count" => return FailureAction::Count,
            "FailIndex" => return FailureAction::FailIndex,
            "FailJob" => return FailureAction::FailJob(format!("{cause} matching FailJob rule at index {number}")),
            // Actions of times to come mean nothing yet.
            _ => {}
        }
    }
    FailureAction::Count
}

/// The first container whose exit code is meant.
fn exit_code<'a>(pod: &'a Pod, codes: &PodFailurePolicyOnExitCodesRequirement) -> Option<(&'a str, i32)> {
    let status = pod.status.as_ref()?;
    let code = |container: &ContainerStatus| Some(container.state.as_ref()?.terminated.as_ref()?.exit_code);
    let containers = status.container_statuses.iter().flatten();
    containers
        .chain(status.init_container_statuses.iter().flatten())
        .filter(|container| codes.container_name.as_ref().is_none_or(|name| *name == container.name))
        .filter_map(|container| Some((container.name.as_str(), code(container)?)))
        .find(|(_, code)| {
            let listed = codes.values.contains(code);
            *code != 0
                && (if codes.operator == "NotIn" {
                    !listed
                } else {
                    codes.operator == "In" && listed
                })
        })
}

/// Which rule says that enough indexes have succeeded.
pub(super) fn success(policy: Option<&SuccessPolicy>, completions: i32, succeeded: &BTreeSet<i32>) -> Option<usize> {
    if succeeded.is_empty() {
        return None;
    }
    policy?.rules.iter().position(|rule| {
        let enough = |count: usize| {
            let wanted = rule.succeeded_count.and_then(|wanted| usize::try_from(wanted).ok());
            wanted.is_some_and(|wanted| count >= wanted)
        };
        match &rule.succeeded_indexes {
            None => enough(succeeded.len()),
            Some(text) => {
                let required = indexes::parse(text, completions);
                let met = required.intersection(succeeded).count();
                !required.is_empty() && (met == required.len() || enough(met))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(code: i32, condition: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "work-x", "namespace": "shop" },
            "status": {
                "conditions": [{ "type": condition, "status": "True" }],
                "containerStatuses": [
                    { "name": "side", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                      "state": { "terminated": { "exitCode": 0 } } },
                    { "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                      "state": { "terminated": { "exitCode": code } } },
                ],
            },
        }))
        .unwrap()
    }

    fn action(rules: &Value, pod: &Pod) -> FailureAction {
        let policy: PodFailurePolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        failure_action(Some(&policy), pod)
    }

    #[test]
    fn the_first_rule_that_means_a_failure_decides() {
        let rules = json!([
            { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
            { "action": "FailJob", "onExitCodes": { "containerName": "main", "operator": "In", "values": [42] } },
            { "action": "FailIndex", "onExitCodes": { "operator": "NotIn", "values": [1, 2] } },
        ]);
        assert_eq!(action(&rules, &pod(42, "DisruptionTarget")), FailureAction::Ignore);
        assert_eq!(
            action(&rules, &pod(42, "Ready")),
            FailureAction::FailJob(
                "Container main for pod shop/work-x failed with exit code 42 matching FailJob rule at index 1"
                    .to_owned()
            )
        );
        assert_eq!(action(&rules, &pod(7, "Ready")), FailureAction::FailIndex);
        assert_eq!(action(&rules, &pod(1, "Ready")), FailureAction::Count);
        assert_eq!(failure_action(None, &pod(42, "Ready")), FailureAction::Count);
    }

    #[test]
    fn a_container_that_ended_well_is_not_meant_by_a_list_it_is_not_in() {
        let rules = json!([{ "action": "Ignore", "onExitCodes": { "containerName": "side", "operator": "NotIn", "values": [1] } }]);
        assert_eq!(action(&rules, &pod(3, "Ready")), FailureAction::Count);
    }

    #[test]
    fn success_is_a_count_or_a_set_or_a_count_of_a_set() {
        let met = |rules: Value, succeeded: &[i32]| {
            let policy: SuccessPolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
            success(Some(&policy), 5, &succeeded.iter().copied().collect())
        };
        assert_eq!(met(json!([{ "succeededIndexes": "0,2" }]), &[0, 1]), None);
        assert_eq!(met(json!([{ "succeededIndexes": "0,2" }]), &[0, 1, 2]), Some(0));
        assert_eq!(
            met(json!([{ "succeededIndexes": "9" }, { "succeededCount": 2 }]), &[0, 3]),
            Some(1)
        );
        assert_eq!(
            met(json!([{ "succeededIndexes": "1-4", "succeededCount": 2 }]), &[0, 1]),
            None
        );
        assert_eq!(
            met(json!([{ "succeededIndexes": "1-4", "succeededCount": 2 }]), &[1, 4]),
            Some(0)
        );
        assert_eq!(met(json!([{ "succeededCount": 0 }]), &[]), None);
    }
}
