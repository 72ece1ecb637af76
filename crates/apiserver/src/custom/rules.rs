//! The rules of `CustomResourceDefinitions` themselves, as `kinds` has them for other built-ins (C3, C5, C19).

use kubewright_apimachinery::field::Errors;
use kubewright_kinds::{Behaviour, Create, Update};
use kubewright_structural::crd;
use serde_json::Value;

/// A definition, as an object among others.
pub(crate) struct CustomResourceDefinition;

impl Behaviour for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        crd::default(object);
    }

    fn prepare_create(&self, create: Create<'_>) {
        crd::prepare_create(create.object);
    }

    fn prepare_update(&self, update: Update<'_>) {
        match update.subresource {
            Some("status") => crd::prepare_status_update(update.object, update.old),
            _ => crd::prepare_update(update.object, update.old),
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        errors.extend(crd::validate_create(object));
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        errors.extend(match subresource {
            Some("status") => crd::validate_status_update(object),
            _ => crd::validate_update(object, old),
        });
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            None => crd::warnings_on_create(object),
            Some(old) => crd::warnings_on_update(object, old),
        }
    }
}
