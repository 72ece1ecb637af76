//! Ownership after a create, PUT or patch (S5, S8, S10).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::metadata::{NEVER_OWNED, describe_object, managed_fields, metadata_mut, metadata_text, set_managed_fields};
use super::ownership::{Failure, OnConflict, reconcile_all, take_changes};
use super::typed::{Origin, validate};
use super::versions::{FieldManager, Versions, live_or_zero};
use crate::managed::{FieldSet, ManagedFields, ManagedFieldsEntry, ManagerId, Operation};

/// How many managers may own fields by updates.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager that takes over the fields of the oldest managers if there are more than that.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// See [`super::update`].
pub(super) fn update<'t, V: Versions<'t>>(
    versions: &V,
    manager: &FieldManager<'_>,
    live: Option<&Value>,
    mut new: Value,
) -> Value {
    let live = &*live_or_zero(versions, live, manager.api_version);
    let submitted = match metadata_mut(&mut new) {
        Some(metadata) => metadata.remove("managedFields").unwrap_or(Value::Null),
        None => Value::Null,
    };
    let entries = entries_to_start_from(manager, live, submitted);
    // An object that has no owners gets none before its first apply.
    if entries.is_empty() && !metadata_text(live, "uid").is_empty() {
        return new;
    }
    // Upstream logs the failure and stores the object without owners.
    let entries = updated_entries(versions, manager, manager.name, live, &new, entries).unwrap_or_default();
    let managed_fields = cap(entries).encode();
    if managed_fields.is_some() {
        set_managed_fields(&mut new, managed_fields);
    }
    new
}

/// The owners that the request submits, if it may and does; else those of the live object.
fn entries_to_start_from(manager: &FieldManager<'_>, live: &Value, submitted: Value) -> ManagedFields {
    if manager.subresource.is_empty() {
        if ManagedFields::is_reset(&submitted) {
            return ManagedFields::default();
        }
        if let Some(entries) = ManagedFields::decode(submitted)
            .ok()
            .filter(|entries| !entries.is_empty())
        {
            return entries;
        }
    }
    ManagedFields::decode(managed_fields(live).clone()).unwrap_or_default()
}

/// The owners once `name` has changed `live` to `new`. Its time is only refreshed when it changed something it can own.
pub(super) fn updated_entries<'t, V: Versions<'t>>(
    versions: &V,
    manager: &FieldManager<'_>,
    name: &str,
    live: &Value,
    new: &Value,
    mut entries: ManagedFields,
) -> Result<ManagedFields, Failure> {
    if versions.may_be_malformed() {
        let of = versions
            .topology(manager.api_version)
            .ok_or_else(|| Failure::Failed(format!("no type at {}", manager.api_version)))?;
        for (object, which) in [(new, "new"), (live, "live")] {
            let problems = validate(of, object, Origin::Live);
            if !problems.is_empty() {
                let object = describe_object(object);
                return Err(Failure::Failed(format!(
                    "failed to convert {which} object ({object}) to smd typed: {problems}"
                )));
            }
        }
    }
    reconcile_all(versions, live, &mut entries)?;
    let id = ManagerId::new(
        manager_name(name),
        Operation::Update,
        manager.api_version,
        manager.subresource,
    );
    let change = take_changes(
        versions,
        manager.api_version,
        live,
        new,
        &mut entries,
        &id,
        OnConflict::TakeOwnership,
    )?;
    let owned = change.changed.difference(&NEVER_OWNED);
    let Some(entry) = entries.get_mut(&id) else {
        if !owned.is_empty() {
            entries.put(ManagedFieldsEntry::new(
                id,
                manager.api_version,
                Some(manager.time),
                owned,
            ));
        }
        return Ok(entries);
    };
    // Most writes change values that their author owns already: then its set is neither computed nor written anew.
    let keeps_its_set = entry.set().contains_all(&owned)
        && owned.len() == change.changed.len()
        && !entry.set().intersects(&change.removed);
    if !keeps_its_set {
        change.take_from(entry);
        entry.replace_set(entry.set().union(&owned));
    }
    if !owned.is_empty() {
        entry.time = Some(manager.time.into());
    }
    entries.retain(|entry| !entry.set().is_empty());
    Ok(entries)
}

pub(super) fn manager_name(name: &str) -> &str {
    if name.is_empty() { "unknown" } else { name }
}

/// The updaters of one version that are merged.
struct Bucket {
    oldest: ManagerId,
    sets: Vec<FieldSet>,
    time: Option<Box<str>>,
}

/// Merges the oldest updaters, version by version, until there are few enough (S8).
fn cap(mut entries: ManagedFields) -> ManagedFields {
    let mut count = entries.of(Operation::Update).count();
    if count <= MAX_UPDATE_MANAGERS {
        return entries;
    }
    let mut gone = BTreeSet::new();
    let mut buckets: BTreeMap<Box<str>, Bucket> = BTreeMap::new();
    for entry in entries.oldest_first(Operation::Update) {
        if count <= MAX_UPDATE_MANAGERS {
            break;
        }
        // The oldest of a version alone is no reason for a bucket.
        let Some(bucket) = buckets.get_mut(&entry.api_version) else {
            let (oldest, sets) = (entry.id.clone(), Vec::new());
            buckets.insert(
                entry.api_version.clone(),
                Bucket {
                    oldest,
                    sets,
                    time: None,
                },
            );
            continue;
        };
        let bucket_id = ancient_changes(&entry.api_version);
        if bucket.sets.is_empty() {
            let collected = entries.get(&bucket_id).or_else(|| {
                gone.insert(bucket.oldest.clone());
                entries.get(&bucket.oldest)
            });
            bucket.sets.extend(collected.map(|collected| collected.set().clone()));
        }
        bucket.sets.push(entry.set().clone());
        // The latest time: entries come oldest first.
        bucket.time.clone_from(&entry.time);
        gone.insert(entry.id.clone());
        if entry.id == bucket_id {
            // The bucket itself was younger than another updater: upstream forgets what it held.
            bucket.sets.clear();
        }
        count -= 1;
    }
    entries.retain(|entry| !gone.contains(&entry.id));
    for (version, bucket) in buckets.into_iter().filter(|(_, bucket)| !bucket.sets.is_empty()) {
        let set = FieldSet::union_of(bucket.sets);
        entries.put(ManagedFieldsEntry::new(
            ancient_changes(&version),
            &version,
            bucket.time.as_deref(),
            set,
        ));
    }
    entries
}

fn ancient_changes(api_version: &str) -> ManagerId {
    ManagerId::new(ANCIENT_CHANGES, Operation::Update, api_version, "")
}
