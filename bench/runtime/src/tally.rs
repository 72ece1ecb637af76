//! Counts what was reconciled so far and answers the benchmark's questions.

use std::io::BufRead as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::protocol::{Report, now};

/// Counts objects and reports when all of them are done.
pub struct Tally {
    marks: Vec<AtomicBool>,
    left: AtomicUsize,
    reconciles: AtomicU64,
    errors: AtomicU64,
    exists: AtomicU64,
    seen: Mutex<Vec<(i64, i64)>>,
    done: Notify,
}

impl Tally {
    /// Counts up to this many objects.
    pub fn new(count: usize) -> Self {
        Tally {
            marks: (0..count).map(|_| AtomicBool::new(false)).collect(),
            left: AtomicUsize::new(count),
            reconciles: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            exists: AtomicU64::new(0),
            seen: Mutex::default(),
            done: Notify::new(),
        }
    }

    /// Counts a reconcile.
    pub fn began(&self) {
        self.reconciles.fetch_add(1, Ordering::Relaxed);
    }

    /// Marks the object with this name as done. The name ends in the number of the object.
    pub fn mark(&self, name: &str) {
        let number = name.rsplit('-').next().and_then(|number| number.parse::<usize>().ok());
        let Some(mark) = number.and_then(|number| self.marks.get(number)) else {
            return;
        };
        if !mark.swap(true, Ordering::Relaxed) && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.report("done").say();
            self.done.notify_one();
        }
    }

    /// Reports that this many objects are in the cache and that nothing else has to be done.
    pub fn complete(&self, objects: usize) {
        let mut report = self.report("done");
        report.objects = objects;
        report.say();
        self.done.notify_one();
    }

    /// Waits until all objects are marked.
    pub async fn done(&self) {
        self.done.notified().await;
    }

    /// Notes that a number was seen in an object.
    pub fn saw(&self, number: Option<&String>) {
        let at = now();
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            self.seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, at));
        }
    }

    /// Counts a failed reconcile.
    pub fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a create that the server refused for this reason.
    pub fn refused(&self, reason: &str) {
        if reason == "AlreadyExists" {
            self.exists.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts so far.
    pub fn report(&self, event: &str) -> Report {
        Report {
            event: event.to_owned(),
            objects: self.marks.len() - self.left.load(Ordering::Relaxed),
            reconciles: self.reconciles.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            exists: self.exists.load(Ordering::Relaxed),
            ..Report::default()
        }
    }

    /// Answers the benchmark's questions until it closes the pipe, and then ends the process.
    pub fn obey_in_background(self: &Arc<Self>) {
        let tally = Arc::clone(self);
        std::thread::spawn(move || {
            for question in std::io::stdin().lock().lines().map_while(Result::ok) {
                let mut report = tally.report(&question);
                if question == "seen" {
                    report
                        .seen
                        .clone_from(&tally.seen.lock().unwrap_or_else(PoisonError::into_inner));
                }
                report.say();
            }
            std::process::exit(0);
        });
    }
}
