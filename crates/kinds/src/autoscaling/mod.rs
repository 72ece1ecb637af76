//! `HorizontalPodAutoscalers`: stored as `autoscaling/v2`, served as v1 too. [`convert`] goes from one to the other.

pub mod convert;
mod default;
mod metrics;
mod validate;

use kubewright_apimachinery::field::Errors;
use serde_json::Value;

use crate::behaviour::Behaviour;

/// The rules of `HorizontalPodAutoscalers`, in their stored version.
pub(crate) struct HorizontalPodAutoscaler;

impl Behaviour for HorizontalPodAutoscaler {
    fn default(&self, object: &mut Value) {
        default::apply(object);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate::validate(object, None, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate::validate_status(object, errors);
        } else {
            validate::validate(object, Some(old), errors);
        }
    }
}
