//! Defaults in a schema (C7): each must be valid under its own schema and have no unknown fields.

use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::field::{BadValue, ErrorType, Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_cel::Limits;
use kubewright_cel::rules::Validator;
use serde_json::{Map, Value, json};

use super::props::Props;
use super::{printed, structural};
use crate::schema::Schema;

/// The field that has a default while it is checked. It is removed from messages, so its name must not occur in schemas.
const HERE: &str = "\u{1c0}\u{1c0}";

/// What is wrong with the defaults of a structural schema.
pub(super) fn validate(root: Props<'_>, must_be_pruned: bool, path: &PathRef<'_>, errors: &mut Errors) {
    if root.any(&mut |node| node.has("default")) {
        let walk = Walk { must_be_pruned };
        let top = DefaultContext {
            resource: root,
            steps: None,
            inside_meta: false,
        };
        walk.node(root, true, &top, path, errors);
    }
}

/// Whether a default has fields that its schema does not know.
pub(super) fn has_unpruned(schema: &Value) -> bool {
    Props(schema).any(&mut |node| node.has("default"))
        && structural::is_structural(schema)
        && any_unpruned(Props(schema))
}

fn any_unpruned(node: Props<'_>) -> bool {
    node.get("default").is_some_and(|default| !is_pruned(node, default))
        || node.additional_properties().is_some_and(any_unpruned)
        || node.item().is_some_and(any_unpruned)
        || node.properties().any(|(_, property)| any_unpruned(property))
}

/// The resource that a default belongs to, and the path from there to the default.
#[derive(Clone, Copy)]
struct DefaultContext<'s> {
    resource: Props<'s>,
    steps: Option<&'s PathStep<'s>>,
    inside_meta: bool,
}

/// One step of that path; `None` is an item of a list.
struct PathStep<'s> {
    before: Option<&'s PathStep<'s>>,
    field: Option<&'s str>,
}

impl DefaultContext<'_> {
    /// The whole resource with nothing in it but the default, and what every resource has.
    fn object(&self, default: &Value) -> Value {
        let mut object = default.clone();
        let mut step = self.steps;
        while let Some(PathStep { before, field }) = step {
            object = match field {
                Some(name) => Value::Object(Map::from_iter([((*name).to_owned(), object)])),
                None => Value::Array(vec![object]),
            };
            step = *before;
        }
        if let Some(fields) = object.as_object_mut() {
            fields.entry("kind").or_insert_with(|| "Validation".into());
            fields.entry("apiVersion").or_insert_with(|| "validation/v1".into());
        }
        object
    }
}

struct Walk {
    must_be_pruned: bool,
}

impl Walk {
    fn node(
        &self,
        node: Props<'_>,
        is_root: bool,
        around: &DefaultContext<'_>,
        path: &PathRef<'_>,
        errors: &mut Errors,
    ) {
        let is_resource = is_root || node.is_embedded_resource();
        let around = if is_resource {
            DefaultContext {
                resource: node,
                steps: None,
                inside_meta: false,
            }
        } else {
            *around
        };
        if let Some(default) = node.get("default") {
            let path = path.child("default");
            if around.inside_meta {
                in_metadata(node, default, &around, &path, errors);
            } else {
                self.default(node, default, is_root, &path, errors);
            }
        }
        if let Some(item) = node.item() {
            let step = PathStep {
                before: around.steps,
                field: None,
            };
            let below = DefaultContext {
                steps: Some(&step),
                ..around
            };
            self.node(item, false, &below, &path.child("items"), errors);
        }
        let properties = path.child("properties");
        for (name, property) in node.properties() {
            let step = PathStep {
                before: around.steps,
                field: Some(name),
            };
            let below = DefaultContext {
                steps: Some(&step),
                inside_meta: around.inside_meta || is_resource && matches!(name, "metadata" | "apiVersion" | "kind"),
                ..around
            };
            self.node(property, false, &below, &properties.key(name), errors);
        }
    }

    fn default(&self, node: Props<'_>, default: &Value, is_root: bool, path: &PathRef<'_>, errors: &mut Errors) {
        let root = is_root.then(|| resource_of(node));
        let node = root.as_ref().map_or(node, Props);
        if self.must_be_pruned && !is_pruned(node, default) {
            errors.push(printed::invalid_value(path, default, "must not have unknown fields"));
        }
        if let Err(sentence) = coerce(node, default) {
            errors.push(parsed(&sentence, path));
            return;
        }
        let resources = check_resources(node, default);
        if resources.is_empty() {
            check_value(node, default, path, errors);
        } else {
            errors.extend(moved(resources, path));
        }
    }
}

/// A default in the metadata of a resource must leave that metadata valid.
fn in_metadata(node: Props<'_>, default: &Value, around: &DefaultContext<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let object = around.object(default);
    let schema = resource_of(around.resource);
    let resource = Props(&schema);
    let problem = coerce(resource, &object).err().or_else(|| {
        let found = check_resources(resource, &object);
        aggregate(found.iter().map(|error| without_here(&error.to_string())))
    });
    match problem {
        Some(problem) => {
            let words = format!("must result in valid metadata: {problem}");
            errors.push(printed::invalid_value(path, default, &words));
        }
        None => check_value(node, default, path, errors),
    }
}

/// The schema of a whole object, which is a resource as embedded ones are.
fn resource_of(node: Props<'_>) -> Value {
    let mut schema = node.0.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("x-kubernetes-embedded-resource".to_owned(), true.into());
    }
    schema
}

/// The schema of an object whose only field is the default.
fn around(schema: &Value) -> Schema {
    Schema::compile(&json!({"type": "object", "properties": {HERE: schema}}), false)
}

fn is_pruned(node: Props<'_>, default: &Value) -> bool {
    if !default.is_object() && !default.is_array() {
        return true;
    }
    let mut object = json!({HERE: default});
    around(&structure_of(node.0, default)).prune(&mut object).is_empty()
}

/// Whether the metadata of embedded resources in a default can be read as such.
fn coerce(node: Props<'_>, default: &Value) -> Result<(), String> {
    if !has_resources(node, default) {
        return Ok(());
    }
    let mut object = json!({HERE: default});
    match around(&structure_of(node.0, default)).decode_quietly(&mut object) {
        Ok(()) => Ok(()),
        Err(error) => Err(without_here(&error.0)),
    }
}

/// What is wrong with the embedded resources in a default.
fn check_resources(node: Props<'_>, default: &Value) -> Errors {
    let mut errors = Errors::new();
    if has_resources(node, default) {
        around(&structure_of(node.0, default)).validate(&json!({HERE: default}), None, &mut errors);
    }
    errors
}

fn has_resources(node: Props<'_>, default: &Value) -> bool {
    (default.is_object() || default.is_array()) && node.any(&mut |node| node.is_embedded_resource())
}

/// What the schema and its rules say of a default.
fn check_value(node: Props<'_>, default: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(ty) = unknown_type(node) {
        let found = type_name(default);
        errors.push(FieldError {
            kind: ErrorType::TypeInvalid,
            field: path.to_string(),
            value: Some(found.into()),
            detail: format!(" in body must be of type {ty}: {}", quote(found)),
        });
        return;
    }
    let mut found = Errors::new();
    around(&values_of(node.0, default)).validate(&json!({HERE: default}), None, &mut found);
    for error in &mut found {
        // Upstream takes the index of a list for the name of a field.
        if let Some(index) = error.field.strip_prefix(HERE).filter(|below| below.starts_with('[')) {
            error.field = format!("{HERE}.{index}");
        }
        // Messages about the entries of a map begin with the dot behind the name that a default does not have.
        if node.additional_properties().is_some() {
            error.detail = error.detail.replace(&format!("{HERE}."), &format!("{HERE}.."));
        }
    }
    if found.is_empty() && meets_rules(node, default) {
        let wrapped = json!({"type": "object", "properties": {HERE: node.0}});
        if let Some(rules) = Validator::new(&wrapped) {
            let object = json!({HERE: default});
            found.extend(rules.validate(&object, None, Limits::default()));
        }
    }
    errors.extend(moved(found, path));
}

/// The type of a schema, if there is no such type: no value is of it.
fn unknown_type(node: Props<'_>) -> Option<&str> {
    const KNOWN: [&str; 7] = ["", "array", "boolean", "integer", "number", "object", "string"];
    node.get("type")?.as_str().filter(|ty| !KNOWN.contains(ty))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The errors of a default, with its path in the schema.
fn moved(errors: Errors, path: &PathRef<'_>) -> impl Iterator<Item = FieldError> {
    let place = path.to_string();
    errors.into_iter().map(move |error| FieldError {
        field: match error.field.strip_prefix(HERE) {
            Some(below) => format!("{place}{below}"),
            None => place.clone(),
        },
        value: error.value.map(|value| {
            let shown = value.as_str();
            // Only strings mention the path.
            if shown.starts_with('"') {
                BadValue::verbatim(without_here(shown))
            } else {
                value
            }
        }),
        detail: without_here(&error.detail),
        kind: error.kind,
    })
}

fn without_here(text: &str) -> String {
    text.replace(&format!("{HERE}."), "").replace(HERE, "")
}

/// A refusal of metadata, as an error of its own: `<field>: Invalid value: <shown>: <words>`.
fn parsed(sentence: &str, path: &PathRef<'_>) -> FieldError {
    let (field, body) = sentence.split_once(": Invalid value: ").unwrap_or(("", sentence));
    let field = if field.is_empty() {
        path.to_string()
    } else {
        format!("{path}.{field}")
    };
    FieldError::new(ErrorType::Invalid, &field, None, body)
}

/// Whether the schema has rules at the value or below it.
fn meets_rules(node: Props<'_>, value: &Value) -> bool {
    let below = match value {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let child = node.property(name).or_else(|| node.additional_properties());
            child.is_some_and(|child| meets_rules(child, value))
        }),
        Value::Array(items) => node
            .item()
            .is_some_and(|item| items.iter().any(|value| meets_rules(item, value))),
        _ => false,
    };
    below || !node.rules().is_empty()
}

/// Keeps the keywords that say which fields exist and where resources are embedded.
fn structure_of(schema: &Value, value: &Value) -> Value {
    let kept = [
        "properties",
        "items",
        "additionalProperties",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
    ];
    only(schema, Some(value), &|field| kept.contains(&field))
}

/// Keeps the keywords that restrict values. Upstream does not check list types and embedded resources of a default, looks
/// at int-or-string only where quantors express it, and runs rules later.
fn values_of(schema: &Value, value: &Value) -> Value {
    let left_out = [
        "default",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-validations",
    ];
    only(schema, Some(value), &|field| !left_out.contains(&field))
}

/// The schema with some of its keywords, only as deep as the value goes (all of it without a value): most defaults are
/// small values of large schemas.
fn only(schema: &Value, value: Option<&Value>, keep: &dyn Fn(&str) -> bool) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut kept = Map::new();
    for (name, field) in fields.iter().filter(|(name, _)| keep(name)) {
        let field = match (name.as_str(), field, value) {
            ("properties", Value::Object(properties), value) => {
                let touched = properties.iter().filter_map(|(name, property)| {
                    let value = match value {
                        Some(value) => Some(value.get(name)?),
                        None => None,
                    };
                    Some((name.clone(), only(property, value, keep)))
                });
                Value::Object(touched.collect())
            }
            ("items", item, Some(Value::Array(values))) => match values.as_slice() {
                [] => continue,
                [one] => only(item, Some(one), keep),
                _ => only(item, None, keep),
            },
            ("additionalProperties", values, Some(Value::Object(entries))) => {
                if entries.is_empty() {
                    continue;
                }
                only(values, None, keep)
            }
            ("items" | "additionalProperties", _, Some(_)) => continue,
            ("items" | "additionalProperties", below, None) => only(below, None, keep),
            _ => field.clone(),
        };
        kept.insert(name.clone(), field);
    }
    Value::Object(kept)
}
