//! The counters in Prometheus' text format.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_store::Store;
use kubewright_system::prometheus;

use super::{BUCKETS, Histogram, Labels, Metrics, Series, Shard, process};
use crate::custom::ServedResources;
use crate::registry::{Registry, Resource, Verb};

impl Metrics {
    /// Everything, as `/metrics` answers it.
    pub(crate) fn render(&self, store: &Store, served: &ServedResources) -> String {
        let mut text = String::with_capacity(64 * 1024);
        self.in_flight(&mut text);
        self.long_running_requests(&mut text);
        let series = self.series();
        durations(&series, &mut text);
        requests(&series, &mut text);
        objects(store, served, &mut text);
        process::render(&mut text);
        text
    }

    /// What all threads have counted, by labels.
    fn series(&self) -> BTreeMap<String, Series> {
        let mut all = Shard::new();
        for shard in &self.counters.shards {
            for (labels, series) in &*shard.lock() {
                all.entry(labels.clone()).or_default().merge(series);
            }
        }
        all.into_iter()
            .map(|(labels, series)| (labels.text(true), series))
            .collect()
    }

    fn in_flight(&self, text: &mut String) {
        let name = "apiserver_current_inflight_requests";
        let help = "[STABLE] Maximal number of currently used inflight request limit of this apiserver per request \
                    kind in last second.";
        prometheus::family(text, name, "gauge", help);
        for (kind, gauge) in [
            ("mutating", &self.counters.mutating),
            ("readOnly", &self.counters.read_only),
        ] {
            let labels = format!("request_kind=\"{kind}\"");
            prometheus::sample(text, name, &labels, gauge.load(Ordering::Relaxed) as f64);
        }
    }

    fn long_running_requests(&self, text: &mut String) {
        let name = "apiserver_longrunning_requests";
        let help = "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, \
                    resource, scope and component. Not all requests are tracked this way.";
        prometheus::family(text, name, "gauge", help);
        let running = self.counters.long_running.lock().clone();
        let lines: BTreeMap<String, i64> = running
            .into_iter()
            .map(|(labels, count)| (labels.text(false), count))
            .collect();
        for (labels, count) in lines {
            prometheus::sample(text, name, &labels, count as f64);
        }
    }
}

fn requests(series: &BTreeMap<String, Series>, text: &mut String) {
    let name = "apiserver_request_total";
    let help = "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, \
                resource, scope, component, and HTTP response code.";
    prometheus::family(text, name, "counter", help);
    for (labels, series) in series {
        for (code, count) in &series.codes {
            prometheus::sample(text, name, &format!("code=\"{code}\",{labels}"), *count as f64);
        }
    }
}

fn durations(series: &BTreeMap<String, Series>, text: &mut String) {
    let name = "apiserver_request_duration_seconds";
    let help = "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, \
                resource, subresource, scope and component.";
    prometheus::family(text, name, "histogram", help);
    for (labels, series) in series {
        let Histogram { buckets, count, sum } = &series.durations;
        let mut below = 0;
        let bounded = BUCKETS.iter().zip(buckets).map(|(bound, count)| {
            below += count;
            (f64::from(*bound) / 1000.0, below)
        });
        let all = bounded.chain([(f64::INFINITY, *count)]);
        prometheus::histogram(text, name, labels, all, sum.as_secs_f64());
    }
}

fn objects(store: &Store, served: &ServedResources, text: &mut String) {
    let name = "apiserver_resource_objects";
    let help = "[ALPHA] Number of stored objects at the time of last check split by kind. In case of a fetching error, \
                the value will be -1.";
    prometheus::family(text, name, "gauge", help);
    // What can be watched is stored, and in one version only.
    let is_stored = |resource: &&Arc<Resource>| resource.allows(Verb::Watch, None) && resource.conversion().is_none();
    let all = Registry::builtin().iter().chain(served.registry.iter());
    let stored = all.filter(is_stored);
    let counts: BTreeMap<_, _> = stored
        .map(|resource| {
            (
                (resource.group.clone(), resource.plural.clone()),
                store.snapshot(resource.table).len(),
            )
        })
        .collect();
    for ((group, resource), count) in counts {
        let labels = format!("group=\"{group}\",resource=\"{resource}\"");
        prometheus::sample(text, name, &labels, count as f64);
    }
}

impl Labels {
    /// The labels by name. Their values are identifiers of the API: nothing needs escaping.
    fn text(&self, with_dry_run: bool) -> String {
        let Labels {
            component,
            group,
            version,
            resource,
            subresource,
            scope,
            verb,
            dry_run,
        } = self;
        let dry_run = if with_dry_run {
            format!("dry_run=\"{dry_run}\",")
        } else {
            String::new()
        };
        format!(
            "component=\"{component}\",{dry_run}group=\"{group}\",resource=\"{resource}\",scope=\"{scope}\",\
             subresource=\"{subresource}\",verb=\"{verb}\",version=\"{version}\""
        )
    }
}
