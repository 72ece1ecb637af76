//! Validation in upstream's order and words (C8, C9, C16): schema, scale, embedded metadata, list types, rules.

mod number;
mod report;
mod value;

use kubewright_apimachinery::field::{ErrorType, Errors, FieldError};
use kubewright_cel::Limits;
use serde_json::Value;

use self::{report::Collect, value::check};
use super::{Schema, embedded, list_type, path::ObjectPath, scale::Scale};

/// Validates a new object.
pub(super) fn create(schema: &Schema, object: &Value, scale: Option<&Scale>, errors: &mut Errors) {
    against_schema(schema, object, None, errors);
    if let Some(scale) = scale {
        scale.validate_spec(object, errors);
        scale.validate_status(object, errors);
    }
    embedded::validate(&schema.root, object, errors);
    list_type::validate(&schema.root, object, errors);
    rules(schema, object, None, errors);
}

/// Validates an update.
pub(super) fn update(
    schema: &Schema,
    object: &Value,
    old: &Value,
    scale: Option<&Scale>,
    errors: &mut Errors,
) -> Vec<String> {
    against_schema(schema, object, Some(old), errors);
    if let Some(scale) = scale {
        scale.validate_spec(object, errors);
        scale.validate_status(object, errors);
    }
    embedded::validate(&schema.root, object, errors);
    // What the old object already violates is tolerated, wherever it is.
    list_types_of_update(schema, object, old, errors);
    rules(schema, object, Some(old), errors)
}

/// Validates an update of the status subresource: the schema of the status alone, everything else as an update.
pub(super) fn status(
    schema: &Schema,
    object: &Value,
    old: &Value,
    scale: Option<&Scale>,
    errors: &mut Errors,
) -> Vec<String> {
    if let (Some(node), Some(status)) = (schema.root.property("status"), object.get("status")) {
        let mut collect = Collect::below("status");
        check(node, status, old.get("status"), &ObjectPath::ROOT, &mut collect);
        collect.finish(errors);
    }
    if let Some(scale) = scale {
        scale.validate_status(object, errors);
    }
    list_types_of_update(schema, object, old, errors);
    rules(schema, object, Some(old), errors)
}

fn against_schema(schema: &Schema, object: &Value, old: Option<&Value>, errors: &mut Errors) {
    let mut collect = Collect::whole();
    check(&schema.root, object, old, &ObjectPath::ROOT, &mut collect);
    collect.finish(errors);
}

fn list_types_of_update(schema: &Schema, object: &Value, old: &Value, errors: &mut Errors) {
    let mut found = Errors::new();
    list_type::validate(&schema.root, object, &mut found);
    if found.is_empty() {
        return;
    }
    let mut before = Errors::new();
    list_type::validate(&schema.root, old, &mut before);
    if before.is_empty() {
        errors.append(&mut found);
    }
}

/// Runs the rules, unless an error was found after which upstream does not run them.
fn rules(schema: &Schema, object: &Value, old: Option<&Value>, errors: &mut Errors) -> Vec<String> {
    const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                             existing errors to complete validation";
    let Some(rules) = &schema.rules else {
        return Vec::new();
    };
    let blocks = |error: &FieldError| {
        matches!(
            error.kind,
            ErrorType::NotSupported
                | ErrorType::Required
                | ErrorType::TooLong
                | ErrorType::TooMany
                | ErrorType::TypeInvalid
        )
    };
    if errors.iter().any(blocks) {
        errors.push(FieldError::invalid("<nil>", Value::Null, UNCHECKED));
        return Vec::new();
    }
    let result = rules.validate_with_warnings(object, old, Limits::default());
    errors.extend(result.violations);
    result.warnings.iter().map(ToString::to_string).collect()
}
