//! Union, difference, intersection and leaves of sets.

use std::cmp::Ordering;

use super::set::{FieldSet, Node};

/// The steps of two sets side by side, in order.
fn zip<'a>(left: &'a FieldSet, right: &'a FieldSet) -> impl Iterator<Item = (Option<&'a Node>, Option<&'a Node>)> {
    let (mut left, mut right) = (left.nodes.iter().peekable(), right.nodes.iter().peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (None, None) => None,
        (Some(_), None) => Some((left.next(), None)),
        (None, Some(_)) => Some((None, right.next())),
        (Some(first), Some(second)) => match first.element.cmp(&second.element) {
            Ordering::Less => Some((left.next(), None)),
            Ordering::Greater => Some((None, right.next())),
            Ordering::Equal => Some((left.next(), right.next())),
        },
    })
}

impl FieldSet {
    /// The members of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        for pair in zip(self, other) {
            match pair {
                (Some(left), Some(right)) => nodes.push(Node {
                    element: left.element.clone(),
                    member: left.member || right.member,
                    children: left.children.union(&right.children),
                }),
                (Some(only), None) | (None, Some(only)) => nodes.push(only.clone()),
                (None, None) => {}
            }
        }
        Self { nodes }
    }

    /// The members of any of the sets, with the work of a merge sort.
    pub fn union_of(mut sets: Vec<Self>) -> Self {
        while sets.len() > 1 {
            sets = sets
                .chunks(2)
                .map(|pair| match pair {
                    [left, right] => left.union(right),
                    single => single.first().cloned().unwrap_or_default(),
                })
                .collect();
        }
        sets.pop().unwrap_or_default()
    }

    /// The members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine_with(other, |left, right| {
            right.map(|right| (left.member && right.member, left.children.intersection(&right.children)))
        })
    }

    /// The members that the other set does not have. What lies below a member of the other set stays.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine_with(other, |left, right| {
            Some(match right {
                Some(right) => (left.member && !right.member, left.children.difference(&right.children)),
                None => (left.member, left.children.clone()),
            })
        })
    }

    /// The members that are neither in the other set nor below one of its members.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.combine_with(other, |left, right| match right {
            Some(right) if right.member => None,
            Some(right) => Some((left.member, left.children.recursive_difference(&right.children))),
            None => Some((left.member, left.children.clone())),
        })
    }

    /// Whether the sets have a member in common.
    pub fn intersects(&self, other: &Self) -> bool {
        zip(self, other).any(|pair| match pair {
            (Some(left), Some(right)) => left.member && right.member || left.children.intersects(&right.children),
            _ => false,
        })
    }

    /// Whether every member of the other set is a member here.
    pub fn contains_all(&self, other: &Self) -> bool {
        zip(self, other).all(|pair| match pair {
            (Some(left), Some(right)) => (left.member || !right.member) && left.children.contains_all(&right.children),
            (None, Some(_)) => false,
            _ => true,
        })
    }

    /// The members that have no member below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let nodes = self.nodes.iter().map(|node| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        });
        Self { nodes: nodes.collect() }
    }

    /// Keeps, step by step, what `keep` makes of a node and of the other set's node at the same place.
    fn combine_with(&self, other: &Self, keep: impl Fn(&Node, Option<&Node>) -> Option<(bool, Self)>) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (left, right) in zip(self, other) {
            let Some(left) = left else { continue };
            match keep(left, right) {
                Some((member, children)) if member || !children.is_empty() => {
                    nodes.push(Node {
                        element: left.element.clone(),
                        member,
                        children,
                    });
                }
                _ => {}
            }
        }
        Self { nodes }
    }
}
