//! Printed columns, selectable fields, subresources (C10, C13, C14).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::field_path;
use super::options::MAX_SELECTABLE_FIELDS;
use super::printed;
use super::props::Props;
use crate::crd::access::{at, text};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// What is wrong with a list of printed columns.
pub(super) fn validate_columns(columns: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, column) in columns.and_then(Value::as_array).into_iter().flatten().enumerate() {
        validate_column(column, &path.index(index), errors);
    }
}

fn validate_column(column: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if text(column, &["name"]).is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    let one_of = |supported: &[&str]| format!("must be one of {}", supported.join(","));
    match text(column, &["type"]) {
        "" => errors.push(FieldError::required(&path.child("type"), one_of(&TYPES))),
        kind if TYPES.contains(&kind) => {}
        kind => errors.push(FieldError::invalid(&path.child("type"), kind, one_of(&TYPES))),
    }
    let format = text(column, &["format"]);
    if !format.is_empty() && !FORMATS.contains(&format) {
        errors.push(FieldError::invalid(&path.child("format"), format, one_of(&FORMATS)));
    }
    match text(column, &["jsonPath"]) {
        "" => errors.push(FieldError::required(&path.child("JSONPath"), "")),
        json_path => {
            validate_json_path(json_path, &path.child("JSONPath"), errors);
        }
    }
}

/// Refuses a path that does not begin with a dot; nothing else about it is checked. Returns whether it does.
fn validate_json_path(json_path: &str, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let good = json_path.starts_with('.');
    if !good {
        let words = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(path, json_path, words));
    }
    good
}

/// What is wrong with the subresources of a version.
pub(super) fn validate_subresources(subresources: Option<&Value>, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(scale) = subresources.and_then(|subresources| at(subresources, &["scale"])) else {
        return;
    };
    for (field, place, prefix) in [
        ("specReplicasPath", "scale.specReplicasPath", ".spec"),
        ("statusReplicasPath", "scale.statusReplicasPath", ".status"),
    ] {
        let (json_path, path) = (text(scale, &[field]), path.child(place));
        if json_path.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if validate_json_path(json_path, &path, errors) && !is_under(json_path, prefix) {
            let words = format!("should be a json path under {prefix}");
            errors.push(FieldError::invalid(&path, json_path, words));
        }
    }
    let (json_path, path) = (
        text(scale, &["labelSelectorPath"]),
        path.child("scale.labelSelectorPath"),
    );
    if !json_path.is_empty()
        && validate_json_path(json_path, &path, errors)
        && !is_under(json_path, ".spec")
        && !is_under(json_path, ".status")
    {
        let words = "should be a json path under either .spec or .status";
        errors.push(printed::invalid(&path, &printed::json_text(json_path), words));
    }
}

fn is_under(json_path: &str, prefix: &str) -> bool {
    json_path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
}

/// What is wrong with selectable fields of a schema.
pub(super) fn validate_selectable_fields(
    fields: &[Value],
    schema: Option<Props<'_>>,
    may_be_many: bool,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let mut unique: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let path = path.index(index);
        let path = path.child("jsonPath");
        let json_path = text(field, &["jsonPath"]);
        if json_path.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let found = match field_path::find(json_path, schema, false) {
            Ok(found) => found,
            Err(problem) => {
                errors.push(FieldError::invalid(
                    &path,
                    json_path,
                    format!("is an invalid path: {problem}"),
                ));
                continue;
            }
        };
        if found.root == "metadata" {
            errors.push(FieldError::invalid(
                &path,
                json_path,
                "must not point to fields in metadata",
            ));
        }
        let kind = found.schema.map_or("", Props::kind);
        if !matches!(kind, "string" | "boolean" | "integer") {
            let words = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                         formats are allowed.";
            errors.push(FieldError::invalid(&path, json_path, words));
        }
        if unique.contains(&found.path) {
            errors.push(FieldError::duplicate(&path, json_path));
        } else {
            unique.push(found.path);
        }
    }
    if unique.len() > MAX_SELECTABLE_FIELDS && !may_be_many {
        errors.push(FieldError::too_many(path, unique.len(), MAX_SELECTABLE_FIELDS));
    }
}
