//! The selectors of access reviews: what is wrong with them, and what of them cannot be read (Z6).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::{fields, labels::Selector, names};
use serde_json::Value;

use super::reviews::text;

/// The errors of the selectors of `resourceAttributes`. Unknown operators are not errors, since newer servers may know them.
pub(super) fn validate(attributes: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for key in ["fieldSelector", "labelSelector"] {
        let selector = &attributes[key];
        if !selector.is_object() {
            continue;
        }
        let path = path.child(key);
        let (raw, requirements) = (text(selector, "rawSelector"), requirements(selector));
        if !raw.is_empty() && !requirements.is_empty() {
            let detail = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(&path.child("rawSelector"), raw, detail));
        }
        if raw.is_empty() && requirements.is_empty() {
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(&path.child("requirements"), detail));
        }
        let list = path.child("requirements");
        for (at, requirement) in requirements.iter().enumerate() {
            validate_requirement(requirement, key == "labelSelector", &list.index(at), errors);
        }
    }
}

fn requirements(selector: &Value) -> &[Value] {
    selector["requirements"].as_array().map_or(&[], Vec::as_slice)
}

fn values(requirement: &Value) -> &[Value] {
    requirement["values"].as_array().map_or(&[], Vec::as_slice)
}

fn validate_requirement(requirement: &Value, of_labels: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let values = values(requirement);
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(&path.child("values"), detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&path.child("values"), detail));
        }
        _ => {}
    }
    let key = text(requirement, "key");
    if !of_labels {
        if key.is_empty() {
            errors.push(FieldError::required(&path.child("key"), "must be specified"));
        }
        return;
    }
    for detail in names::qualified_name(key) {
        errors.push(FieldError::invalid(&path.child("key"), key, detail));
    }
    for (at, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        for detail in names::label_value(value) {
            errors.push(FieldError::invalid(&path.child("values").index(at), value, detail));
        }
    }
}

/// The parts of the selectors that cannot be read. Like upstream, the decision ignores them and the reason mentions them.
pub(super) fn faults(attributes: &Value) -> String {
    let mut told = Vec::new();
    let mut tell = |key: &str, read: ReadableRequirements| match read {
        ReadableRequirements::All => {}
        ReadableRequirements::Some => told.push(format!(
            "spec.resourceAttributes.{key} partially ignored due to parse error"
        )),
        ReadableRequirements::Nothing => told.push(format!("spec.resourceAttributes.{key} ignored due to parse error")),
    };
    tell(
        "fieldSelector",
        read(
            &attributes["fieldSelector"],
            |raw| fields::parse(raw).is_ok(),
            |requirement| matches!(text(requirement, "operator"), "In" | "NotIn") && values(requirement).len() == 1,
        ),
    );
    tell(
        "labelSelector",
        read(
            &attributes["labelSelector"],
            |raw| raw.parse::<Selector>().is_ok(),
            |requirement| {
                matches!(
                    text(requirement, "operator"),
                    "In" | "NotIn" | "Exists" | "DoesNotExist"
                )
            },
        ),
    );
    told.join("; ")
}

enum ReadableRequirements {
    All,
    Some,
    Nothing,
}

fn read(
    selector: &Value,
    is_raw_fine: impl Fn(&str) -> bool,
    is_fine: impl Fn(&Value) -> bool,
) -> ReadableRequirements {
    let requirements = requirements(selector);
    if requirements.is_empty() {
        let raw = text(selector, "rawSelector");
        return if raw.is_empty() || is_raw_fine(raw) {
            ReadableRequirements::All
        } else {
            ReadableRequirements::Nothing
        };
    }
    let fine = requirements.iter().filter(|requirement| is_fine(requirement)).count();
    if fine == requirements.len() {
        ReadableRequirements::All
    } else if fine == 0 {
        ReadableRequirements::Nothing
    } else {
        ReadableRequirements::Some
    }
}
