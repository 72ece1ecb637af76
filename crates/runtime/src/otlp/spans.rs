//! From the records of a trace to spans, in the JSON of OTLP.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Value, json};

use crate::trace::{ApiCall, Cause, LogLine, Outcome, ReconcileId, TraceContext, TraceEvent, TraceRecord};

/// As many causes of a reconcile are kept, requests are child spans, and log lines are events; more are counted.
const MOST_CAUSES: usize = 32;
const MOST_PARTS: usize = 128;
/// As many revisions are known with the reconcile that wrote them.
const MOST_WRITERS: usize = 10_000;

const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// What is known of reconciles that have not ended.
#[derive(Debug)]
pub(super) struct Spans {
    context: TraceContext,
    /// When the trace began, since 1970.
    began: Duration,
    pending: HashMap<(String, String), Vec<Cause>>,
    open: HashMap<ReconcileId, Open>,
    writers: BTreeMap<u64, ReconcileId>,
}

/// A reconcile under way.
#[derive(Debug)]
struct Open {
    controller: String,
    key: String,
    began: Duration,
    waited: Duration,
    causes: Vec<Cause>,
    reads: u64,
    children: Vec<Value>,
    events: Vec<Value>,
    dropped_events: u64,
}

impl Spans {
    pub(super) fn new(context: TraceContext, began: Duration) -> Self {
        Spans {
            context,
            began,
            pending: HashMap::new(),
            open: HashMap::new(),
            writers: BTreeMap::new(),
        }
    }

    /// Takes a record; the spans that end with it.
    pub(super) fn take(&mut self, record: &TraceRecord) -> Vec<Value> {
        let at = self.began + record.at;
        match (&record.event, record.reconcile) {
            (
                TraceEvent::Queued {
                    controller, key, cause, ..
                },
                _,
            ) => {
                let causes = self
                    .pending
                    .entry((controller.to_string(), key.to_string()))
                    .or_default();
                if causes.len() < MOST_CAUSES {
                    causes.push(cause.clone());
                }
            }
            (
                TraceEvent::Began {
                    controller,
                    key,
                    waited,
                },
                Some(id),
            ) => {
                let place = (controller.to_string(), key.to_string());
                let causes = self.pending.remove(&place).unwrap_or_default();
                let open = Open {
                    controller: place.0,
                    key: place.1,
                    began: at,
                    waited: *waited,
                    causes,
                    reads: 0,
                    children: Vec::new(),
                    events: Vec::new(),
                    dropped_events: 0,
                };
                self.open.insert(id, open);
            }
            (TraceEvent::Read(_), Some(id)) => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.reads += 1;
                }
            }
            (TraceEvent::Called(call), Some(id)) => {
                if let (true, Some(revision)) = (call.is_write(), call.revision) {
                    self.writers.entry(revision).or_insert(id);
                    if self.writers.len() > MOST_WRITERS {
                        self.writers.pop_first();
                    }
                }
                let context = self.context;
                if let Some(open) = self.open.get_mut(&id).filter(|open| open.children.len() < MOST_PARTS) {
                    let number = open.children.len() as u64 + 1;
                    open.children.push(child(context, id, number, call, at));
                }
            }
            (TraceEvent::Logged(line), Some(id)) => {
                if let Some(open) = self.open.get_mut(&id) {
                    if open.events.len() < MOST_PARTS {
                        open.events.push(event(line, at));
                    } else {
                        open.dropped_events += 1;
                    }
                }
            }
            (TraceEvent::Ended { outcome, error, .. }, Some(id)) => {
                if let Some(open) = self.open.remove(&id) {
                    return self.ended(id, open, at, *outcome, error.as_deref());
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn ended(&self, id: ReconcileId, open: Open, at: Duration, outcome: Outcome, error: Option<&str>) -> Vec<Value> {
        let causes: Vec<String> = open.causes.iter().map(in_words).collect();
        let links = open.causes.iter().filter_map(|cause| self.link(cause));
        let mut attributes = vec![
            text("kubewright.controller", &open.controller),
            text("kubewright.key", &open.key),
            text("kubewright.outcome", outcome.as_str()),
            seconds("kubewright.waited", open.waited),
            number("kubewright.reads", open.reads),
            texts("kubewright.causes", &causes),
        ];
        attributes.extend(
            open.key
                .split_once('/')
                .map(|(namespace, _)| text("k8s.namespace.name", namespace)),
        );
        let mut span = json!({
            "traceId": self.context.trace_id(id), "spanId": self.context.span_id(id),
            "name": format!("reconcile {}", open.controller), "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(open.began), "endTimeUnixNano": nanoseconds(at),
            "attributes": attributes, "events": open.events, "droppedEventsCount": open.dropped_events,
            "links": links.collect::<Vec<_>>(),
        });
        if outcome == Outcome::Error {
            span["status"] = json!({ "code": FAILED, "message": error.unwrap_or_default() });
        }
        let mut spans = vec![span];
        spans.extend(open.children);
        spans
    }

    /// To the reconcile that wrote what woke another.
    fn link(&self, cause: &Cause) -> Option<Value> {
        let Cause::Object(change) = cause else {
            return None;
        };
        let writer = *self.writers.get(&change.revision?)?;
        Some(json!({
            "traceId": self.context.trace_id(writer), "spanId": self.context.span_id(writer),
            "attributes": [text("kubewright.cause", &in_words(cause))],
        }))
    }
}

/// A request to the API server.
fn child(context: TraceContext, id: ReconcileId, count: u64, call: &ApiCall, at: Duration) -> Value {
    let mut attributes = vec![
        text("kubewright.verb", &call.verb),
        text("kubewright.target", &call.target),
    ];
    attributes.extend(call.code.map(|code| number("http.response.status_code", code.into())));
    attributes.extend(call.revision.map(|revision| number("kubewright.revision", revision)));
    if call.is_write() {
        let changes: Vec<String> = call.changes.iter().map(ToString::to_string).collect();
        attributes.push(texts("kubewright.changes", &changes));
        attributes.push(json!({ "key": "kubewright.unchanged", "value": { "boolValue": call.changed_nothing() } }));
    }
    let mut span = json!({
        "traceId": context.trace_id(id), "spanId": context.child_id(id, count), "parentSpanId": context.span_id(id),
        "name": format!("{} {}", call.verb, call.target.split(' ').next().unwrap_or_default()), "kind": CLIENT,
        "startTimeUnixNano": nanoseconds(at.saturating_sub(call.took)), "endTimeUnixNano": nanoseconds(at),
        "attributes": attributes,
    });
    if let Some(error) = &call.error {
        span["status"] = json!({ "code": FAILED, "message": error });
    }
    span
}

fn event(line: &LogLine, at: Duration) -> Value {
    let level = json!(line.level);
    let attributes = [
        text("level", level.as_str().unwrap_or_default()),
        text("target", &line.target),
    ];
    json!({ "timeUnixNano": nanoseconds(at), "name": line.message, "attributes": attributes })
}

/// `Deployment.apps shop/web updated @12`
fn in_words(cause: &Cause) -> String {
    match cause {
        Cause::Source => "a source of its own".to_owned(),
        Cause::Again(outcome) => format!("again after {}", outcome.as_str()),
        Cause::Object(change) => {
            let revision = change.revision.map(|revision| format!(" @{revision}"));
            format!(
                "{} {} {}{}",
                change.kind,
                change.key,
                change.change.as_str(),
                revision.unwrap_or_default()
            )
        }
    }
}

/// 64-bit numbers are texts in the JSON of protobuf.
fn nanoseconds(time: Duration) -> String {
    time.as_nanos().to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn texts(key: &str, values: &[String]) -> Value {
    let values: Vec<Value> = values.iter().map(|value| json!({ "stringValue": value })).collect();
    json!({ "key": key, "value": { "arrayValue": { "values": values } } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn seconds(key: &str, value: Duration) -> Value {
    json!({ "key": key, "value": { "doubleValue": value.as_secs_f64() } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans_of(records: &[Value]) -> Vec<Value> {
        let mut spans = Spans::new(TraceContext { process: 0xabc1 }, Duration::from_secs(1000));
        let records = records.iter().enumerate().map(|(sequence, record)| {
            let mut record = record.clone();
            record["sequence"] = sequence.into();
            record["at"] = json!(sequence as f64);
            serde_json::from_value::<TraceRecord>(record).unwrap()
        });
        records.flat_map(|record| spans.take(&record)).collect()
    }

    fn queued(revision: u64) -> Value {
        let change =
            json!({ "kind": "ConfigMap", "key": "a/b", "uid": "u", "revision": revision, "change": "updated" });
        json!({ "event": "queued", "controller": "c", "key": "a/b", "cause": { "object": change }, "after": null, "reconcile": null })
    }

    fn reconciled(id: u64, writes: u64, error: Option<&str>) -> [Value; 4] {
        let outcome = if error.is_some() { "error" } else { "success" };
        [
            json!({ "event": "began", "controller": "c", "key": "a/b", "waited": 0.25, "reconcile": id }),
            json!({
                "event": "called", "verb": "update", "target": "ConfigMap a/b", "dryRun": false, "sent": null, "code": 200, "error": null,
                "cached": null, "revision": writes, "changes": [{ "path": "data.x", "before": "1", "after": "2" }], "took": 0.5, "reconcile": id,
            }),
            json!({ "event": "logged", "level": "INFO", "target": "shop", "message": "written", "reconcile": id }),
            json!({ "event": "ended", "controller": "c", "key": "a/b", "outcome": outcome, "error": error, "took": 3.0, "reconcile": id }),
        ]
    }

    #[test]
    fn a_reconcile_is_a_span_with_its_writes_below_it_and_links_to_who_woke_it() {
        let mut records = vec![queued(1)];
        records.extend(reconciled(1, 2, None));
        records.push(queued(2));
        records.extend(reconciled(2, 3, Some("it is late")));
        let spans = spans_of(&records);
        assert_eq!(spans.len(), 4);
        let [first, write, second, _] = &spans[..] else {
            unreachable!()
        };
        assert_eq!(first["name"], "reconcile c");
        assert_eq!(
            (&first["startTimeUnixNano"], &first["endTimeUnixNano"]),
            (&json!("1001000000000"), &json!("1004000000000"))
        );
        assert_eq!(first["traceId"], "000000000000abc10000000000000001");
        assert_eq!(
            (&write["traceId"], &write["parentSpanId"]),
            (&first["traceId"], &first["spanId"])
        );
        assert_eq!(
            (&write["startTimeUnixNano"], &write["kind"]),
            (&json!("1001500000000"), &json!(CLIENT))
        );
        assert!(write.to_string().contains("data.x from 1 to 2"), "{write}");
        assert_eq!(first["events"][0]["name"], "written");
        assert_eq!(first["links"], json!([]));
        assert_eq!(
            (&second["links"][0]["spanId"], &second["links"][0]["traceId"]),
            (&first["spanId"], &first["traceId"])
        );
        assert_eq!(second["status"], json!({ "code": FAILED, "message": "it is late" }));
        let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| span["spanId"].to_string()).collect();
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn a_reconcile_whose_beginning_was_missed_is_left_out_and_a_long_one_is_bounded() {
        assert!(spans_of(&reconciled(1, 2, None)[1..]).is_empty());
        let [began, called, logged, ended] = reconciled(1, 2, None);
        let mut records = vec![began];
        records.extend(std::iter::repeat_n(called, 2 * MOST_PARTS));
        records.extend(std::iter::repeat_n(logged, 2 * MOST_PARTS));
        records.push(ended);
        let spans = spans_of(&records);
        assert_eq!(spans.len(), 1 + MOST_PARTS);
        assert_eq!(spans[0]["droppedEventsCount"], MOST_PARTS);
    }
}
