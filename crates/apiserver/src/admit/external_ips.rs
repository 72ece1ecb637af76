//! `DenyServiceExternalIPs`: no Service takes up external addresses that it did not have (A19).

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct DenyServiceExternalIPs;

impl Plugin for DenyServiceExternalIPs {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::DenyServiceExternalIPs)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        service: &Value,
        old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if !attributes.is(BuiltInId::Services) || attributes.operation == Operation::Delete {
            return Ok(());
        }
        let of = |service: Option<&Value>| -> Vec<Value> {
            let addresses = service.and_then(|service| service.pointer("/spec/externalIPs"));
            addresses.and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let known = of(old);
        if of(Some(service)).iter().all(|address| known.contains(address)) {
            return Ok(());
        }
        Err(attributes.forbidden("Use of external IPs is denied by admission control"))
    }
}
