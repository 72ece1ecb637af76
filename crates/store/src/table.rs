//! A persistent ordered map from key to record that also knows positions: the rest of a page is counted, not walked.
//! A weight-balanced tree: the subtree sizes that keep it balanced are the ones that answer "how many come before".

use std::cmp::Ordering;
use std::sync::Arc;

use triomphe::Arc as Link;

use crate::Record;

/// A subtree may weigh at most this many times its sibling (weights count the empty leaves).
const BALANCE: usize = 3;
/// A heavy inner grandchild below this ratio to the outer one is handled by a single rotation.
/// (3, 2) is the one pair of integers with which insertion and deletion both keep the balance.
const ROTATION: usize = 2;

type Tree = Option<Link<Node>>;

/// A version of a resource's records. Cloning it copies a pointer; changing it copies the path to the change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    root: Tree,
}

#[derive(Debug)]
struct Node {
    record: Arc<Record>,
    left: Tree,
    right: Tree,
    size: usize,
}

impl Table {
    /// What one copied node takes, with the allocator's header.
    pub(crate) const NODE_BYTES: usize = size_of::<Node>() + 16;

    pub(crate) fn len(&self) -> usize {
        size(&self.root)
    }

    /// About how many nodes a write copies.
    pub(crate) fn depth(&self) -> usize {
        self.len().checked_ilog2().map_or(0, |log| log as usize + 1)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Record>> {
        let mut tree = &self.root;
        while let Some(node) = tree {
            tree = match key.cmp(&node.record.key) {
                Ordering::Less => &node.left,
                Ordering::Greater => &node.right,
                Ordering::Equal => return Some(&node.record),
            };
        }
        None
    }

    /// This table with `record` under its key, in place of any record that was there.
    pub(crate) fn with(&self, record: Arc<Record>) -> Table {
        Table {
            root: Some(with(&self.root, record)),
        }
    }

    /// This table without `key`.
    pub(crate) fn without(&self, key: &str) -> Table {
        match without(&self.root, key) {
            Some(root) => Table { root },
            None => self.clone(),
        }
    }

    /// How many records come first for which `before` holds; it must hold for a prefix of the keys.
    pub(crate) fn rank(&self, before: impl Fn(&str) -> bool) -> usize {
        let mut tree = &self.root;
        let mut rank = 0;
        while let Some(node) = tree {
            tree = if before(&node.record.key) {
                rank += size(&node.left) + 1;
                &node.right
            } else {
                &node.left
            };
        }
        rank
    }

    /// The records from position `start` on, in key order.
    pub(crate) fn iter_from(&self, start: usize) -> Iter<'_> {
        let mut pending = Vec::with_capacity(self.depth() + 2);
        let (mut tree, mut skip) = (&self.root, start);
        while let Some(node) = tree {
            let left = size(&node.left);
            if skip > left {
                skip -= left + 1;
                tree = &node.right;
            } else {
                pending.push(&**node);
                tree = &node.left;
            }
        }
        Iter { pending }
    }
}

/// An in-order walk: the nodes still to visit whose left side is done.
pub(crate) struct Iter<'a> {
    pending: Vec<&'a Node>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Arc<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.pending.pop()?;
        let mut tree = &node.right;
        while let Some(next) = tree {
            self.pending.push(next);
            tree = &next.left;
        }
        Some(&node.record)
    }
}

fn size(tree: &Tree) -> usize {
    tree.as_ref().map_or(0, |node| node.size)
}

fn weight(tree: &Tree) -> usize {
    size(tree) + 1
}

fn node(record: Arc<Record>, left: Tree, right: Tree) -> Link<Node> {
    let size = size(&left) + size(&right) + 1;
    Link::new(Node {
        record,
        left,
        right,
        size,
    })
}

fn with(tree: &Tree, record: Arc<Record>) -> Link<Node> {
    let Some(here) = tree else {
        return node(record, None, None);
    };
    match record.key.cmp(&here.record.key) {
        Ordering::Less => balanced(&here.record, Some(with(&here.left, record)), here.right.clone()),
        Ordering::Greater => balanced(&here.record, here.left.clone(), Some(with(&here.right, record))),
        Ordering::Equal => node(record, here.left.clone(), here.right.clone()),
    }
}

/// The tree without the key, or nothing if the key is not in it.
fn without(tree: &Tree, key: &str) -> Option<Tree> {
    let here = tree.as_ref()?;
    Some(match key.cmp(&here.record.key) {
        Ordering::Less => Some(balanced(&here.record, without(&here.left, key)?, here.right.clone())),
        Ordering::Greater => Some(balanced(&here.record, here.left.clone(), without(&here.right, key)?)),
        Ordering::Equal => joined(&here.left, &here.right),
    })
}

/// The two halves of a removed node as one tree: the heavier half gives the new root.
fn joined(left: &Tree, right: &Tree) -> Tree {
    match (left, right) {
        (None, tree) | (tree, None) => tree.clone(),
        (Some(l), Some(r)) if l.size > r.size => {
            let (rest, last) = without_last(l);
            Some(balanced(&last, rest, right.clone()))
        }
        (Some(_), Some(r)) => {
            let (first, rest) = without_first(r);
            Some(balanced(&first, left.clone(), rest))
        }
    }
}

fn without_first(tree: &Link<Node>) -> (Arc<Record>, Tree) {
    match &tree.left {
        None => (tree.record.clone(), tree.right.clone()),
        Some(left) => {
            let (first, rest) = without_first(left);
            (first, Some(balanced(&tree.record, rest, tree.right.clone())))
        }
    }
}

fn without_last(tree: &Link<Node>) -> (Tree, Arc<Record>) {
    match &tree.right {
        None => (tree.left.clone(), tree.record.clone()),
        Some(right) => {
            let (rest, last) = without_last(right);
            (Some(balanced(&tree.record, tree.left.clone(), rest)), last)
        }
    }
}

/// A node over two balanced trees of which one may be off by one write.
fn balanced(record: &Arc<Record>, left: Tree, right: Tree) -> Link<Node> {
    let (left_weight, right_weight) = (weight(&left), weight(&right));
    match (left, right) {
        (left, Some(heavy)) if right_weight > BALANCE * left_weight => match &heavy.left {
            Some(inner) if weight(&heavy.left) >= ROTATION * weight(&heavy.right) => node(
                inner.record.clone(),
                Some(node(record.clone(), left, inner.left.clone())),
                Some(node(heavy.record.clone(), inner.right.clone(), heavy.right.clone())),
            ),
            _ => node(
                heavy.record.clone(),
                Some(node(record.clone(), left, heavy.left.clone())),
                heavy.right.clone(),
            ),
        },
        (Some(heavy), right) if left_weight > BALANCE * right_weight => match &heavy.right {
            Some(inner) if weight(&heavy.right) >= ROTATION * weight(&heavy.left) => node(
                inner.record.clone(),
                Some(node(heavy.record.clone(), heavy.left.clone(), inner.left.clone())),
                Some(node(record.clone(), inner.right.clone(), right)),
            ),
            _ => node(
                heavy.record.clone(),
                heavy.left.clone(),
                Some(node(record.clone(), heavy.right.clone(), right)),
            ),
        },
        (left, right) => node(record.clone(), left, right),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::{RecordDraft, Revision};

    fn record(key: &str, revision: u64) -> Arc<Record> {
        Arc::new(Record {
            revision: Revision(revision),
            ..Record::new(key, RecordDraft::default())
        })
    }

    /// Checks sizes and balance everywhere; gives the height.
    fn sound(tree: &Tree) -> usize {
        let Some(node) = tree else { return 0 };
        assert_eq!(node.size, size(&node.left) + size(&node.right) + 1);
        let (left, right) = (weight(&node.left), weight(&node.right));
        assert!(
            left <= BALANCE * right && right <= BALANCE * left,
            "{left} and {right} are out of balance"
        );
        sound(&node.left).max(sound(&node.right)) + 1
    }

    fn same(table: &Table, model: &BTreeMap<String, u64>) {
        let records: Vec<_> = table
            .iter_from(0)
            .map(|record| (&*record.key, record.revision.0))
            .collect();
        let expected: Vec<_> = model.iter().map(|(key, revision)| (key.as_str(), *revision)).collect();
        assert_eq!(records, expected);
        assert_eq!(table.len(), model.len());
    }

    proptest! {
        #[test]
        fn a_table_is_an_ordered_map_of_which_every_version_stays(
            changes in prop::collection::vec(("[a-c/]{1,3}", prop::bool::weighted(0.6)), 0..150),
        ) {
            let (mut table, mut model) = (Table::default(), BTreeMap::new());
            let mut versions = Vec::new();
            for (at, (key, put)) in changes.into_iter().enumerate() {
                if put {
                    table = table.with(record(&key, at as u64));
                    model.insert(key, at as u64);
                } else {
                    table = table.without(&key);
                    model.remove(&key);
                }
                sound(&table.root);
                versions.push((table.clone(), model.clone()));
            }
            for (table, model) in versions {
                same(&table, &model);
            }
        }

        #[test]
        fn positions_agree_with_the_order(keys in prop::collection::btree_set("[a-d]{1,3}", 0..60), probe in "[a-d]{1,3}") {
            let table = keys.iter().fold(Table::default(), |table, key| table.with(record(key, 0)));
            prop_assert_eq!(table.rank(|key| key < probe.as_str()), keys.range(..probe.clone()).count());
            prop_assert_eq!(table.rank(|key| key <= probe.as_str()), keys.range(..=probe.clone()).count());
            prop_assert_eq!(table.get(&probe).is_some(), keys.contains(&probe));
            for start in 0..=keys.len() {
                let rest: Vec<_> = table.iter_from(start).map(|record| record.key.to_string()).collect();
                prop_assert_eq!(rest, keys.iter().skip(start).cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn keys_in_order_grow_a_flat_tree_and_so_does_deleting_from_one_end() {
        let mut table = Table::default();
        for number in 0..10_000 {
            table = table.with(record(&format!("{number:05}"), 0));
        }
        assert!(sound(&table.root) <= 2 * table.depth());
        for number in 0..9_000 {
            table = table.without(&format!("{number:05}"));
        }
        assert!(sound(&table.root) <= 2 * table.depth());
        assert_eq!(table.len(), 1_000);
    }
}
