//! An object in one line: its name and its state.

use std::fmt::Write as _;

use serde_json::Value;

/// An object in a line: its key, and its conditions; of a Pod what keeps it from being ready.
pub(crate) fn line(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut line = format!("{kind} {}", text("name"));
    if !text("deletionTimestamp").is_empty() {
        line.push_str(", being deleted");
    }
    match kind {
        "Pod" => pod(object, &mut line),
        "ReplicaSet" => {
            let number = |value: &Value| value.as_i64().unwrap_or(0);
            let (ready, wanted) = (&object["status"]["readyReplicas"], &object["spec"]["replicas"]);
            let _ = write!(line, ", {} of {} ready", number(ready), number(wanted));
        }
        _ => {
            for condition in conditions(object) {
                let text = |name: &str| condition[name].as_str().unwrap_or_default();
                let _ = write!(line, ", {}={}", text("type"), text("status"));
            }
        }
    }
    line
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

/// Of the conditions of a Pod only the reason why it is not ready.
fn pod(object: &Value, line: &mut String) {
    let status = &object["status"];
    if let Some(phase) = status["phase"].as_str() {
        let _ = write!(line, ", {phase}");
    }
    for condition in conditions(object) {
        let text = |name: &str| condition[name].as_str().unwrap_or_default();
        match (text("type"), text("status")) {
            ("Ready", status) => {
                let _ = write!(line, ", Ready={status}");
            }
            ("PodScheduled", "False") => {
                let _ = write!(line, ", {}: {}", text("reason"), text("message"));
            }
            _ => {}
        }
    }
    for list in ["initContainerStatuses", "containerStatuses"] {
        for container in status[list].as_array().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            let (waiting, ended) = (&container["state"]["waiting"], &container["state"]["terminated"]);
            if let Some(reason) = waiting["reason"].as_str() {
                let _ = write!(line, ", {name}: {reason}");
            } else if let Some(code) = ended["exitCode"].as_i64().filter(|code| *code != 0) {
                let _ = write!(line, ", {name}: exited with {code}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_says_what_keeps_it_from_being_ready() {
        let pulling = json!({ "kind": "Pod", "metadata": { "name": "web-1" }, "status": {
            "phase": "Pending",
            "conditions": [{ "type": "Initialized", "status": "True" }, { "type": "Ready", "status": "False" }],
            "containerStatuses": [{ "name": "web", "state": { "waiting": { "reason": "ImagePullBackOff" } } }],
        } });
        assert_eq!(line(&pulling), "Pod web-1, Pending, Ready=False, web: ImagePullBackOff");
        let homeless = json!({ "kind": "Pod", "metadata": { "name": "web-2" }, "status": { "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available" },
        ] } });
        assert_eq!(
            line(&homeless),
            "Pod web-2, Pending, Unschedulable: 0/1 nodes are available"
        );
        let failed = json!({ "kind": "Pod", "metadata": { "name": "job-1", "deletionTimestamp": "now" }, "status": {
            "phase": "Failed", "containerStatuses": [{ "name": "work", "state": { "terminated": { "exitCode": 3 } } }],
        } });
        assert_eq!(line(&failed), "Pod job-1, being deleted, Failed, work: exited with 3");
    }

    #[test]
    fn other_objects_say_their_conditions_and_sets_their_numbers() {
        let object = json!({ "kind": "Garden", "metadata": { "name": "roses" }, "status": { "conditions": [
            { "type": "Ready", "status": "True" }, { "type": "Wet", "status": "False" },
        ] } });
        assert_eq!(line(&object), "Garden roses, Ready=True, Wet=False");
        let set =
            json!({ "kind": "ReplicaSet", "metadata": { "name": "web" }, "spec": { "replicas": 3 }, "status": {} });
        assert_eq!(line(&set), "ReplicaSet web, 0 of 3 ready");
    }
}
