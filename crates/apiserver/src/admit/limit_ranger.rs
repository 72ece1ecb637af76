//! `LimitRanger`: containers get the requests and limits that a `LimitRange` of their namespace has for them, and Pods and
//! claims outside of one are refused (A16).

use kubewright_quota::limit_range;
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::Result;

pub(super) struct LimitRanger;

impl Plugin for LimitRanger {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::LimitRanger)
    }

    fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value, old: Option<&Value>) -> Result<()> {
        if concerns(attributes, old) && attributes.resource.is(BuiltInId::Pods) {
            for range in ranges(attributes) {
                limit_range::fill_in(&range, object);
            }
        }
        Ok(())
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !concerns(attributes, old) {
            return Ok(());
        }
        for range in ranges(attributes) {
            let refusals = if attributes.resource.is(BuiltInId::Pods) {
                limit_range::refusals_of_pod(&range, object)
            } else {
                limit_range::refusals_of_claim(&range, object)
            };
            if let Some(why) = limit_range::printed(&refusals) {
                return Err(attributes.forbidden(&why));
            }
        }
        Ok(())
    }
}

/// New and resized Pods, and every write of a claim; nothing that is being deleted.
fn concerns(attributes: &Attributes<'_>, old: Option<&Value>) -> bool {
    let is_concerned = matches!(
        (attributes.resource.id(), attributes.operation, attributes.subresource),
        (Some(BuiltInId::Pods), Operation::Create, None)
            | (Some(BuiltInId::Pods), Operation::Update, Some(Subresource::Resize))
            | (
                Some(BuiltInId::PersistentVolumeClaims),
                Operation::Create | Operation::Update,
                None
            )
    );
    is_concerned && old.is_none_or(|old| object::meta_text(old, "deletionTimestamp").is_empty())
}

/// The ranges of the namespace.
fn ranges(attributes: &Attributes<'_>) -> Vec<Value> {
    attributes.all_stored(BuiltInId::LimitRanges, Some(attributes.namespace))
}
