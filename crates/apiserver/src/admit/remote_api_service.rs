//! Refuses `APIServices` of other servers, since this server has no aggregation (O6).

use serde_json::Value;

use super::{Attributes, Operation, Plugin};
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct NoAggregation;

impl Plugin for NoAggregation {
    fn validate(&self, attributes: &Attributes<'_>, object: &Value, _old: Option<&Value>) -> Result<()> {
        let is_remote = object
            .pointer("/spec/service")
            .is_some_and(|service| !service.is_null());
        if attributes.operation == Operation::Delete || !attributes.resource.is(BuiltInId::ApiServices) || !is_remote {
            return Ok(());
        }
        let why = "the embedded API server does not pass requests on to other servers (spec.service); define the kinds \
                   with a CustomResourceDefinition instead, or use a cluster with API aggregation";
        Err(attributes.forbidden(why))
    }
}
