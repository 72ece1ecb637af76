//! In which order the rows of a kind are looked at and written. Looks go on beside each other, and beside writes; what one of them
//! found is put into the table only where nothing newer is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

/// What is looked at, or written, by one request at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// The row with this key.
    Row(String),
    /// The rows of a namespace, or all of them.
    Rows(Option<String>),
}

/// A moment in the order of everything that happens to a kind's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

/// When the last look at a subject began that went well.
type LastLook = tokio::sync::Mutex<Option<Moment>>;

#[derive(Default)]
pub(super) struct Order {
    turns: Mutex<BTreeMap<Subject, Arc<LastLook>>>,
    journal: Mutex<Journal>,
}

/// What happened since the oldest look began that still goes on.
#[derive(Default)]
struct Journal {
    now: Moment,
    /// When the looks began that go on.
    looks: BTreeSet<Moment>,
    /// How new what is known of rows is: when the look began, or the write ended.
    rows: BTreeMap<String, Moment>,
    /// The same of all rows, or those of a namespace.
    lists: BTreeMap<Option<String>, Moment>,
    /// The rows that are being written.
    writing: BTreeSet<String>,
}

impl Journal {
    fn tick(&mut self) -> Moment {
        self.now.0 += 1;
        self.now
    }

    /// Forgets what no look that goes on could be older than.
    fn forget(&mut self) {
        let oldest = self.looks.first().copied();
        let matters = |at: &Moment| oldest.is_some_and(|oldest| *at > oldest);
        self.rows.retain(|_, at| matters(at));
        self.lists.retain(|_, at| matters(at));
    }
}

impl Order {
    /// The present moment: a look that begins later has seen all that happened until now.
    pub(super) fn now(&self) -> Moment {
        self.journal.lock().tick()
    }

    /// Waits until nobody else looks at or writes the subject.
    pub(super) async fn turn(&self, subject: Subject) -> Turn<'_> {
        let last = Arc::clone(self.turns.lock().entry(subject.clone()).or_default());
        // Made before the wait, so that a request that gives up leaves nothing behind.
        let mut turn = Turn {
            order: self,
            subject,
            last: None,
        };
        turn.last = Some(last.lock_owned().await);
        turn
    }

    /// Begins to look.
    pub(super) fn look(&self) -> Look<'_> {
        let mut journal = self.journal.lock();
        let began = journal.tick();
        journal.looks.insert(began);
        Look { order: self, began }
    }

    /// Begins to write a row; whoever calls has its turn.
    pub(super) fn write(&self, key: String) -> Write<'_> {
        self.journal.lock().writing.insert(key.clone());
        Write { order: self, key }
    }
}

/// Nobody else looks at the subject or writes it.
pub(super) struct Turn<'a> {
    order: &'a Order,
    subject: Subject,
    last: Option<OwnedMutexGuard<Option<Moment>>>,
}

impl Turn<'_> {
    /// Whether somebody else's look, which began after `asked`, has seen all that this one would see.
    pub(super) fn was_looked_at_since(&self, asked: Moment) -> bool {
        let last = self.last.as_ref().and_then(|last| **last);
        last.is_some_and(|began| began > asked)
    }

    /// Says that a look went well.
    pub(super) fn looked(&mut self, began: Moment) {
        if let Some(last) = &mut self.last {
            **last = Some(began);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.order.turns.lock();
        self.last = None;
        // Whoever waits for the turn holds it too; they all come by it through this map, which is locked.
        if turns
            .get(&self.subject)
            .is_some_and(|last| Arc::strong_count(last) == 1)
        {
            turns.remove(&self.subject);
        }
    }
}

/// A look that goes on.
pub(super) struct Look<'a> {
    order: &'a Order,
    began: Moment,
}

impl<'a> Look<'a> {
    pub(super) fn began(&self) -> Moment {
        self.began
    }

    /// Puts what was found into the table. Nobody else does so until what this returns is dropped.
    pub(super) fn found(&self) -> Found<'a> {
        Found {
            journal: self.order.journal.lock(),
            began: self.began,
        }
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut journal = self.order.journal.lock();
        let was_oldest = journal.looks.first() == Some(&self.began);
        journal.looks.remove(&self.began);
        if was_oldest {
            journal.forget();
        }
    }
}

/// The right to change the table to what a look has found.
pub(super) struct Found<'a> {
    journal: MutexGuard<'a, Journal>,
    began: Moment,
}

impl Found<'_> {
    /// Whether this look knows best how a row is: it is not being written, was not written since the look began, and no look that
    /// began later has seen it.
    pub(super) fn is_newest(&self, namespace: &str, key: &str) -> bool {
        let is_older = |at: Option<&Moment>| at.is_none_or(|at| *at <= self.began);
        let journal = &self.journal;
        is_older(journal.rows.get(key))
            && is_older(journal.lists.get(&None))
            && is_older(journal.lists.get(&Some(namespace.to_owned())))
    }

    /// Whether a row is being written: whoever does so says how it is afterwards.
    pub(super) fn is_being_written(&self, key: &str) -> bool {
        self.journal.writing.contains(key)
    }

    /// Notes that the table has what this look found.
    pub(super) fn note(mut self, subject: Subject) {
        let began = self.began;
        let newest = match subject {
            Subject::Row(key) => self.journal.rows.entry(key).or_default(),
            Subject::Rows(namespace) => self.journal.lists.entry(namespace).or_default(),
        };
        *newest = began.max(*newest);
    }
}

/// A row that is being written.
pub(super) struct Write<'a> {
    order: &'a Order,
    key: String,
}

impl Write<'_> {
    /// Puts how the row with this key is after the write into the table, by `put`: looks that began before know less.
    pub(super) fn ended<T>(&self, key: &str, put: impl FnOnce() -> T) -> T {
        let mut journal = self.order.journal.lock();
        let now = journal.tick();
        if !journal.looks.is_empty() {
            journal.rows.insert(key.to_owned(), now);
        }
        put()
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        self.order.journal.lock().writing.remove(&self.key);
    }
}
