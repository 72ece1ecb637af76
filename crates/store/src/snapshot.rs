//! A resource as it was at one revision: what a list, a page or a get of a past state reads.
//! A snapshot stays as it is whatever is written or compacted later.

use std::fmt;
use std::iter::Take;
use std::sync::Arc;

use crate::table::{Iter, Table};
use crate::{Record, Revision};

/// All records of one resource at one revision.
#[derive(Clone)]
pub struct Snapshot {
    revision: Revision,
    table: Table,
}

impl Snapshot {
    pub(crate) fn new(revision: Revision, table: Table) -> Snapshot {
        Snapshot { revision, table }
    }

    /// The revision of the whole store this is the state of; records carry their own, older ones.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How many records the resource has, in all namespaces.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether the resource has no record at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record under a key (`namespace/name` or `name`).
    pub fn get(&self, key: &str) -> Option<&Arc<Record>> {
        self.table.get(key)
    }

    /// The records of a namespace (of all, if `None`) whose key comes after `after`, in etcd's order: by the bytes of
    /// the key. Finding the start is logarithmic; the iterator knows its length.
    pub fn records(&self, namespace: Option<&str>, after: Option<&str>) -> Records<'_> {
        let (start, end) = self.positions(namespace, after);
        Records {
            rest: self.table.iter_from(start).take(end - start),
            len: end - start,
        }
    }

    /// How many records [`records`](Snapshot::records) would give, without walking them: a page's `remainingItemCount`
    /// is `count(namespace, its last key)`.
    pub fn count(&self, namespace: Option<&str>, after: Option<&str>) -> usize {
        let (start, end) = self.positions(namespace, after);
        end - start
    }

    fn positions(&self, namespace: Option<&str>, after: Option<&str>) -> (usize, usize) {
        let (first, end) = match namespace {
            None => (0, self.len()),
            Some(namespace) => {
                // '0' is the character after '/': between the two lie the namespace's keys and nothing else.
                let (first, end) = (format!("{namespace}/"), format!("{namespace}0"));
                (
                    self.table.rank(|key| key < first.as_str()),
                    self.table.rank(|key| key < end.as_str()),
                )
            }
        };
        let start = after.map_or(first, |after| first.max(self.table.rank(|key| key <= after)));
        (start.min(end), end)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Records of a [`Snapshot`] in key order.
pub struct Records<'a> {
    rest: Take<Iter<'a>>,
    len: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a Arc<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.rest.next()?;
        self.len -= 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl ExactSizeIterator for Records<'_> {}

impl fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
