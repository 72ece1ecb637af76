//! What readers, subscribers and writers may rely on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use serde_json::json;

use super::barriers::{Age, Readers};
use super::state::State;
use super::*;
use crate::object::{Kind, ObjectKey, Record, Selector};

fn kind() -> Kind {
    Kind::of::<ConfigMap>()
}

fn object(key: &str, uid: &str, revision: u64) -> Record {
    labelled(key, uid, revision, &json!({}))
}

fn labelled(key: &str, uid: &str, revision: u64, labels: &serde_json::Value) -> Record {
    let (namespace, name) = key.split_once('/').unwrap();
    let value = json!({ "metadata": {
        "name": name, "namespace": namespace, "uid": uid, "resourceVersion": revision.to_string(), "labels": labels,
    } });
    Record::parse(&serde_json::to_vec(&value).unwrap(), &kind()).unwrap()
}

fn store() -> (Store, Writer) {
    let store = Store::new(kind(), Indexes::default());
    let writer = store.writer(None);
    (store, writer)
}

fn synced(objects: &[(&str, &str, u64)]) -> (Store, Writer) {
    let (store, writer) = store();
    relist(&writer, objects, "100");
    (store, writer)
}

fn relist(writer: &Writer, objects: &[(&str, &str, u64)], revision: &str) {
    writer.begin();
    for (key, uid, revision) in objects {
        writer.listed(object(key, uid, *revision));
    }
    writer.finish(revision);
}

fn say(event: &Event) -> String {
    match event {
        Event::Added { object, initial } => {
            format!("{}added {}", if *initial { "initially " } else { "" }, object.key())
        }
        Event::Updated { old, new } => {
            format!(
                "updated {} {}->{}",
                new.key(),
                old.resource_version(),
                new.resource_version()
            )
        }
        Event::Deleted { last, known } => format!("deleted {}{}", last.key(), if *known { "" } else { " unseen" }),
    }
}

fn heard(subscription: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.try_next())
        .map(|event| say(&event))
        .collect()
}

#[test]
fn a_relist_reports_the_deletions_it_missed_and_only_real_changes() {
    let (store, writer) = synced(&[("n/a", "1", 1), ("n/b", "2", 2), ("n/c", "3", 3)]);
    let mut events = store.subscribe();
    assert_eq!(
        heard(&mut events),
        ["initially added n/a", "initially added n/b", "initially added n/c"]
    );
    relist(&writer, &[("n/a", "1", 1), ("n/c", "3", 9), ("n/d", "4", 8)], "110");
    assert_eq!(
        heard(&mut events),
        ["updated n/c 3->9", "added n/d", "deleted n/b unseen"]
    );
}

#[test]
fn an_object_recreated_while_nobody_watched_is_a_deletion_and_an_addition() {
    let (store, writer) = synced(&[("n/a", "1", 1)]);
    let mut events = store.subscribe();
    heard(&mut events);
    relist(&writer, &[("n/a", "2", 7)], "8");
    assert_eq!(heard(&mut events), ["deleted n/a unseen", "added n/a"]);
}

#[test]
fn apply_delete_apply_before_the_first_look_loses_nothing() {
    let (store, writer) = synced(&[]);
    let mut events = store.subscribe();
    writer.changed(object("n/a", "1", 101));
    writer.deleted(object("n/a", "1", 102));
    writer.changed(object("n/a", "2", 103));
    assert_eq!(heard(&mut events), ["added n/a", "deleted n/a", "added n/a"]);
}

#[test]
fn a_late_subscriber_hears_of_everything_that_is_there() {
    let (store, writer) = synced(&[("n/a", "1", 1)]);
    writer.changed(object("n/b", "2", 101));
    let mut events = store.subscribe();
    writer.deleted(object("n/a", "1", 102));
    assert_eq!(
        heard(&mut events),
        ["initially added n/a", "initially added n/b", "deleted n/a"]
    );
}

#[test]
fn a_dropped_subscription_costs_nothing_more() {
    let (store, writer) = synced(&[]);
    let calls = Arc::new(AtomicUsize::new(0));
    let registration = store.add_handler(Arc::new({
        let calls = Arc::clone(&calls);
        move |_: &Event| _ = calls.fetch_add(1, Ordering::Relaxed)
    }));
    writer.changed(object("n/a", "1", 1));
    drop(registration);
    writer.changed(object("n/a", "1", 2));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panicking_handler_does_not_stop_the_others() {
    let (store, writer) = synced(&[]);
    let _bad = store.add_handler(Arc::new(|_: &Event| panic!("on purpose")));
    let mut events = store.subscribe();
    writer.changed(object("n/a", "1", 1));
    assert_eq!(heard(&mut events), ["added n/a"]);
    assert!(store.get("n/a").is_some());
}

/// Runs what would never return if a handler ran under a lock that it takes itself.
fn without_deadlock(test: impl FnOnce() + Send + 'static) {
    let (finished, wait) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        finished.send(()).unwrap();
    });
    let timed_out = Err(std::sync::mpsc::RecvTimeoutError::Timeout);
    assert_ne!(wait.recv_timeout(Duration::from_secs(30)), timed_out, "deadlock");
    thread.join().unwrap();
}

/// A handler that writes down what it hears, under a name.
fn recorder(log: &Arc<parking_lot::Mutex<Vec<String>>>, name: &'static str) -> impl Fn(&Event) + Send + Sync + use<> {
    let log = Arc::clone(log);
    move |event| log.lock().push(format!("{name}: {}", say(event)))
}

#[test]
fn a_handler_may_drop_its_own_registration() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let calls = Arc::new(AtomicUsize::new(0));
        let own = Arc::new(parking_lot::Mutex::new(None::<Registration>));
        let registration = store.add_handler(Arc::new({
            let (calls, own) = (Arc::clone(&calls), Arc::clone(&own));
            move |_: &Event| {
                calls.fetch_add(1, Ordering::Relaxed);
                let registration = own.lock().take();
                drop(registration);
            }
        }));
        *own.lock() = Some(registration);
        writer.changed(object("n/a", "1", 1));
        writer.changed(object("n/a", "1", 2));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_handler_that_another_one_removed_is_not_called_with_the_same_event() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let log = Arc::default();
        let second = Arc::new(parking_lot::Mutex::new(None::<Registration>));
        let _first = store.add_handler(Arc::new({
            let (first, second) = (recorder(&log, "first"), Arc::clone(&second));
            move |event: &Event| {
                first(event);
                let registration = second.lock().take();
                drop(registration);
            }
        }));
        *second.lock() = Some(store.add_handler(Arc::new(recorder(&log, "second"))));
        writer.changed(object("n/a", "1", 1));
        assert_eq!(*log.lock(), ["first: added n/a"]);
    });
}

#[test]
fn a_handler_may_add_a_handler_which_misses_nothing_and_hears_nothing_twice() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let log = Arc::default();
        let added = Arc::new(parking_lot::Mutex::new(None::<Registration>));
        let _first = store.add_handler(Arc::new({
            let (store, log, added) = (store.clone(), Arc::clone(&log), Arc::clone(&added));
            move |_: &Event| {
                let mut added = added.lock();
                if added.is_none() {
                    *added = Some(store.add_handler(Arc::new(recorder(&log, "new"))));
                }
            }
        }));
        writer.changed(object("n/a", "1", 1));
        writer.changed(object("n/b", "2", 2));
        assert_eq!(*log.lock(), ["new: initially added n/a", "new: added n/b"]);
    });
}

#[test]
fn a_write_out_of_a_handler_is_told_after_the_event_under_delivery_and_to_all_in_one_order() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let log = Arc::default();
        let _first = store.add_handler(Arc::new({
            let (first, writer) = (recorder(&log, "first"), writer.clone());
            move |event: &Event| {
                first(event);
                if event.key().name() == "a" {
                    writer.changed(object("n/b", "2", 2));
                }
            }
        }));
        let _second = store.add_handler(Arc::new(recorder(&log, "second")));
        writer.changed(object("n/a", "1", 1));
        assert_eq!(
            *log.lock(),
            [
                "first: added n/a",
                "second: added n/a",
                "first: added n/b",
                "second: added n/b"
            ]
        );
    });
}

#[test]
fn dropping_a_registration_frees_a_handler_that_owns_other_registrations() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let log = Arc::default();
        let inner = store.add_handler(Arc::new(recorder(&log, "inner")));
        let outer = store.add_handler(Arc::new(move |_: &Event| _ = &inner));
        writer.changed(object("n/a", "1", 1));
        drop(outer);
        writer.changed(object("n/a", "1", 2));
        assert_eq!(*log.lock(), ["inner: added n/a"]);
    });
}

#[test]
fn dropping_a_registration_does_not_wait_for_a_handler_that_runs() {
    without_deadlock(|| {
        let (store, writer) = synced(&[]);
        let (running, is_running) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let released = parking_lot::Mutex::new(released);
        let registration = store.add_handler(Arc::new(move |_: &Event| {
            running.send(()).unwrap();
            released.lock().recv().unwrap();
        }));
        let writing = std::thread::spawn(move || writer.changed(object("n/a", "1", 1)));
        is_running.recv().unwrap();
        drop(registration);
        release.send(()).unwrap();
        writing.join().unwrap();
    });
}

#[test]
fn a_relist_of_one_namespace_leaves_the_others_alone() {
    let store = Store::new(kind(), Indexes::default());
    let (left, right) = (store.writer(Some("left")), store.writer(Some("right")));
    relist(&left, &[("left/a", "1", 1)], "5");
    assert!(!store.is_synced());
    relist(&right, &[("right/a", "2", 2)], "5");
    assert!(store.is_synced());
    let mut events = store.subscribe();
    heard(&mut events);
    relist(&left, &[], "9");
    assert_eq!(heard(&mut events), ["deleted left/a unseen"]);
    assert!(store.get("right/a").is_some());
}

#[test]
fn a_namespace_is_not_its_prefix() {
    let (store, _) = synced(&[("a/x", "1", 1), ("a-b/x", "2", 2), ("ab/x", "3", 3)]);
    let keys: Vec<_> = store
        .list(&Query::all().in_namespace("a"))
        .unwrap()
        .iter()
        .map(|record| record.key().to_string())
        .collect();
    assert_eq!(keys, ["a/x"]);
}

#[test]
fn labels_select_without_decoding() {
    let (store, writer) = store();
    writer.changed(labelled("n/a", "1", 1, &json!({ "app": "web" })));
    writer.changed(labelled("n/b", "2", 2, &json!({ "app": "api", "tier": "x" })));
    let query = |selector: &str| Query::all().matching(selector.parse::<Selector>().unwrap());
    assert_eq!(store.list(&query("app=web")).unwrap().len(), 1);
    assert_eq!(store.list(&query("app")).unwrap().len(), 2);
    assert_eq!(store.list(&query("!tier")).unwrap().len(), 1);
}

#[test]
fn an_index_function_runs_once_per_change_and_finds_what_it_said() {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut indexes = Indexes::default();
    indexes.add(Index::of::<ConfigMap>("app", {
        let runs = Arc::clone(&runs);
        move |object| {
            runs.fetch_add(1, Ordering::Relaxed);
            object
                .metadata
                .labels
                .iter()
                .filter_map(|labels| labels.get("app").cloned())
                .collect()
        }
    }));
    let store = Store::new(kind(), indexes);
    let writer = store.writer(None);
    writer.changed(labelled("n/a", "1", 1, &json!({ "app": "web" })));
    writer.changed(labelled("m/b", "2", 2, &json!({ "app": "web" })));
    writer.changed(labelled("n/a", "1", 3, &json!({ "app": "api" })));
    let lister = Lister::<ConfigMap>::new(store);
    let by_app = lister.index("app").unwrap();
    let find = |value: &str, namespace: Option<&str>| {
        let query = by_app.query(value);
        let query = match namespace {
            Some(namespace) => query.in_namespace(namespace),
            None => query,
        };
        let objects = lister.list(&query).unwrap();
        objects
            .iter()
            .map(|object| object.key().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(find("web", None), ["m/b"]);
    assert_eq!(find("api", None), ["n/a"]);
    assert_eq!(find("api", Some("m")), [] as [&str; 0]);
    writer.deleted(object("m/b", "2", 4));
    assert_eq!(find("web", None), [] as [&str; 0]);
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    let (unknown, line) = (lister.index("colour"), line!());
    let error = unknown.unwrap_err().to_string();
    let wanted = format!(
        "the cache of ConfigMap has no index \"colour\", by which {}:{line}:",
        file!()
    );
    assert!(error.starts_with(&wanted), "{error}");
    assert!(
        error.ends_with("reads; declare it with that controller: `Controller::index(\"colour\", …)`"),
        "{error}"
    );
}

#[test]
fn a_resync_tells_of_every_object_as_background() {
    let (store, _) = synced(&[("n/a", "1", 1)]);
    let mut events = store.subscribe();
    heard(&mut events);
    store.resync();
    let event = events.try_next().unwrap();
    assert!(event.is_background());
    assert_eq!(say(&event), "updated n/a 1->1");
}

const WAIT: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_read_waits_for_the_writers_own_write_and_for_nothing_else() {
    let (store, writer) = synced(&[("n/a", "1", 1), ("m/b", "2", 2)]);
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::revision(105));
    // Unrelated keys and namespaces do not wait.
    let at_once = Duration::ZERO;
    store.caught_up_with_key("m/b", at_once).await.unwrap();
    store.caught_up(Some("m"), at_once).await.unwrap();
    assert!(store.caught_up(None, at_once).await.is_err());
    let reader = tokio::spawn({
        let store = store.clone();
        async move {
            store.caught_up_with_key("n/a", WAIT).await.unwrap();
            store.get("n/a").unwrap().revision()
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    writer.changed(object("m/b", "2", 104));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!reader.is_finished());
    writer.changed(object("n/a", "1", 105));
    assert_eq!(reader.await.unwrap(), Some(105));
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_does_not_catch_up_is_a_typed_error() {
    let (store, _writer) = synced(&[]);
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::revision(105));
    let error = store.caught_up_with_key("n/a", WAIT).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the cache of ConfigMap did not catch up with the write of n/a within 5s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_the_watch_was_faster_than_sets_no_barrier() {
    let (store, writer) = synced(&[]);
    writer.changed(object("n/a", "1", 105));
    writer.deleted(object("n/a", "1", 106));
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::revision(105));
    store.caught_up_with_key("n/a", Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_waited_for_by_uid() {
    let (store, writer) = synced(&[("n/a", "1", 1)]);
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::gone("1"));
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    // Somebody else's update is not the deletion.
    writer.changed(object("n/a", "1", 107));
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    writer.deleted(object("n/a", "1", 108));
    store.caught_up_with_key("n/a", Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn created_and_deleted_at_once_is_waited_for_as_both() {
    let (store, writer) = synced(&[]);
    let key = ObjectKey::namespaced("n", "a");
    store.set_barrier(&key, Barrier::revision(105));
    store.set_barrier(&key, Barrier::gone("1"));
    // The object is not there, but only because the creation was not seen yet.
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    writer.changed(object("n/a", "1", 105));
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    writer.deleted(object("n/a", "1", 106));
    store.caught_up_with_key("n/a", Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_lifts_barriers_too() {
    let (store, writer) = synced(&[]);
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::revision(105));
    writer.bookmark("105");
    store.caught_up(None, Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_list_does_not_wait_for_writes_that_came_after_it() {
    let (store, writer) = synced(&[]);
    store.set_barrier(&ObjectKey::namespaced("n", "a"), Barrier::revision(105));
    let reader = tokio::spawn({
        let store = store.clone();
        async move { store.caught_up(Some("n"), WAIT).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    store.set_barrier(&ObjectKey::namespaced("n", "b"), Barrier::revision(106));
    writer.changed(object("n/a", "1", 105));
    assert_eq!(reader.await.unwrap(), Ok(Duration::from_secs(1)));
    assert!(store.caught_up(Some("n"), Duration::ZERO).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_reader_does_not_wait_for_later_writes_to_what_it_reads() {
    let (store, writer) = synced(&[]);
    let key = ObjectKey::namespaced("n", "a");
    store.set_barrier(&key, Barrier::revision(105));
    let read = |whole_namespace: bool| {
        let store = store.clone();
        tokio::spawn(async move {
            if whole_namespace {
                store.caught_up(Some("n"), WAIT).await
            } else {
                store.caught_up_with_key("n/a", WAIT).await
            }
        })
    };
    let (object_read, list_read) = (read(false), read(true));
    // The key is written faster than the watch follows.
    for revision in 106..110 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        store.set_barrier(&key, Barrier::revision(revision));
    }
    writer.changed(object("n/a", "1", 105));
    for reader in [object_read, list_read] {
        assert_eq!(reader.await.unwrap(), Ok(Duration::from_secs(4)));
    }
    // Who begins now waits for the last of them.
    writer.changed(object("n/a", "1", 108));
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    writer.changed(object("n/a", "1", 109));
    store.caught_up(None, Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_second_deletion_under_a_name_does_not_hide_the_first() {
    let (store, writer) = synced(&[("n/a", "1", 1)]);
    let key = ObjectKey::namespaced("n", "a");
    store.set_barrier(&key, Barrier::gone("1"));
    let reader = tokio::spawn({
        let store = store.clone();
        async move { store.caught_up_with_key("n/a", WAIT).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Somebody else made another object of the name, which was deleted too; the cache has seen nothing of all that.
    store.set_barrier(&key, Barrier::gone("2"));
    store.set_barrier(&key, Barrier::past("3", 7));
    store.set_barrier(&key, Barrier::past("4", 7));
    assert!(store.caught_up_with_key("n/a", Duration::ZERO).await.is_err());
    writer.deleted(object("n/a", "1", 106));
    assert_eq!(reader.await.unwrap(), Ok(Duration::from_secs(1)));
    store.caught_up(Some("n"), Duration::ZERO).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_later_revision_lifts_all_that_came_before_it_in_its_scope() {
    let store = Store::new(kind(), Indexes::default());
    let (first, second) = (store.writer(Some("n")), store.writer(Some("m")));
    relist(&first, &[], "100");
    relist(&second, &[], "100");
    for (namespace, name, revision) in [("n", "a", 101), ("n", "b", 102), ("n", "c", 104), ("m", "a", 101)] {
        store.set_barrier(&ObjectKey::namespaced(namespace, name), Barrier::revision(revision));
    }
    first.changed(object("n/z", "1", 103));
    for lifted in ["n/a", "n/b"] {
        store.caught_up_with_key(lifted, Duration::ZERO).await.unwrap();
    }
    for stands in ["n/c", "m/a"] {
        assert!(
            store.caught_up_with_key(stands, Duration::ZERO).await.is_err(),
            "{stands}"
        );
    }
    second.bookmark("104");
    store.caught_up(Some("m"), Duration::ZERO).await.unwrap();
}

#[derive(Clone, Debug)]
enum Step {
    Change(u8, u8),
    Delete(u8),
    Relist(Vec<(u8, u8)>),
    Subscribe,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..6, 0_u8..3).prop_map(|(name, uid)| Step::Change(name, uid)),
        2 => (0_u8..6).prop_map(Step::Delete),
        1 => prop::collection::vec((0_u8..6, 0_u8..3), 0..6).prop_map(Step::Relist),
        1 => Just(Step::Subscribe),
    ]
}

/// What a subscriber believes the store holds, from events alone; events must fit that belief.
#[derive(Default)]
struct Belief(std::collections::BTreeMap<String, Arc<Record>>);

impl Belief {
    fn hear(&mut self, event: Event) {
        let key = event.key().to_string();
        match event {
            Event::Added { object, .. } => assert!(self.0.insert(key, object).is_none()),
            Event::Updated { old, new } => {
                let believed = self.0.insert(key, new).expect("updated, but not there");
                assert!(Arc::ptr_eq(&believed, &old));
            }
            Event::Deleted { .. } => assert!(self.0.remove(&key).is_some()),
        }
    }
}

proptest! {
    #[test]
    fn every_subscriber_ends_up_knowing_what_the_store_holds(steps in prop::collection::vec(step(), 0..60)) {
        let (store, writer) = store();
        let mut subscribers = vec![(store.subscribe(), Belief::default())];
        let mut revision = 1;
        for step in steps {
            revision += 1;
            let key = |name: u8| format!("n{}/{name}", name % 2);
            match step {
                Step::Change(name, uid) => writer.changed(object(&key(name), &uid.to_string(), revision)),
                Step::Delete(name) => writer.deleted(object(&key(name), "0", revision)),
                Step::Relist(objects) => {
                    writer.begin();
                    for (name, uid) in objects {
                        writer.listed(object(&key(name), &uid.to_string(), revision));
                    }
                    writer.finish(&revision.to_string());
                }
                Step::Subscribe => subscribers.push((store.subscribe(), Belief::default())),
            }
        }
        let held = store.list(&Query::all()).unwrap();
        for (events, belief) in &mut subscribers {
            while let Some(event) = events.try_next() {
                belief.hear(event);
            }
            prop_assert_eq!(held.len(), belief.0.len());
            for record in &held {
                prop_assert!(Arc::ptr_eq(record, &belief.0[record.key().as_str()]));
            }
        }
    }
}

/// What writers, a watch behind them and readers do to the three objects of [`NAMES`].
#[derive(Clone, Debug)]
enum Act {
    Write(usize),
    /// Somebody else's, of which we are not told before the watch tells.
    Update(usize),
    Delete(usize),
    /// The watch tells of the next change.
    Tell,
    Read(Readers<'static>),
}

const NAMES: [&str; 3] = ["n/a", "n/b", "m/a"];

fn act() -> impl Strategy<Value = Act> {
    let readers = prop_oneof![
        (0_usize..3).prop_map(|at| Readers::Key(NAMES[at])),
        Just(Readers::Namespace(Some("n"))),
        Just(Readers::Namespace(Some("m"))),
        Just(Readers::Namespace(None)),
    ];
    prop_oneof![
        4 => (0_usize..3).prop_map(Act::Write),
        1 => (0_usize..3).prop_map(Act::Update),
        2 => (0_usize..3).prop_map(Act::Delete),
        5 => Just(Act::Tell),
        4 => readers.prop_map(Act::Read),
    ]
}

/// A change that the watch has not told of yet.
struct Untold {
    at: usize,
    record: Record,
    is_deletion: bool,
    is_ours: bool,
}

struct Reading {
    readers: Readers<'static>,
    until: Option<Age>,
    began: u64,
}

impl Reading {
    fn has_to_wait(&self, untold: &[Untold]) -> bool {
        let reads = |key: &str| match self.readers {
            Readers::Key(name) => name == key,
            Readers::Namespace(namespace) => namespace.is_none_or(|namespace| key.starts_with(namespace)),
        };
        untold
            .iter()
            .any(|change| change.is_ours && change.record.revision() <= Some(self.began) && reads(NAMES[change.at]))
    }
}

proptest! {
    #[test]
    fn readers_wait_for_all_our_writes_before_they_began_and_for_no_other(acts in prop::collection::vec(act(), 0..80)) {
        let mut state = State::default();
        let scope = state.add_scope(None);
        state.begin(scope);
        state.finish(scope, Some(100));
        let (mut revision, mut uids) = (100, [None; 3]);
        let (mut untold, mut reading): (Vec<Untold>, Vec<Reading>) = (Vec::new(), Vec::new());
        let last = std::iter::repeat_n(Act::Tell, acts.len());
        for act in acts.clone().into_iter().chain(last) {
            match act {
                Act::Read(readers) => {
                    let until = state.begin_waiting(readers);
                    reading.push(Reading { readers, until, began: revision });
                }
                Act::Tell if untold.is_empty() => {}
                Act::Tell => {
                    let Untold { record, is_deletion, .. } = untold.remove(0);
                    let (key, seen) = (record.key().clone(), record.revision());
                    if is_deletion {
                        state.remove(Arc::new(record));
                    } else {
                        state.upsert(scope, Arc::new(record), Box::default());
                        state.lift(&key);
                    }
                    state.saw(scope, seen);
                }
                Act::Update(at) | Act::Delete(at) if uids[at].is_none() => {}
                Act::Write(at) | Act::Update(at) | Act::Delete(at) => {
                    let (is_deletion, is_ours) = (matches!(act, Act::Delete(_)), !matches!(act, Act::Update(_)));
                    revision += 1;
                    let uid = uids[at].get_or_insert(revision).to_string();
                    let record = object(NAMES[at], &uid, revision);
                    if is_deletion {
                        uids[at] = None;
                        state.set_barrier(record.key(), Barrier::gone(&uid));
                    } else if is_ours {
                        state.set_barrier(record.key(), Barrier::revision(revision));
                    }
                    untold.push(Untold { at, record, is_deletion, is_ours });
                }
            }
            for reader in &reading {
                let waits = reader.until.is_some_and(|until| state.barrier_in(reader.readers, until).is_some());
                prop_assert_eq!(waits, reader.has_to_wait(&untold));
            }
        }
        prop_assert!(state.begin_waiting(Readers::Namespace(None)).is_none());
    }
}
