//! Removes fields that an applier owned and no longer applies, unless other managers own them (S4).

use serde_json::Value;

use super::ownership::at_version;
use super::typed::{field_set, remove_items, with_named_fields};
use super::versions::{ConversionError, Versions};
use crate::Topology;
use crate::managed::{FieldSet, ManagedFields, ManagedFieldsEntry, ManagerId};

/// `merged` without what only the applier `own` owned (`last`) and does not apply any more. `entries` hold its new set.
pub(super) fn prune<'t, V: Versions<'t>>(
    versions: &V,
    merged: Value,
    entries: &ManagedFields,
    own: &ManagerId,
    last: Option<&ManagedFieldsEntry>,
) -> Result<Value, String> {
    let Some(last) = last.filter(|last| !last.set().is_empty()) else {
        return Ok(merged);
    };
    let Some(now) = entries.get(own) else {
        return Ok(merged);
    };
    // An applier that still applies all it owned removes nothing, whatever others own, as long as no conversion is
    // involved: every parent of an applied field is itself in the set or a declared field.
    let is_one_version = entries.iter().all(|entry| entry.api_version == last.api_version);
    if is_one_version && now.set().contains_all(last.set()) {
        return Ok(merged);
    }
    let version = &*last.api_version;
    let (Some(of), converted) = (versions.topology(version), at_version(versions, &merged, version)) else {
        return Ok(merged);
    };
    let converted = match converted {
        Ok(converted) => converted.into_owned(),
        Err(ConversionError::MissingVersion) => return Ok(merged),
        Err(error) => {
            return Err(format!(
                "failed to convert merged object to last applied version: {error}"
            ));
        }
    };
    let last_set = with_named_fields(Some(of), last.set());
    let pruned = remove_items(of, &converted, &last_set);
    let pruned = add_back_owned(versions, &converted, pruned, version, entries)?;
    let pruned = match at_version(versions, &pruned, version) {
        // Only fields that the applier itself owned are removed; fields below them without an owner stay.
        Ok(pruned) => remove_items(of, &converted, &lost(of, &converted, &pruned).intersection(&last_set)),
        Err(ConversionError::MissingVersion) => converted,
        Err(error) => {
            return Err(format!(
                "failed to convert pruned object to last applied version: {error}"
            ));
        }
    };
    match at_version(versions, &pruned, &now.api_version) {
        Ok(object) => Ok(object.into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The fields, named parents included, that `merged` has and `pruned` has not.
fn lost<'t, T: Topology<'t>>(of: T, merged: &Value, pruned: &Value) -> FieldSet {
    let had = with_named_fields(Some(of), &field_set(of, merged));
    had.difference(&with_named_fields(Some(of), &field_set(of, pruned)))
}

/// Adds back what was pruned but is owned by someone, the applier's new set included. The last applied version comes
/// first, because other versions may need its fields to be converted to.
fn add_back_owned<'t, V: Versions<'t>>(
    versions: &V,
    merged: &Value,
    mut pruned: Value,
    pruned_version: &str,
    entries: &ManagedFields,
) -> Result<Value, String> {
    let mut owned: Vec<(&str, FieldSet)> = Vec::new();
    for entry in entries.iter() {
        match owned.iter_mut().find(|(version, _)| *version == &*entry.api_version) {
            Some((_, set)) => *set = set.union(entry.set()),
            None => owned.push((&entry.api_version, entry.set().clone())),
        }
    }
    owned.sort_by_key(|(version, _)| (*version != pruned_version, *version));
    for (version, owned) in owned {
        let Some(of) = versions.topology(version) else { continue };
        let merged = match at_version(versions, merged, version) {
            Ok(merged) => merged,
            Err(ConversionError::MissingVersion) => continue,
            Err(error) => return Err(format!("failed to convert merged object at version {version}: {error}")),
        };
        let converted = match at_version(versions, &pruned, version) {
            Ok(converted) => converted,
            Err(ConversionError::MissingVersion) => continue,
            Err(error) => return Err(format!("failed to convert pruned object at version {version}: {error}")),
        };
        let unowned = lost(of, &merged, &converted).difference(&with_named_fields(Some(of), &owned));
        pruned = remove_items(of, &merged, &unowned);
    }
    Ok(pruned)
}
