//! Runtime classes: a handler that never changes, and what running pods with it costs and needs.

use std::collections::HashSet;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;

use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::pod::internal;
use crate::pod::options::Options;
use crate::pod::scheduling::validate_tolerations;
use crate::pod::warnings::deprecated_label;
use crate::rules::access::{at, complain, list_at, map_at, require_immutable_str, str_at};
use crate::rules::labels;
use crate::rules::printed;
use crate::rules::resource_names::{amounts, is_huge_page, validate_amount, validate_container_name};

pub(crate) struct RuntimeClass;

impl Behaviour for RuntimeClass {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let handler = str_at(object, &["handler"]);
        if handler.is_empty() {
            errors.push(FieldError::required(&PathRef::root("handler"), ""));
        } else {
            complain(
                &PathRef::root("handler"),
                handler,
                names::dns1123_label(handler),
                errors,
            );
        }
        validate_overhead(object, errors);
        validate_scheduling(object, errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        require_immutable_str(object, old, &["handler"], errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let selector = map_at(object, &["scheduling", "nodeSelector"]);
        let keys = selector.into_iter().flat_map(|selector| selector.keys());
        keys.filter_map(|key| deprecated_label(key))
            .map(|words| format!("scheduling.nodeSelector: {words}"))
            .collect()
    }
}

fn validate_overhead(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("overhead");
    // Upstream checks the overhead as limits of a container.
    let limits = path.child("limits");
    let fixed = map_at(object, &["overhead", "podFixed"]);
    for (name, amount) in amounts(fixed) {
        validate_container_name(name, &limits.key(name), errors);
        validate_amount(name, &amount, &limits.key(name), errors);
    }
    let has = |wanted: fn(&str) -> bool| fixed.is_some_and(|fixed| fixed.keys().any(|name| wanted(name)));
    if has(is_huge_page) && !has(|name| matches!(name, "cpu" | "memory")) {
        errors.push(FieldError::forbidden(&path, "HugePages require cpu or memory"));
    }
}

fn validate_scheduling(object: &Value, errors: &mut Errors) {
    let path = PathRef::root("scheduling");
    labels::validate_labels(
        at(object, &["scheduling", "nodeSelector"]),
        &path.child("nodeSelector"),
        errors,
    );
    let tolerations = list_at(object, &["scheduling", "tolerations"]);
    let path = path.child("tolerations");
    validate_tolerations(tolerations, Options::default(), &path, errors);
    let mut seen = HashSet::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let key = ["key", "operator", "value", "effect"].map(|field| str_at(toleration, &[field]));
        if !seen.insert(key) {
            let detail = internal::print("Toleration", toleration).compact();
            errors.push(printed::duplicate(&path.index(index), detail));
        }
    }
}
