//! From the records of a trace to spans.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::span::{Attribute, Link, Span, SpanEvent, SpanKind};
use crate::trace::{ApiCall, Cause, LogLine, Outcome, ReconcileId, TraceContext, TraceEvent, TraceRecord};

/// As many causes of a reconcile are kept, requests are child spans, and log lines are events; more are counted.
const MOST_CAUSES: usize = 32;
const MOST_PARTS: usize = 128;
/// As many revisions are known with the reconcile that wrote them.
const MOST_WRITERS: usize = 10_000;

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
    children: Vec<Span>,
    events: Vec<SpanEvent>,
    dropped_events: u32,
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
    pub(super) fn take(&mut self, record: &TraceRecord) -> Vec<Span> {
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
                if !self.context.samples(id) {
                    return Vec::new();
                }
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
                let Some(open) = self.open.get_mut(&id) else {
                    return Vec::new();
                };
                if let (true, Some(revision)) = (call.is_write(), call.revision) {
                    self.writers.entry(revision).or_insert(id);
                    if self.writers.len() > MOST_WRITERS {
                        self.writers.pop_first();
                    }
                }
                if open.children.len() < MOST_PARTS {
                    let number = open.children.len() as u64 + 1;
                    open.children.push(child(self.context, id, number, call, at));
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

    fn ended(&self, id: ReconcileId, open: Open, at: Duration, outcome: Outcome, error: Option<&str>) -> Vec<Span> {
        let causes: Vec<String> = open.causes.iter().map(in_words).collect();
        let links = open.causes.iter().filter_map(|cause| self.link(cause)).collect();
        let namespace = open.key.split_once('/').map(|(namespace, _)| namespace);
        let mut attributes = vec![
            Attribute::text("kubewright.controller", &open.controller),
            Attribute::text("kubewright.key", &open.key),
            Attribute::text("kubewright.outcome", outcome.as_str()),
            Attribute::seconds("kubewright.waited", open.waited),
            Attribute::integer("kubewright.reads", open.reads),
            Attribute::texts("kubewright.causes", causes),
        ];
        attributes.extend(namespace.map(|namespace| Attribute::text("k8s.namespace.name", namespace)));
        let span = Span {
            context: self.context.span(id),
            parent: None,
            name: format!("reconcile {}", open.controller),
            kind: SpanKind::Internal,
            began: open.began,
            ended: at,
            attributes,
            events: open.events,
            dropped_events: open.dropped_events,
            links,
            failure: (outcome == Outcome::Error).then(|| error.unwrap_or_default().to_owned()),
        };
        std::iter::once(span).chain(open.children).collect()
    }

    /// To the reconcile that wrote what woke another.
    fn link(&self, cause: &Cause) -> Option<Link> {
        let Cause::Object(change) = cause else {
            return None;
        };
        let writer = *self.writers.get(&change.revision?)?;
        Some(Link {
            to: self.context.span(writer),
            attributes: vec![Attribute::text("kubewright.cause", in_words(cause))],
        })
    }
}

/// A request to the API server.
fn child(context: TraceContext, id: ReconcileId, count: u64, call: &ApiCall, at: Duration) -> Span {
    let mut attributes = vec![
        Attribute::text("kubewright.verb", &*call.verb),
        Attribute::text("kubewright.target", &call.target),
    ];
    attributes.extend(
        call.code
            .map(|code| Attribute::integer("http.response.status_code", code.into())),
    );
    attributes.extend(
        call.revision
            .map(|revision| Attribute::integer("kubewright.revision", revision)),
    );
    if call.is_write() {
        let changes = call.changes.iter().map(ToString::to_string).collect();
        attributes.push(Attribute::texts("kubewright.changes", changes));
        attributes.push(Attribute::bool("kubewright.unchanged", call.changed_nothing()));
    }
    Span {
        context: context.child(id, count),
        parent: Some(context.span(id).span),
        name: format!("{} {}", call.verb, call.target.split(' ').next().unwrap_or_default()),
        kind: SpanKind::Client,
        began: at.saturating_sub(call.took),
        ended: at,
        attributes,
        events: Vec::new(),
        dropped_events: 0,
        links: Vec::new(),
        failure: call.error.clone(),
    }
}

fn event(line: &LogLine, at: Duration) -> SpanEvent {
    SpanEvent {
        at,
        name: line.message.clone(),
        attributes: vec![
            Attribute::text("level", line.level.to_string()),
            Attribute::text("target", &*line.target),
        ],
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::span::AttributeValue;
    use super::*;
    use crate::trace::Sampler;

    fn spans_with(sampler: Sampler, records: &[Value]) -> Vec<Span> {
        let context = TraceContext {
            process: 0xabc1,
            sampler,
        };
        let mut spans = Spans::new(context, Duration::from_secs(1000));
        let records = records.iter().enumerate().map(|(sequence, record)| {
            let mut record = record.clone();
            record["sequence"] = sequence.into();
            record["at"] = json!(sequence as f64);
            serde_json::from_value::<TraceRecord>(record).unwrap()
        });
        records.flat_map(|record| spans.take(&record)).collect()
    }

    fn spans_of(records: &[Value]) -> Vec<Span> {
        spans_with(Sampler::ALL, records)
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
        assert_eq!(first.name, "reconcile c");
        assert_eq!(
            (first.began, first.ended),
            (Duration::from_secs(1001), Duration::from_secs(1004))
        );
        assert_eq!(first.context.trace >> 64, 0xabc1);
        assert_eq!(
            (write.context.trace, write.parent),
            (first.context.trace, Some(first.context.span))
        );
        assert_eq!(
            (write.began, write.kind),
            (Duration::from_millis(1_001_500), SpanKind::Client)
        );
        let changes = write.attributes.iter().find(|one| one.key == "kubewright.changes");
        assert_eq!(
            changes.unwrap().value,
            AttributeValue::Texts(vec!["data.x from 1 to 2".to_owned()])
        );
        assert_eq!(first.events[0].name, "written");
        assert_eq!(first.links, []);
        assert_eq!(second.links[0].to, first.context);
        assert_eq!(second.failure.as_deref(), Some("it is late"));
        let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| span.context.span).collect();
        assert_eq!(ids.len(), 4);
    }

    #[test]
    fn a_reconcile_that_is_not_sampled_has_no_span_and_nobody_links_to_it() {
        let mut records = vec![queued(1)];
        for id in 1..=64 {
            records.extend(reconciled(id, id + 1, None));
            records.push(queued(id + 1));
        }
        let half = Sampler::of(0.5).unwrap();
        let spans = spans_with(half, &records);
        assert!((16..=112).contains(&spans.len()), "{}", spans.len());
        let all = spans_of(&records);
        assert_eq!(all.len(), 128);
        assert!(
            spans
                .iter()
                .all(|span| all.iter().any(|one| one.context == span.context))
        );
        let links = |spans: &[Span]| spans.iter().map(|span| span.links.len()).sum::<usize>();
        assert!(links(&spans) > 0 && links(&spans) < links(&all));
        for link in spans.iter().flat_map(|span| &span.links) {
            assert!(spans.iter().any(|span| span.context == link.to));
        }
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
        assert_eq!(spans[0].dropped_events as usize, MOST_PARTS);
    }
}
