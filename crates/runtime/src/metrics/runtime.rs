//! The metrics of a manager under controller-runtime's own names, labels and buckets, so that existing dashboards keep working.

use super::family::Family;
use super::process;
use super::registry::{Registry, RegistryError};
use super::value::{Counter, Gauge, Histogram};

/// Upper bounds of reconcile times, in seconds.
const RECONCILE_TIME: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];
/// Ten nanoseconds, then ten times as much each: the times of queues and webhooks. Go computes them by multiplication, and its
/// rounding shows in the labels.
const TEN_NANOSECONDS_UP: [f64; 12] = [
    1e-08,
    1e-07,
    1e-06,
    9.999_999_999_999_999e-06,
    9.999_999_999_999_999e-05,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
    100.0,
    1000.0,
];
/// From half a millisecond to the five seconds that a read waits at most by default, and more for who waits longer.
const READ_WAIT: [f64; 12] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];
const REQUEST_TIME: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

/// What controllers do.
#[derive(Clone, Debug)]
pub(crate) struct ControllerMetrics {
    /// `controller_runtime_reconcile_total` by controller and result.
    pub(crate) reconciles: Family<Counter, 2>,
    /// `controller_runtime_reconcile_errors_total` by controller.
    pub(crate) errors: Family<Counter, 1>,
    /// `controller_runtime_terminal_reconcile_errors_total` by controller.
    pub(crate) terminal_errors: Family<Counter, 1>,
    /// `controller_runtime_reconcile_panics_total` by controller.
    pub(crate) panics: Family<Counter, 1>,
    /// `controller_runtime_reconcile_timeouts_total` by controller.
    pub(crate) timeouts: Family<Counter, 1>,
    /// `controller_runtime_reconcile_time_seconds` by controller.
    pub(crate) time: Family<Histogram, 1>,
    /// `controller_runtime_max_concurrent_reconciles` by controller.
    pub(crate) max_concurrent: Family<Gauge, 1>,
    /// `controller_runtime_active_workers` by controller.
    pub(crate) active_workers: Family<Gauge, 1>,
}

/// What queues hold.
#[derive(Clone, Debug)]
pub(crate) struct QueueMetrics {
    /// `workqueue_depth` by name, controller and priority.
    pub(crate) depth: Family<Gauge, 3>,
    /// `workqueue_adds_total` by name and controller.
    pub(crate) adds: Family<Counter, 2>,
    /// `workqueue_queue_duration_seconds` by name and controller.
    pub(crate) queue_duration: Family<Histogram, 2>,
    /// `workqueue_work_duration_seconds` by name and controller.
    pub(crate) work_duration: Family<Histogram, 2>,
    /// `workqueue_unfinished_work_seconds` by name and controller.
    pub(crate) unfinished_work: Family<Gauge, 2>,
    /// `workqueue_longest_running_processor_seconds` by name and controller.
    pub(crate) longest_running: Family<Gauge, 2>,
    /// `workqueue_retries_total` by name and controller.
    pub(crate) retries: Family<Counter, 2>,
}

/// What webhooks answer.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    /// `controller_runtime_webhook_latency_seconds` by path.
    pub(crate) latency: Family<Histogram, 1>,
    /// `controller_runtime_webhook_requests_total` by path and HTTP status.
    pub(crate) requests: Family<Counter, 2>,
    /// `controller_runtime_webhook_requests_in_flight` by path.
    pub(crate) in_flight: Family<Gauge, 1>,
    /// `controller_runtime_webhook_panics_total`.
    pub(crate) panics: Family<Counter, 0>,
    /// `controller_runtime_conversion_webhook_panics_total`.
    pub(crate) conversion_panics: Family<Counter, 0>,
}

/// The metrics of leader election.
#[derive(Clone, Debug)]
pub(crate) struct LeaderMetrics {
    /// `leader_election_master_status` by lease: 1 for the leader.
    pub(crate) master_status: Family<Gauge, 1>,
    /// `leader_election_slowpath_total` by lease.
    pub(crate) slowpath: Family<Counter, 1>,
}

/// What is asked of the API server.
#[derive(Clone, Debug)]
pub(crate) struct RestMetrics {
    /// `rest_client_requests_total` by code, method and host.
    pub(crate) requests: Family<Counter, 3>,
    /// `rest_client_request_duration_seconds` by verb and host.
    pub(crate) duration: Family<Histogram, 2>,
}

/// How certificates are read.
#[derive(Clone, Debug)]
pub(crate) struct CertificateMetrics {
    /// `certwatcher_read_certificate_total`.
    pub(crate) reads: Family<Counter, 0>,
    /// `certwatcher_read_certificate_errors_total`.
    pub(crate) errors: Family<Counter, 0>,
}

/// What becomes of events. controller-runtime has no such metrics.
#[derive(Clone, Debug)]
pub(crate) struct EventMetrics {
    /// `kubewright_events_total` by result: `sent`, `rejected` by the server, `dropped` since the buffer was full, `limited`
    /// since their object had too many, or `unsent` at the end.
    pub(crate) events: Family<Counter, 1>,
}

/// How reads wait for own writes. controller-runtime has no such metrics.
#[derive(Clone, Debug)]
pub(crate) struct ReadMetrics {
    /// `kubewright_read_your_writes_wait_seconds` by kind: how long cached reads waited until the cache had seen a write of this
    /// process. Reads that did not have to wait are not counted.
    pub(crate) waits: Family<Histogram, 1>,
    /// `kubewright_read_your_writes_timeouts_total` by kind: reads that failed since the cache did not catch up in time.
    pub(crate) timeouts: Family<Counter, 1>,
}

/// All metrics of a manager.
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    /// What controllers do.
    pub(crate) controllers: ControllerMetrics,
    /// What queues hold.
    pub(crate) queues: QueueMetrics,
    /// What webhooks answer.
    pub(crate) webhooks: WebhookMetrics,
    /// Who leads.
    pub(crate) leader: LeaderMetrics,
    /// What is asked of the API server.
    pub(crate) rest: RestMetrics,
    /// How certificates are read.
    pub(crate) certificates: CertificateMetrics,
    /// What becomes of events.
    pub(crate) events: EventMetrics,
    /// How reads wait for own writes.
    pub(crate) reads: ReadMetrics,
    pub(crate) registry: Registry,
}

impl RuntimeMetrics {
    /// Registers them all, and those of the process (`process_cpu_seconds_total`, `process_resident_memory_bytes`, …) where the
    /// operating system tells.
    pub fn register(registry: &Registry) -> Result<Self, RegistryError> {
        process::register(registry)?;
        let metrics = RuntimeMetrics {
            controllers: ControllerMetrics::register(registry)?,
            queues: QueueMetrics::register(registry)?,
            webhooks: WebhookMetrics::register(registry)?,
            leader: LeaderMetrics::register(registry)?,
            rest: RestMetrics::register(registry)?,
            certificates: CertificateMetrics::register(registry)?,
            events: EventMetrics::register(registry)?,
            reads: ReadMetrics::register(registry)?,
            registry: registry.clone(),
        };
        // Series without labels are there from the start.
        metrics.webhooks.panics.with([]);
        metrics.webhooks.conversion_panics.with([]);
        metrics.certificates.reads.with([]);
        metrics.certificates.errors.with([]);
        Ok(metrics)
    }
}

impl ControllerMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        let by_controller = ["controller"];
        Ok(ControllerMetrics {
            reconciles: registry.counter(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                ["controller", "result"],
            )?,
            errors: registry.counter(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                by_controller,
            )?,
            terminal_errors: registry.counter(
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
                by_controller,
            )?,
            panics: registry.counter(
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                by_controller,
            )?,
            timeouts: registry.counter(
                "controller_runtime_reconcile_timeouts_total",
                "Total number of reconciliation timeouts per controller",
                by_controller,
            )?,
            time: registry.histogram(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                by_controller,
                &RECONCILE_TIME,
            )?,
            max_concurrent: registry.gauge(
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                by_controller,
            )?,
            active_workers: registry.gauge(
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                by_controller,
            )?,
        })
    }
}

impl QueueMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        let by_name = ["name", "controller"];
        Ok(QueueMetrics {
            depth: registry.gauge(
                "workqueue_depth",
                "Current depth of workqueue by workqueue and priority",
                ["name", "controller", "priority"],
            )?,
            adds: registry.counter("workqueue_adds_total", "Total number of adds handled by workqueue", by_name)?,
            queue_duration: registry.histogram(
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
                by_name,
                &TEN_NANOSECONDS_UP,
            )?,
            work_duration: registry.histogram(
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                by_name,
                &TEN_NANOSECONDS_UP,
            )?,
            unfinished_work: registry.gauge(
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large \
                 values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this \
                 increases.",
                by_name,
            )?,
            longest_running: registry.gauge(
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
                by_name,
            )?,
            retries: registry.counter(
                "workqueue_retries_total",
                "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit \
                 RequeueAfter or AddAfter calls)",
                by_name,
            )?,
        })
    }
}

impl WebhookMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        Ok(WebhookMetrics {
            latency: registry.histogram(
                "controller_runtime_webhook_latency_seconds",
                "Histogram of the latency of processing admission requests",
                ["webhook"],
                &TEN_NANOSECONDS_UP,
            )?,
            requests: registry.counter(
                "controller_runtime_webhook_requests_total",
                "Total number of admission requests by HTTP status code.",
                ["webhook", "code"],
            )?,
            in_flight: registry.gauge(
                "controller_runtime_webhook_requests_in_flight",
                "Current number of admission requests being served.",
                ["webhook"],
            )?,
            panics: registry.counter(
                "controller_runtime_webhook_panics_total",
                "Total number of webhook panics",
                [],
            )?,
            conversion_panics: registry.counter(
                "controller_runtime_conversion_webhook_panics_total",
                "Total number of conversion webhook panics",
                [],
            )?,
        })
    }
}

impl LeaderMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        Ok(LeaderMetrics {
            master_status: registry.gauge(
                "leader_election_master_status",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. \
                 'name' is the string used to identify the lease. Please make sure to group by name.",
                ["name"],
            )?,
            slowpath: registry.counter(
                "leader_election_slowpath_total",
                "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the \
                 lease. Please make sure to group by name.",
                ["name"],
            )?,
        })
    }
}

impl RestMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        Ok(RestMetrics {
            requests: registry.counter(
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                ["code", "method", "host"],
            )?,
            duration: registry.histogram(
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb and host.",
                ["verb", "host"],
                &REQUEST_TIME,
            )?,
        })
    }
}

impl CertificateMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        Ok(CertificateMetrics {
            reads: registry.counter(
                "certwatcher_read_certificate_total",
                "Total number of certificate reads",
                [],
            )?,
            errors: registry.counter(
                "certwatcher_read_certificate_errors_total",
                "Total number of certificate read errors",
                [],
            )?,
        })
    }
}

impl EventMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        let help = "Number of events by what became of them.";
        Ok(EventMetrics {
            events: registry.counter("kubewright_events_total", help, ["result"])?,
        })
    }
}

impl ReadMetrics {
    fn register(registry: &Registry) -> Result<Self, RegistryError> {
        Ok(ReadMetrics {
            waits: registry.histogram(
                "kubewright_read_your_writes_wait_seconds",
                "How long in seconds cached reads waited for the cache to catch up with own writes.",
                ["kind"],
                &READ_WAIT,
            )?,
            timeouts: registry.counter(
                "kubewright_read_your_writes_timeouts_total",
                "Number of cached reads that failed since the cache did not catch up with own writes in time.",
                ["kind"],
            )?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_equals_what_controller_runtime_writes() {
        let registry = Registry::new();
        let metrics = RuntimeMetrics::register(&registry).unwrap();
        metrics.queues.queue_duration.with(["shop", "shop"]).observe(0.000_02);
        metrics.queues.depth.with(["shop", "shop", "-100"]).set(3.0);
        metrics.controllers.time.with(["shop"]).observe(0.3);
        metrics.leader.master_status.with(["shop-leader"]).set(1.0);
        let ours = registry.render();
        // Each line was written by client_golang for the same metrics.
        for line in include_str!("testdata/controller_runtime.txt").lines() {
            assert!(ours.lines().any(|ours| ours == line), "missing: {line}");
        }
    }

    #[test]
    fn registering_twice_in_one_registry_is_the_same_metrics() {
        let registry = Registry::new();
        let one = RuntimeMetrics::register(&registry).unwrap();
        let other = RuntimeMetrics::register(&registry).unwrap();
        one.webhooks.panics.with([]).inc();
        assert!((other.webhooks.panics.with([]).get() - 1.0).abs() < f64::EPSILON);
    }
}
