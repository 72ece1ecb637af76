//! The figures of a run, as a table with ratios.

use std::fmt::Write as _;
use std::time::Duration;

use crate::custom::CustomFigures;

/// The figures of one server.
pub(crate) struct Figures {
    pub(crate) start: Option<Duration>,
    pub(crate) fresh_memory: Option<u64>,
    /// The time from requesting the first `OpenAPI` document to its last byte.
    pub(crate) document: Duration,
    pub(crate) create: f64,
    pub(crate) get: f64,
    pub(crate) patch: f64,
    pub(crate) apply: f64,
    pub(crate) list: f64,
    pub(crate) delete: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// Creates while ten admission policies look at them.
    pub(crate) policies: f64,
    /// How much longer a create takes with an admission webhook.
    pub(crate) webhook: Duration,
    /// The same with a webhook in the server's own process.
    pub(crate) webhook_in_process: Option<Duration>,
    pub(crate) custom: CustomFigures,
}

/// A row of the table: its name, its figure, and whether a larger figure is better.
struct Row {
    name: &'static str,
    value: fn(&Figures) -> Option<f64>,
    unit: &'static str,
    more_is_better: bool,
}

impl Row {
    /// A rate: more is better.
    const fn rate(name: &'static str, value: fn(&Figures) -> Option<f64>) -> Row {
        Row {
            name,
            value,
            unit: "/s",
            more_is_better: true,
        }
    }

    /// A duration: less is better.
    const fn time(name: &'static str, value: fn(&Figures) -> Option<f64>) -> Row {
        Row {
            name,
            value,
            unit: "ms",
            more_is_better: false,
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

const ROWS: [Row; 20] = [
    Row::time("start to first answer", |f| f.start.map(milliseconds)),
    Row {
        name: "fresh resident memory",
        value: |f| f.fresh_memory.map(|bytes| bytes as f64 / 1e6),
        unit: "MB",
        more_is_better: false,
    },
    Row::time("first OpenAPI document", |f| Some(milliseconds(f.document))),
    Row::rate("create", |f| Some(f.create)),
    Row::rate("get", |f| Some(f.get)),
    Row::rate("merge patch", |f| Some(f.patch)),
    Row::rate("apply", |f| Some(f.apply)),
    Row::rate("list (objects)", |f| Some(f.list)),
    Row::rate("deletecollection (objects)", |f| Some(f.delete)),
    Row::time("create to watch frame, p50", |f| Some(milliseconds(f.p50))),
    Row::time("create to watch frame, p99", |f| Some(milliseconds(f.p99))),
    Row::rate("create under ten admission policies", |f| Some(f.policies)),
    Row::time("added to a create by an HTTPS webhook, p50", |f| {
        Some(milliseconds(f.webhook))
    }),
    Row::time("added by a webhook in the same process, p50", |f| {
        f.webhook_in_process.map(milliseconds)
    }),
    Row::time("CRD create to first custom resource", |f| {
        Some(milliseconds(f.custom.served))
    }),
    Row::rate("custom resource: create", |f| Some(f.custom.create)),
    Row::rate("custom resource: get", |f| Some(f.custom.get)),
    Row::rate("custom resource: merge patch", |f| Some(f.custom.patch)),
    Row::rate("custom resource: apply", |f| Some(f.custom.apply)),
    Row::rate("custom resource: list (objects)", |f| Some(f.custom.list)),
];

/// A Markdown table; ratios are against the first column.
pub(crate) fn table(figures: &[(&str, Figures)], objects: usize, clients: usize) -> String {
    let mut text = format!("{objects} objects of each kind, {clients} clients\n\n| |");
    for (name, _) in figures {
        let _ = write!(text, " {name} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---:|".repeat(figures.len()));
    for row in &ROWS {
        let _ = write!(text, "\n| {} |", row.name);
        let base = figures.first().and_then(|(_, figures)| (row.value)(figures));
        for (at, (_, figures)) in figures.iter().enumerate() {
            let Some(value) = (row.value)(figures) else {
                text.push_str(" – |");
                continue;
            };
            let _ = write!(text, " {} {}", number(value), row.unit);
            if let Some(base) = base.filter(|_| at > 0) {
                let ratio = if row.more_is_better { value / base } else { base / value };
                let _ = write!(text, " (**{}×**)", number(ratio));
            }
            text.push_str(" |");
        }
    }
    text
}

/// A number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (at, digit) in digits.chars().enumerate() {
                if at > 0 && (digits.len() - at) % 3 == 0 {
                    grouped.push(' ');
                }
                grouped.push(digit);
            }
            grouped
        }
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 0.1 => format!("{value:.2}"),
        value => format!("{value:.4}"),
    }
}
