//! `/debug/kubewright`: what a manager is doing, for debugging.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use crate::controller::{ControllerStats, Request};
use crate::informer::Cache;
use crate::lease::Leadership;
use crate::queue::WorkQueue;

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

struct DebugSources {
    controllers: Vec<ControllerView>,
    cache: Cache,
    leadership: Option<Leadership>,
}

impl DebugPage {
    /// The page as it is now; `None` before the manager runs.
    pub fn value(&self) -> Option<Value> {
        let sources = self.0.get()?;
        Some(page(&sources.controllers, &sources.cache, sources.leadership.as_ref()))
    }

    pub(super) fn open(&self, controllers: Vec<ControllerView>, cache: Cache, leadership: Option<Leadership>) {
        // A manager runs once.
        let _ = self.0.set(DebugSources {
            controllers,
            cache,
            leadership,
        });
    }
}

impl fmt::Debug for DebugPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DebugPage")
    }
}

fn page(controllers: &[ControllerView], cache: &Cache, leadership: Option<&Leadership>) -> Value {
    json!({
        "version": 1,
        "informers": cache.informers().map(|informer| json!({
            "kind": informer.store().kind().to_string(),
            "objects": informer.store().len(),
            "synced": informer.store().is_synced(),
            "metadataOnly": informer.is_metadata_only(),
            "troubles": informer.troubles().iter().map(ToString::to_string).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "controllers": controllers.iter().map(controller).collect::<Vec<_>>(),
        "lease": leadership.map(|leadership| {
            let status = leadership.status();
            json!({
                "identity": status.identity,
                "leader": status.leader,
                "leads": leadership.is_leader(),
                "transitions": status.transitions,
                "renewedSecondsAgo": status.renewed.map(|renewed| renewed.elapsed().as_secs_f64()),
            })
        }),
    })
}

fn controller(view: &ControllerView) -> Value {
    let snapshot = view.stats.snapshot();
    let (ready, waiting, running) = view.queue.inspect(|queue, now| {
        let ready = queue.ready().take(MOST_KEYS).map(|(priority, key)| json!({ "key": key.to_string(), "priority": priority }));
        let waiting = queue.waiting().take(MOST_KEYS).map(|(due, key)| {
            json!({ "key": key.to_string(), "dueInSeconds": due.saturating_sub(now).as_secs_f64(), "failures": queue.failures(key) })
        });
        let running = queue
            .running()
            .map(|(since, key)| json!({ "key": key.to_string(), "forSeconds": now.saturating_sub(since).as_secs_f64() }));
        (
            json!({ "count": queue.ready_len(), "first": ready.collect::<Vec<_>>() }),
            json!({ "count": queue.waiting_len(), "first": waiting.collect::<Vec<_>>() }),
            running.collect::<Vec<_>>(),
        )
    });
    json!({
        "name": view.name,
        "workers": view.workers,
        "reconciles": {
            "success": snapshot.success, "requeueAfter": snapshot.requeue_after, "requeue": snapshot.requeue,
            "errors": snapshot.errors, "terminal": snapshot.terminal_errors, "panics": snapshot.panics,
            "timeouts": snapshot.timeouts,
        },
        "lastError": snapshot.last_error,
        "ready": ready,
        "waiting": waiting,
        "running": running,
    })
}
