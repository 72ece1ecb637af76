//! Prometheus' text format 0.0.4, written as `client_golang` writes it: queries compare bucket bounds as text.
//!
//! ```
//! use kubewright_system::prometheus;
//!
//! let (mut text, mut labels) = (String::new(), String::new());
//! prometheus::family(&mut text, "orders_total", "counter", "Orders.");
//! prometheus::label(&mut labels, "shop", "north \"1\"");
//! prometheus::sample(&mut text, "orders_total", &labels, 1e6);
//! assert!(text.ends_with("orders_total{shop=\"north \\\"1\\\"\"} 1e+06\n"));
//! ```

use std::fmt::Write as _;

use kubewright_apimachinery::go::float;

/// Begins a metric family: its `HELP` and its `TYPE` (`counter`, `gauge`, `histogram`).
pub fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Appends a label to labels.
pub fn label(labels: &mut String, name: &str, value: &str) {
    let comma = if labels.is_empty() { "" } else { "," };
    let value = value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
    let _ = write!(labels, "{comma}{name}=\"{value}\"");
}

/// Writes a sample; `labels` are those that [`label`] appended.
pub fn sample(text: &mut String, name: &str, labels: &str, value: f64) {
    let value = float::general(value);
    let _ = if labels.is_empty() {
        writeln!(text, "{name} {value}")
    } else {
        writeln!(text, "{name}{{{labels}}} {value}")
    };
}

/// Writes the samples of a histogram. `buckets` are upper bounds, infinity last, each with the number of values up to it.
pub fn histogram(text: &mut String, name: &str, labels: &str, buckets: impl IntoIterator<Item = (f64, u64)>, sum: f64) {
    let comma = if labels.is_empty() { "" } else { "," };
    let bucket = format!("{name}_bucket");
    let mut count = 0;
    for (bound, below) in buckets {
        let labels = format!("{labels}{comma}le=\"{}\"", float::general(bound));
        sample(text, &bucket, &labels, below as f64);
        count = below;
    }
    sample(text, &format!("{name}_sum"), labels, sum);
    // The last bucket, so that the two agree while others count.
    sample(text, &format!("{name}_count"), labels, count as f64);
}
