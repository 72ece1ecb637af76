//! The alert rules that belong to an operator's metrics: a `PrometheusRule` for the Prometheus operator.

use serde_json::{Value, json};

use super::network::METRICS_SERVICE;
use super::{GeneratedFile, RenderContext};

/// One alert. `{of}` in its expression stands for the labels of this operator's series.
struct Alert {
    name: &'static str,
    expr: &'static str,
    /// How long it has to be so.
    lasting: &'static str,
    severity: &'static str,
    summary: &'static str,
    description: &'static str,
}

const ALERTS: [Alert; 11] = [
    Alert {
        name: "OperatorDown",
        expr: r"absent(up{{of}} == 1)",
        lasting: "10m",
        severity: "critical",
        summary: "No replica of the operator answers",
        description: "Prometheus has not read the operator's metrics for ten minutes: it does not run, or may not be asked.",
    },
    Alert {
        name: "OperatorWithoutLeader",
        expr: r"max by (namespace, name) (leader_election_master_status{{of}}) < 1",
        lasting: "10m",
        severity: "critical",
        summary: "No replica of the operator leads",
        description: "Replicas run, but none holds the lease {{ $labels.name }}, so nothing is reconciled. Look at the Lease and at the logs.",
    },
    Alert {
        name: "OperatorReconcilePanics",
        expr: r"sum by (namespace, controller) (increase(controller_runtime_reconcile_panics_total{{of}}[10m])) > 0",
        lasting: "0m",
        severity: "critical",
        summary: "Controller {{ $labels.controller }} panicked",
        description: "A reconcile ended in a panic, which is a mistake in the program. The log has its place.",
    },
    Alert {
        name: "OperatorReconcileErrors",
        expr: r"sum by (namespace, controller) (rate(controller_runtime_reconcile_errors_total{{of}}[5m])) / sum by (namespace, controller) (rate(controller_runtime_reconcile_total{{of}}[5m])) > 0.1",
        lasting: "15m",
        severity: "warning",
        summary: "Reconciles of {{ $labels.controller }} fail",
        description: "{{ $value | humanizePercentage }} of its reconciles have failed for a quarter of an hour.",
    },
    Alert {
        name: "OperatorGaveUp",
        expr: r"sum by (namespace, controller) (increase(controller_runtime_terminal_reconcile_errors_total{{of}}[15m])) > 0",
        lasting: "0m",
        severity: "warning",
        summary: "Controller {{ $labels.controller }} gave an object up",
        description: "A reconcile ended in an error that is not tried again before its object changes. The log names the object.",
    },
    Alert {
        name: "OperatorQueueGrows",
        expr: r"histogram_quantile(0.99, sum by (namespace, controller, le) (rate(workqueue_queue_duration_seconds_bucket{{of}}[10m]))) > 60",
        lasting: "15m",
        severity: "warning",
        summary: "Objects wait for {{ $labels.controller }}",
        description: "One in a hundred waits longer than a minute before it is reconciled: more workers, or shorter reconciles.",
    },
    Alert {
        name: "OperatorReconcileHangs",
        expr: r"max by (namespace, controller) (workqueue_longest_running_processor_seconds{{of}}) > 600",
        lasting: "5m",
        severity: "warning",
        summary: "A reconcile of {{ $labels.controller }} does not end",
        description: "It has run for more than ten minutes, and its object is not reconciled by another one meanwhile.",
    },
    Alert {
        name: "OperatorLacksRights",
        expr: r#"sum by (namespace, method) (increase(rest_client_requests_total{{of}, code="403"}[15m])) > 0"#,
        lasting: "0m",
        severity: "warning",
        summary: "The API server refuses requests of the operator",
        description: "A {{ $labels.method }} was forbidden: a right is missing in its role. `kubewright rbac check` finds which.",
    },
    Alert {
        name: "OperatorRequestsFail",
        expr: r#"sum by (namespace) (rate(rest_client_requests_total{{of}, code=~"429|5..|<error>"}[5m])) / sum by (namespace) (rate(rest_client_requests_total{{of}}[5m])) > 0.05"#,
        lasting: "15m",
        severity: "warning",
        summary: "Requests of the operator to the API server fail",
        description: "{{ $value | humanizePercentage }} of them got no answer, or were answered that there is too much to do or something is broken.",
    },
    Alert {
        name: "OperatorWebhookFails",
        expr: r#"sum by (namespace, webhook) (rate(controller_runtime_webhook_requests_total{{of}, code!="200"}[5m])) > 0"#,
        lasting: "10m",
        severity: "warning",
        summary: "Webhook {{ $labels.webhook }} fails",
        description: "It answers with errors, so that writes of its kind may be refused in the whole cluster.",
    },
    Alert {
        name: "OperatorCertificateUnread",
        expr: r"sum by (namespace) (increase(certwatcher_read_certificate_errors_total{{of}}[1h])) > 0",
        lasting: "0m",
        severity: "warning",
        summary: "The operator cannot read its certificate",
        description: "It goes on with the one it has until that expires; then webhooks and metrics cannot be reached.",
    },
];

/// `config/prometheus/alerts.yaml`, for a project that wants it.
pub(super) fn file(context: &RenderContext<'_>) -> Option<GeneratedFile> {
    if !context.settings.alerts {
        return None;
    }
    // The name of the Service is what the ServiceMonitor makes the job of every series.
    let of = format!("job=\"{}\"", context.full_name(METRICS_SERVICE));
    let rules: Vec<Value> = ALERTS.iter().map(|alert| alert.rule(&of)).collect();
    let mut object = context.namespaced(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        "controller-manager-alerts",
    );
    object["metadata"]["labels"]["control-plane"] = "controller-manager".into();
    object["spec"] = json!({ "groups": [{ "name": format!("{}.operator", context.operator.name), "rules": rules }] });
    Some(GeneratedFile::of("prometheus/alerts.yaml", object))
}

impl Alert {
    fn rule(&self, of: &str) -> Value {
        let mut rule = json!({
            "alert": self.name,
            "expr": self.expr.replace("{of}", of),
            "labels": { "severity": self.severity },
            "annotations": { "summary": self.summary, "description": self.description },
        });
        if self.lasting != "0m" {
            rule["for"] = self.lasting.into();
        }
        rule
    }
}
