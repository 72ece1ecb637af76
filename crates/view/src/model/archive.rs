//! Every version of every object that was seen, within a budget of bytes: the cluster as it is, and as it was.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::summary::{Summary, redacted};

/// As many deletions are remembered for readers that have not seen them; one that is further behind gets everything anew.
const DELETIONS: usize = 1000;

#[derive(Debug)]
pub(crate) struct Archive {
    budget: usize,
    bytes: usize,
    by_uid: BTreeMap<String, Tracked>,
    /// The versions in the order in which they came: the first is forgotten first.
    order: VecDeque<(u64, String)>,
    /// Which object a revision is of.
    by_revision: BTreeMap<u64, String>,
    deleted: VecDeque<(u64, String)>,
    /// The number of the last change.
    change: u64,
    /// Deletions up to this change are forgotten.
    forgotten: u64,
    /// The oldest revision at which everything is known.
    complete_since: u64,
    /// The newest revision.
    newest: u64,
}

/// An object, or what is known of one that is gone.
#[derive(Debug)]
struct Tracked {
    /// Never empty, the oldest first.
    versions: VecDeque<Version>,
    change: u64,
}

/// An object as it was from a revision on.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) revision: u64,
    pub(crate) at: Timestamp,
    /// Whether it was deleted then; the text is its last state.
    pub(crate) is_deletion: bool,
    pub(crate) summary: Arc<Summary>,
    /// JSON, without the contents of Secrets.
    text: Arc<str>,
}

/// A change of an object.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) revision: u64,
    pub(crate) at: Timestamp,
    pub(crate) object: Value,
    pub(crate) is_deletion: bool,
}

/// An object, before and after a change.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) summary: Arc<Summary>,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// What a reader has to know to be up to date.
#[derive(Debug)]
pub(crate) struct ObjectNews {
    pub(crate) change: u64,
    /// Whether what the reader has is to be thrown away.
    pub(crate) anew: bool,
    pub(crate) changed: Vec<Version>,
    pub(crate) deleted: Vec<String>,
    /// The revisions between which any moment can be shown.
    pub(crate) oldest: u64,
    pub(crate) newest: u64,
}

impl Version {
    pub(crate) fn object(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// As a tree shows it.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = json!(*self.summary);
        shown["revision"] = self.revision.into();
        shown["at"] = self.at.as_millisecond().into();
        shown
    }

    /// When it became so.
    pub(crate) fn moment(&self) -> Value {
        json!({ "revision": self.revision, "at": self.at.as_millisecond(), "isDeletion": self.is_deletion })
    }

    fn bytes(&self) -> usize {
        size_of::<Version>() + size_of::<Summary>() + self.text.len()
    }
}

impl Archive {
    /// An empty archive of at most so many bytes.
    pub(crate) fn new(budget: usize) -> Self {
        Archive {
            budget,
            bytes: 0,
            by_uid: BTreeMap::new(),
            order: VecDeque::new(),
            by_revision: BTreeMap::new(),
            deleted: VecDeque::new(),
            change: 0,
            forgotten: 0,
            complete_since: 0,
            newest: 0,
        }
    }

    /// Nothing is known of what was before a revision.
    pub(crate) fn begin_at(&mut self, revision: u64) {
        self.complete_since = self.complete_since.max(revision);
        self.newest = self.newest.max(revision);
    }

    /// Takes a change of an object; what it was before, if it was there, and what it is now.
    pub(crate) fn take(&mut self, seen: Seen) -> Option<Changed> {
        let object = redacted(seen.object);
        let summary = Arc::new(Summary::of(&object)?);
        let uid = summary.uid.clone();
        // A list may have what a watch had already.
        let is_known = |now: &Version| now.revision == seen.revision && !seen.is_deletion;
        if self.now(&uid).is_some_and(is_known) {
            return None;
        }
        let before = self.now(&uid).map(Version::object);
        if seen.is_deletion && before.is_none() {
            return None;
        }
        self.change += 1;
        self.newest = self.newest.max(seen.revision);
        let version = Version {
            revision: seen.revision,
            at: seen.at,
            is_deletion: seen.is_deletion,
            summary: Arc::clone(&summary),
            text: object.to_string().into(),
        };
        self.bytes += version.bytes();
        self.order.push_back((seen.revision, uid.clone()));
        self.by_revision.insert(seen.revision, uid.clone());
        if seen.is_deletion {
            self.deleted.push_back((self.change, uid.clone()));
            if self.deleted.len() > DELETIONS
                && let Some((change, _)) = self.deleted.pop_front()
            {
                self.forgotten = change;
            }
        }
        let tracked = self.by_uid.entry(uid).or_insert_with(|| Tracked {
            versions: VecDeque::new(),
            change: 0,
        });
        tracked.change = self.change;
        tracked.versions.push_back(version);
        self.forget();
        Some(Changed {
            summary,
            before,
            after: (!seen.is_deletion).then_some(object),
        })
    }

    /// Forgets the oldest versions until the rest is within the budget. What an object is now is always known.
    fn forget(&mut self) {
        let mut looks = self.order.len();
        while self.bytes > self.budget && looks > 0 {
            looks -= 1;
            let Some((revision, uid)) = self.order.pop_front() else {
                return;
            };
            let Some(tracked) = self.by_uid.get_mut(&uid) else {
                continue;
            };
            let is_current = tracked.versions.len() == 1 && !tracked.versions[0].is_deletion;
            if is_current {
                self.order.push_back((revision, uid));
                continue;
            }
            if let Some(version) = tracked.versions.pop_front() {
                self.bytes -= version.bytes();
                self.by_revision.remove(&version.revision);
            }
            // It was so until the next version came.
            let until = tracked.versions.front().map_or(revision, |next| next.revision);
            self.complete_since = self.complete_since.max(until);
            if tracked.versions.is_empty() {
                self.by_uid.remove(&uid);
            }
        }
    }

    /// An object as it is.
    pub(crate) fn now(&self, uid: &str) -> Option<&Version> {
        let version = self.by_uid.get(uid)?.versions.back()?;
        (!version.is_deletion).then_some(version)
    }

    /// An object as it was at a revision; the last that is known of it if it was gone by then.
    pub(crate) fn at(&self, uid: &str, revision: u64) -> Option<&Version> {
        let versions = &self.by_uid.get(uid)?.versions;
        let after = versions.partition_point(|version| version.revision <= revision);
        versions.get(after.checked_sub(1)?)
    }

    /// All objects as they were at a revision.
    pub(crate) fn all_at(&self, revision: u64) -> impl Iterator<Item = &Version> {
        self.by_uid
            .keys()
            .filter_map(move |uid| self.at(uid, revision))
            .filter(|version| !version.is_deletion)
    }

    /// The last version until a revision of each object that changed after an earlier one, whatever came of it.
    pub(crate) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = &Version> {
        let last = self.by_uid.keys().filter_map(move |uid| self.at(uid, to));
        last.filter(move |version| version.revision > from)
    }

    /// The newest object of a kind and name, with the revision since which it is as it is, or of its last version if it is gone.
    pub(crate) fn named(&self, kind: &str, namespace: &str, name: &str) -> Option<(&str, u64)> {
        let is_it = |version: &Version| {
            let summary = &version.summary;
            summary.kind == kind
                && summary.namespace.as_deref().unwrap_or_default() == namespace
                && summary.name == name
        };
        let found = self.by_uid.iter().filter_map(|(uid, tracked)| {
            let last = tracked.versions.back().filter(|last| is_it(last))?;
            let mut shown = tracked.versions.iter().rev().filter(|version| !version.is_deletion);
            Some((uid.as_str(), last.revision, shown.next()?.revision))
        });
        let newest = found.max_by_key(|(_, last, _)| *last);
        newest.map(|(uid, _, shown)| (uid, shown))
    }

    /// The versions of an object, the oldest first.
    pub(crate) fn versions(&self, uid: &str) -> impl Iterator<Item = &Version> {
        self.by_uid.get(uid).into_iter().flat_map(|tracked| &tracked.versions)
    }

    /// The oldest revision at which everything is known.
    pub(crate) fn oldest(&self) -> u64 {
        self.complete_since
    }

    /// The newest revision; 0 if nothing is known.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// The object that a revision is of, if it is kept.
    pub(crate) fn object_of(&self, revision: u64) -> Option<&str> {
        self.by_revision.get(&revision).map(String::as_str)
    }

    /// The archive of a cluster that goes on from a revision: what was known then.
    pub(crate) fn fork_at(&self, revision: u64) -> Archive {
        let mut fork = Archive::new(self.budget);
        fork.begin_at(self.complete_since);
        fork.newest = revision;
        let mut versions: Vec<(&String, &Version)> = self
            .by_uid
            .iter()
            .flat_map(|(uid, tracked)| tracked.versions.iter().map(move |version| (uid, version)))
            .filter(|(_, version)| version.revision <= revision)
            .collect();
        versions.sort_by_key(|(_, version)| version.revision);
        for (uid, version) in versions {
            fork.change += 1;
            fork.bytes += version.bytes();
            fork.order.push_back((version.revision, uid.clone()));
            fork.by_revision.insert(version.revision, uid.clone());
            let tracked = fork.by_uid.entry(uid.clone()).or_insert_with(|| Tracked {
                versions: VecDeque::new(),
                change: 0,
            });
            tracked.change = fork.change;
            tracked.versions.push_back(version.clone());
        }
        fork
    }

    /// What happened after a change; everything if that is not known any more.
    pub(crate) fn since(&self, seen: u64) -> Option<ObjectNews> {
        if self.change <= seen {
            return None;
        }
        let anew = seen == 0 || seen < self.forgotten;
        let after = if anew { 0 } else { seen };
        let changed = self.by_uid.values().filter(|tracked| tracked.change > after);
        let deleted = self.deleted.iter().filter(|(change, _)| !anew && *change > after);
        Some(ObjectNews {
            change: self.change,
            anew,
            changed: changed
                .filter_map(|tracked| tracked.versions.back())
                .filter(|version| !version.is_deletion)
                .cloned()
                .collect(),
            deleted: deleted.map(|(_, uid)| uid.clone()).collect(),
            oldest: self.complete_since,
            newest: self.newest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(number: usize, revision: u64, is_deletion: bool) -> Seen {
        Seen {
            revision,
            at: Timestamp::UNIX_EPOCH,
            object: json!({
                "kind": "ConfigMap",
                "metadata": { "name": format!("c{number}"), "uid": number.to_string(), "resourceVersion": revision.to_string() },
            }),
            is_deletion,
        }
    }

    fn names<'a>(versions: impl Iterator<Item = &'a Version>) -> Vec<String> {
        versions.map(|version| version.summary.name.clone()).collect()
    }

    #[test]
    fn a_reader_gets_everything_and_then_what_changed() {
        let mut archive = Archive::new(1 << 20);
        archive.take(seen(1, 1, false));
        archive.take(seen(2, 2, false));
        let news = archive.since(0).unwrap();
        assert_eq!((news.anew, news.changed.len(), news.change), (true, 2, 2));
        archive.take(seen(3, 3, false));
        archive.take(seen(1, 4, true));
        let news = archive.since(2).unwrap();
        assert_eq!(names(news.changed.iter()), ["c3"]);
        assert_eq!((news.anew, news.deleted), (false, vec!["1".to_owned()]));
        assert!(archive.since(4).is_none());
    }

    #[test]
    fn a_reader_that_is_too_far_behind_gets_everything_anew() {
        let mut archive = Archive::new(1 << 30);
        for number in 0..=DELETIONS {
            archive.take(seen(number, 1, false));
            archive.take(seen(number, 2, true));
        }
        archive.take(seen(5000, 3, false));
        let news = archive.since(1).unwrap();
        assert_eq!((news.anew, news.changed.len(), news.deleted.len()), (true, 1, 0));
        assert_eq!(archive.deleted.len(), DELETIONS);
        assert!(!archive.since(2).unwrap().anew);
    }

    #[test]
    fn any_moment_can_be_shown() {
        let mut archive = Archive::new(1 << 20);
        archive.take(seen(1, 10, false));
        archive.take(seen(2, 20, false));
        archive.take(seen(1, 30, true));
        archive.take(seen(3, 40, false));
        let moments = [5, 10, 25, 30, 99].map(|revision| names(archive.all_at(revision)));
        assert_eq!(
            moments,
            [vec![], vec!["c1"], vec!["c1", "c2"], vec!["c2"], vec!["c2", "c3"]]
        );
        assert!(archive.now("1").is_none() && archive.at("1", 30).unwrap().is_deletion);
        assert_eq!(
            archive
                .versions("1")
                .map(|version| version.revision)
                .collect::<Vec<_>>(),
            [10, 30]
        );
    }

    #[test]
    fn an_object_is_found_by_its_name_even_if_it_is_gone() {
        let mut archive = Archive::new(1 << 20);
        archive.take(seen(1, 10, false));
        archive.take(seen(2, 20, false));
        assert_eq!(archive.named("ConfigMap", "", "c1"), Some(("1", 10)));
        archive.take(seen(1, 30, true));
        assert_eq!(archive.named("ConfigMap", "", "c1"), Some(("1", 10)));
        assert_eq!(archive.named("ConfigMap", "", "c3"), None);
        assert_eq!(archive.named("Secret", "", "c2"), None);
    }

    #[test]
    fn a_fork_knows_the_past_and_nothing_of_what_came_later() {
        let mut archive = Archive::new(1 << 20);
        archive.take(seen(1, 10, false));
        archive.take(seen(2, 20, false));
        archive.take(seen(1, 30, true));
        assert_eq!(archive.object_of(20), Some("2"));
        let mut fork = archive.fork_at(20);
        assert_eq!(names(fork.all_at(u64::MAX)), ["c1", "c2"]);
        assert_eq!((fork.since(0).unwrap().newest, fork.object_of(30)), (20, None));
        fork.take(seen(3, 21, false));
        assert_eq!(names(fork.all_at(10)), ["c1"]);
        assert_eq!(archive.all_at(21).count(), 2);
    }

    #[test]
    fn what_does_not_fit_is_forgotten_but_never_what_is() {
        let one = {
            let mut archive = Archive::new(1 << 20);
            archive.take(seen(1, 10, false));
            archive.bytes
        };
        let mut archive = Archive::new(10 * one);
        for number in 1..=4 {
            archive.take(seen(number, 10, false));
        }
        for revision in 11..100 {
            archive.take(seen(1, revision, false));
        }
        archive.take(seen(2, 100, true));
        assert!(archive.bytes <= 10 * one, "{} of {}", archive.bytes, 10 * one);
        assert_eq!(names(archive.all_at(100)), ["c1", "c3", "c4"]);
        let news = archive.since(0).unwrap();
        assert_eq!(news.newest, 100);
        // From the oldest revision on everything is known, before it is not.
        assert_eq!(names(archive.all_at(news.oldest)), ["c1", "c2", "c3", "c4"]);
        assert!(archive.at("1", news.oldest - 1).is_none());
        // Objects that are all current stay, whatever they take.
        let mut full = Archive::new(one);
        for number in 1..=4 {
            full.take(seen(number, 10, false));
        }
        assert_eq!(full.all_at(10).count(), 4);
    }
}
