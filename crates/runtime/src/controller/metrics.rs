//! The metrics of controllers. Controllers have counters of their own, which are read when the metrics are rendered.

use super::stats::ControllerStats;
use crate::metrics::RuntimeMetrics;
use crate::trace::Outcome;

impl ControllerStats {
    /// Shows the numbers of the controller with this name from now on.
    pub(crate) fn show_in(&self, metrics: &RuntimeMetrics, name: &str, max_concurrent: usize) {
        let stats = self.clone();
        let name = name.to_owned();
        let families = metrics.controllers.clone();
        families.max_concurrent.with([&name]).set(max_concurrent as f64);
        metrics.registry.before_render(move || {
            let name = [name.as_str()];
            let now = stats.snapshot();
            let totals = [
                (Outcome::Success, now.success),
                (Outcome::RequeueAfter, now.requeue_after),
                (Outcome::Requeue, now.requeue),
                (Outcome::Error, now.errors),
            ];
            for (outcome, total) in totals {
                families
                    .reconciles
                    .with([name[0], outcome.as_str()])
                    .advance_to(total as f64);
            }
            families.errors.with(name).advance_to(now.errors as f64);
            families
                .terminal_errors
                .with(name)
                .advance_to(now.terminal_errors as f64);
            families.panics.with(name).advance_to(now.panics as f64);
            families.timeouts.with(name).advance_to(now.timeouts as f64);
            families.active_workers.with(name).set(now.active as f64);
            families
                .time
                .with(name)
                .replace(&now.buckets, now.total(), now.time.as_secs_f64());
        });
    }
}
