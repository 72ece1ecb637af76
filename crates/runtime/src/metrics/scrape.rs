//! The metrics of queues. Queues have counters of their own, which are read when the metrics are rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use parking_lot::Mutex;

use super::runtime::RuntimeMetrics;
use super::value::Histogram;
use crate::queue::WorkQueue;

/// More different priorities than this share one series, as in controller-runtime.
const MOST_PRIORITIES: usize = 25;
const TOO_MANY_PRIORITIES: &str = "exceeded_cardinality_limit";

/// What only the worker knows of its queue.
#[derive(Clone, Debug)]
pub(crate) struct QueueTimes {
    /// How long keys waited before they were handed out.
    pub(crate) waited: Histogram,
    /// How long the work on them took.
    pub(crate) worked: Histogram,
}

impl RuntimeMetrics {
    /// Shows a queue's numbers from now on. The histograms that come back are for the worker to fill.
    pub(crate) fn watch_queue<K>(&self, name: &str, queue: &WorkQueue<K>) -> QueueTimes
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        let metrics = self.queues.clone();
        let times = QueueTimes {
            waited: metrics.queue_duration.with([name, name]),
            worked: metrics.work_duration.with([name, name]),
        };
        let queue = queue.clone();
        let name = name.to_owned();
        let priorities = Mutex::new(Priorities::default());
        self.registry.before_render(move || {
            let (depths, running, longest) = queue.inspect(|queue, now| {
                let mut depths: BTreeMap<i32, usize> = BTreeMap::new();
                for (priority, _) in queue.ready() {
                    *depths.entry(priority).or_default() += 1;
                }
                let ages = queue
                    .running()
                    .map(|(since, ..)| now.saturating_sub(since).as_secs_f64());
                let (total, longest) = ages.fold((0.0, 0.0), |(sum, most), age| (sum + age, f64::max(most, age)));
                (depths, total, longest)
            });
            let counts = queue.counts();
            let name = name.as_str();
            priorities.lock().show(depths, |priority, depth| {
                metrics.depth.with([name, name, priority]).set(depth as f64);
            });
            metrics.adds.with([name, name]).advance_to(counts.adds as f64);
            metrics.retries.with([name, name]).advance_to(counts.retries as f64);
            metrics.unfinished_work.with([name, name]).set(running);
            metrics.longest_running.with([name, name]).set(longest);
        });
        times
    }
}

/// The priorities that have a series of their own: what was once seen is shown as zero when it is gone.
#[derive(Default)]
struct Priorities {
    known: BTreeSet<i32>,
    too_many: bool,
}

impl Priorities {
    /// One series for each priority ever seen, up to a limit; all others share one.
    fn show(&mut self, depths: BTreeMap<i32, usize>, mut set: impl FnMut(&str, usize)) {
        let mut others = 0;
        for priority in &self.known {
            set(&priority.to_string(), depths.get(priority).copied().unwrap_or(0));
        }
        for (priority, depth) in depths {
            if self.known.contains(&priority) {
                continue;
            }
            if self.known.len() < MOST_PRIORITIES {
                self.known.insert(priority);
                set(&priority.to_string(), depth);
            } else {
                self.too_many = true;
                others += depth;
            }
        }
        if self.too_many {
            set(TOO_MANY_PRIORITIES, others);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::Registry;
    use crate::queue::Add;

    fn value(text: &str, series: &str) -> f64 {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(series))
            .unwrap_or_else(|| panic!("no {series}"));
        line.trim().parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_shows_depth_by_priority_and_how_long_work_takes() {
        let metrics = RuntimeMetrics::register(&Registry::new()).unwrap();
        let queue = WorkQueue::default();
        metrics.watch_queue("shop", &queue);
        for key in 0..3 {
            let add = Add {
                priority: if key == 0 { 0 } else { -100 },
                ..Add::default()
            };
            queue.add_with(key, add);
        }
        let job = queue.get().await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let text = metrics.registry.render();
        let labels = "controller=\"shop\",name=\"shop\"";
        assert_eq!(
            value(&text, &format!("workqueue_depth{{{labels},priority=\"-100\"}}")) as i64,
            2
        );
        assert_eq!(
            value(&text, &format!("workqueue_unfinished_work_seconds{{{labels}}}")) as i64,
            5
        );
        assert_eq!(
            value(
                &text,
                &format!("workqueue_longest_running_processor_seconds{{{labels}}}")
            ) as i64,
            5
        );
        assert_eq!(value(&text, &format!("workqueue_adds_total{{{labels}}}")) as i64, 3);
        drop(job);
        for _ in 0..2 {
            drop(queue.get().await.unwrap());
        }
        let text = metrics.registry.render();
        assert_eq!(
            value(&text, &format!("workqueue_depth{{{labels},priority=\"-100\"}}")) as i64,
            0
        );
        assert_eq!(
            value(&text, &format!("workqueue_unfinished_work_seconds{{{labels}}}")) as i64,
            0
        );
    }

    #[test]
    fn too_many_priorities_share_a_series() {
        let mut priorities = Priorities::default();
        let mut series = BTreeMap::new();
        let depths = (0..30).map(|priority| (priority, 1)).collect();
        priorities.show(depths, |priority, depth| {
            series.insert(priority.to_owned(), depth);
        });
        assert_eq!(series.len(), 26);
        assert_eq!(series[TOO_MANY_PRIORITIES], 5);
        series.clear();
        priorities.show(BTreeMap::new(), |priority, depth| {
            series.insert(priority.to_owned(), depth);
        });
        assert!(series.values().all(|depth| *depth == 0));
    }
}
