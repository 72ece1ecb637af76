//! Stores as they were: forks at a revision of the past, times of revisions, and the history of all resources as one sequence.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::common::{Contents, Modelled, RESOURCES, Write, contents, draft, write, writes};
use kubewright_store::{Compacted, Event, Limits, Record, ResourceId, Revision, SnapshotError, Store};
use proptest::prelude::*;

const RESOURCE: ResourceId = RESOURCES[0];

/// Every record of every resource.
type Everything = BTreeMap<ResourceId, Vec<Arc<Record>>>;

fn everything(store: &Store) -> Everything {
    let records = |resource| store.snapshot(resource).records(None, None).cloned().collect();
    RESOURCES
        .into_iter()
        .map(|resource| (resource, records(resource)))
        .collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(Write),
    Drop(ResourceId),
    Compact(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => write().prop_map(Step::Write),
        2 => crate::common::resource().prop_map(Step::Drop),
        1 => (0..15_u64).prop_map(Step::Compact),
    ]
}

fn take(modelled: &mut Modelled, step: Step) {
    let revision = modelled.store.revision();
    match step {
        Step::Write(write) => modelled.write(write),
        Step::Drop(resource) => modelled.store.drop_resource(resource),
        Step::Compact(back) => modelled.store.compact(Revision(revision.0.saturating_sub(back))),
    }
}

proptest! {
    #[test]
    fn a_fork_at_a_retained_revision_is_what_the_store_was(
        steps in prop::collection::vec(step(), 1..120),
        later in writes(0..20),
        history_bytes in prop_oneof![Just(usize::MAX), 1_000..40_000_usize],
    ) {
        let mut modelled = Modelled::new(Store::new(Limits { history_bytes }));
        let mut then = BTreeMap::from([(modelled.store.revision(), everything(&modelled.store))]);
        for step in steps {
            take(&mut modelled, step);
            then.insert(modelled.store.revision(), everything(&modelled.store));
        }
        let (now, oldest) = (modelled.store.revision(), modelled.store.compacted());
        let before = (everything(&modelled.store), modelled.store.history_bytes());
        for revision in modelled.retained().filter(|revision| then.contains_key(revision)) {
            let fork = modelled.store.fork_at(revision).unwrap();
            prop_assert_eq!(fork.revision(), revision);
            prop_assert_eq!(fork.compacted(), oldest);
            prop_assert_eq!(&everything(&fork), &then[&revision]);
            // Its past is the past, also of what was dropped since; and it goes its own way.
            for earlier in (oldest.0..=revision.0).step_by(9).map(Revision).filter(|earlier| then.contains_key(earlier)) {
                prop_assert_eq!(&everything(&fork.fork_at(earlier).unwrap()), &then[&earlier]);
            }
            prop_assert!(fork.history_bytes() <= history_bytes || revision.0 - oldest.0 <= 1);
            Modelled::new(fork.clone()).write_all(later.clone());
            fork.compact(fork.revision());
            prop_assert_eq!(fork.history_bytes(), 0);
        }
        prop_assert_eq!(modelled.store.revision(), now);
        prop_assert_eq!((everything(&modelled.store), modelled.store.history_bytes()), before);
        modelled.store.compact(now);
        prop_assert_eq!(modelled.store.history_bytes(), 0);
    }

    #[test]
    fn the_history_has_every_write_of_every_wanted_resource_once(writes in writes(0..60), after in 0..60_u64) {
        let mut modelled = Modelled::new(Store::default());
        modelled.write_all(writes);
        let after = Revision(after);
        let history = modelled.store.history(after, |_| true).unwrap();
        prop_assert_eq!(history.revision, modelled.store.revision());
        let revisions: Vec<_> = history.events.iter().map(|(_, event)| event.revision).collect();
        let expected: Vec<_> = (after.0.max(1) + 1..=history.revision.0).map(Revision).collect();
        prop_assert_eq!(revisions, expected);
        let of_one = modelled.store.history(after, |resource| resource == RESOURCE).unwrap();
        let others = history.events.into_iter().filter(|(resource, _)| *resource == RESOURCE);
        prop_assert_eq!(of_one.events, others.collect::<Vec<_>>());
    }
}

#[test]
fn a_write_in_a_fork_takes_the_next_revision_and_is_not_seen_elsewhere() {
    let store = Store::default();
    let first = store.create(RESOURCE, "a/one", draft("first")).unwrap();
    let second = store
        .update(RESOURCE, "a/one", first.revision, draft("second"))
        .unwrap();
    let fork = store.fork_at(first.revision).unwrap();
    let other = fork.create(RESOURCE, "a/two", draft("other")).unwrap();
    assert_eq!(other.revision, second.revision);
    let update = fork.update(RESOURCE, "a/one", first.revision, draft("third")).unwrap();
    assert_eq!(update.created, first.revision);
    assert_eq!(store.get(RESOURCE, "a/two"), None);
    assert_eq!(store.get(RESOURCE, "a/one"), Some(second));
    // A watch there tells what was written there.
    let mut watcher = fork.watch(RESOURCE, None, first.revision).unwrap();
    let events = watcher.try_next(10).unwrap().events;
    assert_eq!(events.iter().map(Event::key).collect::<Vec<_>>(), ["a/two", "a/one"]);
}

#[test]
fn a_revision_that_is_forgotten_or_still_to_come_is_refused() {
    let store = Store::default();
    for name in ["one", "two", "three"] {
        store.create(RESOURCE, name, draft("")).unwrap();
    }
    let now = store.revision();
    store.compact(now);
    let oldest = Compacted { oldest: now };
    let earlier = Revision(now.0 - 1);
    assert_eq!(
        store.fork_at(earlier).map(|_| ()),
        Err(SnapshotError::Compacted(oldest))
    );
    assert_eq!(store.time_at(earlier), Err(SnapshotError::Compacted(oldest)));
    assert_eq!(store.history(earlier, |_| true).map(|_| ()), Err(oldest));
    assert!(store.fork_at(now).is_ok());
    let future = SnapshotError::Future { current: now };
    assert_eq!(store.fork_at(Revision(now.0 + 1)).map(|_| ()), Err(future));
    assert_eq!(store.time_at(Revision(now.0 + 1)), Err(future));
}

#[test]
fn a_fork_has_what_was_dropped_later() {
    let store = Store::default();
    store.create(RESOURCE, "a/one", draft("first")).unwrap();
    let before = store.create(RESOURCE, "a/two", draft("first")).unwrap().revision;
    store.create(RESOURCES[1], "a/other", draft("")).unwrap();
    store.drop_resource(RESOURCE);
    // The id is used again, and dropped again.
    let again = store.create(RESOURCE, "a/three", draft("second")).unwrap().revision;
    store.create(RESOURCES[1], "a/another", draft("")).unwrap();
    store.drop_resource(RESOURCE);

    let keys = |store: &Store| contents(&store.snapshot(RESOURCE)).into_keys().collect::<Vec<_>>();
    assert_eq!(keys(&store.fork_at(before).unwrap()), ["a/one", "a/two"]);
    assert_eq!(keys(&store.fork_at(Revision(before.0 + 1)).unwrap()), [""; 0]);
    assert_eq!(keys(&store.fork_at(again).unwrap()), ["a/three"]);
    assert_eq!(keys(&store.fork_at(store.revision()).unwrap()), [""; 0]);
    // What was written to it is part of the history.
    let history = store
        .history(Revision(1), |resource| resource == RESOURCE)
        .unwrap()
        .events;
    assert_eq!(
        history.iter().map(|(_, event)| event.key()).collect::<Vec<_>>(),
        ["a/one", "a/two", "a/three"]
    );
}

#[test]
fn what_was_dropped_counts_until_it_is_forgotten() {
    let large = "x".repeat(10_000);
    let store = Store::new(Limits { history_bytes: 50_000 });
    store.create(RESOURCE, "a/one", draft(&large)).unwrap();
    let before = store.history_bytes();
    store.create(RESOURCES[1], "a/other", draft("")).unwrap();
    store.drop_resource(RESOURCE);
    // The record is only kept for the past now.
    assert!(store.history_bytes() > before + 10_000);
    let dropped_at = store.revision();
    for number in 0..100 {
        store
            .create(RESOURCES[1], &format!("a/{number}"), draft(&large))
            .unwrap();
        store
            .delete(RESOURCES[1], &format!("a/{number}"), store.revision())
            .unwrap();
        assert!(store.history_bytes() <= 50_000);
    }
    assert!(store.compacted() > dropped_at);
    assert_eq!(contents(&store.snapshot(RESOURCE)), Contents::new());
}

/// A store with a clock that a test sets.
fn timed() -> (Store, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(0));
    let shown = Arc::clone(&clock);
    let now = Arc::new(move || shown.load(Ordering::Relaxed));
    (Store::default().fork_with(Limits::default(), now), clock)
}

#[test]
fn every_event_has_its_time_which_never_goes_back() {
    let (store, clock) = timed();
    for (time, key) in [(10, "one"), (20, "two"), (15, "three"), (30, "four")] {
        clock.store(time, Ordering::Relaxed);
        store.create(RESOURCE, key, draft("")).unwrap();
    }
    let times = |store: &Store| -> Vec<i64> {
        let revisions = (store.compacted().0..=store.revision().0).map(Revision);
        revisions.map(|revision| store.time_at(revision).unwrap()).collect()
    };
    assert_eq!(times(&store)[1..], [0, 10, 20, 20, 30]);
    let history = store.history(Revision(1), |_| true).unwrap().events;
    assert_eq!(
        history.iter().map(|(_, event)| event.time).collect::<Vec<_>>(),
        [10, 20, 20, 30]
    );
    // What was forgotten leaves the time of the state that the rest builds on.
    let fork = store.fork_at(Revision(3)).unwrap();
    store.compact(Revision(4));
    assert_eq!(times(&store), [20, 30]);
    // A fork goes on from its own time, unless it is given another one.
    clock.store(12, Ordering::Relaxed);
    fork.create(RESOURCE, "five", draft("")).unwrap();
    assert_eq!(times(&fork)[2..], [10, 20, 20]);
    let other = store.fork_with(Limits::default(), Arc::new(|| 5));
    other.create(RESOURCE, "five", draft("")).unwrap();
    assert_eq!(times(&other), [20, 30, 5]);
}

#[test]
fn whoever_waits_for_a_write_is_woken_by_one_to_any_resource() {
    use std::task::{Context, Poll, Waker};

    let store = Store::default();
    let now = store.revision();
    let mut waiting = std::pin::pin!(store.written_after(now));
    let mut poll = || waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(poll(), Poll::Pending);
    assert!(store.delete(RESOURCE, "a/none", now).is_err());
    store.drop_resource(RESOURCE);
    assert_eq!(poll(), Poll::Pending);
    store.create(RESOURCES[1], "a/one", draft("")).unwrap();
    assert_eq!(poll(), Poll::Ready(()));
    let mut there = std::pin::pin!(store.written_after(now));
    assert_eq!(
        there.as_mut().poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready(())
    );
}
