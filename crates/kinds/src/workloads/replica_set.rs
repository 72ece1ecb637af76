//! `ReplicaSets`: so many pods of a template, found by a selector that never changes.

use kubewright_apimachinery::field::{Errors, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::template;
use crate::rules::access::{part, set_default};

use super::common;

/// `ReplicaSets`.
pub(crate) struct ReplicaSet;

impl Behaviour for ReplicaSet {
    fn default(&self, object: &mut Value) {
        set_default(object, &["spec"], "replicas", 1);
        template::default(common::template_mut(object));
    }

    fn prepare_create(&self, create: Create<'_>) {
        common::prepare_create(create.object);
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        common::prepare_update(&mut update);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_spec(object, common::options(None), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        if subresource == Some("status") {
            validate_status(object, errors);
            return;
        }
        validate_spec(object, common::options(Some(old)), errors);
        common::validate_selector_unchanged(object, old, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        common::warnings(object, old, true)
    }
}

fn validate_spec(object: &Value, options: Options, errors: &mut Errors) {
    let spec = part(object, "spec");
    let path = PathRef::root("spec");
    common::validate_counts(spec, &["replicas", "minReadySeconds"], &path, errors);
    common::validate_selector_and_template(spec, options, &path, errors);
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
