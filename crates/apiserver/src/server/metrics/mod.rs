//! The metrics of served requests, with upstream's names and labels.
//!
//! Counting is on the way of every request: it takes one uncontended lock and allocates only for the first of a kind.

mod process;
mod render;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, StatusCode, header};
use parking_lot::Mutex;

use crate::registry::name::Name;
use crate::registry::{Subresource, Verb};
use crate::request::route::Target;
use crate::wire::query::Query;

/// Upper bounds of the latency histogram, in milliseconds; the last bucket has none.
const BUCKETS: [u16; 23] = [
    5, 25, 50, 100, 200, 400, 600, 800, 1000, 1250, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000, 20_000,
    30_000, 45_000, 60_000,
];
/// Threads beyond this number share counters.
const SHARDS: usize = 16;

/// The counters of a server.
#[derive(Default)]
pub(crate) struct Metrics {
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    /// One for each of the first threads, so that they do not wait for one another.
    shards: [Mutex<Shard>; SHARDS],
    mutating: AtomicI64,
    read_only: AtomicI64,
    long_running: Mutex<HashMap<Labels, i64>>,
}

type Shard = HashMap<Labels, Series>;

/// The requests with the same labels.
#[derive(Clone, Default)]
struct Series {
    /// How many had which answer; few codes are ever seen in one place.
    codes: Vec<(u16, u64)>,
    durations: Histogram,
}

#[derive(Clone, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: Duration,
}

/// The labels of a series.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Labels {
    component: &'static str,
    group: Name,
    version: Name,
    resource: Name,
    subresource: &'static str,
    scope: &'static str,
    verb: &'static str,
    dry_run: &'static str,
}

impl Metrics {
    /// Notes that a request has arrived.
    pub(crate) fn observe(&self) -> Observation<'_> {
        Observation {
            counters: &self.counters,
            began: Instant::now(),
            labels: None,
            in_flight: None,
        }
    }

    /// Counts a request that was answered. A watch is counted when it ends.
    pub(crate) fn finish(&self, observation: &Observation<'_>, code: StatusCode) {
        match &observation.labels {
            Some(labels) if labels.verb == "WATCH" && code.is_success() => {}
            Some(labels) => self
                .counters
                .count(labels.clone(), code.as_u16(), observation.began.elapsed()),
            None => {}
        }
    }

    /// Notes that a request of indefinite length has begun; it is counted when the guard is dropped.
    pub(crate) fn long_running(&self, target: &Target<'_>, verb: Verb) -> LongRunning {
        let labels = Labels::of(verb, target);
        *self.counters.long_running.lock().entry(labels.clone()).or_default() += 1;
        LongRunning {
            counters: self.counters.clone(),
            began: Instant::now(),
            labels,
        }
    }
}

impl Counters {
    fn count(&self, labels: Labels, code: u16, took: Duration) {
        let mut shard = self.shards[this_thread() % SHARDS].lock();
        let series = shard.entry(labels).or_default();
        series.count(code, 1);
        series.durations.add(took);
    }

    fn gauge(&self, mutating: bool) -> &AtomicI64 {
        if mutating { &self.mutating } else { &self.read_only }
    }
}

/// A small number that is different for each thread.
fn this_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<Option<usize>> = const { Cell::new(None) });
    NUMBER.with(|number| {
        number.get().unwrap_or_else(|| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(next));
            next
        })
    })
}

impl Series {
    fn count(&mut self, code: u16, more: u64) {
        match self.codes.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += more,
            None => self.codes.push((code, more)),
        }
    }

    fn merge(&mut self, other: &Series) {
        for (code, count) in &other.codes {
            self.count(*code, *count);
        }
        self.durations.merge(&other.durations);
    }
}

impl Histogram {
    /// Adds to the first bucket that holds the value; rendering accumulates.
    fn add(&mut self, took: Duration) {
        self.count += 1;
        self.sum += took;
        if let Some(at) = BUCKETS
            .iter()
            .position(|bound| took <= Duration::from_millis((*bound).into()))
        {
            self.buckets[at] += 1;
        }
    }

    fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
    }
}

/// A request on its way.
pub(crate) struct Observation<'m> {
    counters: &'m Counters,
    began: Instant,
    labels: Option<Labels>,
    /// Set while the request is counted as in flight: whether it may write.
    in_flight: Option<bool>,
}

impl Observation<'_> {
    /// Notes what the request is for.
    pub(crate) fn route(&mut self, verb: Verb, target: &Target<'_>) {
        self.labels = Some(Labels::of(verb, target));
        // Requests of indefinite length are not limited, hence not counted, upstream.
        if verb != Verb::Watch && self.in_flight.is_none() {
            let mutating = !matches!(verb, Verb::Get | Verb::List);
            self.counters.gauge(mutating).fetch_add(1, Ordering::Relaxed);
            self.in_flight = Some(mutating);
        }
    }

    /// Tells apart what the route does not show: apply from other patches, dry runs from real ones.
    pub(crate) fn refine(&mut self, headers: &HeaderMap, query: &Query) {
        let Some(labels) = &mut self.labels else { return };
        let is_apply = || {
            headers
                .get(header::CONTENT_TYPE)
                .is_some_and(|kind| kind == "application/apply-patch+yaml")
        };
        if labels.verb == "PATCH" && is_apply() {
            labels.verb = "APPLY";
        }
        labels.dry_run = match query.all("dryRun").as_slice() {
            [] => "",
            values if values.iter().all(|value| *value == "All") => "All",
            _ => "invalid",
        };
    }

    /// Notes a path outside the resource tree, as far as upstream counts it.
    pub(crate) fn plain(&mut self, method: &Method, path: &str) {
        let (component, subresource) = match path {
            "/healthz" => ("", "/healthz"),
            "/livez" => ("", "/livez"),
            "/readyz" => ("", "/readyz"),
            "/api" => ("apiserver", "api"),
            "/apis" => ("apiserver", "apis"),
            "/openapi/v3" => ("", "openapi/v3"),
            path if path.starts_with("/openapi/v3/") => ("", "openapi/v3/"),
            _ => return,
        };
        let verb = match method.as_str() {
            "GET" => "GET",
            "HEAD" => "HEAD",
            "POST" => "POST",
            "PUT" => "PUT",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            _ => "other",
        };
        self.labels = Some(Labels {
            component,
            subresource,
            verb,
            ..Labels::default()
        });
    }
}

impl Drop for Observation<'_> {
    fn drop(&mut self) {
        if let Some(mutating) = self.in_flight {
            self.counters.gauge(mutating).fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Labels {
    fn of(verb: Verb, target: &Target<'_>) -> Labels {
        let scope = match verb {
            // A new object counts as one even where only the collection is named.
            _ if !target.name.is_empty() => "resource",
            Verb::Create => "resource",
            _ if !target.namespace.is_empty() => "namespace",
            _ => "cluster",
        };
        let verb = match verb {
            _ if target.subresource.is_some_and(Subresource::is_long_running) => "CONNECT",
            Verb::Get => "GET",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete | Verb::DeleteCollection => "DELETE",
        };
        Labels {
            component: "apiserver",
            group: target.resource.group.clone(),
            version: target.resource.version.clone(),
            resource: target.resource.plural.clone(),
            subresource: target.subresource.map_or("", Subresource::known_name),
            scope,
            verb,
            dry_run: "",
        }
    }
}

/// A request of indefinite length; dropping it ends it.
pub(crate) struct LongRunning {
    counters: Arc<Counters>,
    began: Instant,
    labels: Labels,
}

impl Drop for LongRunning {
    fn drop(&mut self) {
        if let Some(running) = self.counters.long_running.lock().get_mut(&self.labels) {
            *running -= 1;
        }
        self.counters
            .count(self.labels.clone(), StatusCode::OK.as_u16(), self.began.elapsed());
    }
}

#[cfg(test)]
mod tests;
