//! `ReplicationControllers`, the predecessor of `ReplicaSets`: the selector is a map, and comes from the template when
//! there is none.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::template;
use crate::rules::access::{at, is_unset, map_at, map_mut, part, set_default};
use crate::rules::labels;

use super::{common, replica_set};

/// `ReplicationControllers`.
pub(crate) struct ReplicationController;

impl Behaviour for ReplicationController {
    fn default(&self, object: &mut Value) {
        set_default(object, &["spec"], "replicas", 1);
        let from_template = at(object, &["spec", "template", "metadata", "labels"]).cloned();
        if let Some(from_template) = from_template {
            for (holder, field) in [("spec", "selector"), ("metadata", "labels")] {
                if is_unset(object, &[holder, field])
                    && let Some(holder) = map_mut(object, &[holder])
                {
                    holder.insert(field.to_owned(), from_template.clone());
                }
            }
        }
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
            replica_set::validate_status(object, errors);
        } else {
            validate_spec(object, common::options(Some(old)), errors);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            // Upstream looks at the template that is being replaced.
            Some(old) if common::changes_spec(object, Some(old)) => common::warnings(old, None, false),
            _ => common::warnings(object, old, true),
        }
    }
}

fn validate_spec(object: &Value, options: Options, errors: &mut Errors) {
    let spec = part(object, "spec");
    let path = PathRef::root("spec");
    common::validate_counts(spec, &["minReadySeconds"], &path, errors);
    let selects_nothing = is_unset(spec, &["selector"]);
    if selects_nothing {
        errors.push(FieldError::required(&path.child("selector"), ""));
    }
    if at(spec, &["replicas"]).is_none() {
        errors.push(FieldError::required(&path.child("replicas"), ""));
    } else {
        common::validate_counts(spec, &["replicas"], &path, errors);
    }
    let template_path = path.child("template");
    let Some(template) = at(spec, &["template"]) else {
        errors.push(FieldError::required(&template_path, ""));
        return;
    };
    let template_labels = map_at(template, &["metadata", "labels"]);
    if !labels::map_matches(map_at(spec, &["selector"]), template_labels) {
        common::push_mismatch(template, &template_path.child("metadata").child("labels"), errors);
    }
    template::validate(template, options, &template_path, errors);
    common::validate_runs_forever(spec, "ReplicationController", &template_path, errors);
}
