//! Pod templates: what controllers create pods from.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use crate::rules::access::{at, list_at, part};
use crate::rules::{annotations as any_annotations, labels};

use super::options::Options;
use super::{annotations, defaults, disabled, spec, warnings};

/// Everything wrong with a template.
pub(crate) fn validate(template: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    let spec_of = part(template, "spec");
    let annotations_path = path.child("annotations");
    labels::validate_labels(at(template, &["metadata", "labels"]), &path.child("labels"), errors);
    any_annotations::validate(at(template, &["metadata", "annotations"]), &annotations_path, errors);
    annotations::validate(template, options, &annotations_path, errors);
    let spec_path = path.child("spec");
    spec::validate(spec_of, None, options, &spec_path, errors);
    annotations::validate_agreement(template, &spec_path, errors);
    if !list_at(spec_of, &["ephemeralContainers"]).is_empty() {
        let words = "ephemeral containers not allowed in pod template";
        errors.push(FieldError::forbidden(&spec_path.child("ephemeralContainers"), words));
    }
}

/// Everything wrong with the annotations that mean something in a pod.
pub(crate) fn validate_annotations(template: &Value, options: Options, path: &PathRef<'_>, errors: &mut Errors) {
    annotations::validate(template, options, path, errors);
}

/// The defaults of a template that depend on other fields.
pub(crate) fn default(template: Option<&mut Value>) {
    if let Some(spec) = template.and_then(|template| template.get_mut("spec")) {
        defaults::spec(spec);
    }
}

/// Clears the fields whose features 1.36 has off.
pub(crate) fn drop_disabled(template: Option<&mut Value>) {
    if let Some(spec) = template.and_then(|template| template.get_mut("spec")) {
        disabled::drop_fields(spec);
    }
}

/// The warnings about a template.
pub(crate) fn warn(template: Option<&Value>, path: &PathRef<'_>) -> Vec<String> {
    template
        .map(|template| warnings::of(template, Some(path)))
        .unwrap_or_default()
}
