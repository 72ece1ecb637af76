//! `ReplicationControllers`, the predecessor of `ReplicaSets`: the selector is a map, and comes from the template when
//! there is none.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::pod::options::Options;
use crate::pod::template;
use crate::rules::access::{at, is_unset, map_at, map_mut, part};
use crate::rules::labels;

use super::replicas::Replicas;
use super::{common, replica_set};

/// `ReplicationControllers`.
pub(crate) struct ReplicationController;

impl Replicas for ReplicationController {
    fn default_spec(&self, object: &mut Value) {
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
    }

    fn validate_spec(&self, object: &Value, options: Options, errors: &mut Errors) {
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

    /// The selector may change.
    fn validate_change(&self, _object: &Value, _old: &Value, _errors: &mut Errors) {}

    fn validate_status(&self, object: &Value, _old: &Value, errors: &mut Errors) {
        replica_set::validate_status(object, errors);
    }

    fn warn(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        match old {
            // Upstream looks at the template that is being replaced.
            Some(old) if common::changes_spec(object, Some(old)) => common::warnings(old, None, false),
            _ => common::warnings(object, old, true),
        }
    }
}
