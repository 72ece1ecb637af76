//! How ownership moves when an object changes (S3, S5), at whatever version the owners wrote.

use std::borrow::Cow;

use serde_json::Value;

use super::conflict::Conflicts;
use super::typed::{Comparison, Origin, compare, reconcile, validate};
use super::versions::{ConversionError, Versions};
use crate::managed::{FieldSet, ManagedFields, ManagedFieldsEntry, ManagerId};

/// Why ownership could not be computed.
#[derive(Debug)]
pub(super) enum Failure {
    Conflict(Conflicts),
    BadRequest(String),
    Failed(String),
}

/// What to do about changed fields that other managers own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnConflict {
    /// The other managers lose them: an update, or an apply with `force`.
    TakeOwnership,
    /// Report them as conflicts.
    Refuse,
}

/// An object at some version. What a conversion answers has to fit its type, and unlike a live object may not hold an
/// item twice.
pub(super) fn at_version<'t, 'v, V: Versions<'t>>(
    versions: &V,
    object: &'v Value,
    api_version: &str,
) -> Result<Cow<'v, Value>, ConversionError> {
    if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
        return Ok(Cow::Borrowed(object));
    }
    let converted = versions.convert(object, api_version)?;
    let of = versions.topology(api_version).ok_or(ConversionError::MissingVersion)?;
    let problems = validate(of, &converted, Origin::Converted);
    if problems.is_empty() {
        Ok(Cow::Owned(converted))
    } else {
        Err(ConversionError::Failed(problems.to_string()))
    }
}

/// Brings the sets in line with what is atomic now, and forgets owners at versions that are gone (S11).
pub(super) fn reconcile_all<'t, V: Versions<'t>>(
    versions: &V,
    live: &Value,
    entries: &mut ManagedFields,
) -> Result<(), Failure> {
    let mut failure = None;
    let mut convertible: Vec<Box<str>> = Vec::new();
    entries.retain(|entry| {
        let Some(of) = versions.topology(&entry.api_version) else {
            // The conversion of a custom resource to a version that its definition does not have fails.
            if let Err(ConversionError::Failed(message)) = versions.convert(live, &entry.api_version) {
                failure = Some(message);
            }
            return false;
        };
        if !convertible.contains(&entry.api_version) {
            match at_version(versions, live, &entry.api_version) {
                Ok(_) => convertible.push(entry.api_version.clone()),
                Err(ConversionError::MissingVersion) => return false,
                Err(ConversionError::Failed(message)) => failure = Some(message),
            }
        }
        if let Some(set) = reconcile(of, entry.set()) {
            entry.replace_set(set);
        }
        true
    });
    failure.map_or(Ok(()), |message| Err(Failure::Failed(message)))
}

/// What a change means at each version that an owner wrote at.
struct Comparisons {
    by_version: Vec<(Box<str>, Option<Change>)>,
}

/// What a change means at one version.
#[derive(Default)]
pub(super) struct Change {
    /// What was added or modified.
    pub(super) changed: FieldSet,
    pub(super) removed: FieldSet,
}

impl Comparisons {
    /// `None` if the version is gone.
    fn at<'t, V: Versions<'t>>(
        &mut self,
        versions: &V,
        api_version: &str,
        live: &Value,
        new: &Value,
    ) -> Result<Option<&Change>, Failure> {
        let known = self.by_version.iter().position(|(known, _)| **known == *api_version);
        let index = if let Some(index) = known {
            index
        } else {
            let change = convert_and_compare(versions, api_version, live, new)?;
            self.by_version.push((api_version.into(), change));
            self.by_version.len() - 1
        };
        Ok(self.by_version[index].1.as_ref())
    }
}

fn convert_and_compare<'t, V: Versions<'t>>(
    versions: &V,
    api_version: &str,
    live: &Value,
    new: &Value,
) -> Result<Option<Change>, Failure> {
    let Some(of) = versions.topology(api_version) else {
        return Ok(None);
    };
    let mut sides = Vec::with_capacity(2);
    for (side, object) in [("old", live), ("new", new)] {
        match at_version(versions, object, api_version) {
            Ok(object) => sides.push(object),
            Err(ConversionError::MissingVersion) => return Ok(None),
            Err(error) => return Err(Failure::Failed(format!("failed to convert {side} object: {error}"))),
        }
    }
    let comparison = compare(of, &sides[0], &sides[1]).map_err(Failure::not_comparable)?;
    Ok(Some(Change::new(comparison.filtered(versions.filter(api_version)))))
}

impl Change {
    fn new(comparison: Comparison) -> Self {
        Self {
            changed: comparison.changed(),
            removed: comparison.removed,
        }
    }

    /// What an owner loses.
    pub(super) fn take_from(&self, entry: &mut ManagedFieldsEntry) {
        for lost in [&self.changed, &self.removed] {
            if entry.set().intersects(lost) {
                entry.replace_set(entry.set().difference(lost));
            }
        }
    }
}

impl Failure {
    /// The same with the step that failed in front.
    pub(super) fn because(self, step: &str) -> Self {
        match self {
            Self::Failed(message) => Self::Failed(format!("{step}: {message}")),
            other => other,
        }
    }

    fn not_comparable(problems: impl std::fmt::Display) -> Self {
        Self::Failed(format!("failed to compare objects: {problems}"))
    }
}

/// Takes what changed from `live` to `new` from its owners, the writer `own` aside. Returns what changed, at
/// `api_version`.
pub(super) fn take_changes<'t, V: Versions<'t>>(
    versions: &V,
    api_version: &str,
    live: &Value,
    new: &Value,
    entries: &mut ManagedFields,
    own: &ManagerId,
    on_conflict: OnConflict,
) -> Result<Change, Failure> {
    let of = versions
        .topology(api_version)
        .ok_or_else(|| Failure::Failed(format!("no type at {api_version}")))?;
    let comparison = compare(of, live, new).map_err(Failure::not_comparable)?;
    let change = Change::new(comparison.filtered(versions.filter(api_version)));
    let mut comparisons = Comparisons {
        by_version: vec![(api_version.into(), Some(change))],
    };
    let mut conflicts = Vec::new();
    let mut gone: Vec<Box<str>> = Vec::new();
    for entry in entries.iter().filter(|entry| *own != entry.id) {
        let Some(change) = comparisons.at(versions, &entry.api_version, live, new)? else {
            gone.push(entry.api_version.clone());
            continue;
        };
        if on_conflict == OnConflict::Refuse && entry.set().intersects(&change.changed) {
            conflicts.push((entry.id.clone(), entry.set().intersection(&change.changed)));
        }
    }
    if !conflicts.is_empty() {
        return Err(Failure::Conflict(Conflicts::new(conflicts)));
    }
    entries.retain(|entry| *own == entry.id || !gone.contains(&entry.api_version));
    for entry in entries.iter_mut().filter(|entry| *own != entry.id) {
        let Some(change) = comparisons.at(versions, &entry.api_version, live, new)? else {
            continue;
        };
        change.take_from(entry);
    }
    entries.retain(|entry| !entry.set().is_empty());
    let own_version = comparisons.by_version.into_iter().next();
    Ok(own_version.and_then(|(_, change)| change).unwrap_or_default())
}
