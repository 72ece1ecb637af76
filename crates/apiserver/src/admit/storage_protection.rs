//! `StorageObjectInUseProtection`: new volumes and claims carry the finalizer that keeps them while they are used.

use serde_json::Value;

use super::{Attributes, Operation, Plugin};
use crate::object::{self, finalizers};
use crate::status::Result;

pub(super) struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value, _old: Option<&Value>) -> Result<()> {
        if attributes.operation != Operation::Create {
            return Ok(());
        }
        let finalizer = if attributes.is("persistentvolumes") {
            "kubernetes.io/pv-protection"
        } else if attributes.is("persistentvolumeclaims") {
            "kubernetes.io/pvc-protection"
        } else if attributes.resource.group == "storage.k8s.io"
            && attributes.resource.plural == "volumeattributesclasses"
        {
            "kubernetes.io/vac-protection"
        } else {
            return Ok(());
        };
        let mut all: Vec<String> = finalizers(object).into_iter().map(str::to_owned).collect();
        if !all.iter().any(|name| name == finalizer) {
            all.push(finalizer.to_owned());
            object::set_meta(object, "finalizers", Value::from(all));
        }
        Ok(())
    }
}
