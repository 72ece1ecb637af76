//! What a fork of a past revision costs: what was written since, whatever is stored. A program of its own, because all that it allocates
//! is counted.

use kubewright_store::{Limits, RecordDraft, ResourceId, Revision, Store};

const RESOURCE: ResourceId = ResourceId(1);

fn draft() -> RecordDraft {
    RecordDraft {
        body: "x".repeat(100).into(),
        ..RecordDraft::default()
    }
}

/// A store with so many records and events, the last of which came after the revision.
fn store(records: usize, since: usize) -> (Store, Revision) {
    let store = Store::new(Limits {
        history_bytes: usize::MAX,
    });
    for number in 0..records {
        store
            .create(RESOURCE, &format!("{number:06}"), draft())
            .expect("a new key");
    }
    let then = store.revision();
    for number in 0..since {
        let key = format!("{number:06}");
        let known = store.get(RESOURCE, &key).expect("a record");
        store
            .update(RESOURCE, &key, known.revision, draft())
            .expect("nobody else writes");
    }
    (store, then)
}

fn allocations(records: usize, since: usize) -> u64 {
    let (store, then) = store(records, since);
    let counted = allocation_counter::measure(|| {
        let fork = store.fork_at(then).expect("it is retained");
        assert_eq!(fork.revision(), then);
    });
    counted.count_total
}

#[test]
fn a_fork_of_the_past_costs_what_was_written_since() {
    let (few, many) = (allocations(100, 20), allocations(20_000, 20));
    // The paths in a tree of two hundred times as many events are a bit more than twice as long.
    assert!(many < 3 * few, "{few} and {many} allocations");
    // Undoing does cost something: the measure can tell.
    let more = allocations(20_000, 2_000);
    assert!(more > 20 * many, "{many} and {more} allocations");
}
