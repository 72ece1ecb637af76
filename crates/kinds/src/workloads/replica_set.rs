//! `ReplicaSets`: so many pods of a template, found by a selector that never changes.

use kubewright_apimachinery::field::{Errors, PathRef};
use serde_json::Value;

use crate::pod::options::Options;
use crate::rules::access::part;

use super::common;
use super::replicas::Replicas;

/// `ReplicaSets`.
pub(crate) struct ReplicaSet;

impl Replicas for ReplicaSet {
    fn validate_spec(&self, object: &Value, options: Options, errors: &mut Errors) {
        let spec = part(object, "spec");
        let path = PathRef::root("spec");
        common::validate_counts(spec, &["replicas", "minReadySeconds"], &path, errors);
        common::validate_selector_and_template(spec, options, &path, errors);
    }

    fn validate_status(&self, object: &Value, _old: &Value, errors: &mut Errors) {
        validate_status(object, errors);
    }
}

/// The status that `ReplicaSets` and `ReplicationControllers` share.
pub(super) fn validate_status(object: &Value, errors: &mut Errors) {
    let status = part(object, "status");
    let path = PathRef::root("status");
    let counts = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    common::validate_counts(status, &counts, &path, errors);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    common::validate_parts(status, &parts, "readyReplicas", &path, errors);
}
