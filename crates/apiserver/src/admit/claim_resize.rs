//! `PersistentVolumeClaimResize`: only bound claims grow, and only if their class allows it (A19).

use kubewright_quota::ResourceList;
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct PersistentVolumeClaimResize;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

impl Plugin for PersistentVolumeClaimResize {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::PersistentVolumeClaimResize)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        claim: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Some(old) = old.filter(|_| attributes.operation == Operation::Update) else {
            return Ok(());
        };
        if !attributes.is(BuiltInId::PersistentVolumeClaims) || !grows(claim, old) {
            return Ok(());
        }
        if old.pointer("/status/phase").and_then(Value::as_str) != Some("Bound") {
            return Err(attributes.forbidden("Only bound persistent volume claims can be expanded"));
        }
        let class = class(claim);
        let may_grow = !class.is_empty()
            && class == self::class(old)
            && attributes
                .stored(BuiltInId::StorageClasses, class)
                .is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true)));
        if may_grow {
            return Ok(());
        }
        let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                   support resize";
        Err(attributes.forbidden(why))
    }
}

fn grows(claim: &Value, old: &Value) -> bool {
    let size = |claim: &Value| {
        ResourceList::read(claim.pointer("/spec/resources/requests"))
            .get("storage")
            .cloned()
    };
    match (size(claim), size(old)) {
        (Some(size), Some(old)) => size > old,
        (Some(size), None) => !size.is_zero(),
        _ => false,
    }
}

fn class(claim: &Value) -> &str {
    let annotations = claim.pointer("/metadata/annotations");
    let class = annotations.and_then(|all| all.get(CLASS));
    let class = class.or_else(|| claim.pointer("/spec/storageClassName"));
    class.and_then(Value::as_str).unwrap_or_default()
}
