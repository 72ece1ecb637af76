//! Leases (B4): who holds something, and for how long since the last renewal. The fields of coordinated leader election
//! are off in 1.36.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{is_unset, opt_int_at, remove};

/// The fields of coordinated leader election, which is off by default.
const DISABLED: [[&str; 2]; 2] = [["spec", "strategy"], ["spec", "preferredHolder"]];

pub(crate) struct Lease;

impl Behaviour for Lease {
    fn prepare_create(&self, create: Create<'_>) {
        for field in DISABLED {
            remove(create.object, &field);
        }
    }

    fn prepare_update(&self, update: Update<'_>) {
        for field in DISABLED {
            if is_unset(update.old, &field) {
                remove(update.object, &field);
            }
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let path = PathRef::root("spec");
        let duration = opt_int_at(object, &["spec", "leaseDurationSeconds"]);
        if let Some(duration) = duration.filter(|duration| *duration <= 0) {
            errors.push(FieldError::invalid(
                &path.child("leaseDurationSeconds"),
                duration,
                "must be greater than 0",
            ));
        }
        let transitions = opt_int_at(object, &["spec", "leaseTransitions"]);
        if let Some(transitions) = transitions.filter(|transitions| *transitions < 0) {
            let words = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(&path.child("leaseTransitions"), transitions, words));
        }
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        self.validate_create(object, errors);
    }
}
