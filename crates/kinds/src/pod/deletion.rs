//! Graceful deletion: how long a pod gets to stop (D4).

use serde_json::Value;

use crate::rules::access::{opt_int_at, str_at};

/// The seconds a pod gets to stop, given `gracePeriodSeconds` of the request's options. A pod that runs nowhere or has
/// finished gets none; a negative period means one second.
pub fn grace_period(pod: &Value, requested: Option<i64>) -> i64 {
    let runs_nowhere = str_at(pod, &["spec", "nodeName"]).is_empty();
    let finished = matches!(str_at(pod, &["status", "phase"]), "Failed" | "Succeeded");
    if runs_nowhere || finished {
        return 0;
    }
    let seconds = requested
        .or_else(|| opt_int_at(pod, &["spec", "terminationGracePeriodSeconds"]))
        .unwrap_or_default();
    if seconds < 0 { 1 } else { seconds }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn running() -> Value {
        json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}})
    }

    #[test]
    fn a_running_pod_gets_its_own_period_unless_the_request_says_otherwise() {
        assert_eq!(grace_period(&running(), None), 30);
        assert_eq!(grace_period(&running(), Some(5)), 5);
        assert_eq!(grace_period(&running(), Some(-5)), 1);
    }

    #[test]
    fn pods_that_run_nowhere_or_have_finished_go_at_once() {
        assert_eq!(
            grace_period(&json!({"spec": {"terminationGracePeriodSeconds": 30}}), Some(10)),
            0
        );
        let mut pod = running();
        pod["status"]["phase"] = "Succeeded".into();
        assert_eq!(grace_period(&pod, None), 0);
    }
}
