//! The demo for scripts: one JSON object a line. Fields may be added, and are never renamed or removed.

use std::time::Duration;

use serde_json::{Value, json};

use super::line::{Content, Line, StartUp, Summary};
use super::presenter::Format;

/// One JSON object for each line.
pub(super) struct Json;

impl Format for Json {
    fn render(&mut self, line: &Line) -> String {
        let mut object = object(&line.content, line.chapter);
        object["at_ms"] = millis(line.since_start);
        object["chapter"] = line.chapter.into();
        format!("{object}\n")
    }
}

fn object(content: &Content, chapter: usize) -> Value {
    match content {
        Content::Chapter { title, words } => {
            json!({ "type": "chapter", "number": chapter, "title": title, "text": words })
        }
        Content::Command(line) => json!({ "type": "command", "line": line }),
        Content::Fact { subject, text } => json!({ "type": "fact", "subject": subject, "text": text }),
        Content::Object(object) => {
            let mut line = json!({
                "type": "object",
                "change": object.change.as_str(),
                "kind": object.kind,
                "namespace": object.namespace,
                "name": object.name,
                "owner": object.owner,
                "detail": object.detail,
            });
            if let Some(pods) = object.pods {
                line["pods"] =
                    json!({ "old": pods.old, "new": pods.new, "ready": pods.ready, "leaving": pods.leaving });
            }
            line
        }
        Content::Condition(change) => json!({
            "type": "condition",
            "kind": change.kind,
            "namespace": change.namespace,
            "name": change.name,
            "condition": change.condition,
            "status": change.status,
            "reason": change.reason,
            "message": change.message,
        }),
        Content::Reconcile(reconcile) => json!({
            "type": "reconcile",
            "number": reconcile.number,
            "object": reconcile.object,
            "reasons": reconcile.reasons,
            "outcome": reconcile.outcome.as_str(),
            "error": reconcile.error,
            "took_ms": millis(reconcile.took),
        }),
        Content::Denied { reason, message } => json!({ "type": "denied", "reason": reason, "message": message }),
        Content::Warning(text) => json!({ "type": "warning", "text": text }),
        Content::Summary(summary) => of_summary(summary),
        Content::Inside { link } => json!({ "type": "inside", "link": link }),
        Content::Serving { pages, kubeconfig, .. } => {
            json!({ "type": "serving", "pages": pages, "kubeconfig": kubeconfig })
        }
        Content::End { again } => json!({ "type": "end", "again": again }),
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
