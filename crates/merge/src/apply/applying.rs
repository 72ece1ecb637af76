//! Ownership and the merged object after an apply (S3, S4, S8, S9).

use serde_json::Value;

use super::conflict::Conflicts;
use super::error::ApplyError;
use super::last_applied;
use super::metadata::{NEVER_OWNED, describe_kind, describe_object, managed_fields, set_managed_fields};
use super::ownership::{Failure, OnConflict, reconcile_all, take_changes};
use super::prune::prune;
use super::typed::{Origin, field_set, merge, validate};
use super::updating::{manager_name, updated_entries};
use super::versions::{FieldManager, Versions, live_or_zero};
use crate::managed::{ManagedFields, ManagedFieldsEntry, ManagerId, Operation, equal_values};

/// The manager of the fields of an object that had no managers at the first apply (S8).
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// See [`super::apply`].
pub(super) fn apply<'t, V: Versions<'t>>(
    versions: &V,
    manager: &FieldManager<'_>,
    live: Option<&Value>,
    applied: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != manager.api_version || text("kind") != manager.kind {
        return Err(ApplyError::BadRequest(format!(
            "invalid object type: {}",
            describe_kind(applied)
        )));
    }
    let live = &*live_or_zero(versions, live, manager.api_version);
    let owners = || {
        ManagedFields::decode(managed_fields(live).clone())
            .map_err(|error| ApplyError::Failed(format!("failed to decode managed fields: {error}")))
    };
    let attempt = Attempt {
        versions,
        manager,
        live,
        applied,
    };
    let (mut object, entries) = match attempt.apply(owners()?, force) {
        // kubectl takes over what its client-side apply owned (S9).
        Err(Failure::Conflict(conflicts)) if manager.name == last_applied::KUBECTL => {
            attempt.apply_over_client_side(owners()?, conflicts)
        }
        answer => answer,
    }
    .map_err(|failure| match failure {
        Failure::Conflict(conflicts) => ApplyError::Conflict(conflicts),
        Failure::BadRequest(message) => ApplyError::BadRequest(message),
        Failure::Failed(message) => ApplyError::Failed(message),
    })?;
    if manager.name == last_applied::KUBECTL {
        last_applied::refresh(&mut object, applied);
    }
    set_managed_fields(&mut object, entries.encode());
    Ok(object)
}

struct Attempt<'a, V> {
    versions: &'a V,
    manager: &'a FieldManager<'a>,
    live: &'a Value,
    applied: &'a Value,
}

impl<'t, V: Versions<'t>> Attempt<'_, V> {
    /// The object and its owners; the live object if nothing changes.
    fn apply(&self, mut entries: ManagedFields, force: bool) -> Result<(Value, ManagedFields), Failure> {
        let Self {
            versions,
            manager,
            live,
            applied,
        } = *self;
        if entries.is_empty() {
            let problems = versions
                .topology(manager.api_version)
                .map(|of| validate(of, live, Origin::Live))
                .filter(|problems| !problems.is_empty());
            if let Some(problems) = problems {
                return Err(Failure::Failed(format!(
                    "failed to create manager for existing fields: failed to convert new object ({}) to smd typed: {problems}",
                    describe_object(live)
                )));
            }
            let zero = versions.zero(manager.api_version);
            entries = updated_entries(versions, manager, BEFORE_FIRST_APPLY, &zero, live, entries)
                .map_err(|failure| failure.because("failed to create manager for existing fields"))?;
        }
        let of = self.fitting_type()?;
        reconcile_all(versions, live, &mut entries)?;
        let merged = merge(of, live, applied)
            .map_err(|problems| Failure::Failed(format!("failed to merge config: {problems}")))?;
        let set = field_set(of, applied);
        let set = match versions.filter(manager.api_version) {
            Some(filter) => filter.filter(&set),
            None => set,
        };
        let id = ManagerId::new(
            manager_name(manager.name),
            Operation::Apply,
            manager.api_version,
            manager.subresource,
        );
        let last = entries.get(&id).cloned();
        let time = last.as_ref().and_then(|last| last.time.as_deref());
        let mut own = ManagedFieldsEntry::new(id.clone(), manager.api_version, time, set);
        entries.put(own.clone());
        let new = prune(versions, merged, &entries, &id, last.as_ref())
            .map_err(|error| Failure::Failed(format!("failed to prune fields: {error}")))?;
        let on_conflict = if force {
            OnConflict::TakeOwnership
        } else {
            OnConflict::Refuse
        };
        take_changes(
            versions,
            manager.api_version,
            live,
            &new,
            &mut entries,
            &id,
            on_conflict,
        )?;
        let is_changed = !equal_values(live, &new);
        entries.take(&id);
        own.replace_set(own.set().difference(&NEVER_OWNED));
        if is_changed {
            own.time = Some(manager.time.into());
        }
        if !own.set().is_empty() {
            // A set that is as it was keeps the form in which it was written.
            let own = match last {
                Some(mut last) if last.api_version == own.api_version => {
                    last.replace_set(own.set().clone());
                    last.time = own.time;
                    last
                }
                _ => own,
            };
            entries.put(own);
        }
        Ok((if is_changed { new } else { live.clone() }, entries))
    }

    /// The type at the endpoint, if the configuration and the live object fit it.
    fn fitting_type(&self) -> Result<V::Topology, Failure> {
        let Self {
            versions,
            manager,
            live,
            applied,
        } = *self;
        if managed_fields(applied).is_array() {
            return Err(Failure::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        let of = versions
            .topology(manager.api_version)
            .ok_or_else(|| Failure::Failed(format!("no corresponding type for {}", describe_kind(applied))))?;
        let problems = validate(of, applied, Origin::Applied);
        if !problems.is_empty() {
            let object = describe_object(applied);
            return Err(Failure::Failed(format!(
                "failed to create typed patch object ({object}): {problems}"
            )));
        }
        let problems = validate(of, live, Origin::Live);
        if !problems.is_empty() {
            let object = describe_object(live);
            return Err(Failure::Failed(format!(
                "failed to create typed live object ({object}): {problems}"
            )));
        }
        Ok(of)
    }

    /// Applies by force if every conflict is about a field that client-side apply set and that was not changed since.
    fn apply_over_client_side(
        &self,
        entries: ManagedFields,
        conflicts: Conflicts,
    ) -> Result<(Value, ManagedFields), Failure> {
        let of = self.versions.topology(self.manager.api_version);
        let Some(allowed) = of.and_then(|of| last_applied::unchanged_fields(of, self.live, self.manager.api_version))
        else {
            return Err(Failure::Conflict(conflicts));
        };
        let conflicts = conflicts.outside(&allowed);
        if conflicts.is_empty() {
            self.apply(entries, true)
        } else {
            Err(Failure::Conflict(conflicts))
        }
    }
}
