//! `StorageObjectInUseProtection`: new volumes and claims carry the finalizer that keeps them while they are used.

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object::{self, finalizers};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::StorageObjectInUseProtection)
    }

    fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value, _old: Option<&Value>) -> Result<()> {
        if attributes.operation != Operation::Create {
            return Ok(());
        }
        let finalizer = match attributes.resource.id() {
            Some(BuiltInId::PersistentVolumes) if attributes.subresource.is_none() => "kubernetes.io/pv-protection",
            Some(BuiltInId::PersistentVolumeClaims) if attributes.subresource.is_none() => {
                "kubernetes.io/pvc-protection"
            }
            Some(BuiltInId::VolumeAttributesClasses) => "kubernetes.io/vac-protection",
            _ => return Ok(()),
        };
        let mut all: Vec<String> = finalizers(object).into_iter().map(str::to_owned).collect();
        if !all.iter().any(|name| name == finalizer) {
            all.push(finalizer.to_owned());
            object::set_meta(object, "finalizers", Value::from(all));
        }
        Ok(())
    }
}
