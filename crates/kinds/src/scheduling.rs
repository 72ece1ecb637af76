//! Priority classes: a name for a priority, which never changes. Names and values of the system are reserved.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::rules::access::{bool_at, int_at, opt_str_at, require_immutable, str_at};

const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;
/// The two classes that exist in every cluster.
const SYSTEM: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

pub(crate) struct PriorityClass;

impl Behaviour for PriorityClass {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let (name, value) = (str_at(object, &["metadata", "name"]), int_at(object, &["value"]));
        if name.starts_with("system-") {
            if let Some(problem) = system_problem(name, value, bool_at(object, &["globalDefault"])) {
                let words = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
                );
                let metadata = PathRef::root("metadata");
                errors.push(FieldError::forbidden(&metadata.child("name"), words));
            }
        } else if value > HIGHEST_USER_PRIORITY {
            let words = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
            errors.push(FieldError::forbidden(&PathRef::root("value"), words));
        }
        let path = PathRef::root("preemptionPolicy");
        match opt_str_at(object, &["preemptionPolicy"]) {
            None | Some("PreemptLowerPriority" | "Never") => {}
            Some("") => errors.push(FieldError::required(&path, "")),
            Some(other) => errors.push(FieldError::not_supported(
                &path,
                other,
                ["PreemptLowerPriority", "Never"],
            )),
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        if int_at(object, &["value"]) != int_at(old, &["value"]) {
            errors.push(FieldError::forbidden(
                &PathRef::root("value"),
                "may not be changed in an update.",
            ));
        }
        require_immutable(object, old, &["preemptionPolicy"], errors);
    }
}

fn system_problem(name: &str, value: i64, is_default: bool) -> Option<String> {
    match SYSTEM.into_iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, wanted)) if wanted != value => Some(format!("value of {name} PriorityClass must be {wanted}")),
        Some(_) if is_default => Some(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => None,
    }
}
