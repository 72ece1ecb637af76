//! The figures of a run, as a table with ratios.

use std::fmt::Write as _;
use std::time::Duration;

/// What one server did.
pub(crate) struct Figures {
    pub(crate) start: Option<Duration>,
    pub(crate) fresh_memory: Option<u64>,
    pub(crate) create: f64,
    pub(crate) get: f64,
    pub(crate) patch: f64,
    pub(crate) apply: f64,
    pub(crate) list: f64,
    pub(crate) delete: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

/// A row: its name, how a figure reads, and whether more is better.
struct Row {
    name: &'static str,
    value: fn(&Figures) -> Option<f64>,
    unit: &'static str,
    more_is_better: bool,
}

const ROWS: [Row; 10] = [
    Row {
        name: "start to first answer",
        value: |f| f.start.map(|d| d.as_secs_f64() * 1e3),
        unit: "ms",
        more_is_better: false,
    },
    Row {
        name: "fresh resident memory",
        value: |f| f.fresh_memory.map(|b| b as f64 / 1e6),
        unit: "MB",
        more_is_better: false,
    },
    Row {
        name: "create",
        value: |f| Some(f.create),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "get",
        value: |f| Some(f.get),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "merge patch",
        value: |f| Some(f.patch),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "apply",
        value: |f| Some(f.apply),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "list (objects)",
        value: |f| Some(f.list),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "deletecollection (objects)",
        value: |f| Some(f.delete),
        unit: "/s",
        more_is_better: true,
    },
    Row {
        name: "create to watch frame, p50",
        value: |f| Some(f.p50.as_secs_f64() * 1e3),
        unit: "ms",
        more_is_better: false,
    },
    Row {
        name: "create to watch frame, p99",
        value: |f| Some(f.p99.as_secs_f64() * 1e3),
        unit: "ms",
        more_is_better: false,
    },
];

/// A Markdown table; ratios are against the first column.
pub(crate) fn table(figures: &[(&str, Figures)], objects: usize, clients: usize) -> String {
    let mut text = format!("{objects} ConfigMaps, {clients} clients\n\n| |");
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

/// Three figures are enough.
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
