//! Read your own writes: what a store must have seen before a reader may look.

use std::time::Duration;

use crate::object::ObjectKey;

/// What the cache must have seen of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// This revision of the object, or a later one of its kind.
    revision: Option<u64>,
    /// That the objects with these uids are gone.
    gone: Vec<Box<str>>,
    /// That the objects with these uids are gone, or past these revisions.
    past: Vec<(Box<str>, u64)>,
}

impl Barrier {
    /// Until this revision was seen: after a create, update, patch or apply.
    pub(crate) fn revision(revision: u64) -> Self {
        Barrier {
            revision: Some(revision),
            ..Barrier::default()
        }
    }

    /// Until the object with this uid is gone: after a delete that took effect at once.
    pub(crate) fn gone(uid: &str) -> Self {
        Barrier {
            gone: vec![uid.into()],
            ..Barrier::default()
        }
    }

    /// Until the object with this uid is gone or past this revision: after a delete of many, which answers with the objects as
    /// they were before and does not tell which of them stay for a while.
    pub(crate) fn past(uid: &str, revision: u64) -> Self {
        Barrier {
            past: vec![(uid.into(), revision)],
            ..Barrier::default()
        }
    }

    /// The revision that must have been seen, if that is part of it.
    pub(super) fn wanted_revision(&self) -> Option<u64> {
        self.revision
    }

    /// Both: what lifts it now lifts each of the two.
    pub(super) fn merge(&mut self, later: Barrier) {
        self.revision = self.revision.max(later.revision);
        for uid in later.gone {
            if !self.gone.contains(&uid) {
                self.gone.push(uid);
            }
        }
        for (uid, revision) in later.past {
            match self.past.iter_mut().find(|(known, _)| *known == uid) {
                Some((_, known)) => *known = revision.max(*known),
                None => self.past.push((uid, revision)),
            }
        }
    }

    /// Whether it is lifted by a scope that has seen `seen`, and holds `object` (revision and uid) under the key.
    pub(super) fn is_lifted(&self, seen: Option<u64>, object: Option<(Option<u64>, &str)>) -> bool {
        let revision_seen = self.revision.is_none_or(|wanted| {
            seen.is_some_and(|seen| seen >= wanted)
                || object.is_some_and(|(revision, _)| revision.is_some_and(|revision| revision >= wanted))
        });
        let Some((revision, present)) = object else {
            return revision_seen;
        };
        let is_gone = self.gone.iter().all(|uid| present != &**uid);
        let is_past = self
            .past
            .iter()
            .all(|(uid, old)| present != &**uid || revision.is_none_or(|revision| revision > *old));
        revision_seen && is_gone && is_past
    }
}

/// The cache did not catch up with a write in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cache of {kind} did not catch up with the write of {key} within {waited:?}")]
pub struct BarrierTimeout {
    /// The kind.
    pub kind: String,
    /// The object that was written.
    pub key: ObjectKey,
    /// How long the reader waited.
    pub waited: Duration,
}
