//! What is known of an operator and its cluster, and what it means. Pure: sources write into it, readers ask what is new.

mod archive;
mod asked;
mod between;
mod conditions;
mod detail;
mod flips;
mod news;
mod operator;
mod reconcile;
mod requests;
mod said;
mod session;
mod story;
mod summary;
mod timeline;
mod warnings;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_description::Description;
use kubewright_runtime::trace::{TraceEvent, TraceRecord};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use archive::Archive;
pub(crate) use archive::{Seen, Version};
pub(crate) use conditions::conditions;
pub(crate) use news::Cursor;
use operator::OperatorPage;
use reconcile::Did;
pub(crate) use requests::Asked;
use requests::Requests;
use said::Said;
pub use session::OperatorState;
use session::SessionState;
pub use story::StoryLine;
use story::{Story, ToldLine};
use timeline::{Taken, Timeline};
use warnings::{HOPS, Warnings};

/// As much is kept of reconciles.
const TIMELINE_BYTES: usize = 32 << 20;

/// How something stands, as a colour says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Standing {
    Good,
    Bad,
    Busy,
    Neutral,
}

/// What is known of an operator and its cluster.
#[derive(Debug)]
pub struct Model {
    pub(crate) archive: Archive,
    pub(crate) timeline: Timeline,
    pub(crate) session: SessionState,
    pub(crate) operator: OperatorPage,
    pub(crate) requests: Requests,
    warnings: Warnings,
    pub(crate) unreadable: Unreadable,
    pub(crate) said: Said,
    story: Story,
}

/// Kinds whose objects cannot be read, and why.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    pub(crate) by_kind: BTreeMap<String, String>,
    change: u64,
}

impl Model {
    /// An empty one, that keeps so many bytes of the versions of objects.
    pub fn new(history: usize) -> Self {
        Model {
            archive: Archive::new(history),
            timeline: Timeline::new(TIMELINE_BYTES),
            session: SessionState::default(),
            operator: OperatorPage::default(),
            requests: Requests::default(),
            warnings: Warnings::default(),
            unreadable: Unreadable::default(),
            said: Said::default(),
            story: Story::default(),
        }
    }

    /// Takes a record of the operator's trace, which takes so many bytes.
    pub(crate) fn record(&mut self, record: TraceRecord, bytes: usize) {
        let called = match &record.event {
            TraceEvent::Called(call) => Some(call.clone()),
            _ => None,
        };
        let taken = self.timeline.take(record, bytes);
        if let (Some(Taken::Called(..) | Taken::CalledOutside), Some(call)) = (taken, called) {
            self.requests.traced(&call);
        }
        let reconcile = |id| self.timeline.get(id);
        match taken {
            Some(Taken::Began(id)) => {
                if let Some(begun) = reconcile(id) {
                    self.warnings.began(begun, &self.timeline.chain(id, HOPS));
                }
            }
            Some(Taken::Called(id, at)) => {
                if let Some(reconcile) = reconcile(id)
                    && let Some(Did::Call(call)) = reconcile.steps.last().map(|step| &step.did)
                {
                    self.warnings.called(reconcile, call, at);
                }
            }
            Some(Taken::CalledOutside) | None => {}
        }
    }

    /// The objects of a kind cannot be read, for this reason; or they can again.
    pub(crate) fn unreadable(&mut self, kind: &str, why: Option<&str>) {
        let before = match why {
            Some(why) => self.unreadable.by_kind.insert(kind.to_owned(), why.to_owned()),
            None => self.unreadable.by_kind.remove(kind),
        };
        if before.as_deref() != why {
            self.unreadable.change += 1;
        }
    }

    /// The story goes on. A line about an object leads to the object as it is when that is told, or as it was last.
    fn tell(&mut self, line: StoryLine) {
        let (is, text, about) = match line {
            StoryLine::Command(text) => ("command", text, None),
            StoryLine::Words(text) => ("words", text, None),
            StoryLine::Refused(text) => ("refused", text, None),
            StoryLine::Object {
                kind,
                namespace,
                name,
                words,
            } => {
                let about = self.archive.named(&kind, &namespace, &name);
                ("object", words, about.map(|(uid, revision)| (uid.to_owned(), revision)))
            }
        };
        let (uid, revision) = about.unzip();
        self.story.add(ToldLine {
            is,
            text,
            uid,
            revision,
        });
    }

    /// Takes a change of an object.
    pub(crate) fn object(&mut self, seen: Seen) {
        let at = seen.at;
        let Some(changed) = self.archive.take(seen) else {
            return;
        };
        match (&changed.before, &changed.after) {
            (Some(before), Some(after)) => self.warnings.changed(&changed.summary, before, after, at),
            (_, None) => self.warnings.deleted(&changed.summary.uid),
            (None, Some(_)) => {}
        }
    }
}

/// A [`Model`] that sources and readers share.
#[derive(Clone, Debug)]
pub struct SharedModel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    model: Mutex<Model>,
    /// How often something was written.
    writes: watch::Sender<u64>,
}

impl SharedModel {
    /// Shares a model.
    pub fn new(model: Model) -> Self {
        SharedModel(Arc::new(Shared {
            model: Mutex::new(model),
            writes: watch::Sender::new(0),
        }))
    }

    /// The model of a cluster that goes on from a revision of this one: its objects as they were, and nothing of the operator.
    pub fn fork_at(&self, revision: u64) -> Self {
        let fork = self.read(|model| Model {
            archive: model.archive.fork_at(revision),
            ..Model::new(0)
        });
        Self::new(fork)
    }

    /// The command did something with the operator, or saw it.
    pub fn session(&self, state: OperatorState) {
        self.write(|model| model.session.set(state, Timestamp::now()));
    }

    /// A chapter of a story begins, which is shown beside what happens.
    pub fn begin_chapter(&self, title: &str, words: &str) {
        self.write(|model| model.story.begin(title, words, model.archive.newest()));
    }

    /// The chapter goes on.
    pub fn tell_story(&self, line: StoryLine) {
        self.write(|model| model.tell(line));
    }

    /// The operator asks the API server as this user, and describes itself so.
    pub fn rights(&self, user: String, description: Description) {
        self.write(|model| model.requests.operator(user, description));
    }

    /// The operator describes itself so. What it asks the API server for is known by its trace alone.
    pub fn traced_rights(&self, description: Description) {
        self.rights(asked::TRACED_OPERATOR.to_owned(), description);
    }

    /// The operator asks the API server as this user; which rights it needs is not known.
    pub fn operator_user(&self, user: String) {
        self.write(|model| model.requests.operator_user(user));
    }

    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut Model) -> T) -> T {
        let written = write(&mut self.0.model.lock());
        self.0.writes.send_modify(|writes| *writes += 1);
        written
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Model) -> T) -> T {
        read(&self.0.model.lock())
    }

    /// Changes whenever something was written.
    pub(crate) fn writes(&self) -> watch::Receiver<u64> {
        self.0.writes.subscribe()
    }
}
