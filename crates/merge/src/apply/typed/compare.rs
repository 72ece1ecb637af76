//! What one object has that another does not, and what they have differently.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::items::element_of;
use super::problems::Problems;
use super::{Ownership, entries, field_type, form, item_type, items_of};
use crate::managed::{FieldFilter, FieldSet, PathElement, equal_values};
use crate::{ListKind, Topology};

/// What changed from one object to another. No field is in two of the sets.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Comparison {
    pub(in super::super) added: FieldSet,
    pub(in super::super) modified: FieldSet,
    pub(in super::super) removed: FieldSet,
}

impl Comparison {
    /// Leaves out what an endpoint never owns (S12).
    pub(in super::super) fn filtered(self, filter: Option<&FieldFilter>) -> Self {
        match filter {
            None => self,
            Some(filter) => Self {
                added: filter.filter(&self.added),
                modified: filter.filter(&self.modified),
                removed: filter.filter(&self.removed),
            },
        }
    }

    /// What was added or modified.
    pub(in super::super) fn changed(&self) -> FieldSet {
        if self.added.is_empty() {
            self.modified.clone()
        } else {
            self.added.union(&self.modified)
        }
    }
}

/// Compares two objects of the same type.
pub(in super::super) fn compare<'t, T: Topology<'t>>(
    of: T,
    left: &Value,
    right: &Value,
) -> Result<Comparison, Problems> {
    let mut walk = Walk::default();
    let found = walk.compare(Some(of), Some(left), Some(right), 0);
    if walk.problems.is_empty() {
        Ok(found.below)
    } else {
        Err(walk.problems)
    }
}

/// How a node itself differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Modified,
    Removed,
}

/// How a node differs, itself and below.
#[derive(Default)]
struct Difference {
    here: Option<Change>,
    below: Comparison,
}

impl Difference {
    fn attach(&mut self, element: &dyn Fn() -> PathElement, found: Self) {
        self.below
            .added
            .attach(element, found.here == Some(Change::Added), found.below.added);
        self.below
            .modified
            .attach(element, found.here == Some(Change::Modified), found.below.modified);
        self.below
            .removed
            .attach(element, found.here == Some(Change::Removed), found.below.removed);
    }
}

#[derive(Default)]
struct Walk {
    problems: Problems,
}

impl Walk {
    fn compare<'t, T: Topology<'t>>(
        &mut self,
        of: Option<T>,
        left: Option<&Value>,
        right: Option<&Value>,
        depth: usize,
    ) -> Difference {
        let mut found = Difference::default();
        let left_form = left.map(|value| form(of, value, depth));
        let right_form = right.map(|value| form(of, value, depth));
        // A place without type may hold a scalar on one side and an object on the other: then both readings count.
        if let Some(other) = left_form.filter(|other| right_form.is_some_and(|right| right != *other)) {
            self.compare_as(other, of, left, right, depth, &mut found);
        }
        let was_leaf = match right_form.or(left_form) {
            Some(form) => self.compare_as(form, of, left, right, depth, &mut found),
            None => true,
        };
        if !was_leaf {
            match (left, right) {
                (None, Some(_)) => found.here = Some(Change::Added),
                (Some(_), None) => found.here = Some(Change::Removed),
                _ => {}
            }
        }
        found
    }

    /// Compares under one reading; whether the place was owned as a whole.
    fn compare_as<'t, T: Topology<'t>>(
        &mut self,
        form: Ownership,
        of: Option<T>,
        left: Option<&Value>,
        right: Option<&Value>,
        depth: usize,
        found: &mut Difference,
    ) -> bool {
        match (form, of) {
            (Ownership::Fields, _) if entries(left).is_some() || entries(right).is_some() => {
                self.compare_fields(of, entries(left), entries(right), depth, found);
                return false;
            }
            (Ownership::Items(kind), Some(list)) if !items_of(left).is_empty() || !items_of(right).is_empty() => {
                self.compare_items(list, kind, items_of(left), items_of(right), depth, found);
                return false;
            }
            // Empty and null are different values: an empty container is a leaf.
            _ => {}
        }
        found.here = match (left, right) {
            (None, _) => Some(Change::Added),
            (_, None) => Some(Change::Removed),
            (Some(left), Some(right)) if !equal_values(left, right) => Some(Change::Modified),
            _ => found.here,
        };
        true
    }

    fn compare_fields<'t, T: Topology<'t>>(
        &mut self,
        of: Option<T>,
        left: Option<&Map<String, Value>>,
        right: Option<&Map<String, Value>>,
        depth: usize,
        found: &mut Difference,
    ) {
        let mut left = left.into_iter().flatten().peekable();
        let mut right = right.into_iter().flatten().peekable();
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((left, _)), Some((right, _))) => left.cmp(right),
            };
            let left = if order == Ordering::Greater { None } else { left.next() };
            let right = if order == Ordering::Less { None } else { right.next() };
            let Some((name, _)) = left.or(right) else { return };
            let (left, right) = (left.map(|(_, value)| value), right.map(|(_, value)| value));
            let below = self.compare(field_type(of, name), left, right, depth + 1);
            found.attach(&|| PathElement::field(name), below);
        }
    }

    fn compare_items<'t, T: Topology<'t>>(
        &mut self,
        list: T,
        kind: ListKind,
        left: &[Value],
        right: &[Value],
        depth: usize,
        found: &mut Difference,
    ) {
        if left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal_values(left, right)) {
            return;
        }
        let mut all = Vec::with_capacity(left.len() + right.len());
        for (is_right, items) in [(false, left), (true, right)] {
            for (index, item) in items.iter().enumerate() {
                match element_of(list, kind, item) {
                    Ok(element) => all.push((element, is_right, item)),
                    Err(message) => self.problems.add(format!("element {index}: {message}")),
                }
            }
        }
        // The sort is stable: duplicates keep their order, the left ones come first.
        all.sort_by(|left, right| left.0.cmp(&right.0));
        for same in all.chunk_by(|left, right| left.0 == right.0) {
            let element = &same[0].0;
            let (left, right) = same.split_at(same.partition_point(|(_, is_right, _)| !is_right));
            let below = self.compare_same(list, left, right, depth);
            for below in below {
                found.attach(&|| element.clone(), below);
            }
        }
    }

    /// Compares the items that have one identity. Where there are several, they are owned together.
    fn compare_same<'t, 'v, T: Topology<'t>>(
        &mut self,
        list: T,
        left: &[(PathElement, bool, &'v Value)],
        right: &[(PathElement, bool, &'v Value)],
        depth: usize,
    ) -> Vec<Difference> {
        let of = item_type(Some(list));
        let first = |items: &[(PathElement, bool, &'v Value)]| items.first().map(|(_, _, item)| *item);
        let here = |change| Difference {
            here: Some(change),
            below: Comparison::default(),
        };
        match (left.len(), right.len()) {
            (0 | 1, 0 | 1) => {
                vec![self.compare(of, first(left), first(right), depth + 1)]
            }
            (0 | 1, _) => {
                let mut found = Vec::with_capacity(2);
                if let Some(single) = first(left) {
                    found.push(self.compare(of, Some(single), None, depth + 1));
                }
                found.push(here(Change::Added));
                found
            }
            (_, 0 | 1) => {
                let mut found = Vec::with_capacity(2);
                if let Some(single) = first(right) {
                    found.push(self.compare(of, None, Some(single), depth + 1));
                }
                found.push(here(Change::Removed));
                found
            }
            (before, after) => {
                let same = before == after
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| equal_values(left.2, right.2));
                if same { Vec::new() } else { vec![here(Change::Modified)] }
            }
        }
    }
}
