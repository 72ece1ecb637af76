//! An object at rest and the numbers that address it.
//! A [`RecordDraft`] is what a writer brings; the commit makes it a [`Record`] by giving it key and revision.

use std::fmt;

use bytes::Bytes;

/// A point in the store's history. One counter serves all resources: every write takes the next number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table of the store. The numbers are the caller's; a table exists from its first write or watch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub u64);

/// An object as a writer hands it in: everything but its key and its revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordDraft {
    /// The serialized object, opaque to the store.
    pub body: Bytes,
    /// How many bytes of the body are its first part, if the caller reads that part alone.
    pub head: u32,
    /// Where in the body the caller puts the revision when it serves it.
    pub revision_at: u32,
    /// The object's uid, so that preconditions need no parsing.
    pub uid: Box<str>,
    /// The labels; the commit sorts them if they are not.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The values of the resource's selectable fields, in the order the caller gave these fields.
    pub fields: Box<[Box<str>]>,
}

/// A stored object: immutable, and shared by the table, the history and readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The revision that wrote this state.
    pub revision: Revision,
    /// The revision that created the object.
    pub created: Revision,
    /// `namespace/name`, or `name` in a resource without namespaces.
    pub key: Box<str>,
    /// The serialized object, opaque to the store.
    pub body: Bytes,
    /// How many bytes of the body are its first part, as the caller said.
    pub head: u32,
    /// Where in the body the revision belongs, as the caller said.
    pub revision_at: u32,
    /// The object's uid.
    pub uid: Box<str>,
    /// The labels, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The values of the resource's selectable fields.
    pub fields: Box<[Box<str>]>,
}

impl Record {
    /// The record a draft becomes; the commit sets the revisions.
    pub(crate) fn new(key: &str, mut draft: RecordDraft) -> Record {
        if !draft.labels.is_sorted() {
            draft.labels.sort_unstable();
        }
        let RecordDraft {
            body,
            head,
            revision_at,
            uid,
            labels,
            fields,
        } = draft;
        Record {
            revision: Revision::default(),
            created: Revision::default(),
            key: key.into(),
            body,
            head,
            revision_at,
            uid,
            labels,
            fields,
        }
    }

    /// The namespace half of the key, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        namespace_of(&self.key)
    }

    /// The name half of the key.
    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(label, _)| (**label).cmp(key)).ok()?;
        Some(&self.labels[at].1)
    }

    /// About how much memory keeping this record costs, allocations included.
    pub(crate) fn footprint(&self) -> usize {
        /// What an allocation costs beyond the bytes asked for: the allocator's header and rounding.
        const ALLOCATION: usize = 16;
        let text = |text: &str| text.len() + ALLOCATION;
        let labels: usize = self
            .labels
            .iter()
            .map(|(key, value)| text(key) + text(value) + 32)
            .sum();
        let fields: usize = self.fields.iter().map(|value| text(value) + 16).sum();
        size_of::<Record>() + 3 * ALLOCATION + self.body.len() + text(&self.key) + text(&self.uid) + labels + fields
    }
}

/// The namespace half of a key, if it has one.
pub(crate) fn namespace_of(key: &str) -> Option<&str> {
    key.split_once('/').map(|(namespace, _)| namespace)
}
