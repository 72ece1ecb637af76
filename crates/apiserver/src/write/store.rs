//! The store stage: compare-and-swap on a revision, with what follows from it.

use kubewright_store::{CommitError, RecordDraft};
use serde_json::Value;

use super::{PendingWrite, Written};
use crate::custom::conversion::with_conversions;
use crate::object::{self, finalizers, meta_number, meta_text, remove_meta};
use crate::registry::{BuiltInId, Resource};
use crate::wire::status::{Result, Status};
use crate::write::allocate::Allocation;

/// What etcd takes in one request (H10).
const MAX_OBJECT_BYTES: usize = 1_572_864;

impl PendingWrite<'_, '_> {
    /// Stores a new object; `None` when the name is taken.
    pub(super) async fn store_new(&mut self, allocation: Allocation<'_>) -> Result<Option<Written>> {
        self.settle_applied();
        let (server, resource) = (self.call.server, self.resource);
        let key = object::key(meta_text(&self.object, "namespace"), meta_text(&self.object, "name"));
        // A dry run never meets the storage that checks and clears the version.
        if self.dry_run {
            if server.store.get(resource.table, &key).is_some() {
                return Ok(None);
            }
            let object = self.as_stored().await?;
            return Ok(Some(Written::Dry { object, created: true }));
        }
        if meta_text(&self.object, "resourceVersion")
            .parse::<u64>()
            .is_ok_and(|version| version != 0)
        {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message));
        }
        remove_meta(&mut self.object, "resourceVersion");
        if let Some(mirror) = server.mirror_of(resource) {
            let record = mirror.create(server, resource, &self.object).await?;
            return Ok(Some(Written::Created(record)));
        }
        let draft = self.draft().await?;
        match server.store.create(resource.table, &key, draft) {
            Ok(record) => {
                allocation.keep(&server.store, &self.object, &server.clock, &server.random);
                server.after_create(resource, &self.object);
                Ok(Some(Written::Created(record)))
            }
            Err(_) => Ok(None),
        }
    }

    /// Stores a changed object, or removes it if that ends its deletion; `None` when it has changed meanwhile.
    pub(super) async fn store_changed(&mut self, allocation: Allocation<'_>) -> Result<Option<Written>> {
        self.settle_applied();
        if self.dry_run {
            let object = self.as_stored().await?;
            return Ok(Some(Written::Dry { object, created: false }));
        }
        let Some(live) = self.live.take() else { return Ok(None) };
        let (server, resource) = (self.call.server, self.resource);
        let (record, old) = (live.record, live.object);
        if let Some(mirror) = server.mirror_of(resource) {
            kubewright_merge::keep_times_of_a_no_op(&old, &mut self.object);
            if self.object == old {
                return Ok(Some(Written::Updated(record)));
            }
            let is_over = !meta_text(&old, "deletionTimestamp").is_empty() && is_finished(resource, &self.object, &old);
            if is_over {
                let gone = mirror.delete(server, resource, &record).await?;
                return Ok(gone.then(|| Written::Deleted(std::mem::take(&mut self.object))));
            }
            let changed = mirror.update(server, resource, &record, &self.object).await?;
            return Ok(changed.map(Written::Updated));
        }
        let ends = !meta_text(&old, "deletionTimestamp").is_empty() && is_finished(resource, &self.object, &old);
        if ends {
            return match server.store.delete(resource.table, &record.key, record.revision) {
                Ok(_) => {
                    allocation.keep(&server.store, &self.object, &server.clock, &server.random);
                    server.after_delete(resource, &self.object);
                    object::leave_out_empties(resource, &mut self.object);
                    Ok(Some(Written::Deleted(std::mem::take(&mut self.object))))
                }
                Err(_) => Ok(None),
            };
        }
        kubewright_merge::keep_times_of_a_no_op(&old, &mut self.object);
        // What upstream stored without its defaults is not what it reads, and is stored anew.
        let is_stored_anew =
            record.revision == record.created && resource.behaviour().is_created_without_defaults(&self.object);
        if self.object == old && resource.serves_as_stored(&record) && !is_stored_anew {
            return Ok(Some(Written::Updated(record)));
        }
        let draft = self.draft().await?;
        // An object whose stored form is the same has not changed.
        if draft.body == record.body && !is_stored_anew {
            return Ok(Some(Written::Updated(record)));
        }
        match server.store.update(resource.table, &record.key, record.revision, draft) {
            Ok(written) => {
                allocation.keep(&server.store, &self.object, &server.clock, &server.random);
                server.after_update(resource, &self.object);
                Ok(Some(Written::Updated(written)))
            }
            Err(CommitError::Gone | CommitError::Changed(_) | CommitError::Exists(_)) => Ok(None),
        }
    }

    fn is_apply(&self) -> bool {
        let content_type = self.call.header(http::header::CONTENT_TYPE);
        content_type.starts_with("application/apply-patch")
    }

    /// An applied custom resource is decoded, and pruned thereby, only when it is read from storage.
    fn settle_applied(&mut self) {
        if self.is_apply()
            && let Some(version) = self.resource.custom()
        {
            version.settle_applied(&mut self.object);
        }
    }

    /// What storage gets. An object that only its owners' records make too large loses those (M13); an applied one, whose
    /// meaning they are, is refused.
    async fn draft(&mut self) -> Result<RecordDraft> {
        let draft = self.unlimited_draft().await?;
        if draft.body.len() <= MAX_OBJECT_BYTES {
            return Ok(draft);
        }
        if !self.is_apply() {
            remove_meta(&mut self.object, "managedFields");
            let draft = self.unlimited_draft().await?;
            if draft.body.len() <= MAX_OBJECT_BYTES {
                return Ok(draft);
            }
        }
        let message = "etcdserver: request is too large";
        Err(Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message))
    }

    async fn unlimited_draft(&self) -> Result<RecordDraft> {
        let (resource, object) = (self.resource, &self.object);
        with_conversions(self.call.server, resource, |cache| {
            object::to_draft(resource, object, cache)
        })
        .await
    }

    /// The object as storage would give it back.
    async fn as_stored(&self) -> Result<Value> {
        let (resource, object) = (self.resource, &self.object);
        with_conversions(self.call.server, resource, |cache| {
            object::as_stored(resource, object.clone(), cache)
        })
        .await
    }
}

/// Whether an update that leaves `new` behind ends the deletion of `old` (M8).
fn is_finished(resource: &Resource, new: &Value, old: &Value) -> bool {
    if !finalizers(new).is_empty() {
        return false;
    }
    if resource.is(BuiltInId::Namespaces) {
        return new
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_none_or(Vec::is_empty);
    }
    meta_number(old, "deletionGracePeriodSeconds") == Some(0)
}
