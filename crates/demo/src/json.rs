//! The story for scripts: one JSON object a line. Fields are added, never renamed or taken away.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::Teller;
use super::told::{StartUp, Summary, Told, What};

/// Tells in JSON.
pub(super) struct Json;

impl Teller for Json {
    fn tell(&mut self, told: &Told) -> String {
        let mut line = line(&told.what, told.chapter);
        line["at_ms"] = millis(told.since_start);
        line["chapter"] = told.chapter.into();
        format!("{line}\n")
    }
}

fn line(what: &What, chapter: usize) -> Value {
    match what {
        What::Chapter { title, words } => {
            json!({ "type": "chapter", "number": chapter, "title": title, "text": words })
        }
        What::Command(line) => json!({ "type": "command", "line": line }),
        What::Fact { subject, text } => json!({ "type": "fact", "subject": subject, "text": text }),
        What::Object(thing) => {
            let mut line = json!({
                "type": "object",
                "change": thing.change.as_str(),
                "kind": thing.kind,
                "namespace": thing.namespace,
                "name": thing.name,
                "owner": thing.owner,
                "detail": thing.detail,
            });
            if let Some(pods) = thing.pods {
                line["pods"] =
                    json!({ "old": pods.old, "new": pods.new, "ready": pods.ready, "leaving": pods.leaving });
            }
            line
        }
        What::Condition(turned) => json!({
            "type": "condition",
            "kind": turned.kind,
            "namespace": turned.namespace,
            "name": turned.name,
            "condition": turned.condition,
            "status": turned.status,
            "reason": turned.reason,
            "message": turned.message,
        }),
        What::Reconcile(work) => json!({
            "type": "reconcile",
            "number": work.number,
            "object": work.object,
            "reasons": work.reasons,
            "outcome": work.outcome.as_str(),
            "error": work.error,
            "took_ms": millis(work.took),
        }),
        What::Denied { reason, message } => json!({ "type": "denied", "reason": reason, "message": message }),
        What::Warning(text) => json!({ "type": "warning", "text": text }),
        What::Summary(summary) => of_summary(summary),
        What::Serving { pages, kubeconfig, .. } => {
            json!({ "type": "serving", "pages": pages, "kubeconfig": kubeconfig })
        }
        What::End { again } => json!({ "type": "end", "again": again }),
    }
}

fn of_summary(summary: &Summary) -> Value {
    let StartUp {
        server,
        nodes,
        install,
        operator,
    } = summary.start_up;
    json!({
        "type": "summary",
        "reconciles": summary.reconciles,
        "reconciling_ms": millis(summary.reconciling),
        "failed_reconciles": summary.failed,
        "other_reconciles": summary.others,
        "writes": summary.writes,
        "operator_writes": summary.own_writes,
        "start_up_ms": {
            "server": millis(server),
            "nodes": millis(nodes),
            "install": millis(install),
            "operator": millis(operator),
            "total": millis(summary.start_up.total()),
        },
        "took_ms": millis(summary.took),
        "paused_ms": millis(summary.paused),
    })
}

/// Milliseconds with three digits behind the point.
fn millis(duration: Duration) -> Value {
    json!(duration.as_micros() as f64 / 1000.0)
}
