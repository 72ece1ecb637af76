//! Watches: exactly the later events, in order, woken only by their own topic, never in a writer's way.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::common::{
    Change, Contents, Modelled, RESOURCES, Write, contents, draft, in_scope, resource, scope, write, writes,
};
use kubewright_store::{Compacted, Event, EventKind, Limits, ResourceId, Revision, Store, WatchEnd, Watcher};
use proptest::prelude::*;

const RESOURCE: ResourceId = RESOURCES[0];

/// Reads a watcher to its end, in batches of `max`.
fn drain(watcher: &mut Watcher, max: usize) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let batch = watcher.try_next(max).unwrap();
        assert!(batch.events.len() <= max);
        events.extend(batch.events);
        if batch.caught_up {
            return events;
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(Write),
    /// Starts a watch, this share of the way from the oldest to the newest revision.
    Watch {
        resource: ResourceId,
        scope: Option<&'static str>,
        from: prop::sample::Index,
    },
    /// Reads a batch with one of the watchers.
    Read {
        watcher: prop::sample::Index,
        max: usize,
    },
    Forget {
        watcher: prop::sample::Index,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => write().prop_map(Step::Write),
        1 => (resource(), scope(), index()).prop_map(|(resource, scope, from)| Step::Watch { resource, scope, from }),
        3 => (index(), 1..6usize).prop_map(|(watcher, max)| Step::Read { watcher, max }),
        1 => index().prop_map(|watcher| Step::Forget { watcher }),
    ]
}

/// A watcher and what a client makes of it.
struct Follower {
    watcher: Watcher,
    resource: ResourceId,
    scope: Option<&'static str>,
    contents: Contents,
}

impl Follower {
    fn new(store: &Store, resource: ResourceId, scope: Option<&'static str>, from: Revision) -> Follower {
        let snapshot = store.snapshot_at(resource, from).unwrap();
        let contents = contents(&snapshot)
            .into_iter()
            .filter(|(key, _)| in_scope(key, scope))
            .collect();
        Follower {
            watcher: store.watch(resource, scope, from).unwrap(),
            resource,
            scope,
            contents,
        }
    }

    fn read(&mut self, max: usize) -> bool {
        let batch = self.watcher.try_next(max).unwrap();
        assert!(batch.events.len() <= max);
        for event in &batch.events {
            Change::of(self.resource, event).apply(&mut self.contents);
        }
        batch.caught_up
    }

    fn agrees_with(&self, modelled: &Modelled) {
        let mut expected = modelled.contents_at(self.resource, self.watcher.seen());
        expected.retain(|key, _| in_scope(key, self.scope));
        assert_eq!(self.contents, expected, "at {}", self.watcher.seen());
    }
}

proptest! {
    #[test]
    fn any_interleaving_of_writes_and_watches_replays_to_the_same_state(steps in prop::collection::vec(step(), 1..120)) {
        let mut modelled = Modelled::new(Store::default());
        let mut followers: Vec<Follower> = Vec::new();
        for step in steps {
            match step {
                Step::Write(write) => modelled.write(write),
                Step::Watch { resource, scope, from } => {
                    let revisions: Vec<_> = modelled.retained().collect();
                    followers.push(Follower::new(&modelled.store, resource, scope, *from.get(&revisions)));
                }
                Step::Read { watcher, max } if !followers.is_empty() => {
                    let at = watcher.index(followers.len());
                    followers[at].read(max);
                    followers[at].agrees_with(&modelled);
                }
                Step::Forget { watcher } if !followers.is_empty() => {
                    followers.remove(watcher.index(followers.len()));
                }
                Step::Read { .. } | Step::Forget { .. } => {}
            }
        }
        for mut follower in followers {
            while !follower.read(3) {}
            prop_assert_eq!(follower.watcher.seen(), modelled.store.revision());
            follower.agrees_with(&modelled);
        }
        prop_assert_eq!(modelled.store.watched_topics(), 0);
    }

    #[test]
    fn a_watch_from_any_retained_revision_sees_exactly_the_later_events_in_order(
        before in writes(0..40),
        after in writes(0..20),
        compacted in 0..30u64,
        scope in scope(),
        max in 1..10usize,
    ) {
        let mut modelled = Modelled::new(Store::default());
        modelled.write_all(before);
        modelled.store.compact(Revision(compacted));
        let revisions: Vec<_> = modelled.retained().collect();
        let watchers: Vec<_> = revisions.into_iter()
            .map(|from| (from, modelled.store.watch(RESOURCE, scope, from).unwrap())).collect();
        modelled.write_all(after);
        for (from, mut watcher) in watchers {
            let seen: Vec<_> = drain(&mut watcher, max).iter().map(|event| Change::of(RESOURCE, event)).collect();
            let expected: Vec<_> =
                modelled.changes_in(RESOURCE, scope).filter(|change| change.revision > from).cloned().collect();
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_watcher_is_overtaken_only_if_it_missed_an_event(
        steps in prop::collection::vec((writes(0..10), 0..12u64, any::<bool>()), 1..8),
        scope in scope(),
    ) {
        let mut modelled = Modelled::new(Store::default());
        let mut watcher = modelled.store.watch(RESOURCE, scope, modelled.store.revision()).unwrap();
        for (writes, back, read) in steps {
            let from = watcher.seen();
            modelled.write_all(writes);
            modelled.store.compact(Revision(modelled.store.revision().0.saturating_sub(back)));
            if !read {
                continue;
            }
            let oldest = modelled.store.compacted();
            let unread: Vec<_> =
                modelled.changes_in(RESOURCE, scope).filter(|change| change.revision > from).cloned().collect();
            if unread.first().is_some_and(|change| change.revision <= oldest) {
                prop_assert_eq!(watcher.try_next(100).map(|_| ()), Err(WatchEnd::Compacted(Compacted { oldest })));
                break;
            }
            let seen: Vec<_> = drain(&mut watcher, 100).iter().map(|event| Change::of(RESOURCE, event)).collect();
            prop_assert_eq!(seen, unread);
            prop_assert_eq!(watcher.seen(), modelled.store.revision());
        }
    }
}

/// Counts how often a task was woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs `during` while the watcher waits; tells how often it was woken and whether it is ready then.
fn woken(watcher: &mut Watcher, during: impl FnOnce()) -> (usize, bool) {
    let wakes = Arc::new(Wakes::default());
    let task = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&task);
    let mut ready = pin!(watcher.ready());
    assert_eq!(
        ready.as_mut().poll(&mut context),
        Poll::Pending,
        "nothing has happened yet"
    );
    during();
    let count = wakes.0.load(Ordering::SeqCst);
    (count, ready.as_mut().poll(&mut context).is_ready())
}

#[test]
fn only_writes_to_its_own_topic_wake_a_watcher() {
    let store = Store::default();
    let create = |resource, key: &str| store.create(resource, key, draft("")).unwrap();
    let mut watcher = store.watch(RESOURCE, Some("a"), store.revision()).unwrap();
    assert_eq!(woken(&mut watcher, || drop(create(RESOURCE, "b/one"))), (0, false));
    assert_eq!(woken(&mut watcher, || drop(create(RESOURCE, "a-b/one"))), (0, false));
    assert_eq!(woken(&mut watcher, || drop(create(RESOURCES[1], "a/one"))), (0, false));
    assert_eq!(woken(&mut watcher, || drop(create(RESOURCE, "a/one"))), (1, true));
    assert_eq!(drain(&mut watcher, 10).len(), 1);

    let mut everywhere = store.watch(RESOURCE, None, store.revision()).unwrap();
    assert_eq!(
        woken(&mut everywhere, || drop(create(RESOURCES[1], "b/two"))),
        (0, false)
    );
    assert_eq!(woken(&mut everywhere, || drop(create(RESOURCE, "b/two"))), (1, true));
    assert_eq!(drain(&mut everywhere, 10).len(), 1);
    assert_eq!(
        woken(&mut everywhere, || drop(create(RESOURCE, "without-namespace"))),
        (1, true)
    );
    assert_eq!(drain(&mut everywhere, 10).len(), 1);
}

#[test]
fn a_failed_write_wakes_nobody() {
    let store = Store::default();
    let one = store.create(RESOURCE, "a/one", draft("")).unwrap();
    let mut watcher = store.watch(RESOURCE, None, store.revision()).unwrap();
    drain(&mut watcher, 10);
    let fail = || {
        let refused = store.update(RESOURCE, "a/one", Revision(one.revision.0 - 1), draft(""));
        assert!(refused.is_err());
    };
    assert_eq!(woken(&mut watcher, fail), (0, false));
}

#[test]
fn an_idle_watcher_keeps_up_with_the_revision_and_survives_compaction() {
    let store = Store::default();
    let mut idle = store.watch(RESOURCE, Some("quiet"), store.revision()).unwrap();
    for number in 0..10 {
        store.create(RESOURCE, &format!("busy/{number}"), draft("")).unwrap();
    }
    store.compact(store.revision());
    assert!(idle.try_next(10).unwrap().events.is_empty());
    assert_eq!(
        idle.seen(),
        store.revision(),
        "a bookmark may tell the present revision"
    );

    store.create(RESOURCE, "busy/last", draft("")).unwrap();
    store.compact(store.revision());
    store.create(RESOURCE, "quiet/one", draft("")).unwrap();
    store.create(RESOURCE, "quiet/two", draft("")).unwrap();
    let keys: Vec<_> = drain(&mut idle, 10)
        .iter()
        .map(|event| event.key().to_owned())
        .collect();
    assert_eq!(keys, ["quiet/one", "quiet/two"]);
}

#[test]
fn a_stalled_watcher_stops_no_writer_and_gets_compacted() {
    let store = Store::new(Limits { history_bytes: 10_000 });
    let mut stalled = store.watch(RESOURCE, None, store.revision()).unwrap();
    let mut reading = store.watch(RESOURCE, None, store.revision()).unwrap();
    let mut record = store.create(RESOURCE, "a/one", draft("")).unwrap();
    for _ in 0..1_000 {
        record = store
            .update(RESOURCE, "a/one", record.revision, draft("again"))
            .unwrap();
        drain(&mut reading, 10);
    }
    assert!(store.history_bytes() <= 10_000);
    assert_eq!(reading.seen(), store.revision());
    let oldest = store.compacted();
    assert_eq!(
        stalled.try_next(10).map(|_| ()),
        Err(WatchEnd::Compacted(Compacted { oldest }))
    );
    assert_eq!(
        stalled.try_next(10).map(|_| ()),
        Err(WatchEnd::Compacted(Compacted { oldest })),
        "and stays so"
    );
}

#[test]
fn even_without_room_for_history_a_watcher_that_keeps_up_misses_nothing() {
    let store = Store::new(Limits { history_bytes: 0 });
    let mut watcher = store.watch(RESOURCE, None, store.revision()).unwrap();
    for number in 0..10 {
        let record = store.create(RESOURCE, &format!("a/{number}"), draft("")).unwrap();
        assert_eq!(
            drain(&mut watcher, 10).first().map(|event| &event.record),
            Some(&record)
        );
    }
}

#[test]
fn a_watch_from_the_future_skips_what_comes_before() {
    let store = Store::default();
    let mut watcher = store.watch(RESOURCE, None, Revision(3)).unwrap();
    for key in ["a/two", "a/three", "a/four", "a/five"] {
        store.create(RESOURCE, key, draft("")).unwrap();
    }
    let keys: Vec<_> = drain(&mut watcher, 10)
        .iter()
        .map(|event| event.key().to_owned())
        .collect();
    assert_eq!(keys, ["a/four", "a/five"]);
}

#[test]
fn dropping_a_resource_ends_its_watches_after_what_was_written_before() {
    let store = Store::default();
    let mut behind = store.watch(RESOURCE, None, store.revision()).unwrap();
    let mut waiting = store.watch(RESOURCE, Some("b"), store.revision()).unwrap();
    let mut other = store.watch(RESOURCES[1], None, store.revision()).unwrap();
    drain(&mut waiting, 1);
    drain(&mut other, 1);
    let one = store.create(RESOURCE, "a/one", draft("")).unwrap();
    store.delete(RESOURCE, "a/one", one.revision).unwrap();

    assert_eq!(woken(&mut waiting, || store.drop_resource(RESOURCE)), (1, true));
    assert_eq!(waiting.try_next(10).map(|_| ()), Err(WatchEnd::Closed));
    store.create(RESOURCE, "a/reborn", draft("")).unwrap();
    let kinds: Vec<_> = drain(&mut behind, 10).iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::Added, EventKind::Deleted]);
    assert_eq!(behind.try_next(10).map(|_| ()), Err(WatchEnd::Closed));
    assert_eq!(
        woken(&mut other, || drop(store.create(RESOURCES[1], "a/one", draft("")))),
        (1, true)
    );

    let mut anew = store.watch(RESOURCE, None, store.revision()).unwrap();
    drop((behind, waiting));
    assert_eq!(
        store.watched_topics(),
        2,
        "the old watchers took nothing of the new one's with them"
    );
    store.end_watches(RESOURCE);
    assert_eq!(anew.try_next(10).map(|_| ()), Err(WatchEnd::Closed));
    assert!(store.get(RESOURCE, "a/reborn").is_some());
}

#[test]
fn topics_vanish_with_their_last_watcher() {
    let store = Store::default();
    let watch = |namespace| store.watch(RESOURCE, namespace, store.revision()).unwrap();
    let watchers = [watch(Some("a")), watch(Some("a")), watch(Some("b")), watch(None)];
    assert_eq!(store.watched_topics(), 3);
    let [first, second, third, fourth] = watchers;
    drop(first);
    assert_eq!(store.watched_topics(), 3);
    drop((second, third));
    assert_eq!(store.watched_topics(), 1);
    drop(fourth);
    assert_eq!(store.watched_topics(), 0);
}

#[test]
fn watchers_stay_with_the_store_they_were_opened_on() {
    let store = Store::default();
    let mut watcher = store.watch(RESOURCE, None, store.revision()).unwrap();
    let fork = store.fork();
    assert_eq!(fork.watched_topics(), 0);
    assert_eq!(woken(&mut watcher, || ()), (0, false));
    fork.create(RESOURCE, "a/one", draft("")).unwrap();
    assert!(drain(&mut watcher, 10).is_empty());
}

#[test]
fn a_snapshot_and_its_watch_have_no_gap() {
    let store = Store::default();
    store.create(RESOURCE, "a/one", draft("")).unwrap();
    let (snapshot, mut watcher) = store.snapshot_and_watch(RESOURCE, Some("a"));
    assert_eq!(snapshot.len(), 1);
    assert_eq!(watcher.seen(), snapshot.revision());
    store.create(RESOURCE, "a/two", draft("")).unwrap();
    assert_eq!(
        drain(&mut watcher, 10).iter().map(Event::key).collect::<Vec<_>>(),
        ["a/two"]
    );
}

#[test]
fn concurrent_watchers_wait_for_every_event_and_see_one_order() {
    const WRITERS: u64 = 3;
    const WRITES: u64 = 400;
    let store = Store::default();
    let start = store.revision();
    let end = Revision(start.0 + WRITERS * WRITES);
    let histories: Vec<Vec<Event>> = std::thread::scope(|scope| {
        let watching: Vec<_> = (0..3)
            .map(|_| {
                let mut watcher = store.watch(RESOURCE, None, start).unwrap();
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    runtime.block_on(async {
                        let mut events = Vec::new();
                        while watcher.seen() < end {
                            // A wake-up that got lost must fail the test, not hang it.
                            let waiting = tokio::time::timeout(Duration::from_mins(1), watcher.ready());
                            waiting.await.expect("an event is coming");
                            events.extend(watcher.try_next(7).unwrap().events);
                        }
                        events
                    })
                })
            })
            .collect();
        for writer in 0..WRITERS {
            let store = &store;
            scope.spawn(move || {
                for number in 0..WRITES {
                    store
                        .create(RESOURCE, &format!("a/{writer}-{number}"), draft(""))
                        .unwrap();
                }
            });
        }
        watching.into_iter().map(|watcher| watcher.join().unwrap()).collect()
    });
    let revisions: Vec<_> = histories[0].iter().map(|event| event.revision.0).collect();
    assert_eq!(revisions, (start.0 + 1..=end.0).collect::<Vec<_>>());
    assert!(histories.iter().all(|history| history == &histories[0]));
}

#[test]
fn a_namespaced_watcher_finds_its_events_among_thousands_of_others() {
    let store = Store::default();
    let mut watcher = store.watch(RESOURCE, Some("rare"), store.revision()).unwrap();
    for number in 0..5_000 {
        let namespace = if number % 1_000 == 999 { "rare" } else { "common" };
        store
            .create(RESOURCE, &format!("{namespace}/{number}"), draft(""))
            .unwrap();
    }
    let batch = watcher.try_next(3).unwrap();
    assert_eq!(
        batch.events.iter().map(Event::key).collect::<Vec<_>>(),
        ["rare/999", "rare/1999", "rare/2999"]
    );
    assert!(!batch.caught_up);
    let batch = watcher.try_next(3).unwrap();
    assert_eq!(
        batch.events.iter().map(Event::key).collect::<Vec<_>>(),
        ["rare/3999", "rare/4999"]
    );
    assert!(batch.caught_up);
    assert_eq!(watcher.seen(), store.revision());
}

#[test]
fn stores_and_waiting_watchers_move_between_threads() {
    fn moves<T: Send + 'static>(value: T) -> T {
        value
    }
    let store = moves(Store::default());
    let mut watcher = moves(store.watch(RESOURCE, None, store.revision()).unwrap());
    drop(moves(async move { watcher.ready().await }));
    std::thread::spawn(move || drop(moves(store.snapshot(RESOURCE))))
        .join()
        .unwrap();
}
