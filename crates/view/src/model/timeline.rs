//! From the records of the operator's trace to reconciles, the newest of which are kept.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use kubewright_runtime::trace::{Cause, Outcome, TraceEvent, TraceRecord, WebhookCall};
use serde_json::{Value, json};

use super::reconcile::{Did, End, Reconcile, ReconcileId, Step, WokenBy};

/// As many causes of a reconcile are listed; the others are counted.
const MOST_CAUSES: usize = 50;
/// As many things that belong to no reconcile are kept, and as many calls of webhooks.
const MOST_OTHERS: usize = 500;
/// An object is followed through as many attempts to what led to the first.
const MOST_ATTEMPTS: usize = 8;
/// Between a write and its answer no more reconciles begin.
const SHORTLY_BEFORE: usize = 64;

/// What happened in the operator, within a budget of bytes.
#[derive(Debug)]
pub(crate) struct Timeline {
    budget: usize,
    bytes: usize,
    /// The process that speaks, and when its trace began.
    life: Option<Life>,
    /// In the order in which they began.
    reconciles: BTreeMap<u64, Reconcile>,
    orders: HashMap<ReconcileId, u64>,
    /// What asked for the next reconcile of a controller and key.
    pending: HashMap<(String, String), Pending>,
    /// The last reconcile of a controller and key.
    last: HashMap<(String, String), ReconcileId>,
    /// Who wrote a revision.
    writers: BTreeMap<u64, ReconcileId>,
    webhooks: VecDeque<TimedCall>,
    /// What was done outside of reconciles, by tasks that a reconciler spawned.
    unattributed: VecDeque<(Timestamp, Did)>,
    /// How many records the operator forgot before they were read.
    missed: u64,
    next_order: u64,
    change: u64,
}

#[derive(Debug)]
struct Life {
    number: u32,
    process: u64,
    began: Timestamp,
    /// The sequence number of the next record.
    next: u64,
}

#[derive(Debug, Default)]
struct Pending {
    causes: Vec<Cause>,
    more: usize,
}

/// A call of one of the operator's webhooks, and when it was.
#[derive(Debug)]
pub(crate) struct TimedCall {
    pub(crate) at: Timestamp,
    pub(crate) call: WebhookCall,
    change: u64,
}

/// What a record was of, where somebody else wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Began(ReconcileId),
    /// The last step of a reconcile is a request to the API server, at that time.
    Called(ReconcileId, Timestamp),
    /// A request to the API server that belongs to no reconcile.
    CalledOutside,
}

/// What a reader has to know to be up to date.
#[derive(Debug)]
pub(crate) struct TimelineNews {
    pub(crate) change: u64,
    pub(crate) changed: Vec<Value>,
    /// Those before this order are not kept any more.
    pub(crate) oldest: u64,
    pub(crate) webhooks: Vec<Value>,
    pub(crate) missed: u64,
}

impl Timeline {
    pub(crate) fn new(budget: usize) -> Self {
        Timeline {
            budget,
            bytes: 0,
            life: None,
            reconciles: BTreeMap::new(),
            orders: HashMap::new(),
            pending: HashMap::new(),
            last: HashMap::new(),
            writers: BTreeMap::new(),
            webhooks: VecDeque::new(),
            unattributed: VecDeque::new(),
            missed: 0,
            next_order: 0,
            change: 0,
        }
    }

    /// A trace is read from its beginning, or again: that of a process, which began then. One of another process is another life of the operator.
    pub(crate) fn begin(&mut self, process: u64, began: Timestamp) {
        if self.life.as_ref().is_some_and(|life| life.process == process) {
            return;
        }
        self.pending.clear();
        self.last.clear();
        self.life = Some(Life {
            number: self.life.as_ref().map_or(0, |life| life.number) + 1,
            process,
            began,
            next: 0,
        });
    }

    /// The operator forgot records that were not read yet.
    pub(crate) fn missed(&mut self, count: u64) {
        self.missed += count;
        self.change += 1;
    }

    /// Takes a record that takes so many bytes; what a reconcile began or did with it.
    pub(crate) fn take(&mut self, record: TraceRecord, bytes: usize) -> Option<Taken> {
        let life = self.life.as_mut().filter(|life| record.sequence >= life.next)?;
        life.next = record.sequence + 1;
        let (number, at) = (life.number, later(life.began, record.at));
        let id = record.reconcile.map(|reconcile| ReconcileId {
            life: number,
            number: reconcile.number(),
        });
        self.change += 1;
        let mut taken = None;
        match record.event {
            TraceEvent::Queued {
                controller,
                key,
                cause,
                after,
            } => self.queued((controller.to_string(), key.to_string()), cause, after),
            TraceEvent::Began {
                controller,
                key,
                waited,
            } => {
                if let Some(id) = id {
                    self.began(id, (controller.to_string(), key.to_string()), waited, at, bytes);
                    taken = Some(Taken::Began(id));
                }
            }
            TraceEvent::Read(read) => self.did(id, at, Did::Read(read), bytes),
            TraceEvent::Called(call) => {
                if let (Some(id), true, Some(revision)) = (id, call.is_write(), call.revision)
                    && let Entry::Vacant(entry) = self.writers.entry(revision)
                {
                    entry.insert(id);
                    self.attribute(revision, id);
                }
                self.did(id, at, Did::Call(call), bytes);
                taken = Some(id.map_or(Taken::CalledOutside, |id| Taken::Called(id, at)));
            }
            TraceEvent::Logged(logged) => self.did(id, at, Did::Log(logged), bytes),
            TraceEvent::Ended {
                outcome,
                error,
                is_terminal,
                took,
                ..
            } => {
                if let Some(reconcile) = id.and_then(|id| self.touch(id, bytes)) {
                    reconcile.end = Some(End {
                        outcome,
                        error,
                        is_terminal,
                        took,
                    });
                }
            }
            TraceEvent::Webhook(call) => {
                let change = self.change;
                push(&mut self.webhooks, TimedCall { at, call, change });
            }
            // Of what the cache learns nothing is shown but what it wakes.
            _ => {}
        }
        self.forget();
        taken
    }

    /// The reconciles that led to one, the nearest first: the writer of what woke it, the writer of what woke that one, and so on. One that is tried
    /// again because it failed was led to by what led to the attempt before, which may be a conflict with another that writes the same.
    pub(crate) fn chain(&self, id: ReconcileId, most: usize) -> Vec<&Reconcile> {
        let writer_of = |one: &&Reconcile| {
            let attempts = std::iter::successors(Some(*one), |attempt| self.get(attempt.retry_of?));
            let mut woken = attempts.take(MOST_ATTEMPTS).flat_map(|attempt| &attempt.woken_by);
            self.get(woken.find_map(|woken| woken.writer)?)
        };
        std::iter::successors(self.get(id), writer_of)
            .skip(1)
            .take(most)
            .collect()
    }

    fn queued(&mut self, place: (String, String), cause: Cause, after: Option<Duration>) {
        if matches!(cause, Cause::Again(_))
            && let Some(last) = self.last.get(&place).copied()
            && let Some(reconcile) = self.touch(last, 0)
        {
            reconcile.again = Some(after.unwrap_or_default());
        }
        let pending = self.pending.entry(place).or_default();
        if pending.causes.len() < MOST_CAUSES {
            pending.causes.push(cause);
        } else {
            pending.more += 1;
        }
    }

    fn began(&mut self, id: ReconcileId, place: (String, String), waited: Duration, at: Timestamp, bytes: usize) {
        let pending = self.pending.remove(&place).unwrap_or_default();
        let woken_by: Vec<WokenBy> = pending
            .causes
            .into_iter()
            .map(|cause| {
                let writer = self.writer(&cause);
                let wrote = writer.and_then(|writer| self.get(writer));
                let is_own = wrote.is_some_and(|wrote| (&wrote.controller, &wrote.key) == (&place.0, &place.1));
                WokenBy { cause, writer, is_own }
            })
            .collect();
        for writer in woken_by.iter().filter_map(|woken| woken.writer) {
            if let Some(reconcile) = self.touch(writer, size_of::<ReconcileId>())
                && reconcile.caused.last() != Some(&id)
            {
                reconcile.caused.push(id);
            }
        }
        let is_retry = woken_by
            .iter()
            .any(|woken| matches!(woken.cause, Cause::Again(Outcome::Error)));
        let before = self.last.insert(place.clone(), id);
        let bytes = bytes + size_of::<Reconcile>() + woken_by.len() * 160;
        self.bytes += bytes;
        self.orders.insert(id, self.next_order);
        let begun = Reconcile {
            waited,
            woken_by_more: pending.more,
            retry_of: before.filter(|_| is_retry),
            order: self.next_order,
            change: self.change,
            bytes,
            ..Reconcile::begun(id, place, at, woken_by)
        };
        self.reconciles.insert(self.next_order, begun);
        self.next_order += 1;
    }

    /// A revision was written by a reconcile. The cache may have learnt of it before the writer had its answer: those that it woke are among the last.
    fn attribute(&mut self, revision: u64, writer: ReconcileId) {
        let Some(wrote) = self.get(writer) else {
            return;
        };
        let place = (wrote.controller.clone(), wrote.key.clone());
        let mut woken = Vec::new();
        for reconcile in self.reconciles.values_mut().rev().take(SHORTLY_BEFORE) {
            let is_own = (&reconcile.controller, &reconcile.key) == (&place.0, &place.1);
            let is_it = |by: &&mut WokenBy| {
                by.writer.is_none() && matches!(&by.cause, Cause::Object(change) if change.revision == Some(revision))
            };
            for by in reconcile.woken_by.iter_mut().filter(is_it) {
                (by.writer, by.is_own) = (Some(writer), is_own);
                reconcile.change = self.change;
                woken.push(reconcile.id);
            }
        }
        if let Some(wrote) = self.touch(writer, woken.len() * size_of::<ReconcileId>()) {
            wrote.caused.extend(woken.into_iter().rev());
        }
    }

    /// Who wrote what a reconcile was woken by.
    fn writer(&self, cause: &Cause) -> Option<ReconcileId> {
        match cause {
            Cause::Object(change) => self.writers.get(&change.revision?).copied(),
            _ => None,
        }
    }

    fn did(&mut self, id: Option<ReconcileId>, at: Timestamp, did: Did, bytes: usize) {
        match id {
            Some(id) => {
                if let Some(reconcile) = self.touch(id, bytes) {
                    let after = at.duration_since(reconcile.began).try_into().unwrap_or_default();
                    reconcile.steps.push(Step { after, did });
                }
            }
            None => push(&mut self.unattributed, (at, did)),
        }
    }

    /// A reconcile that changes and grows.
    fn touch(&mut self, id: ReconcileId, bytes: usize) -> Option<&mut Reconcile> {
        let reconcile = self.reconciles.get_mut(self.orders.get(&id)?)?;
        reconcile.change = self.change;
        reconcile.bytes += bytes;
        self.bytes += bytes;
        Some(reconcile)
    }

    /// Forgets the oldest reconciles until the rest is within the budget.
    fn forget(&mut self) {
        while self.bytes > self.budget && self.reconciles.len() > 1 {
            let Some((_, reconcile)) = self.reconciles.pop_first() else {
                return;
            };
            self.bytes -= reconcile.bytes;
            self.orders.remove(&reconcile.id);
            for revision in reconcile.calls().filter_map(|call| call.revision) {
                if self.writers.get(&revision) == Some(&reconcile.id) {
                    self.writers.remove(&revision);
                }
            }
        }
    }

    /// The reconcile that wrote a revision, if it is known.
    pub(crate) fn writer_of(&self, revision: u64) -> Option<ReconcileId> {
        self.writers.get(&revision).copied()
    }

    /// The reconciles that revisions woke, the first of each.
    pub(crate) fn woken_by(&self, revisions: &BTreeSet<u64>) -> BTreeMap<u64, Vec<ReconcileId>> {
        let mut woken: BTreeMap<u64, Vec<ReconcileId>> = BTreeMap::new();
        for reconcile in self.reconciles.values() {
            for by in &reconcile.woken_by {
                let Cause::Object(change) = &by.cause else {
                    continue;
                };
                let Some(revision) = change.revision.filter(|revision| revisions.contains(revision)) else {
                    continue;
                };
                let all = woken.entry(revision).or_default();
                if all.len() < MOST_CAUSES && all.last() != Some(&reconcile.id) {
                    all.push(reconcile.id);
                }
            }
        }
        woken
    }

    pub(crate) fn get(&self, id: ReconcileId) -> Option<&Reconcile> {
        self.reconciles.get(self.orders.get(&id)?)
    }

    /// What happened after a change; everything if nothing is known.
    pub(crate) fn since(&self, seen: u64) -> Option<TimelineNews> {
        if self.change <= seen {
            return None;
        }
        let changed = self.reconciles.values().filter(|reconcile| reconcile.change > seen);
        let webhooks = self.webhooks.iter().filter(|webhook| webhook.change > seen);
        Some(TimelineNews {
            change: self.change,
            changed: changed.map(Reconcile::summary).collect(),
            oldest: self.reconciles.keys().next().copied().unwrap_or(self.next_order),
            webhooks: webhooks.map(TimedCall::detail).collect(),
            missed: self.missed,
        })
    }
}

impl TimedCall {
    fn detail(&self) -> Value {
        let mut detail = json!(self.call);
        detail["at"] = self.at.as_millisecond().into();
        detail["number"] = self.change.into();
        detail
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == MOST_OTHERS {
        queue.pop_front();
    }
    queue.push_back(item);
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: u64 = 7;

    /// A timeline that is told records one after the other.
    struct Told {
        timeline: Timeline,
        sequence: u64,
    }

    /// An update that was answered with a revision.
    fn called(revision: u64) -> Value {
        json!({
            "event": "called", "verb": "update", "target": "ConfigMap a/b", "dryRun": false, "sent": null, "code": 200, "error": null,
            "cached": null, "revision": revision, "changes": [], "took": 0.1,
        })
    }

    impl Told {
        fn new(budget: usize) -> Self {
            let mut told = Told {
                timeline: Timeline::new(budget),
                sequence: 0,
            };
            told.begin(PROCESS);
            told
        }

        fn begin(&mut self, process: u64) {
            self.timeline.begin(process, Timestamp::from_second(999).unwrap());
        }

        fn take(&mut self, reconcile: Option<u64>, mut record: Value) {
            record["sequence"] = self.sequence.into();
            record["at"] = json!(f64::from(u32::try_from(self.sequence).unwrap()) / 10.0);
            record["reconcile"] = reconcile.into();
            self.sequence += 1;
            let bytes = record.to_string().len();
            self.timeline.take(serde_json::from_value(record).unwrap(), bytes);
        }

        fn woken(&mut self, revision: u64) {
            let change =
                json!({ "kind": "ConfigMap", "key": "a/b", "uid": "u", "revision": revision, "change": "updated" });
            self.take(
                None,
                json!({ "event": "queued", "controller": "c", "key": "a/b", "cause": { "object": change }, "after": null }),
            );
        }

        /// A reconcile from its beginning to its end that writes a revision.
        fn reconcile(&mut self, id: u64, writes: u64) {
            self.take(
                Some(id),
                json!({ "event": "began", "controller": "c", "key": "a/b", "waited": 0.25 }),
            );
            self.take(Some(id), called(writes));
            self.take(
                Some(id),
                json!({ "event": "ended", "controller": "c", "key": "a/b", "outcome": "success", "error": null, "took": 0.2 }),
            );
        }

        fn get(&self, id: &str) -> Option<&Reconcile> {
            self.timeline.get(id.parse().unwrap())
        }
    }

    #[test]
    fn a_write_is_followed_to_the_reconciles_that_it_woke_and_back() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        told.reconcile(1, 2);
        told.woken(2);
        told.reconcile(2, 3);
        let (first, second) = (told.get("1").unwrap(), told.get("2").unwrap());
        assert_eq!(first.why(), "ConfigMap a/b updated @1");
        assert_eq!(second.why(), "ConfigMap a/b updated @2, written by #1");
        assert_eq!(first.caused, [second.id]);
        assert_eq!(first.outcome().0, "done");
        assert!(first.smells().is_empty());
        assert_eq!(second.smells(), ["woken by its own write"]);
        assert_eq!(first.began, Timestamp::from_millisecond(999_100).unwrap());
        assert_eq!(first.steps[0].after, Duration::from_millis(100));
    }

    #[test]
    fn a_write_whose_answer_comes_after_what_it_woke_is_followed_too() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        let began = json!({ "event": "began", "controller": "c", "key": "a/b", "waited": 0.0 });
        let other = json!({ "event": "began", "controller": "d", "key": "a/b", "waited": 0.0 });
        told.take(Some(1), began);
        let change = json!({ "kind": "ConfigMap", "key": "a/b", "uid": "u", "revision": 2, "change": "updated" });
        told.take(
            None,
            json!({ "event": "queued", "controller": "d", "key": "a/b", "cause": { "object": change }, "after": null }),
        );
        told.take(Some(2), other);
        assert_eq!(told.get("2").unwrap().why(), "ConfigMap a/b updated @2");
        told.take(Some(1), called(2));
        let (first, second) = (told.get("1").unwrap(), told.get("2").unwrap());
        assert_eq!(second.why(), "ConfigMap a/b updated @2, written by #1");
        assert_eq!((&first.caused[..], second.smells().len()), (&[second.id][..], 0));
    }

    #[test]
    fn what_led_to_a_failure_led_to_the_next_attempt() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        told.reconcile(1, 2);
        told.woken(2);
        told.reconcile(2, 3);
        let again = |why: &str| json!({ "event": "queued", "controller": "c", "key": "a/b", "cause": { "again": why }, "after": 0.1 });
        told.take(None, again("error"));
        told.reconcile(3, 4);
        let chain = |told: &Told, id: &str| -> Vec<String> {
            let chain = told.timeline.chain(id.parse().unwrap(), 12);
            chain.iter().map(|one| one.id.to_string()).collect()
        };
        assert_eq!(chain(&told, "3"), ["1"]);
        // One that only looks again later was led to by nobody.
        told.take(None, again("requeue_after"));
        told.reconcile(4, 5);
        assert_eq!(chain(&told, "4"), Vec::<String>::new());
    }

    #[test]
    fn a_reader_is_told_what_changed_and_nothing_twice() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        told.reconcile(1, 2);
        let news = told.timeline.since(0).unwrap();
        assert_eq!((news.changed.len(), &news.changed[0]["outcome"]), (1, &json!("done")));
        assert!(told.timeline.since(news.change).is_none());
        told.woken(2);
        told.reconcile(2, 3);
        let news = told.timeline.since(news.change).unwrap();
        // The first, too: it is known now what it caused.
        assert_eq!(news.changed.len(), 2);
    }

    #[test]
    fn another_process_is_another_life_whose_causes_still_lead_back() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        told.reconcile(1, 2);
        // Read again from the beginning: nothing is news.
        told.begin(PROCESS);
        let change = told.timeline.change;
        told.sequence = 0;
        told.woken(1);
        assert_eq!(told.timeline.change, change);
        told.begin(PROCESS + 1);
        told.sequence = 0;
        told.woken(2);
        told.reconcile(1, 3);
        assert_eq!(
            told.get("2.1").unwrap().why(),
            "ConfigMap a/b updated @2, written by #1"
        );
        assert_eq!(told.get("2.1").unwrap().id.to_string(), "2.1");
    }

    #[test]
    fn the_oldest_are_forgotten_with_what_they_wrote() {
        let mut told = Told::new(4096);
        for id in 1..100 {
            told.woken(id);
            told.reconcile(id, id + 1);
        }
        let timeline = &told.timeline;
        assert!(
            timeline.bytes <= 4096 && timeline.reconciles.len() < 20,
            "{}",
            timeline.bytes
        );
        assert_eq!(timeline.reconciles.len(), timeline.orders.len());
        assert!(timeline.writers.len() <= timeline.reconciles.len());
        assert_eq!(
            timeline.since(0).unwrap().oldest,
            *timeline.reconciles.keys().next().unwrap()
        );
        assert!(told.get("1").is_none() && told.get("99").is_some());
    }

    #[test]
    fn when_it_is_tried_again_stands_at_the_reconcile_that_asked_for_it() {
        let mut told = Told::new(1 << 20);
        told.woken(1);
        told.reconcile(1, 2);
        told.take(
            None,
            json!({ "event": "queued", "controller": "c", "key": "a/b", "cause": { "again": "requeue_after" }, "after": 30.0 }),
        );
        assert_eq!(told.get("1").unwrap().again, Some(Duration::from_secs(30)));
        told.reconcile(2, 3);
        assert_eq!(told.get("2").unwrap().why(), "again after requeue after");
    }

    #[test]
    fn a_failure_for_good_is_not_tried_again() {
        let mut told = Told::new(1 << 20);
        let ended = |id: u64, is_terminal: bool| {
            [
                (
                    None,
                    json!({ "event": "queued", "controller": "c", "key": "a/b", "cause": "source", "after": null }),
                ),
                (
                    Some(id),
                    json!({ "event": "began", "controller": "c", "key": "a/b", "waited": 0.0 }),
                ),
                (
                    Some(id),
                    json!({ "event": "ended", "controller": "c", "key": "a/b", "outcome": "error", "error": "no", "isTerminal": is_terminal,
                            "took": 0.1 }),
                ),
            ]
        };
        for (id, event) in ended(1, true).into_iter().chain(ended(2, false)) {
            told.take(id, event);
        }
        let is_terminal = |id: &str| told.get(id).unwrap().detail()["isTerminal"].clone();
        assert_eq!((is_terminal("1"), is_terminal("2")), (json!(true), json!(false)));
    }
}
