//! What recording costs, counted in allocations, and what the memory of a trace holds.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::call::{CallTarget, CalledObjects, RawCall, WriteAnswer};
use super::raw::{RawCause, RawChange, RawEvent, RawRead, RawTarget};
use super::{Found, Outcome, Trace, TraceEvent, in_reconcile, sent};
use crate::cache::Event;
use crate::client::{Client, FieldValidation, Patch};
use crate::controller::{Action, Controller, Failure, Request};
use crate::manager::Manager;
use crate::object::{Kind, ObjectKey, Record};
use crate::stop::Stopper;

/// What objects hold; in Secrets this has to be base64.
const HELD: &str = "c2VzYW1l";

fn object(name: &str, revision: usize) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": "8f1d3c0a-6f0e-4c39-9d44-1f6a4c1f2b3d",
            "resourceVersion": revision.to_string(),
        },
        "data": { "key": HELD },
    })
}

fn record(name: &str, revision: usize) -> Arc<Record> {
    let json = object(name, revision).to_string();
    Arc::new(Record::parse(json.as_bytes(), &Kind::of::<ConfigMap>()).unwrap())
}

/// What a reconcile of an object leaves in a trace that neither writes nor logs.
struct Happening {
    kind: Arc<Kind>,
    controller: Arc<str>,
    event: Event,
}

impl Happening {
    fn new() -> Self {
        Happening {
            kind: Arc::new(Kind::of::<ConfigMap>()),
            controller: "config-map".into(),
            event: Event::Added {
                object: record("a", 7),
                initial: false,
            },
        }
    }

    fn record_in(&self, trace: &Trace) {
        let key = || self.event.key().clone();
        let controller = || Arc::clone(&self.controller);
        trace.record(|| RawEvent::Observed(RawChange::of(&self.kind, &self.event)));
        trace.record(|| RawEvent::Queued {
            controller: controller(),
            key: key(),
            cause: RawCause::Object(RawChange::of(&self.kind, &self.event)),
        });
        let reconcile = async {
            trace.record_at(Instant::now(), || RawEvent::Began {
                controller: controller(),
                key: key(),
                waited: Duration::ZERO,
            });
            trace.record(|| {
                RawEvent::Read(RawRead {
                    kind: Arc::clone(&self.kind),
                    target: RawTarget::Key(key()),
                    found: Found::Object(Some(7)),
                    cache: None,
                })
            });
            trace.record_timed(|_| RawEvent::Ended {
                controller: controller(),
                key: key(),
                outcome: Outcome::Success,
                error: None,
                is_terminal: false,
                took: Duration::ZERO,
            });
        };
        in_reconcile(trace, reconcile).now_or_never().unwrap();
    }
}

#[test]
fn what_neither_writes_nor_logs_is_recorded_without_an_allocation() {
    let trace = Trace::bounded(1 << 14);
    let happening = Happening::new();
    // Until it has forgotten for a while, a trace needs room for more records.
    while trace.forgotten() < 500 {
        happening.record_in(&trace);
    }
    let before = trace.count();
    let counted = allocation_counter::measure(|| happening.record_in(&trace));
    assert_eq!((counted.count_total, trace.count() - before), (0, 5));
    let names: Vec<_> = trace
        .records()
        .iter()
        .rev()
        .take(5)
        .map(|record| name(&record.event))
        .collect();
    assert_eq!(names, ["ended", "read", "began", "queued", "observed"]);
}

fn name(event: &TraceEvent) -> String {
    let event = serde_json::to_value(event).unwrap();
    event["event"].as_str().unwrap().to_owned()
}

#[test]
fn a_trace_that_is_off_makes_no_event_and_allocates_nothing() {
    let (trace, happening) = (Trace::off(), Happening::new());
    let counted = allocation_counter::measure(|| happening.record_in(&trace));
    assert_eq!(counted.count_total, 0);
    trace.record(|| unreachable!("nobody keeps it"));
    trace.record_timed(|_| unreachable!("nobody keeps it"));
}

/// A write, as the client records it.
fn written(trace: &Trace, kind: &Arc<Kind>, before: &Arc<Record>, body: &[u8]) -> RawCall {
    let target = CallTarget::Of {
        kind: Arc::clone(kind),
        subresource: None,
        objects: CalledObjects::One(before.key().clone()),
    };
    RawCall {
        verb: "patch".into(),
        sent: sent(kind, body),
        code: Some(200),
        error: None,
        cached: before.revision(),
        answer: WriteAnswer::of(&target, Some(Arc::clone(before)), body, |bytes| {
            trace.has_room_for(bytes)
        }),
        target,
        dry_run: false,
        took: Duration::ZERO,
    }
}

#[test]
fn a_write_is_kept_as_bytes_and_compared_by_who_reads_it() {
    let trace = Trace::bounded(1 << 20);
    let (kind, before) = (Arc::new(Kind::of::<ConfigMap>()), record("a", 7));
    let mut after = object("a", 8);
    (after["apiVersion"], after["kind"]) = ("v1".into(), "ConfigMap".into());
    for number in 0..40 {
        after["data"][format!("field-{number}")] = number.to_string().into();
    }
    let body = after.to_string();
    let record_one = || trace.record(|| RawEvent::Called(Arc::new(written(&trace, &kind, &before, body.as_bytes()))));
    record_one();
    // What was sent, the answer, and the whole.
    let counted = allocation_counter::measure(record_one);
    assert_eq!(counted.count_total, 3);
    assert!(trace.bytes() > 2 * body.len(), "what is kept counts: {}", trace.bytes());
    let records = trace.records();
    let TraceEvent::Called(call) = &records[1].event else {
        panic!("{records:?}");
    };
    assert_eq!(
        (call.target.as_str(), call.cached, call.revision),
        ("ConfigMap shop/a", Some(7), Some(8))
    );
    assert_eq!(call.changes.len(), 40);
    assert_eq!(call.changes[0].to_string(), "data.field-0 from null to \"0\"");
}

#[test]
fn an_object_that_would_displace_much_else_is_compared_at_once() {
    let (kind, before) = (Arc::new(Kind::of::<ConfigMap>()), record("a", 7));
    let mut after = object("a", 8);
    (after["apiVersion"], after["kind"]) = ("v1".into(), "ConfigMap".into());
    after["data"]["long"] = "x".repeat(4000).into();
    let body = after.to_string();
    for (bytes, is_raw) in [(1 << 20, true), (1 << 16, false)] {
        let trace = Trace::bounded(bytes);
        let call = written(&trace, &kind, &before, body.as_bytes());
        assert_eq!(matches!(call.answer, WriteAnswer::Raw { .. }), is_raw);
        let changes = call.call().changes;
        assert_eq!((changes.len(), changes[0].path.as_str()), (1, "data.long"));
    }
}

/// As little of an API server as an operator needs: lists of some objects, watches on which nothing happens, and answers to writes that
/// change something.
fn server(count: usize) -> kube::Client {
    let revision = Arc::new(AtomicUsize::new(count + 1));
    let answer = move |request: http::Request<Body>| {
        let revision = Arc::clone(&revision);
        async move { Ok::<_, Infallible>(answer(&request, count, &revision)) }
    };
    kube::Client::new(tower::service_fn(answer), "shop")
}

fn answer(
    request: &http::Request<Body>,
    count: usize,
    revision: &AtomicUsize,
) -> http::Response<UnsyncBoxBody<Bytes, Infallible>> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let is_refused = path.contains("/secrets") && query.contains("fieldValidation=Strict");
    let body = if query.contains("watch=") {
        let nothing = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
        StreamBody::new(nothing).boxed_unsync()
    } else {
        let value = if is_refused {
            // A real one repeats the whole object.
            let message = format!("failed to create typed patch object: {HELD}: field not declared in schema");
            json!({ "kind": "Status", "status": "Failure", "code": 400, "reason": "BadRequest", "message": message })
        } else if path.ends_with("/token") {
            json!({ "kind": "TokenRequest", "metadata": { "resourceVersion": "9" }, "status": { "token": HELD } })
        } else if request.method() == Method::GET {
            let items: Vec<_> = (0..count).map(|i| object(&format!("object-{i}"), i + 1)).collect();
            json!({ "metadata": { "resourceVersion": (count + 1).to_string() }, "items": items })
        } else {
            let kind = if path.contains("/secrets") {
                "Secret"
            } else {
                "ConfigMap"
            };
            let name = path.rsplit('/').next().unwrap_or_default();
            let mut object = object(name, revision.fetch_add(1, Ordering::Relaxed) + 1);
            object["kind"] = kind.into();
            object["data"]["key"] = HELD.repeat(2).into();
            object
        };
        Full::new(Bytes::from(value.to_string())).boxed_unsync()
    };
    let mut response = http::Response::new(body);
    if is_refused {
        *response.status_mut() = http::StatusCode::BAD_REQUEST;
    }
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Runs an operator of so many `ConfigMaps` until each of them was reconciled.
fn operate<F>(count: usize, trace: &Trace, reconcile: impl Fn(Client, ObjectKey) -> F + Clone + Send + Sync + 'static)
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    let (stopper, stop) = Stopper::new();
    let (stopper, done) = (Arc::new(stopper), Arc::new(AtomicUsize::new(0)));
    let controller = Controller::of::<ConfigMap>()
        .reads::<Secret>()
        .reconcile_with(move |context| {
            let (client, reconcile) = (context.client(), reconcile.clone());
            let (stopper, done) = (Arc::clone(&stopper), Arc::clone(&done));
            move |request: Request| {
                let (work, stopper) = (reconcile(client.clone(), request.key().clone()), Arc::clone(&stopper));
                let done = Arc::clone(&done);
                async move {
                    let worked = work.await;
                    if done.fetch_add(1, Ordering::Relaxed) + 1 == count {
                        stopper.stop();
                    }
                    worked.map(|()| Action::done())
                }
            }
        });
    let manager = Manager::new().controller(controller).trace(trace.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async { manager.run(server(count), stop).await.unwrap() });
}

async fn read(client: Client, key: ObjectKey) -> Result<(), Failure> {
    client.get::<ConfigMap>(&key).await?;
    Ok(())
}

async fn read_and_patch(client: Client, key: ObjectKey) -> Result<(), Failure> {
    client.get::<ConfigMap>(&key).await?;
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "provided": "yes" } } }));
    client.patch::<ConfigMap>(&key, &patch).await?;
    Ok(())
}

/// How many allocations the trace adds to each reconcile of an operator.
fn added<F>(reconcile: impl Fn(Client, ObjectKey) -> F + Clone + Send + Sync + 'static) -> f64
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    const FEW: usize = 100;
    const MANY: usize = 600;
    let allocations = |count: usize, is_traced: bool| {
        let trace = if is_traced {
            Trace::bounded(8 << 20)
        } else {
            Trace::off()
        };
        let reconcile = reconcile.clone();
        let counted = allocation_counter::measure(|| operate(count, &trace, reconcile));
        assert!(!is_traced || trace.count() > count as u64);
        counted.count_total as f64
    };
    // What is made once, such as the subscriber of log lines.
    allocations(FEW, true);
    let of_trace = |count| allocations(count, true) - allocations(count, false);
    (of_trace(MANY) - of_trace(FEW)) / (MANY - FEW) as f64
}

#[test]
fn an_operator_that_is_traced_allocates_nothing_more_for_reads_and_little_for_writes() {
    // The room for more records.
    let reading = added(read);
    assert!(reading < 0.1, "{reading} for each reconcile that reads");
    // What was sent, the answer, and the whole.
    let writing = added(read_and_patch);
    assert!(
        (2.9..3.1).contains(&writing),
        "{writing} for each reconcile that reads and patches"
    );
}

/// Everything that a trace has in its memory.
fn memory(trace: &Trace) -> String {
    let entries = trace.0.as_ref().unwrap().ring.lock().since(0, usize::MAX).0;
    let mut memory = String::new();
    for entry in entries {
        writeln!(memory, "{entry:?}").unwrap();
        if let RawEvent::Called(call) = entry.event()
            && let WriteAnswer::Raw { before, body } = &call.answer
        {
            memory.push_str(&String::from_utf8_lossy(body));
            memory.push_str(
                &before
                    .as_ref()
                    .map_or_else(Default::default, |before| String::from_utf8_lossy(before.json())),
            );
        }
    }
    memory
}

#[test]
fn the_memory_of_a_trace_has_neither_contents_of_secrets_nor_tokens() {
    async fn confidential(client: Client, key: ObjectKey) -> Result<(), Failure> {
        client.get::<Secret>(&key).await?;
        let patch = Patch::Merge(json!({ "stringData": { "key": HELD } }));
        client.patch::<Secret>(&key, &patch).await?;
        let secret: Secret = serde_json::from_value(object(key.name(), 1)).unwrap_or_default();
        client.update(&secret).await?;
        let token = client.of::<ServiceAccount>().subresource("token");
        token.create_as::<TokenRequest>(&key, &json!({ "spec": {} })).await?;
        let misspelt = Patch::Merge(json!({ "strngData": { "key": HELD } }));
        let strict = client.field_validation(FieldValidation::Strict);
        strict.patch::<Secret>(&key, &misspelt).await?;
        Ok(())
    }
    let trace = Trace::bounded(1 << 20);
    operate(2, &trace, confidential);
    let memory = memory(&trace);
    for kept in ["(redacted)", "ServiceAccount", "strngData", "BadRequest"] {
        assert!(memory.contains(kept), "{kept} in {memory}");
    }
    assert!(!memory.contains(HELD), "{memory}");

    // It would be found if it were there.
    let trace = Trace::bounded(1 << 20);
    operate(2, &trace, read_and_patch);
    assert!(self::memory(&trace).contains(HELD));
}
