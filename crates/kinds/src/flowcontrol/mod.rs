//! `FlowSchemas` and `PriorityLevelConfigurations`: API priority and fairness.

mod flow_schema;
mod mandatory;
mod priority_level;

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{list_at, str_at};
pub(crate) use flow_schema::FlowSchema;
pub(crate) use priority_level::PriorityLevelConfiguration;

/// Everything wrong with an update of one of the kinds: the rules of a create, or only those of the status.
fn validate_update(kind: &impl Behaviour, object: &Value, subresource: Option<&str>, errors: &mut Errors) {
    if subresource == Some("status") {
        validate_conditions(object, errors);
    } else {
        kind.validate_create(object, errors);
    }
}

/// The conditions of both kinds: each of a type, no type twice.
fn validate_conditions(object: &Value, errors: &mut Errors) {
    let status = PathRef::root("status");
    let path = status.child("conditions");
    let mut seen = HashSet::new();
    for (index, condition) in list_at(object, &["status", "conditions"]).iter().enumerate() {
        let path = path.index(index);
        let kind = str_at(condition, &["type"]);
        if !seen.insert(kind) {
            errors.push(FieldError::duplicate(&path.child("type"), kind));
        }
        if kind.is_empty() {
            errors.push(FieldError::required(&path.child("type"), ""));
        }
    }
}
