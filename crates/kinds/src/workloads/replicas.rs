//! What is the same for Deployments, `ReplicaSets` and `ReplicationControllers`: which rules a write runs, in which order.

use kubewright_apimachinery::field::Errors;
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::template;
use crate::rules::access::set_default;

use super::common;

/// A workload that runs a number of equal pods. Every such kind has the [`Behaviour`] below.
pub(crate) trait Replicas: Sync {
    /// Defaults of the spec beside the number of replicas and the template.
    fn default_spec(&self, _object: &mut Value) {}

    /// Everything wrong with the spec.
    fn validate_spec(&self, object: &Value, options: Options, errors: &mut Errors);

    /// Everything wrong with a change of the spec, beyond the rules of [`Self::validate_spec`].
    fn validate_change(&self, object: &Value, old: &Value, errors: &mut Errors) {
        common::validate_selector_unchanged(object, old, errors);
    }

    /// Everything wrong with a change of the status.
    fn validate_status(&self, object: &Value, old: &Value, errors: &mut Errors);

    /// The `Warning` headers of a write.
    fn warn(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        common::warnings(object, old, true)
    }
}

impl<R: Replicas> Behaviour for R {
    fn default(&self, object: &mut Value) {
        set_default(object, &["spec"], "replicas", 1);
        self.default_spec(object);
        template::default(common::template_mut(object));
    }

    fn prepare_create(&self, create: Create<'_>) {
        common::prepare_create(create.object);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        common::prepare_update(&mut update);
        // What is stored is read with its defaults, also those that a body without a spec could not have.
        if update.subresource == Some("status") {
            self.default_spec(update.object);
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        self.validate_spec(object, common::options(None), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            self.validate_status(object, old, errors);
        } else {
            self.validate_spec(object, common::options(Some(old)), errors);
            self.validate_change(object, old, errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        self.warn(object, old)
    }
}
