//! `CSIStorageCapacities`: how much capacity a storage class has in which topology.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_quantity::Quantity;
use serde_json::Value;

use crate::behaviour::Behaviour;
use crate::pod::internal;
use crate::pod::warnings::deprecated_label;
use crate::rules::access::{
    IMMUTABLE, at, complain, entries_at, list_at, opt_str_at, part, require_immutable_str, str_at,
};
use crate::rules::labels::{SelectorOptions, validate_selector};

/// The rules of `CSIStorageCapacities`.
pub(crate) struct CsiStorageCapacity;

impl Behaviour for CsiStorageCapacity {
    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let topology = at(object, &["nodeTopology"]);
        validate_selector(
            topology,
            SelectorOptions::default(),
            &PathRef::root("nodeTopology"),
            errors,
        );
        let class = str_at(object, &["storageClassName"]);
        complain(
            &PathRef::root("storageClassName"),
            class,
            names::dns1123_subdomain(class),
            errors,
        );
        if let Some(capacity) = opt_str_at(object, &["capacity"])
            && Quantity::parse(capacity).is_ok_and(|quantity| quantity.is_negative())
        {
            errors.push(FieldError::invalid(
                &PathRef::root("capacity"),
                capacity,
                "must be greater than or equal to 0",
            ));
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
        let [new, before] = [object, old].map(|object| internal::print_selector(part(object, "nodeTopology")));
        if !new.means(&before) {
            errors.push(internal::invalid(&PathRef::root("nodeTopology"), &new, IMMUTABLE));
        }
        require_immutable_str(object, old, &["storageClassName"], errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let topology = PathRef::root("nodeTopology");
        let path = topology.child("matchExpressions");
        for (index, expression) in list_at(object, &["nodeTopology", "matchExpressions"])
            .iter()
            .enumerate()
        {
            let key = str_at(expression, &["key"]);
            if let Some(words) = deprecated_label(key) {
                warnings.push(format!("{}: {key} is {words}", path.index(index).child("key")));
            }
        }
        let path = topology.child("matchLabels");
        for (key, _) in entries_at(object, &["nodeTopology", "matchLabels"]) {
            if let Some(words) = deprecated_label(key) {
                warnings.push(format!("{}: {words}", path.child(key)));
            }
        }
        warnings
    }
}
