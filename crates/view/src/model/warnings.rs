//! What deserves a look, as it is noticed: loops, writes without change, fields that two managers fight for, statuses that never settle.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubewright_runtime::trace::{ApiCall, FieldChange};
use serde::Serialize;
use serde_json::Value;

use super::flips::Flips;
use super::reconcile::Reconcile;
use super::summary::Summary;

/// Reconciles that wake each other so often in a row are a loop.
pub(super) const HOPS: usize = 12;
/// More objects than this in a row of such hops are a cascade, and no loop.
const MOST_PLACES: usize = 4;
/// So many reconciles of one object within [`SOON`] are too many, whatever woke them.
const HOT: usize = 30;
const SOON: SignedDuration = SignedDuration::from_secs(10);
/// So many writes of one controller to one object that change nothing are worth a word.
const IDLE_WRITES: u64 = 3;
/// A status that changes so often within [`LONG`], while nobody changes the spec, does not settle.
const RESTLESS: usize = 20;
const LONG: SignedDuration = SignedDuration::from_secs(60);
/// More objects and controllers are not looked after at once.
const MOST: usize = 10_000;

/// Something that deserves a look.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Warning {
    pub(crate) id: String,
    /// In a line.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) advice: &'static str,
    /// The last reconcile that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reconcile: Option<super::reconcile::ReconcileId>,
    /// The object that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    pub(crate) times: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    #[serde(skip)]
    change: u64,
}

/// What was noticed so far, and what is needed to notice more.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    found: BTreeMap<String, Warning>,
    /// When the last reconciles of a controller and key began.
    begins: HashMap<(String, String), VecDeque<Timestamp>>,
    /// Writes without change, by controller and target.
    idle_writes: HashMap<(String, String), u64>,
    flips: Flips,
    /// When a status changed, by uid.
    restless: HashMap<String, VecDeque<Timestamp>>,
    change: u64,
}

impl Warnings {
    /// A reconcile began, woken by the others of `chain`, the nearest first.
    pub(crate) fn began(&mut self, reconcile: &Reconcile, chain: &[&Reconcile]) {
        let at = reconcile.began;
        let place = (reconcile.controller.clone(), reconcile.key.clone());
        let begins = recent(&mut self.begins, place.clone(), at, SOON);
        let is_hot = begins >= HOT;
        if chain.len() >= HOPS {
            let places: BTreeSet<String> = chain
                .iter()
                .chain([&reconcile])
                .map(|one| format!("{} {}", one.controller, one.key))
                .collect();
            if places.len() == 1 {
                self.add(Warning {
                    advice: "Its own write changes the object it watches each time: write only if something differs, and nothing that is new every time, such as the time.",
                    reconcile: Some(reconcile.id),
                    ..Warning::new(
                        format!("loop {} {}", place.0, place.1),
                        format!("{} {} wakes itself again and again", place.0, place.1),
                        at,
                    )
                });
                return;
            }
            if places.len() <= MOST_PLACES {
                let all: Vec<&str> = places.iter().map(String::as_str).collect();
                self.add(Warning {
                    advice: "What one writes the other changes back: let each field have one owner, and apply only the fields that are yours.",
                    reconcile: Some(reconcile.id),
                    ..Warning::new(
                        format!("loop {}", all.join(", ")),
                        format!("{} wake each other again and again", all.join(" and ")),
                        at,
                    )
                });
                return;
            }
        }
        if is_hot {
            self.add(Warning {
                advice: "See what wakes it: a watch without a predicate, a requeue that is too soon, or a source that does not rest.",
                reconcile: Some(reconcile.id),
                ..Warning::new(
                    format!("hot {} {}", place.0, place.1),
                    format!("{} {} is reconciled more than {HOT} times in {SOON:#}", place.0, place.1),
                    at,
                )
            });
        }
    }

    /// A reconcile asked something of the API server.
    pub(crate) fn called(&mut self, reconcile: &Reconcile, call: &ApiCall, at: Timestamp) {
        if !call.changed_nothing() {
            return;
        }
        let writer = (reconcile.controller.clone(), call.target.clone());
        if self.idle_writes.len() >= MOST && !self.idle_writes.contains_key(&writer) {
            return;
        }
        let times = self.idle_writes.entry(writer).or_default();
        *times += 1;
        if *times >= IDLE_WRITES {
            let (verb, target) = (&call.verb, &call.target);
            self.add(Warning {
                advice: "Each costs a request. Compare with what the cache has before you write.",
                reconcile: Some(reconcile.id),
                ..Warning::new(
                    format!("idle {} {target}", reconcile.controller),
                    format!(
                        "{} sends {verb} {target} without changing anything",
                        reconcile.controller
                    ),
                    at,
                )
            });
        }
    }

    /// An object is another than before.
    pub(crate) fn changed(&mut self, summary: &Arc<Summary>, before: &Value, after: &Value, at: Timestamp) {
        let changes = FieldChange::between(before, after);
        if let Some(flip) = self.flips.take(&summary.uid, &changes, before, after) {
            self.add(Warning {
                advice: "Let each field have one owner: take it out of what one of them applies.",
                uid: Some(summary.uid.clone()),
                ..Warning::new(
                    format!("fight {} {}", summary.uid, flip.path),
                    format!(
                        "{} of {} goes back and forth between {flip}",
                        flip.path,
                        summary.label()
                    ),
                    at,
                )
            });
        }
        let is_status = !changes.is_empty() && changes.iter().all(|change| change.path.starts_with("status"));
        if is_status && recent(&mut self.restless, summary.uid.clone(), at, LONG) >= RESTLESS {
            self.add(Warning {
                advice: "Leave out of a status what is new every time, such as the time of the last look.",
                uid: Some(summary.uid.clone()),
                ..Warning::new(
                    format!("restless {}", summary.uid),
                    format!("the status of {} never settles", summary.label()),
                    at,
                )
            });
        }
    }

    /// An object is gone.
    pub(crate) fn deleted(&mut self, uid: &str) {
        self.flips.forget(uid);
        self.restless.remove(uid);
    }

    fn add(&mut self, warning: Warning) {
        self.change += 1;
        let change = self.change;
        self.found
            .entry(warning.id.clone())
            .and_modify(|known| {
                known.times += 1;
                known.last = warning.last;
                known.reconcile = warning.reconcile;
                known.change = change;
            })
            .or_insert(Warning { change, ..warning });
    }

    /// The warnings that changed after a change.
    pub(crate) fn since(&self, seen: u64) -> Option<(u64, Vec<&Warning>)> {
        let changed = || self.found.values().filter(|warning| warning.change > seen).collect();
        (self.change > seen).then(|| (self.change, changed()))
    }
}

impl Warning {
    fn new(id: String, what: String, at: Timestamp) -> Self {
        Warning {
            id,
            what,
            advice: "",
            reconcile: None,
            uid: None,
            times: 1,
            first: at.as_millisecond(),
            last: at.as_millisecond(),
            change: 0,
        }
    }
}

/// Adds a moment of something; how many there were within a time.
fn recent<K: Eq + std::hash::Hash>(
    moments: &mut HashMap<K, VecDeque<Timestamp>>,
    key: K,
    at: Timestamp,
    within: SignedDuration,
) -> usize {
    if moments.len() >= MOST {
        let is_old = |last: Option<&Timestamp>| last.is_none_or(|last| at.duration_since(*last) > within);
        moments.retain(|_, times| !is_old(times.back()));
    }
    let times = moments.entry(key).or_default();
    times.push_back(at);
    while times.front().is_some_and(|first| at.duration_since(*first) > within) {
        times.pop_front();
    }
    times.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::reconcile::{ReconcileId, WokenBy};
    use super::*;

    fn reconcile(number: u64, controller: &str, second: i64) -> Reconcile {
        Reconcile::begun(
            ReconcileId { life: 1, number },
            (controller.to_owned(), "a/b".to_owned()),
            Timestamp::from_second(second).unwrap(),
            Vec::<WokenBy>::new(),
        )
    }

    fn told(warnings: &Warnings) -> Vec<String> {
        let found = warnings.found.values();
        found
            .map(|warning| format!("{} ×{}", warning.what, warning.times))
            .collect()
    }

    /// What is told of reconciles by these controllers in turn, each woken by the one before.
    fn chain(controllers: &[&str], count: u64) -> Vec<String> {
        let mut warnings = Warnings::default();
        let all: Vec<Reconcile> = (0..count)
            .map(|number| {
                reconcile(
                    number,
                    controllers[usize::try_from(number).unwrap() % controllers.len()],
                    60 * i64::try_from(number).unwrap(),
                )
            })
            .collect();
        for (at, one) in all.iter().enumerate() {
            let before: Vec<&Reconcile> = all[..at].iter().rev().take(HOPS).collect();
            warnings.began(one, &before);
        }
        told(&warnings)
    }

    #[test]
    fn a_reconcile_that_wakes_itself_is_a_loop_and_so_are_two_that_wake_each_other() {
        assert_eq!(chain(&["web"], HOPS as u64), Vec::<String>::new());
        assert_eq!(
            chain(&["web"], HOPS as u64 + 2),
            ["web a/b wakes itself again and again ×2"]
        );
        assert_eq!(
            chain(&["web", "shop"], HOPS as u64 + 1),
            ["shop a/b and web a/b wake each other again and again ×1"]
        );
        assert_eq!(chain(&["a", "b", "c", "d", "e"], 40), Vec::<String>::new());
    }

    #[test]
    fn many_reconciles_in_a_short_time_are_told_whatever_woke_them() {
        let mut warnings = Warnings::default();
        for number in 0..HOT as u64 {
            assert_eq!(told(&warnings), Vec::<String>::new());
            warnings.began(&reconcile(number, "web", 0), &[]);
        }
        assert_eq!(told(&warnings), ["web a/b is reconciled more than 30 times in 10s ×1"]);
        let mut slow = Warnings::default();
        (0..200).for_each(|number| slow.began(&reconcile(number, "web", 2 * i64::try_from(number).unwrap()), &[]));
        assert_eq!(told(&slow), Vec::<String>::new());
    }

    #[test]
    fn a_status_that_changes_all_the_time_is_told_but_no_progress() {
        let summary =
            Arc::new(Summary::of(&json!({ "kind": "View", "metadata": { "name": "v", "uid": "u" } })).unwrap());
        let mut warnings = Warnings::default();
        let object = |looked: i64| json!({ "status": { "looked": looked } });
        for second in 0..25 {
            let at = Timestamp::from_second(second).unwrap();
            warnings.changed(&summary, &object(second), &object(second + 1), at);
        }
        assert_eq!(told(&warnings), ["the status of View v never settles ×6"]);
        let (_, all) = warnings.since(0).unwrap();
        assert_eq!(all[0].uid.as_deref(), Some("u"));
        let mut calm = Warnings::default();
        for minute in 0..25 {
            let at = Timestamp::from_second(60 * minute).unwrap();
            calm.changed(&summary, &object(minute), &object(minute + 1), at);
        }
        assert!(calm.since(0).is_none());
    }

    fn call(revision: u64) -> ApiCall {
        serde_json::from_value(json!({
            "verb": "apply", "target": "Deployment.apps a/b", "dryRun": false, "sent": null, "code": 200, "error": null,
            "cached": 7, "revision": revision, "changes": [], "took": 0.1,
        }))
        .unwrap()
    }

    #[test]
    fn writes_that_change_nothing_are_told_when_they_come_again() {
        let mut warnings = Warnings::default();
        let at = Timestamp::UNIX_EPOCH;
        for number in 0..IDLE_WRITES {
            assert_eq!(told(&warnings), Vec::<String>::new());
            warnings.called(&reconcile(2 * number, "web", 0), &call(7), at);
            // One that changes something is none of them.
            warnings.called(&reconcile(2 * number + 1, "web", 0), &call(8), at);
        }
        assert_eq!(
            told(&warnings),
            ["web sends apply Deployment.apps a/b without changing anything ×1"]
        );
        // Another controller that writes it once is not told of.
        warnings.called(&reconcile(100, "shop", 0), &call(7), at);
        assert_eq!(told(&warnings).len(), 1);
        let (_, all) = warnings.since(0).unwrap();
        assert_eq!(all[0].reconcile.unwrap().number, 2 * (IDLE_WRITES - 1));
    }

    #[test]
    fn a_field_that_two_managers_fight_for_is_told_once_with_both() {
        let summary =
            Arc::new(Summary::of(&json!({ "kind": "Deployment", "metadata": { "name": "web", "uid": "u" } })).unwrap());
        let object = |turn: i64| {
            let manager = ["hpa", "shop"][usize::try_from(turn % 2).unwrap()];
            json!({
                "metadata": { "managedFields": [{ "manager": manager, "fieldsV1": {} }] }, "spec": { "replicas": turn % 2 },
            })
        };
        let mut warnings = Warnings::default();
        for turn in 0..8 {
            let at = Timestamp::from_second(turn).unwrap();
            warnings.changed(&summary, &object(turn), &object(turn + 1), at);
        }
        let (_, all) = warnings.since(0).unwrap();
        let fight: Vec<&str> = all.iter().map(|warning| &*warning.what).collect();
        assert_eq!(
            fight,
            ["spec.replicas of Deployment web goes back and forth between 0 and 1 (hpa, shop)"]
        );
        assert_eq!(all[0].uid.as_deref(), Some("u"));
    }
}
