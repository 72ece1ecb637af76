//! The stages of an update, in their order.

use kubewright_kinds::meta;
use serde_json::Value;

use super::defaults::dedup_owners;
use super::validate::check_revision;
use super::{LiveObject, PendingWrite, Proposal, Written, create};
use crate::custom::conversion::{ConversionCache, Unfinished, with_conversions};
use crate::object;
use crate::request::call::{Call, record_value};
use crate::wire::status::{Result, Status};

/// How an update is meant.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) dry_run: bool,
    pub(crate) if_missing: IfMissing,
}

/// What an update does if the object does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Refuse,
}

impl IfMissing {
    pub(crate) fn create_if(may_create: bool) -> Self {
        if may_create {
            IfMissing::Create
        } else {
            IfMissing::Refuse
        }
    }
}

/// Replaces the object in the path with what `make` makes of it, as often as it takes to win against other writers.
///
/// `make` gets the live object (in the stored version) or, where a missing object may be created, nothing.
pub(crate) async fn update<P: Into<Proposal>>(
    call: &mut Call<'_>,
    mode: Mode,
    mut make: impl FnMut(&mut Call<'_>, Option<&Value>, &ConversionCache) -> std::result::Result<P, Unfinished> + Send,
) -> Result<Written> {
    let Mode { dry_run, if_missing } = mode;
    let resource = call.resource().stored();
    let key = call.key();
    loop {
        let server = call.server;
        let Some(record) = server.store.get(resource.table, &key) else {
            if if_missing == IfMissing::Refuse {
                return Err(Status::not_found(call.resource().about(), call.target.name));
            }
            let proposal = with_conversions(server, resource, |cache| make(call, None, cache)).await?;
            let mut object = proposal.into().object;
            check_revision(object::meta_text(&object, "resourceVersion"))?;
            if let Some(metadata) = object::metadata_mut(&mut object) {
                // Unlike a POST, upstream keeps the time of deletion that such a creation brings along.
                meta::wipe_identity(metadata);
                if !dry_run {
                    metadata.remove("resourceVersion");
                }
            }
            return create(call, object, dry_run).await;
        };
        let old = with_conversions(server, resource, |cache| {
            record_value(resource, &record, record.revision, cache)
        });
        let old = old.await?;
        let proposal = with_conversions(server, resource, |cache| make(call, Some(&old), cache)).await?;
        let live = LiveObject { record, object: old };
        let warned = call.warnings.len();
        let write = PendingWrite::update(call, proposal.into(), live, dry_run);
        match attempt(write).await? {
            Some(written) => return Ok(written),
            // A concurrent write was first: try again with the new live object, without repeating warnings.
            None => call.warnings.truncate(warned),
        }
    }
}

/// One attempt; `None` when the stored object has changed meanwhile.
async fn attempt(mut write: PendingWrite<'_, '_>) -> Result<Option<Written>> {
    write.admit_mutating().await?;
    write.check_escalation().await?;
    dedup_owners(&mut write.object, &mut write.call.warnings);
    write.check_version()?;
    let allocation = write.allocate()?;
    write.prepare_update();
    write.validate_update()?;
    write.check_params().await?;
    write.check_signer().await?;
    write.admit_validating().await?;
    write.store_changed(allocation).await
}
