//! Reports what causes reconciles and how they end, as it happens, for demonstrations, tests and tools.
//! [`ControllerStats::observe`](super::ControllerStats::observe) registers an observer.

use std::fmt;

use super::reconciler::Request;
use super::stats::{Outcome, Reconciled};
use crate::cache::Event;
use crate::object::{Kind, ObjectKey};

/// Something that happened in a controller.
#[derive(Clone, Debug)]
pub enum Observation {
    /// Something asked for a reconcile. Several that ask before it begins get one.
    Woken {
        /// Of what.
        request: Request,
        /// The cause.
        cause: Cause,
    },
    /// A reconcile begins. It covers everything that woke it so far; what wakes it from now on leads to another one.
    Began {
        /// Of what.
        request: Request,
    },
    /// A reconcile ended.
    Ended(Reconciled),
}

/// What asked for a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A watched object.
    Object {
        /// Its kind.
        kind: Kind,
        /// Which.
        key: ObjectKey,
        /// What happened to it.
        change: Change,
    },
    /// A source of the controller's own: a timer, a channel.
    Source,
    /// The reconcile before, which ended so.
    Again(Outcome),
}

/// What happened to a watched object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It existed before, or a resync reports it again.
    Listed,
    /// It is new.
    Created,
    /// It is another.
    Updated,
    /// It is gone.
    Deleted,
}

impl Change {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::Listed => "listed",
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Deleted => "deleted",
        }
    }
}

impl From<&Event> for Change {
    fn from(event: &Event) -> Self {
        match event {
            event if event.is_background() => Change::Listed,
            Event::Added { .. } => Change::Created,
            Event::Updated { .. } => Change::Updated,
            Event::Deleted { .. } => Change::Deleted,
        }
    }
}

/// The function that is called with observations.
pub(super) struct Observer(Box<dyn Fn(&Observation) + Send + Sync>);

impl Observer {
    pub(super) fn new(observer: impl Fn(&Observation) + Send + Sync + 'static) -> Self {
        Observer(Box::new(observer))
    }

    pub(super) fn tell(&self, observation: &Observation) {
        (self.0)(observation);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
