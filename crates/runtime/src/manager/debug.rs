//! `/debug/kubewright`: what a manager is doing, for debugging.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::controller::{ControllerStats, Request};
use crate::informer::{Cache, Informer};
use crate::lease::Leadership;
use crate::queue::WorkQueue;
use crate::trace::Trace;
use crate::webhook::WebhookServer;

/// More keys of one queue than this are only counted.
const MOST_KEYS: usize = 100;

/// One controller, as the page shows it.
#[derive(Clone, Debug)]
pub(super) struct ControllerView {
    pub(super) name: String,
    pub(super) workers: usize,
    pub(super) stats: ControllerStats,
    pub(super) queue: WorkQueue<Request>,
}

/// What a manager is doing, for code in the same process. Cloning shares it.
#[derive(Clone, Default)]
pub struct DebugPage(Arc<OnceLock<DebugSources>>);

/// A reconcile that waits to be tried again. See [`DebugPage::retries`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The controller.
    pub controller: String,
    /// What is reconciled again.
    pub request: Request,
    /// How often in a row it failed, or asked for it.
    pub failures: u32,
    /// How long until then.
    pub due_in: Duration,
}

struct DebugSources {
    controllers: Vec<ControllerView>,
    cache: Cache,
    leadership: Option<Leadership>,
    trace: Trace,
    webhooks: OnceLock<WebhookServer>,
}

impl DebugPage {
    /// The page as it is now; `None` before the manager runs. It is made when it is asked for, and costs a look at every cached object
    /// and every queued key.
    pub fn value(&self) -> Option<Value> {
        let sources = self.0.get()?;
        Some(json!({
            "version": 1,
            "informers": sources.cache.informers().map(informer).collect::<Vec<_>>(),
            "controllers": sources.controllers.iter().map(controller).collect::<Vec<_>>(),
            "lease": sources.leadership.as_ref().map(lease),
            "webhooks": sources.webhooks.get().map(webhooks).unwrap_or_default(),
            "trace": trace(&sources.trace),
        }))
    }

    /// What failed, or asked to be reconciled again, and waits for a later time. Cheaper than the page, for who asks often.
    pub fn retries(&self) -> Vec<Retry> {
        let controllers = self.0.get().map_or(&[][..], |sources| &sources.controllers);
        let mut retries = Vec::new();
        for controller in controllers {
            controller.queue.inspect(|queue, now| {
                let failed = queue.waiting().filter(|(_, key)| queue.failures(key) > 0);
                retries.extend(failed.map(|(due, key)| Retry {
                    controller: controller.name.clone(),
                    request: key.clone(),
                    failures: queue.failures(key),
                    due_in: due.saturating_sub(now),
                }));
            });
        }
        retries
    }

    pub(super) fn open(
        &self,
        controllers: Vec<ControllerView>,
        cache: Cache,
        leadership: Option<Leadership>,
        trace: Trace,
    ) {
        // A manager runs once.
        let _ = self.0.set(DebugSources {
            controllers,
            cache,
            leadership,
            trace,
            webhooks: OnceLock::new(),
        });
    }

    /// Shows the webhooks, which are made after the page is opened.
    pub(super) fn show_webhooks(&self, server: WebhookServer) {
        if let Some(sources) = self.0.get() {
            let _ = sources.webhooks.set(server);
        }
    }
}

impl fmt::Debug for DebugPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DebugPage")
    }
}

fn informer(informer: &Informer) -> Value {
    let store = informer.store();
    json!({
        "kind": store.kind().to_string(),
        "apiVersion": store.kind().api_version(),
        "objects": store.len(),
        "bytes": store.bytes(),
        "synced": store.is_synced(),
        "revision": store.revision(),
        "lastEvent": store.last_event().map(|last| json!({
            "secondsAgo": last.at.elapsed().as_secs_f64(), "revision": last.revision,
        })),
        "metadataOnly": informer.is_metadata_only(),
        "troubles": informer.troubles().iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn lease(leadership: &Leadership) -> Value {
    let status = leadership.status();
    json!({
        "identity": status.identity,
        "leader": status.leader,
        "leads": leadership.is_leader(),
        "transitions": status.transitions,
        "renewedSecondsAgo": status.renewed.map(|renewed| renewed.elapsed().as_secs_f64()),
    })
}

fn webhooks(server: &WebhookServer) -> Vec<Value> {
    let calls = server.calls().map(|(path, calls)| {
        json!({
            "path": path,
            "inFlight": calls.in_flight,
            "calls": { "allowed": calls.allowed, "denied": calls.denied, "errored": calls.errored },
            "seconds": calls.took.as_secs_f64(),
        })
    });
    calls.collect()
}

/// `null` if it is off.
fn trace(trace: &Trace) -> Value {
    if !trace.is_on() {
        return Value::Null;
    }
    json!({ "records": trace.count(), "forgotten": trace.forgotten(), "bytes": trace.bytes() })
}

fn controller(view: &ControllerView) -> Value {
    let snapshot = view.stats.snapshot();
    let (ready, waiting, running) = view.queue.inspect(|queue, now| {
        let ready = queue.ready().take(MOST_KEYS).map(|(priority, key)| json!({ "key": key.to_string(), "priority": priority }));
        let waiting = queue.waiting().take(MOST_KEYS).map(|(due, key)| {
            json!({ "key": key.to_string(), "dueInSeconds": due.saturating_sub(now).as_secs_f64(), "failures": queue.failures(key) })
        });
        let running = queue.running().take(MOST_KEYS).map(|(since, again, key)| {
            json!({ "key": key.to_string(), "forSeconds": now.saturating_sub(since).as_secs_f64(), "again": again })
        });
        let oldest = queue.oldest_ready().map(|since| now.saturating_sub(since).as_secs_f64());
        (
            json!({ "count": queue.ready_len(), "oldestSeconds": oldest, "first": ready.collect::<Vec<_>>() }),
            json!({ "count": queue.waiting_len(), "first": waiting.collect::<Vec<_>>() }),
            running.collect::<Vec<_>>(),
        )
    });
    json!({
        "name": view.name,
        "workers": view.workers,
        "busy": snapshot.active,
        "reconciles": {
            "success": snapshot.success, "requeueAfter": snapshot.requeue_after, "requeue": snapshot.requeue,
            "errors": snapshot.errors, "terminal": snapshot.terminal_errors, "panics": snapshot.panics,
            "timeouts": snapshot.timeouts, "seconds": snapshot.time.as_secs_f64(),
        },
        "lastError": snapshot.last_error,
        "ready": ready,
        "waiting": waiting,
        "running": running,
    })
}
