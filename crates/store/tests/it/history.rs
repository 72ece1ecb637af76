//! The past: exact snapshots, pages of one list, forks, compaction and the bound of the history.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Contents, Modelled, NAMESPACES, RESOURCES, contents, draft, in_scope, scope, text, writes};
use kubewright_store::{CommitError, Compacted, Limits, RecordDraft, ResourceId, Revision, SnapshotError, Store};
use proptest::prelude::*;

const RESOURCE: ResourceId = RESOURCES[0];

fn every_retained_revision_is_exact(modelled: &Modelled) {
    for revision in modelled.retained() {
        for resource in RESOURCES {
            let snapshot = modelled.store.snapshot_at(resource, revision).unwrap();
            assert_eq!(snapshot.revision(), revision);
            assert_eq!(contents(&snapshot), modelled.contents_at(resource, revision));
        }
    }
}

fn older_revisions_are_refused(store: &Store) {
    let oldest = store.compacted();
    if let Some(older) = oldest.0.checked_sub(1).map(Revision) {
        let refused = Err(Compacted { oldest });
        assert_eq!(
            store.snapshot_at(RESOURCE, older).map(|_| ()),
            refused.map_err(SnapshotError::from)
        );
        assert_eq!(store.watch(RESOURCE, None, older).map(|_| ()), refused);
    }
}

proptest! {
    #[test]
    fn every_revision_can_be_read_exactly_as_it_was(writes in writes(0..60)) {
        let mut modelled = Modelled::new(Store::default());
        modelled.write_all(writes);
        every_retained_revision_is_exact(&modelled);
        let now = modelled.store.revision();
        let future = modelled.store.snapshot_at(RESOURCE, Revision(now.0 + 1)).map(|_| ());
        prop_assert_eq!(future, Err(SnapshotError::Future { current: now }));
    }

    #[test]
    fn compaction_never_breaks_a_retained_revision(steps in prop::collection::vec((writes(0..20), 0..40u64), 1..6)) {
        let mut modelled = Modelled::new(Store::default());
        for (writes, back) in steps {
            modelled.write_all(writes);
            let before = modelled.store.compacted();
            let target = Revision(modelled.store.revision().0.saturating_sub(back));
            modelled.store.compact(target);
            prop_assert_eq!(modelled.store.compacted(), target.max(before));
            every_retained_revision_is_exact(&modelled);
            older_revisions_are_refused(&modelled.store);
        }
    }

    #[test]
    fn a_bounded_history_forgets_the_oldest_and_keeps_the_rest_exact(
        writes in writes(1..80),
        history_bytes in 0..20_000usize,
    ) {
        let mut modelled = Modelled::new(Store::new(Limits { history_bytes }));
        for write in writes {
            modelled.write(write);
            let oldest = modelled.store.compacted();
            let newest_only = modelled.changes.iter().filter(|change| change.revision > oldest).count() <= 1;
            prop_assert!(modelled.store.history_bytes() <= history_bytes || newest_only);
        }
        every_retained_revision_is_exact(&modelled);
        older_revisions_are_refused(&modelled.store);
        modelled.store.compact(modelled.store.revision());
        prop_assert_eq!(modelled.store.history_bytes(), 0);
    }

    #[test]
    fn a_fork_keeps_the_past_and_goes_its_own_way(
        shared in writes(0..30),
        left in writes(0..30),
        right in writes(0..30),
        compacted in 0..30u64,
    ) {
        let mut original = Modelled::new(Store::default());
        original.write_all(shared);
        let mut fork = original.fork();
        original.write_all(left);
        fork.write_all(right);
        original.store.compact(Revision(compacted));
        prop_assert_eq!(fork.store.compacted(), Revision(0));
        every_retained_revision_is_exact(&original);
        every_retained_revision_is_exact(&fork);
    }

    #[test]
    fn pages_of_one_list_neither_lose_nor_repeat_while_others_write(
        before in writes(0..60),
        between in prop::collection::vec(writes(0..8), 40),
        scope in scope(),
        limit in 1..5usize,
    ) {
        let mut modelled = Modelled::new(Store::default());
        modelled.write_all(before);
        let first = modelled.store.revision();
        let expected: Vec<_> = modelled.contents_at(RESOURCE, first).into_iter()
            .filter(|(key, _)| in_scope(key, scope)).collect();

        let mut listed: Vec<(String, String)> = Vec::new();
        for writes in between {
            let snapshot = modelled.store.snapshot_at(RESOURCE, first).unwrap();
            let after = listed.last().map(|(key, _)| key.clone());
            let rest = snapshot.records(scope, after.as_deref());
            prop_assert_eq!(rest.len(), expected.len() - listed.len());
            let page: Vec<_> = rest.take(limit).map(|record| (record.key.to_string(), text(&record.body))).collect();
            let done = page.len() < limit;
            listed.extend(page);
            let last = listed.last().map(|(key, _)| key.as_str());
            prop_assert_eq!(snapshot.count(scope, last), expected.len() - listed.len());
            if done {
                break;
            }
            modelled.write_all(writes);
        }
        prop_assert_eq!(listed, expected);
    }
}

#[test]
fn pages_stay_one_list_while_threads_write() {
    const OBJECTS: usize = 500;
    let store = Store::default();
    for number in 0..OBJECTS {
        store
            .create(RESOURCE, &format!("a/object-{number:04}"), draft("first"))
            .unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                for turn in 0_usize.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let key = format!("a/object-{:04}", (turn * 7 + writer * 250) % (2 * OBJECTS));
                    // Losing a race against the other writer is part of the game.
                    let _ = match store.get(RESOURCE, &key) {
                        None => store.create(RESOURCE, &key, draft("again")).map(|_| ()),
                        Some(now) if turn % 3 == 0 => store.delete(RESOURCE, &key, now.revision).map(|_| ()),
                        Some(now) => store.update(RESOURCE, &key, now.revision, draft("changed")).map(|_| ()),
                    };
                }
            });
        }
        for _ in 0..20 {
            let first = store.snapshot(RESOURCE);
            let whole: Vec<_> = first.records(Some("a"), None).cloned().collect();
            let mut paged = Vec::new();
            loop {
                let page = store.snapshot_at(RESOURCE, first.revision()).unwrap();
                let after = paged
                    .last()
                    .map(|record: &std::sync::Arc<kubewright_store::Record>| record.key.clone());
                let before = paged.len();
                paged.extend(page.records(Some("a"), after.as_deref()).take(50).cloned());
                if paged.len() == before {
                    break;
                }
            }
            assert!(whole.iter().zip(&paged).all(|(a, b)| std::sync::Arc::ptr_eq(a, b)));
            assert_eq!(whole.len(), paged.len());
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn an_empty_store_is_at_revision_one() {
    let store = Store::default();
    assert_eq!(store.revision(), Revision(1));
    assert_eq!(
        store.create(RESOURCE, "a/one", draft("")).unwrap().revision,
        Revision(2)
    );
}

#[test]
fn a_write_that_expected_another_state_changes_nothing() {
    let store = Store::default();
    let first = store.create(RESOURCE, "a/one", draft("first")).unwrap();
    let second = store
        .update(RESOURCE, "a/one", first.revision, draft("second"))
        .unwrap();

    let exists = store.create(RESOURCE, "a/one", draft("other")).unwrap_err();
    assert!(matches!(exists, CommitError::Exists(now) if now == second));
    let changed = store
        .update(RESOURCE, "a/one", first.revision, draft("other"))
        .unwrap_err();
    assert!(matches!(changed, CommitError::Changed(now) if now == second));
    let changed = store.delete(RESOURCE, "a/one", first.revision).unwrap_err();
    assert!(matches!(changed, CommitError::Changed(now) if now == second));
    let gone = store
        .update(RESOURCE, "a/two", first.revision, draft("other"))
        .unwrap_err();
    assert!(matches!(gone, CommitError::Gone));
    assert!(matches!(
        store.delete(ResourceId(99), "a/one", first.revision).unwrap_err(),
        CommitError::Gone
    ));

    assert_eq!(store.revision(), second.revision);
    assert_eq!(store.get(RESOURCE, "a/one"), Some(second));
}

#[test]
fn a_deletion_has_its_own_revision_and_returns_the_last_state() {
    let store = Store::default();
    let last = store.create(RESOURCE, "one", draft("last")).unwrap();
    let deleted = store.delete(RESOURCE, "one", last.revision).unwrap();
    assert_eq!(deleted.record, last);
    assert_eq!(deleted.revision, store.revision());
    assert!(deleted.revision > last.revision);
    assert_eq!(store.get(RESOURCE, "one"), None);
}

#[test]
fn only_one_of_many_concurrent_writers_wins_a_revision() {
    let store = Store::default();
    let first = store.create(RESOURCE, "a/one", draft("first")).unwrap();
    let winners: usize = std::thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| store.update(RESOURCE, "a/one", first.revision, draft("mine")).is_ok()))
            .collect();
        attempts
            .into_iter()
            .map(|attempt| usize::from(attempt.join().unwrap()))
            .sum()
    });
    assert_eq!(winners, 1);
    assert_eq!(store.revision(), Revision(first.revision.0 + 1));
}

#[test]
fn lists_are_in_the_order_of_the_whole_keys_bytes() {
    let store = Store::default();
    for key in ["a/b", "a-b/a", "b/a", "a0/a", "a/a", "a.b/a"] {
        store.create(RESOURCE, key, draft("")).unwrap();
    }
    let snapshot = store.snapshot(RESOURCE);
    let keys = |namespace, after| -> Vec<_> {
        snapshot
            .records(namespace, after)
            .map(|record| record.key.to_string())
            .collect()
    };
    assert_eq!(keys(None, None), ["a-b/a", "a.b/a", "a/a", "a/b", "a0/a", "b/a"]);
    assert_eq!(keys(Some("a"), None), ["a/a", "a/b"]);
    assert_eq!(keys(Some("a"), Some("a/a")), ["a/b"]);
    assert_eq!(keys(Some("a"), Some("a/aa")), ["a/b"]);
    assert_eq!(keys(Some("a"), Some("a-b/a")), ["a/a", "a/b"]);
    assert_eq!(keys(Some("a"), Some("zzz")), [""; 0]);
    assert_eq!(keys(None, Some("a/b")), ["a0/a", "b/a"]);
    assert_eq!(keys(Some("nowhere"), None), [""; 0]);
}

#[test]
fn labels_are_sorted_and_found() {
    let labels = [("b", "2"), ("c", "3"), ("a", "1")].map(|(key, value)| (key.into(), value.into()));
    let store = Store::default();
    let record = store
        .create(
            RESOURCE,
            "a/one",
            RecordDraft {
                labels: labels.into(),
                ..draft("")
            },
        )
        .unwrap();
    assert!(record.labels.is_sorted());
    assert_eq!(
        ["a", "b", "c", "d"].map(|key| record.label(key)),
        [Some("1"), Some("2"), Some("3"), None]
    );
    assert_eq!((record.namespace(), record.name()), (Some("a"), "one"));
}

#[test]
fn a_dropped_resource_is_empty_and_its_past_cannot_be_read() {
    let mut modelled = Modelled::new(Store::default());
    for resource in RESOURCES {
        for namespace in NAMESPACES {
            modelled.write(crate::common::Write::Put {
                resource,
                namespace,
                name: "one",
            });
        }
    }
    let store = &modelled.store;
    let before = store.revision();
    store.drop_resource(RESOURCE);
    assert!(store.snapshot(RESOURCE).is_empty());
    assert_eq!(
        contents(&store.snapshot(RESOURCES[1])),
        modelled.contents_at(RESOURCES[1], before)
    );
    let earlier = Revision(before.0 - 1);
    assert_eq!(
        store.snapshot_at(RESOURCE, earlier).map(|_| ()),
        Err(SnapshotError::Compacted(Compacted { oldest: before }))
    );
    assert!(store.snapshot_at(RESOURCES[1], earlier).is_ok());

    store.create(RESOURCE, "a/two", draft("anew")).unwrap();
    assert_eq!(
        contents(&store.snapshot(RESOURCE)),
        Contents::from([("a/two".into(), "anew".into())])
    );
    store.compact(store.revision());
    assert_eq!(store.history_bytes(), 0);
}

#[test]
fn a_snapshot_outlives_all_that_happens_to_the_store() {
    let store = Store::default();
    let one = store.create(RESOURCE, "a/one", draft("first")).unwrap();
    let snapshot = store.snapshot(RESOURCE);
    store.delete(RESOURCE, "a/one", one.revision).unwrap();
    store.compact(store.revision());
    store.drop_resource(RESOURCE);
    drop(store);
    assert_eq!(snapshot.get("a/one"), Some(&one));
    assert_eq!((snapshot.len(), snapshot.revision()), (1, one.revision));
}

#[test]
fn large_states_leave_the_history_before_they_are_many() {
    let store = Store::default();
    store.create(RESOURCES[1], "a/small", draft("small")).unwrap();
    let large = "x".repeat(1 << 20);
    let mut revision = store.create(RESOURCE, "a/large", draft(&large)).unwrap().revision;
    for _ in 0..50 {
        revision = store
            .update(RESOURCE, "a/large", revision, draft(&large))
            .unwrap()
            .revision;
    }
    let retained = revision.0 - store.compacted().0;
    assert!((1..=5).contains(&retained), "{retained} states of a megabyte");
    // What is there stays, however old.
    assert_eq!(
        contents(&store.snapshot(RESOURCES[1])),
        Contents::from([("a/small".into(), "small".into())])
    );
}
