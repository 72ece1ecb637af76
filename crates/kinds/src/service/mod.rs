//! Services: one object whose type decides which of its fields mean something, with addresses and ports that the server
//! hands out (B2). [`allocate`] is the part the server drives around a write.

pub mod allocate;
mod cluster_ips;
mod default;
mod prepare;
mod spec;
mod validate;
mod warnings;

use kubewright_apimachinery::field::Errors;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::remove;
pub(crate) use validate::validate_host_name;
pub(crate) use warnings::of_balancer as balancer_warnings;

/// The rules of `v1` Services.
pub(crate) struct Service;

impl Behaviour for Service {
    fn default(&self, object: &mut Value) {
        default::apply(object);
    }

    fn prepare_create(&self, create: Create<'_>) {
        prepare::hide_internal_traffic_policy(create.object);
        remove(create.object, &["status"]);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
        if update.subresource.is_none() {
            prepare::drop_type_dependent_fields(update.object, update.old);
            prepare::hide_internal_traffic_policy(update.object);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate::validate(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate::validate_status(object, old, errors);
        } else {
            validate::validate_change(object, old, errors);
            validate::validate(object, Some(old), errors);
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings::of(object)
    }

    fn status_warnings(&self, object: &Value) -> Vec<String> {
        warnings::of_balancer(object)
    }
}
