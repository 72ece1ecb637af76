//! The queue against a naive model: a list of entries and linear scans that say what the words in its documentation mean.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use proptest::prelude::*;

use super::{Add, Backoff, Moment, PriorityQueue, QueueOptions, When};

#[derive(Clone, Debug)]
enum Step {
    Add { key: u8, priority: i32, when: When },
    Pop,
    Done(u8),
    Forget(u8),
    Sleep(u64),
    ShutDown,
}

/// One queued key of the model.
#[derive(Clone, Debug)]
struct Entry {
    key: u8,
    priority: i32,
    due: Moment,
    /// The order of becoming ready; `None` while delayed or while its key runs.
    ready: Option<u64>,
    /// The order of being added, which breaks ties between equal delays.
    added: u64,
}

#[derive(Default)]
struct Model {
    entries: Vec<Entry>,
    running: BTreeSet<u8>,
    failures: BTreeMap<u8, u32>,
    clock: u64,
    passed_over: u32,
    shut_down: bool,
}

const RELIEF: u32 = 3;

impl Model {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn promote(&mut self, now: Moment) {
        let mut due: Vec<usize> = (0..self.entries.len())
            .filter(|at| {
                let entry = &self.entries[*at];
                entry.ready.is_none() && entry.due <= now && !self.running.contains(&entry.key)
            })
            .collect();
        due.sort_by_key(|at| (self.entries[*at].due, self.entries[*at].added));
        for at in due {
            let tick = self.tick();
            self.entries[at].ready = Some(tick);
        }
    }

    fn add(&mut self, key: u8, priority: i32, when: When, now: Moment) -> Option<Duration> {
        if self.shut_down {
            return None;
        }
        self.promote(now);
        let delay = match when {
            When::Now => Duration::ZERO,
            When::After(delay) => delay,
            When::RateLimited => {
                let failures = self.failures.entry(key).or_default();
                *failures += 1;
                Backoff::default().delay(*failures - 1)
            }
        };
        let (due, added) = (now + delay, self.tick());
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            None => self.entries.push(Entry {
                key,
                priority,
                due,
                ready: None,
                added,
            }),
            Some(entry) => {
                let raised = priority > entry.priority;
                entry.priority = entry.priority.max(priority);
                if entry.ready.is_some() {
                    if raised {
                        entry.ready = Some(added);
                    }
                } else if due < entry.due {
                    entry.due = due;
                    entry.added = added;
                }
            }
        }
        // A key that is due at once stands in line from this moment on.
        self.promote(now);
        Some(delay)
    }

    fn pop(&mut self, now: Moment) -> Option<(u8, i32)> {
        self.promote(now);
        let ready = || self.entries.iter().filter(|entry| entry.ready.is_some());
        let highest = ready().map(|entry| entry.priority).max()?;
        let lower = ready()
            .filter(|entry| entry.priority < highest)
            .min_by_key(|entry| entry.ready);
        let chosen = match lower {
            Some(entry) if self.passed_over + 1 >= RELIEF => {
                let key = entry.key;
                self.passed_over = 0;
                key
            }
            _ => {
                let first = ready()
                    .filter(|entry| entry.priority == highest)
                    .min_by_key(|entry| entry.ready)?;
                let key = first.key;
                self.passed_over = if lower.is_some() { self.passed_over + 1 } else { 0 };
                key
            }
        };
        let at = self.entries.iter().position(|entry| entry.key == chosen)?;
        let entry = self.entries.remove(at);
        self.running.insert(chosen);
        Some((chosen, entry.priority))
    }

    fn done(&mut self, key: u8, now: Moment) -> bool {
        // What fell due earlier stands in line before the key that comes back now.
        let was_running = self.running.remove(&key);
        if was_running && let Some(at) = self.entries.iter().position(|entry| entry.key == key) {
            let tick = self.tick();
            if self.shut_down && self.entries[at].due > now {
                self.entries.remove(at);
            } else {
                self.entries[at].added = tick;
                if self.entries[at].due <= now {
                    self.entries[at].ready = Some(tick);
                }
            }
        }
        was_running
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        let running = &self.running;
        self.entries
            .retain(|entry| entry.ready.is_some() || running.contains(&entry.key));
    }
}

fn step() -> impl Strategy<Value = Step> {
    let when = prop_oneof![
        3 => Just(When::Now),
        2 => (0_u64..40).prop_map(|millis| When::After(Duration::from_millis(millis))),
        1 => Just(When::RateLimited),
    ];
    prop_oneof![
        8 => (0_u8..8, -2_i32..2, when).prop_map(|(key, priority, when)| Step::Add { key, priority, when }),
        6 => Just(Step::Pop),
        4 => (0_u8..8).prop_map(Step::Done),
        1 => (0_u8..8).prop_map(Step::Forget),
        3 => (0_u64..30).prop_map(Step::Sleep),
        1 => Just(Step::ShutDown),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    (prop::collection::vec(step(), 0..120), any::<bool>()).prop_map(|(steps, may_shut_down)| {
        steps
            .into_iter()
            .filter(|step| may_shut_down || !matches!(step, Step::ShutDown))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_queue_does_what_the_model_says(steps in steps()) {
        let mut queue = PriorityQueue::new(QueueOptions {
            relief: NonZeroU32::new(RELIEF).unwrap(),
            ..QueueOptions::default()
        });
        let mut model = Model::default();
        let mut now = Duration::from_secs(1);
        for step in steps {
            match step {
                Step::Add { key, priority, when } => {
                    let delay = queue.add(key, Add { priority, when }, now);
                    prop_assert_eq!(delay, model.add(key, priority, when, now));
                }
                Step::Pop => {
                    let popped = queue.pop(now).map(|popped| (popped.key, popped.priority));
                    prop_assert_eq!(popped, model.pop(now));
                }
                Step::Done(key) => prop_assert_eq!(queue.done(&key, now), model.done(key, now)),
                Step::Forget(key) => {
                    queue.forget(&key);
                    model.failures.remove(&key);
                }
                Step::Sleep(millis) => now += Duration::from_millis(millis),
                Step::ShutDown => {
                    queue.shut_down();
                    model.shut_down();
                }
            }
            prop_assert_eq!(queue.running().count(), model.running.len());
            prop_assert_eq!(
                queue.ready_len(),
                model.entries.iter().filter(|entry| entry.ready.is_some()).count()
            );
            prop_assert_eq!(
                queue.is_drained(),
                model.shut_down && model.running.is_empty() && model.entries.iter().all(|entry| entry.ready.is_none())
            );
            for key in 0..8 {
                prop_assert_eq!(queue.failures(&key), model.failures.get(&key).copied().unwrap_or(0));
            }
        }
    }

    #[test]
    fn a_key_is_never_handed_out_twice_at_once(steps in steps()) {
        let mut queue = PriorityQueue::default();
        let mut running = BTreeSet::new();
        let mut now = Duration::ZERO;
        for step in steps {
            match step {
                Step::Add { key, priority, when } => {
                    queue.add(key, Add { priority, when }, now);
                }
                Step::Pop => {
                    if let Some(popped) = queue.pop(now) {
                        prop_assert!(running.insert(popped.key));
                    }
                }
                Step::Done(key) => prop_assert_eq!(queue.done(&key, now), running.remove(&key)),
                Step::Sleep(millis) => now += Duration::from_millis(millis),
                Step::Forget(_) | Step::ShutDown => {}
            }
        }
    }
}
