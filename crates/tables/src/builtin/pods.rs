//! Pods: one word for what their phase, conditions and containers say together.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, containers, name};
use crate::age;
use crate::read::{condition, count, flag, int, is_true, list, text, text_or};
use crate::row::{Cell, Row, RowCondition};
use crate::selector::format_labels;

static SUCCEEDED: [RowCondition; 1] = [RowCondition {
    kind: "Completed",
    reason: "Succeeded",
    message: "The pod has completed successfully.",
}];

static FAILED: [RowCondition; 1] = [RowCondition {
    kind: "Completed",
    reason: "Failed",
    message: "The pod failed.",
}];

/// A pod, wide columns included.
pub(super) fn pod(pod: &Value, now: Timestamp) -> Row {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let seen = ContainerSummary::of(pod);
    let restarts = match seen.last_restart {
        Some(last) if seen.restarts != 0 => {
            let ago = age::human_duration(age::between(last, now.as_nanosecond()));
            format!("{} ({ago} ago)", seen.restarts)
        }
        _ => seen.restarts.to_string(),
    };
    // The single address wins over the list, as upstream's conversion decides.
    let address = text_or(&status["podIP"], text_or(&status["podIPs"][0]["ip"], "<none>"));
    Row {
        cells: cells![
            name(pod),
            format!("{}/{}", seen.ready, seen.containers),
            seen.reason,
            restarts,
            age::of(pod, now),
            address,
            text_or(&spec["nodeName"], "<none>"),
            text_or(&status["nominatedNodeName"], "<none>"),
            readiness_gates(pod),
        ],
        conditions: match text(&status["phase"]) {
            "Succeeded" => &SUCCEEDED,
            "Failed" => &FAILED,
            _ => &[],
        },
    }
}

/// What is gathered from a pod's container statuses.
struct ContainerSummary {
    reason: String,
    containers: i64,
    ready: i64,
    restarts: i64,
    last_restart: Option<i128>,
}

impl ContainerSummary {
    fn of(pod: &Value) -> Self {
        let (spec, status) = (&pod["spec"], &pod["status"]);
        let phase = text(&status["phase"]);
        let mut seen = ContainerSummary {
            reason: text_or(&status["reason"], phase).to_owned(),
            containers: count(&spec["containers"]),
            ready: 0,
            restarts: 0,
            last_restart: None,
        };
        let is_gated = |condition: &Value| {
            text(&condition["type"]) == "PodScheduled" && text(&condition["reason"]) == "SchedulingGated"
        };
        if list(&status["conditions"]).iter().any(is_gated) {
            seen.reason = "SchedulingGated".into();
        }
        let initializing = seen.init_containers(spec, status);
        if !initializing || is_true(&status["conditions"], "Initialized") {
            seen.main_containers(status);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if text(&status["reason"]) == "NodeLost" {
                seen.reason = "Unknown".into();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                seen.reason = "Terminating".into();
            }
        }
        seen
    }

    /// Whether an init container is still to finish; the first such one gives the reason. Restarts are counted up to
    /// it; behind the init phase only those of sidecars stay in the sum.
    fn init_containers(&mut self, spec: &Value, status: &Value) -> bool {
        // The last of several containers of one name counts, as in upstream's map.
        let sidecars: HashMap<&str, bool> = list(&spec["initContainers"])
            .iter()
            .map(|container| (text(&container["name"]), text(&container["restartPolicy"]) == "Always"))
            .collect();
        let is_sidecar = |container: &Value| sidecars.get(text(&container["name"])).copied().unwrap_or_default();
        self.containers += list(&spec["initContainers"])
            .iter()
            .map(|container| i64::from(text(&container["restartPolicy"]) == "Always"))
            .sum::<i64>();
        let mut of_sidecars = (0, None);
        let mut reason = None;
        for (at, container) in list(&status["initContainerStatuses"]).iter().enumerate() {
            let terminated = &container["state"]["terminated"];
            self.count_restarts(container);
            if is_sidecar(container) {
                of_sidecars.0 += int(&container["restartCount"]);
                of_sidecars.1 = of_sidecars.1.max(last_termination(container));
            }
            if !terminated.is_null() && int(&terminated["exitCode"]) == 0 {
                continue;
            }
            if is_sidecar(container) && flag(&container["started"]) {
                self.ready += i64::from(flag(&container["ready"]));
                continue;
            }
            let waiting = text(&container["state"]["waiting"]["reason"]);
            reason = Some(if !terminated.is_null() {
                format!("Init:{}", termination(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{at}/{}", count(&spec["initContainers"]))
            });
            break;
        }
        let initializing = reason.is_some();
        if let Some(reason) = reason {
            self.reason = reason;
        }
        if !initializing || is_true(&status["conditions"], "Initialized") {
            (self.restarts, self.last_restart) = of_sidecars;
        }
        initializing
    }

    fn main_containers(&mut self, status: &Value) {
        let mut running = false;
        let mut error = None;
        for container in list(&status["containerStatuses"]).iter().rev() {
            self.count_restarts(container);
            let state = &container["state"];
            let terminated = &state["terminated"];
            let waiting = text(&state["waiting"]["reason"]);
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if !terminated.is_null() {
                self.reason = termination(terminated);
                if int(&terminated["exitCode"]) != 0 {
                    error = Some(self.reason.clone());
                }
            } else if flag(&container["ready"]) && !state["running"].is_null() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason != "Completed" {
            return;
        }
        // Some containers have finished: the pod is what the others are.
        let is_ready = list(&status["conditions"])
            .iter()
            .any(|condition| text(&condition["type"]) == "Ready" && text(&condition["status"]) == "True");
        if running && is_ready {
            self.reason = "Running".into();
        } else if let Some(error) = error.filter(|error| !error.is_empty()) {
            self.reason = error;
        } else if running {
            self.reason = "NotReady".into();
        }
    }

    fn count_restarts(&mut self, container: &Value) {
        self.restarts += int(&container["restartCount"]);
        self.last_restart = self.last_restart.max(last_termination(container));
    }
}

fn last_termination(container: &Value) -> Option<i128> {
    age::time(&container["lastState"]["terminated"]["finishedAt"])
}

fn termination(terminated: &Value) -> String {
    let (reason, signal) = (text(&terminated["reason"]), int(&terminated["signal"]));
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", int(&terminated["exitCode"]))
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return "<none>".into();
    }
    let conditions = &pod["status"]["conditions"];
    let open = gates.iter().filter(|gate| {
        condition(conditions, text(&gate["conditionType"]))
            .is_some_and(|condition| text(&condition["status"]) == "True")
    });
    format!("{}/{}", open.count(), gates.len())
}

/// A template that pods are made from.
pub(super) fn pod_template(object: &Value, _now: Timestamp) -> Vec<Cell> {
    let (names, images) = containers(&object["template"]["spec"]);
    cells![
        name(object),
        names,
        images,
        format_labels(&object["template"]["metadata"]["labels"])
    ]
}
