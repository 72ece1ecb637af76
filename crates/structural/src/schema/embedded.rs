//! Embedded resources (`x-kubernetes-embedded-resource`): they are checked as objects of the API.

use kubewright_apimachinery::field::{Errors, FieldError};
use kubewright_kinds::{meta, rules::name_rule::NameRule};
use serde_json::{Map, Value};

use super::{coerce, node::Node, path::ObjectPath};

/// Checks every embedded resource. The object itself is not one, even if the root of its schema is marked so.
pub(super) fn validate(root: &Node, object: &Value, errors: &mut Errors) {
    if root.below.embedded {
        value(root, object, &ObjectPath::ROOT, errors);
    }
}

fn value(node: &Node, value: &Value, at: &ObjectPath<'_>, errors: &mut Errors) {
    if !node.below.embedded {
        return;
    }
    match value {
        Value::Object(fields) => {
            if node.embedded {
                resource(fields, at, errors);
            }
            for (name, below) in fields {
                if let Some(property) = node.property(name) {
                    self::value(property, below, &at.field(name), errors);
                } else if let Some(values) = node.additional.schema() {
                    self::value(values, below, &at.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    self::value(of, item, &at.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn resource(fields: &Map<String, Value>, at: &ObjectPath<'_>, errors: &mut Errors) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(&at.field(name).field_path(), ""));
        }
    }
    let mut invalid = |name: &str, value: &Value, detail: String| {
        errors.push(FieldError::invalid(&at.field(name).field_path(), value, detail));
    };
    for (name, judge) in [
        ("apiVersion", complaint_about_version as fn(&str) -> Option<String>),
        ("kind", complaint_about_kind),
    ] {
        match fields.get(name) {
            None => {}
            Some(Value::String(text)) if text.is_empty() => {
                invalid(name, &fields[name], "must not be empty".to_owned());
            }
            Some(value @ Value::String(text)) => {
                if let Some(detail) = judge(text) {
                    invalid(name, value, detail);
                }
            }
            Some(value) => invalid(name, value, "must be a string".to_owned()),
        }
    }
    let Some(given) = fields.get("metadata") else { return };
    match kubewright_schema::decode(coerce::object_meta(), given.clone(), None) {
        Err(why) => invalid("metadata", given, why.0),
        Ok(decoded) => metadata(decoded.value, at, errors),
    }
}

fn metadata(mut metadata: Value, at: &ObjectPath<'_>, errors: &mut Errors) {
    let Some(fields) = metadata.as_object_mut() else { return };
    // A template has no name yet, and need not have one.
    if fields.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        fields.insert("name".to_owned(), "fakename".into());
    }
    let namespaced = fields
        .get("namespace")
        .and_then(Value::as_str)
        .is_some_and(|namespace| !namespace.is_empty());
    let mut found = Errors::new();
    meta::validate_create_generic(&metadata, namespaced, &mut found);
    for mut error in found {
        // The error's path begins at the metadata.
        let below = error.field.strip_prefix("metadata").unwrap_or_default();
        error.field = format!("{}{below}", at.field("metadata").field_path());
        errors.push(error);
    }
}

fn complaint_about_version(version: &str) -> Option<String> {
    (version.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {version}"))
}

fn complaint_about_kind(kind: &str) -> Option<String> {
    let complaints = NameRule::Dns1035Label.name(&kind.to_lowercase());
    (!complaints.is_empty()).then(|| {
        format!(
            "may have mixed case, but should otherwise match: {}",
            complaints.join(",")
        )
    })
}
