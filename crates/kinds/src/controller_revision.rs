//! Controller revisions: a snapshot that never changes.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{at, int_at, require_immutable, require_non_negative};

pub(crate) struct ControllerRevision;

impl Behaviour for ControllerRevision {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        require_non_negative(int_at(object, &["revision"]), &PathRef::root("revision"), errors);
        match at(object, &["data"]) {
            None => errors.push(FieldError::required(&PathRef::root("data"), "data is mandatory")),
            Some(Value::Object(_)) => {}
            Some(_) => errors.push(FieldError::required(
                &PathRef::root("data"),
                "data must be a valid JSON object",
            )),
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        require_non_negative(int_at(object, &["revision"]), &PathRef::root("revision"), errors);
        require_immutable(object, old, &["data"], errors);
    }
}
