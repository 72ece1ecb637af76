//! `ResourceQuota`: what a write uses is noted in the status of the quotas of its namespace before it is stored, and refused
//! where that would be too much (A18). It comes after everything else that may refuse.

use kubewright_quota::{Charge, Evaluator, QuotaWrite, charges};
use kubewright_store::Record;
use serde_json::Value;
use std::sync::Arc;

use super::{AdmissionPlugin, Attributes, Operation};
use crate::object::{self, meta_text};
use crate::registry::{BuiltInId, Subresource, name_of};
use crate::wire::status::Result;
use crate::write::managed_fields::FieldWriter;

/// Who writes the status of quotas, as managedFields call it.
const MANAGER: &str = "kube-apiserver";

/// Charges a write to the quotas of its namespace, or refuses it.
///
/// Each quota is written by compare-and-swap, and what was read before somebody else's write is computed again: however many
/// writers there are, what they are charged with together is never above a limit. As upstream's, a charge stays when the
/// write fails afterwards, until the quota's controller counts again.
pub(crate) fn charge(attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<()> {
    let is_on = attributes.server.admission.has(AdmissionPlugin::ResourceQuota);
    if !is_on || !attributes.resource.namespaced || attributes.namespace.is_empty() {
        return Ok(());
    }
    let write = match (attributes.operation, old) {
        (Operation::Create, _) if attributes.subresource.is_none() => QuotaWrite::create(object),
        (Operation::Update, Some(old)) => QuotaWrite::update(object, old, name_of(attributes.subresource)),
        _ => return Ok(()),
    };
    let mut pending = quotas(attributes);
    if pending.is_empty() {
        return Ok(());
    }
    let evaluator = Evaluator::of(&attributes.resource.group, &attributes.resource.plural);
    loop {
        let values: Vec<Value> = pending.iter().map(|(_, quota)| quota.clone()).collect();
        let now = attributes.server.clock.now();
        let charges = charges(&values, &evaluator, &write, now).map_err(|why| attributes.forbidden(&why))?;
        if attributes.dry_run {
            return Ok(());
        }
        let lost: Vec<String> = charges
            .into_iter()
            .filter(|charge| !note(attributes, &pending[charge.quota], charge))
            .map(|charge| meta_text(&pending[charge.quota].1, "name").to_owned())
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        pending = quotas(attributes);
        pending.retain(|(_, quota)| lost.iter().any(|name| name == meta_text(quota, "name")));
    }
}

fn quotas(attributes: &Attributes<'_>) -> Vec<(Arc<Record>, Value)> {
    let resource = BuiltInId::ResourceQuotas.resource();
    let snapshot = attributes.server.store.snapshot(resource.table);
    let records = snapshot.records(Some(attributes.namespace), None);
    records
        .map(|record| (Arc::clone(record), object::to_value(resource, record, record.revision)))
        .collect()
}

/// Writes what a quota has used; false if the quota has changed meanwhile.
fn note(attributes: &Attributes<'_>, (record, quota): &(Arc<Record>, Value), charge: &Charge) -> bool {
    let resource = BuiltInId::ResourceQuotas.resource();
    let server = attributes.server;
    let mut charged = quota.clone();
    charged["status"]["used"] = charge.used.to_value();
    let writer = FieldWriter {
        resource,
        subresource: Some(Subresource::Status),
        manager: MANAGER,
        time: &server.clock.stamp(),
    };
    let mut charged = writer.update_built_in(Some(quota), charged);
    object::remove_meta(&mut charged, "resourceVersion");
    let draft = object::to_built_in_draft(resource, &charged);
    server
        .store
        .update(resource.table, &record.key, record.revision, draft)
        .is_ok()
}
