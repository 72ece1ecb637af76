//! Prints what the store costs on this machine, in time and in resident memory (Linux).
//! Run with `cargo run --release -p kubewright-store --example costs`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kubewright_store::{Limits, RecordDraft, ResourceId, Store};

const RESOURCE: ResourceId = ResourceId(0);
const RECORDS: usize = 100_000;

const PARTS: [(&str, fn()); 5] = [
    ("operations", operations),
    ("records", records),
    ("revisions", retained_revisions),
    ("forks", forks),
    ("watches", fan_out),
];

/// Every part runs in a process of its own, so that none is measured in memory another one freed.
fn main() {
    let chosen = std::env::args().nth(1);
    if let Some((_, part)) = PARTS.iter().find(|(name, _)| chosen.as_deref() == Some(name)) {
        return part();
    }
    for (name, _) in PARTS {
        let program = std::env::current_exe().expect("the kernel knows this program");
        let status = std::process::Command::new(program).arg(name).status();
        assert!(status.is_ok_and(|status| status.success()), "{name} failed");
    }
}

fn draft() -> RecordDraft {
    RecordDraft {
        body: Bytes::from(vec![b'x'; 300]),
        head: 0,
        revision_at: 0,
        uid: "7f2a1c66-5f0e-4c4b-9d3a-0c5d6f0b9a11".into(),
        labels: [("app".into(), "web".into())].into(),
        fields: [].into(),
    }
}

fn keys() -> Vec<String> {
    (0..RECORDS)
        .map(|number| format!("namespace-{}/object-{number:06}", number % 10))
        .collect()
}

fn operations() {
    let keys = keys();
    // Visits all keys in an order that caches do not foresee: the step and the count share no factor.
    let shuffled: Vec<_> = (0..RECORDS).map(|number| &keys[number * 70_001 % RECORDS]).collect();
    let store = Store::new(Limits { history_bytes: 1 << 20 });
    let drafts: Vec<_> = keys.iter().map(|_| draft()).collect();
    let creating = Instant::now();
    for (key, draft) in shuffled.iter().zip(drafts) {
        store.create(RESOURCE, key, draft).expect("the key is new");
    }
    report("create", creating.elapsed(), RECORDS);
    let getting = Instant::now();
    for key in &shuffled {
        black_box(store.get(RESOURCE, key));
    }
    report("get", getting.elapsed(), RECORDS);

    let drafts: Vec<_> = keys.iter().map(|_| draft()).collect();
    let updating = Instant::now();
    for (key, draft) in shuffled.iter().zip(drafts) {
        let now = store.get(RESOURCE, key).expect("the key exists");
        store
            .update(RESOURCE, key, now.revision, draft)
            .expect("nobody else writes");
    }
    report("get and update", updating.elapsed(), RECORDS);

    let snapshot = store.snapshot(RESOURCE);
    let listing = Instant::now();
    let bytes: usize = snapshot.records(None, None).map(|record| record.body.len()).sum();
    report("list, per record", listing.elapsed(), RECORDS);
    black_box(bytes);

    let paging = Instant::now();
    let (mut after, mut pages) = (None::<String>, 0);
    loop {
        let page = store
            .snapshot_at(RESOURCE, snapshot.revision())
            .expect("nothing was compacted");
        let Some(last) = page.records(None, after.as_deref()).take(500).last() else {
            break;
        };
        black_box(page.count(None, Some(&last.key)));
        after = Some(last.key.to_string());
        pages += 1;
    }
    report("page of 500, with its remaining count", paging.elapsed(), pages);
}

fn records() {
    let keys = keys();
    let store = Store::new(Limits { history_bytes: 1 << 20 });
    let before = resident();
    for key in &keys {
        store.create(RESOURCE, key, draft()).expect("the key is new");
    }
    println!(
        "memory per record of 300 bytes: {} bytes",
        (resident() - before) / RECORDS
    );
}

fn retained_revisions() {
    const REVISIONS: usize = 50_000;
    let keys = keys();
    let store = Store::new(Limits {
        history_bytes: usize::MAX,
    });
    for key in &keys {
        store.create(RESOURCE, key, draft()).expect("the key is new");
        // At once: memory freed later, all together, would hide what the updates take.
        store.compact(store.revision());
    }
    let (before, accounted) = (resident(), store.history_bytes());
    for number in 0..REVISIONS {
        let key = &keys[number * 70_001 % RECORDS];
        let now = store.get(RESOURCE, key).expect("the key exists");
        store
            .update(RESOURCE, key, now.revision, draft())
            .expect("nobody else writes");
    }
    println!(
        "memory per retained update among {RECORDS} records: {} bytes, accounted as {}",
        resident().saturating_sub(before) / REVISIONS,
        (store.history_bytes() - accounted) / REVISIONS,
    );
    let compacting = Instant::now();
    store.compact(store.revision());
    report("compact, per event", compacting.elapsed(), REVISIONS);
}

fn forks() {
    const FORKS: usize = 1_000;
    let store = Store::default();
    for number in 0..100 {
        store
            .create(ResourceId(number % 40), &format!("default/{number}"), draft())
            .expect("the key is new");
    }
    let before = resident();
    let forking = Instant::now();
    let forks: Vec<_> = (0..FORKS).map(|_| store.fork()).collect();
    report("fork of 100 records in 40 resources", forking.elapsed(), FORKS);
    println!("memory per fork: {} bytes", (resident() - before) / FORKS);
    black_box(forks);
}

fn fan_out() {
    const WATCHERS: usize = 1_000;
    const WRITES: usize = 1_000;
    let store = Store::default();
    let mut watchers: Vec<_> = (0..WATCHERS)
        .map(|number| {
            let namespace = format!("namespace-{number}");
            store
                .watch(RESOURCE, Some(&namespace), store.revision())
                .expect("nothing is compacted")
        })
        .collect();
    let drafts: Vec<_> = (0..WRITES).map(|_| draft()).collect();
    let writing = Instant::now();
    for (number, draft) in drafts.into_iter().enumerate() {
        store
            .create(RESOURCE, &format!("namespace-0/{number}"), draft)
            .expect("the key is new");
    }
    report("create beside 1000 watched namespaces", writing.elapsed(), WRITES);
    let reading = Instant::now();
    let read = watchers[0].try_next(usize::MAX).map_or(0, |batch| batch.events.len());
    report("event read by its watcher", reading.elapsed(), read);
}

fn report(what: &str, took: Duration, count: usize) {
    println!("{what}: {} ns", took.as_nanos() / count.max(1) as u128);
}

/// Resident memory in bytes, 0 where the kernel does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<usize>().ok())
        .unwrap_or(0)
        * 1024
}
