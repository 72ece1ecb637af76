//! The Grafana dashboard of an operator: whether its controllers keep up, and what they wait for.

use kubewright_manifests::install::METRICS_SERVICE;
use serde_json::{Value, json};

use crate::{File, Project};

/// Panels under one heading.
struct Section {
    title: &'static str,
    panels: &'static [Panel],
}

/// A plot over time.
struct Panel {
    title: &'static str,
    /// What it tells, for who rests the pointer on it.
    description: &'static str,
    unit: &'static str,
    /// Expressions with the legend of their lines. `{of}` stands for the labels of this operator's series, `{controller}` for these and
    /// the controllers that were chosen.
    queries: &'static [(&'static str, &'static str)],
}

const PER_SECOND: &str = "ops";
const SECONDS: &str = "s";

const SECTIONS: [Section; 5] = [
    Section {
        title: "Reconciles",
        panels: &[
            Panel {
                title: "Reconciles by result",
                description: "A controller at rest has few. Many without a change in the cluster are a loop.",
                unit: PER_SECOND,
                queries: &[(
                    "sum by (controller, result) (rate(controller_runtime_reconcile_total{{controller}}[$__rate_interval]))",
                    "{{controller}}: {{result}}",
                )],
            },
            Panel {
                title: "Failures",
                description: "Errors are tried again, later each time; terminal ones are not before their object changes; panics are mistakes in the program.",
                unit: PER_SECOND,
                queries: &[
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_errors_total{{controller}}[$__rate_interval]))",
                        "{{controller}}: errors",
                    ),
                    (
                        "sum by (controller) (rate(controller_runtime_terminal_reconcile_errors_total{{controller}}[$__rate_interval]))",
                        "{{controller}}: terminal",
                    ),
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_panics_total{{controller}}[$__rate_interval]))",
                        "{{controller}}: panics",
                    ),
                    (
                        "sum by (controller) (rate(controller_runtime_reconcile_timeouts_total{{controller}}[$__rate_interval]))",
                        "{{controller}}: timeouts",
                    ),
                ],
            },
            Panel {
                title: "How long a reconcile takes",
                description: "The median, and what one in a hundred exceeds.",
                unit: SECONDS,
                queries: &[
                    (
                        "histogram_quantile(0.5, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{{controller}}[$__rate_interval])))",
                        "{{controller}}: p50",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{{controller}}[$__rate_interval])))",
                        "{{controller}}: p99",
                    ),
                ],
            },
        ],
    },
    Section {
        title: "Queues",
        panels: &[
            Panel {
                title: "Objects that wait",
                description: "How many names are in the queue. It should come down to nothing.",
                unit: "short",
                queries: &[("sum by (controller) (workqueue_depth{{controller}})", "{{controller}}")],
            },
            Panel {
                title: "How long they wait",
                description: "From the event to the beginning of the reconcile.",
                unit: SECONDS,
                queries: &[
                    (
                        "histogram_quantile(0.5, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{{controller}}[$__rate_interval])))",
                        "{{controller}}: p50",
                    ),
                    (
                        "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{{controller}}[$__rate_interval])))",
                        "{{controller}}: p99",
                    ),
                ],
            },
            Panel {
                title: "Workers",
                description: "How many are busy, and how many there are.",
                unit: "short",
                queries: &[
                    (
                        "sum by (controller) (controller_runtime_active_workers{{controller}})",
                        "{{controller}}: busy",
                    ),
                    (
                        "sum by (controller) (controller_runtime_max_concurrent_reconciles{{controller}})",
                        "{{controller}}: all",
                    ),
                ],
            },
            Panel {
                title: "Tried again",
                description: "Names that were put back with a delay: failures, and what a reconciler asked for.",
                unit: PER_SECOND,
                queries: &[(
                    "sum by (controller) (rate(workqueue_retries_total{{controller}}[$__rate_interval]))",
                    "{{controller}}",
                )],
            },
            Panel {
                title: "The longest reconcile that runs",
                description: "A line that only climbs is a reconcile that hangs.",
                unit: SECONDS,
                queries: &[(
                    "max by (controller) (workqueue_longest_running_processor_seconds{{controller}})",
                    "{{controller}}",
                )],
            },
        ],
    },
    Section {
        title: "The API server, as the operator sees it",
        panels: &[
            Panel {
                title: "Requests by answer",
                description: "403 is a missing right, 409 a conflict that was tried again, 429 a server that has too much to do.",
                unit: PER_SECOND,
                queries: &[(
                    "sum by (method, code) (rate(rest_client_requests_total{{of}}[$__rate_interval]))",
                    "{{method}} {{code}}",
                )],
            },
            Panel {
                title: "How long an answer takes",
                description: "What one request in a hundred exceeds, by verb.",
                unit: SECONDS,
                queries: &[(
                    "histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket{{of}}[$__rate_interval])))",
                    "{{verb}}",
                )],
            },
            Panel {
                title: "Reads that wait for own writes",
                description: "A cached read waits until the cache has what this operator wrote before. Those that waited in vain failed.",
                unit: SECONDS,
                queries: &[
                    (
                        "histogram_quantile(0.99, sum by (kind, le) (rate(kubewright_read_your_writes_wait_seconds_bucket{{of}}[$__rate_interval])))",
                        "{{kind}}: p99",
                    ),
                    (
                        "sum by (kind) (increase(kubewright_read_your_writes_timeouts_total{{of}}[$__rate_interval]))",
                        "{{kind}}: in vain",
                    ),
                ],
            },
            Panel {
                title: "Events",
                description: "What the operator told people, and what was dropped so as not to flood them.",
                unit: PER_SECOND,
                queries: &[(
                    "sum by (result) (rate(kubewright_events_total{{of}}[$__rate_interval]))",
                    "{{result}}",
                )],
            },
        ],
    },
    Section {
        title: "Webhooks",
        panels: &[
            Panel {
                title: "Calls by answer",
                description: "Refusals are answered with 200; anything else is a failure.",
                unit: PER_SECOND,
                queries: &[(
                    "sum by (webhook, code) (rate(controller_runtime_webhook_requests_total{{of}}[$__rate_interval]))",
                    "{{webhook}} {{code}}",
                )],
            },
            Panel {
                title: "How long a call takes",
                description: "Every write of the kind waits for it. What one in a hundred exceeds.",
                unit: SECONDS,
                queries: &[(
                    "histogram_quantile(0.99, sum by (webhook, le) (rate(controller_runtime_webhook_latency_seconds_bucket{{of}}[$__rate_interval])))",
                    "{{webhook}}",
                )],
            },
            Panel {
                title: "Panics and certificates",
                description: "Both should be nothing.",
                unit: "short",
                queries: &[
                    (
                        "sum(increase(controller_runtime_webhook_panics_total{{of}}[$__rate_interval]))",
                        "panics",
                    ),
                    (
                        "sum(increase(controller_runtime_conversion_webhook_panics_total{{of}}[$__rate_interval]))",
                        "panics of conversions",
                    ),
                    (
                        "sum(increase(certwatcher_read_certificate_errors_total{{of}}[$__rate_interval]))",
                        "certificates that could not be read",
                    ),
                ],
            },
        ],
    },
    Section {
        title: "The process",
        panels: &[
            Panel {
                title: "Resident memory",
                description: "Mostly what its caches hold.",
                unit: "bytes",
                queries: &[("process_resident_memory_bytes{{of}}", "{{pod}}")],
            },
            Panel {
                title: "Processor time",
                description: "1 is one core.",
                unit: "short",
                queries: &[("rate(process_cpu_seconds_total{{of}}[$__rate_interval])", "{{pod}}")],
            },
            Panel {
                title: "Who leads",
                description: "1 on the replica that holds the lease; exactly one should.",
                unit: "short",
                queries: &[("leader_election_master_status{{of}}", "{{pod}}: {{name}}")],
            },
        ],
    },
];

/// A dashboard is 24 columns wide.
const WIDTH: usize = 8;
const HEIGHT: usize = 7;

/// `grafana/operator.json`, for a project that wants it.
pub(super) fn file(project: &Project) -> Option<File> {
    if !project.settings().grafana {
        return None;
    }
    // Writing a JSON value to a `String` cannot fail.
    let text = serde_json::to_string_pretty(&dashboard(project)).unwrap_or_default();
    Some(File::new("grafana/operator.json", text + "\n"))
}

fn dashboard(project: &Project) -> Value {
    let mut panels = Vec::new();
    let mut y = 0;
    for section in &SECTIONS {
        panels.push(json!({
            "type": "row",
            "title": section.title,
            "collapsed": false,
            "panels": [],
            "gridPos": { "x": 0, "y": y, "w": 3 * WIDTH, "h": 1 },
        }));
        y += 1;
        for (at, panel) in section.panels.iter().enumerate() {
            panels.push(panel.json(at % 3 * WIDTH, y + at / 3 * HEIGHT));
        }
        y += section.panels.len().div_ceil(3) * HEIGHT;
    }
    for (at, panel) in panels.iter_mut().enumerate() {
        panel["id"] = (at + 1).into();
    }
    json!({
        "title": format!("{}: operator", project.name),
        "description": "Whether the controllers keep up, and what they wait for.",
        "uid": uid(&project.name),
        "tags": ["kubernetes", "operator", "kubewright"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": { "from": "now-3h", "to": "now" },
        "templating": { "list": variables(project) },
        "panels": panels,
    })
}

/// What Grafana knows it by: at most 40 letters, digits, dashes and underscores.
fn uid(name: &str) -> String {
    let letters = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    letters.take(31).chain("-operator".chars()).collect()
}

/// What can be chosen above the panels. The first choice is this project, as it is installed by default.
fn variables(project: &Project) -> Value {
    let series = "controller_runtime_max_concurrent_reconciles";
    let current = |value: &str| json!({ "selected": true, "text": value, "value": value });
    let variable = |name: &str, label: &str, query: String| {
        json!({
            "type": "query",
            "name": name,
            "label": label,
            "datasource": datasource(),
            "query": { "query": query, "refId": name },
            "definition": query,
            "refresh": 2,
            "sort": 1,
        })
    };
    let mut namespace = variable("namespace", "Namespace", format!("label_values({series}, namespace)"));
    namespace["current"] = current(&project.namespace());
    let mut job = variable(
        "job",
        "Job",
        format!("label_values({series}{{namespace=\"$namespace\"}}, job)"),
    );
    job["current"] = current(&format!("{}{METRICS_SERVICE}", project.prefix()));
    let mut controller = variable(
        "controller",
        "Controller",
        format!("label_values({series}{{namespace=\"$namespace\", job=\"$job\"}}, controller)"),
    );
    controller["multi"] = true.into();
    controller["includeAll"] = true.into();
    controller["current"] = json!({ "selected": true, "text": ["All"], "value": ["$__all"] });
    let source = json!({ "type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus" });
    json!([source, namespace, job, controller])
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

impl Panel {
    fn json(&self, x: usize, y: usize) -> Value {
        let of = r#"namespace="$namespace", job="$job""#;
        let controller = format!(r#"{of}, controller=~"$controller""#);
        let targets = self.queries.iter().zip('A'..).map(|((query, legend), name)| {
            json!({
                "refId": name.to_string(),
                "datasource": datasource(),
                "expr": query.replace("{controller}", &controller).replace("{of}", of),
                "legendFormat": legend,
                "range": true,
            })
        });
        json!({
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": datasource(),
            "gridPos": { "x": x, "y": y, "w": WIDTH, "h": HEIGHT },
            "fieldConfig": {
                "defaults": { "unit": self.unit, "min": 0, "custom": { "fillOpacity": 10, "showPoints": "never" } },
                "overrides": [],
            },
            "options": {
                "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true },
                "tooltip": { "mode": "multi", "sort": "desc" },
            },
            "targets": targets.collect::<Vec<_>>(),
        })
    }
}
