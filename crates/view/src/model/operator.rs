//! What the operator says of itself: queues, workers, caches, its lease, its webhooks; and how some of it went over time.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// As many samples are kept.
const SAMPLES: usize = 600;

/// The operator's debug page as it was last, and what plots are made of.
#[derive(Debug, Default)]
pub(crate) struct OperatorPage {
    page: Value,
    samples: VecDeque<Sample>,
    /// Why it cannot be asked.
    unreachable: Option<String>,
    change: u64,
}

/// Sums over all controllers at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Sample {
    pub(crate) at: i64,
    /// Keys that wait for a worker.
    pub(crate) ready: u64,
    /// Workers that are at work.
    pub(crate) busy: u64,
    /// Reconciles that ended so far, and those of them that failed.
    pub(crate) done: u64,
    pub(crate) failed: u64,
    /// What caches hold.
    pub(crate) objects: u64,
    #[serde(skip)]
    change: u64,
}

impl OperatorPage {
    pub(crate) fn take(&mut self, page: Value, at: Timestamp) {
        self.change += 1;
        let sum =
            |list: &str, value: &dyn Fn(&Value) -> u64| page[list].as_array().into_iter().flatten().map(value).sum();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let failures = ["errors", "terminal", "panics", "timeouts"];
        let sample = Sample {
            at: at.as_millisecond(),
            ready: sum("controllers", &|one| number(&one["ready"]["count"])),
            busy: sum("controllers", &|one| number(&one["busy"])),
            done: sum("controllers", &|one| {
                let all = ["success", "requeueAfter", "requeue", "errors", "terminal"];
                all.iter().map(|name| number(&one["reconciles"][name])).sum()
            }),
            failed: sum("controllers", &|one| {
                failures.iter().map(|name| number(&one["reconciles"][name])).sum()
            }),
            objects: sum("informers", &|one| number(&one["objects"])),
            change: self.change,
        };
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
        self.page = page;
    }

    /// It cannot be asked, for this reason; or it can.
    pub(crate) fn reached(&mut self, unreachable: Option<String>) {
        if self.unreachable != unreachable {
            self.unreachable = unreachable;
            self.change += 1;
        }
    }

    /// The page, and the samples that came after a change.
    pub(crate) fn since(&self, seen: u64) -> Option<(u64, Value)> {
        if self.change <= seen {
            return None;
        }
        let samples: Vec<&Sample> = self.samples.iter().filter(|sample| sample.change > seen).collect();
        Some((
            self.change,
            json!({ "page": self.page, "samples": samples, "unreachable": self.unreachable }),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_made_of_sums_and_a_reader_gets_each_sample_once() {
        let mut operator = OperatorPage::default();
        let page = json!({
            "controllers": [
                { "ready": { "count": 2 }, "busy": 1, "reconciles": { "success": 5, "errors": 2 } },
                { "ready": { "count": 1 }, "busy": 0, "reconciles": { "success": 1, "requeue": 1 } },
            ],
            "informers": [{ "objects": 7 }, {}],
        });
        operator.take(page.clone(), Timestamp::UNIX_EPOCH);
        let (change, news) = operator.since(0).unwrap();
        assert_eq!(
            news["samples"],
            json!([{ "at": 0, "ready": 3, "busy": 1, "done": 9, "failed": 2, "objects": 7 }])
        );
        assert!(operator.since(change).is_none());
        for _ in 0..2 * SAMPLES {
            operator.take(page.clone(), Timestamp::UNIX_EPOCH);
        }
        assert_eq!(operator.samples.len(), SAMPLES);
        // What an operator of another version says is shown as far as it is known.
        operator.take(json!("nonsense"), Timestamp::UNIX_EPOCH);
        let (_, news) = operator.since(change + 2 * SAMPLES as u64).unwrap();
        assert_eq!(news["samples"][0]["ready"], 0);
    }
}
