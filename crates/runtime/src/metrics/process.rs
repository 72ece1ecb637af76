//! The process in numbers, under `client_golang`'s names; none where the system does not tell them.

use kubewright_system::process::{METRICS, Process};

use super::family::Family;
use super::registry::{Registry, RegistryError};
use super::value::{Counter, Gauge};

enum Metric {
    Counter(Family<Counter, 0>),
    Gauge(Family<Gauge, 0>),
}

pub(super) fn register(registry: &Registry) -> Result<(), RegistryError> {
    let mut metrics = Vec::new();
    for metric in METRICS {
        let family = if metric.is_counter {
            Metric::Counter(registry.counter(metric.name, metric.help, [])?)
        } else {
            Metric::Gauge(registry.gauge(metric.name, metric.help, [])?)
        };
        metrics.push((metric.value, family));
    }
    registry.before_render(move || {
        let Some(process) = Process::this() else { return };
        for (value, family) in &metrics {
            match (value(&process), family) {
                (Some(value), Metric::Counter(family)) => family.with([]).advance_to(value),
                (Some(value), Metric::Gauge(family)) => family.with([]).set(value),
                (None, _) => {}
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory_and_a_start() {
        let registry = Registry::new();
        register(&registry).unwrap();
        let text = registry.render();
        assert!(text.contains("\nprocess_resident_memory_bytes "));
        assert!(text.contains("\nprocess_start_time_seconds 1"), "{text}");
    }
}
