//! What the operating system knows about this process; empty where it does not say.

use kubewright_system::process::{METRICS, Process};
use kubewright_system::prometheus;

/// Writes the `process_` metrics.
pub(super) fn render(text: &mut String) {
    let Some(process) = Process::this() else { return };
    for metric in METRICS {
        if let Some(value) = (metric.value)(&process) {
            let kind = if metric.is_counter { "counter" } else { "gauge" };
            prometheus::family(text, metric.name, kind, metric.help);
            prometheus::sample(text, metric.name, "", value);
        }
    }
}
