//! Structural schemas (C5): every field has a type, quantors (`allOf`, `anyOf`, `oneOf`, `not`) only restrict what is specified
//! outside them, and metadata is left to the server.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::props::{Items, Props};
use crate::crd::access::{flag, list, text};
use crate::crd::conditions::{self, Condition};

/// The condition of a definition that is older than v1 and breaks its rules.
pub(in crate::crd) fn condition(object: &Value) -> Option<Condition> {
    let mut errors = Errors::new();
    let spec = PathRef::root("spec");
    if flag(object, &["spec", "preserveUnknownFields"]) {
        errors.push(FieldError::invalid(
            &spec.child("preserveUnknownFields"),
            true,
            "must be false",
        ));
    }
    let versions = spec.child("versions");
    for (index, version) in list(object, &["spec", "versions"]).iter().enumerate() {
        let Some(schema) = version
            .pointer("/schema/openAPIV3Schema")
            .filter(|schema| schema.is_object())
        else {
            continue;
        };
        if let Some(problem) = unsupported(Props(schema)) {
            let name = text(version, &["name"]);
            let message = format!("failed to check validation schema for version {name}: {problem}");
            return Some(Condition::new(
                conditions::NON_STRUCTURAL,
                "Unknown",
                "StructuralError",
                message,
            ));
        }
        let path = versions.index(index);
        let path = path.child("schema");
        errors.extend(validate(Props(schema), &path.child("openAPIV3Schema")));
    }
    let mut sentences: Vec<String> = Vec::new();
    for sentence in errors.iter().map(ToString::to_string) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let message = match sentences.as_slice() {
        [] => return None,
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(Condition::new(
        conditions::NON_STRUCTURAL,
        "True",
        "Violations",
        message,
    ))
}

/// Whether a schema breaks no rule of structure.
pub(super) fn is_structural(schema: &Value) -> bool {
    unsupported(Props(schema)).is_none() && validate(Props(schema), &PathRef::root("")).is_empty()
}

/// The first keyword that structural schemas cannot express, in upstream's words.
pub(super) fn unsupported(node: Props<'_>) -> Option<String> {
    let filled = |field: &str| node.map(field).next().is_some();
    let keyword = if !node.text("id").is_empty() {
        "id"
    } else if !node.text("$schema").is_empty() {
        "schema"
    } else if !node.text("$ref").is_empty() {
        "$ref"
    } else if filled("patternProperties") {
        "patternProperties"
    } else if filled("dependencies") {
        "dependencies"
    } else if node.has("additionalItems") {
        "additionalItems"
    } else if filled("definitions") {
        "definitions"
    } else {
        ""
    };
    if !keyword.is_empty() {
        return Some(format!("OpenAPIV3Schema '{keyword}' is not supported"));
    }
    let quantors = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|field| node.all(field));
    if let Some(problem) = node.not().into_iter().chain(quantors).find_map(unsupported) {
        return Some(problem);
    }
    if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Some("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned());
    }
    match node.items() {
        Some(Items::Many([_, ..])) => {
            return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        Some(Items::One(item)) => {
            if let Some(problem) = unsupported(item) {
                return Some(problem);
            }
        }
        _ => {}
    }
    let properties = node.properties().map(|(_, property)| property);
    properties.chain(node.additional_properties()).find_map(unsupported)
}

/// Every rule of structure that a schema breaks, sorted.
pub(super) fn validate(root: Props<'_>, path: &PathRef<'_>) -> Errors {
    let mut errors = Errors::new();
    invariants(root, Level::Root, path, &mut errors);
    complete_value(root, Some(root), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn invariants(node: Props<'_>, level: Level, path: &PathRef<'_>, errors: &mut Errors) {
    let items = path.child("items");
    match node.item() {
        Some(item) => invariants(item, Level::Item, &items, errors),
        None if node.kind() == "array" => errors.push(FieldError::required(&items, "must be specified")),
        None => {}
    }
    let properties = path.child("properties");
    for (name, property) in node.properties() {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    let additional = path.child("additionalProperties");
    if node.has("additionalProperties") && level == Level::Root {
        errors.push(FieldError::forbidden(&additional, "must not be used at the root"));
    }
    if let Some(schema) = node.additional_properties() {
        invariants(schema, Level::Field, &additional, errors);
    }
    extensions(node, path, errors);
    let first_all_of = node.all("allOf").next();
    value(
        node,
        Skip {
            any_of: is_int_or_string_pattern(node),
            first_all_of: first_all_of.is_some_and(is_int_or_string_pattern),
        },
        path,
        errors,
    );
    types(node, level, path, errors);
    if node.is_embedded_resource() && node.has("additionalProperties") {
        let words = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&additional, words));
    }
    if level == Level::Root && !matches!(node.kind(), "" | "object") {
        errors.push(FieldError::invalid(
            &path.child("type"),
            node.kind(),
            "must be object at the root",
        ));
    }
    metadata(node, level, &properties, errors);
    if node.is_embedded_resource() && !node.preserves_unknown_fields() && !node.has_properties() {
        let words =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&properties, words));
    }
}

fn extensions(node: Props<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    if !node.is_int_or_string() {
        return;
    }
    for field in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if node.flag(field) {
            let words = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&path.child(field), true, words));
        }
    }
}

fn types(node: Props<'_>, level: Level, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("type");
    if node.is_embedded_resource() && node.kind() != "object" {
        let words = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match node.kind() {
            "" => FieldError::required(&path, words),
            kind => FieldError::invalid(&path, kind, words),
        });
    } else if node.kind().is_empty() && !node.is_int_or_string() && !node.preserves_unknown_fields() {
        let words = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&path, words));
    }
}

/// Metadata belongs to the server: a schema may only restrict its name and generateName.
fn metadata(node: Props<'_>, level: Level, properties: &PathRef<'_>, errors: &mut Errors) {
    let is_resource = level == Level::Root || node.is_embedded_resource();
    for name in ["kind", "apiVersion"] {
        if let Some(property) = node.property(name).filter(|_| is_resource)
            && property.kind() != "string"
        {
            let path = properties.key(name);
            errors.push(FieldError::invalid(
                &path.child("type"),
                property.kind(),
                "must be string",
            ));
        }
    }
    let Some(metadata) = node.property("metadata") else {
        return;
    };
    let path = properties.key("metadata");
    if is_resource && metadata.kind() != "object" {
        errors.push(FieldError::invalid(
            &path.child("type"),
            metadata.kind(),
            "must be object",
        ));
    }
    if level == Level::Root && !restricts_only_names(metadata) {
        let words = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&path, words));
    }
}

fn restricts_only_names(metadata: Props<'_>) -> bool {
    let properties_are_good = metadata
        .properties()
        .all(|(name, _)| matches!(name, "name" | "generateName"));
    properties_are_good && is_empty_but_for(metadata, &["type", "properties", "default"])
}

/// Whether every field but these has its zero value.
fn is_empty_but_for(node: Props<'_>, fields: &[&str]) -> bool {
    node.0.as_object().is_none_or(|entries| {
        entries.iter().all(|(name, value)| {
            fields.contains(&name.as_str())
                || match value {
                    Value::Null => true,
                    _ if matches!(name.as_str(), "default" | "example" | "additionalProperties") => false,
                    Value::Bool(false) => true,
                    Value::String(text) => text.is_empty() && !name.starts_with("x-kubernetes-"),
                    Value::Array(items) => {
                        items.is_empty() && matches!(name.as_str(), "enum" | "allOf" | "anyOf" | "oneOf")
                    }
                    // Upstream's structural form has a map for properties, and none for these.
                    Value::Object(entries) => {
                        entries.is_empty()
                            && matches!(name.as_str(), "definitions" | "dependencies" | "patternProperties")
                    }
                    _ => false,
                }
        })
    })
}

/// `anyOf: [{type: integer}, {type: string}]`, and nothing else in either.
fn is_int_or_string_pattern(node: Props<'_>) -> bool {
    let any_of: Vec<Props<'_>> = node.all("anyOf").collect();
    match any_of.as_slice() {
        [first, second] => {
            let is_only = |node: &Props<'_>, kind: &str| node.kind() == kind && is_empty_but_for(*node, &["type"]);
            is_only(first, "integer") && is_only(second, "string")
        }
        _ => false,
    }
}

/// The quantors of an int-or-string node that only repeat that it is one, and are not checked.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of: bool,
}

/// The value validation of a node, structural or nested.
fn value(node: Props<'_>, skip: Skip, path: &PathRef<'_>, errors: &mut Errors) {
    let any_of = path.child("anyOf");
    for (index, schema) in node.all("anyOf").enumerate().filter(|_| !skip.any_of) {
        nested(schema, Skip::default(), &any_of.index(index), errors);
    }
    let all_of = path.child("allOf");
    for (index, schema) in node.all("allOf").enumerate() {
        let skip = Skip {
            any_of: skip.first_all_of && index == 0,
            first_all_of: false,
        };
        nested(schema, skip, &all_of.index(index), errors);
    }
    let one_of = path.child("oneOf");
    for (index, schema) in node.all("oneOf").enumerate() {
        nested(schema, Skip::default(), &one_of.index(index), errors);
    }
    if let Some(not) = node.not() {
        nested(not, Skip::default(), &path.child("not"), errors);
    }
    let text = node.text("pattern");
    if let Some(problem) = kubewright_re2::mistake(text).filter(|_| !text.is_empty()) {
        let words = format!("must be a valid regular expression, but isn't: {problem}");
        errors.push(FieldError::invalid(&path.child("pattern"), text, words));
    }
}

/// A schema under a quantor: it restricts values and says nothing about structure.
fn nested(node: Props<'_>, skip: Skip, path: &PathRef<'_>, errors: &mut Errors) {
    value(node, skip, path, errors);
    if let Some(item) = node.item() {
        nested(item, Skip::default(), &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in node.properties() {
        nested(property, Skip::default(), &properties.key(name), errors);
    }
    let additional = node
        .get("additionalProperties")
        .is_some_and(|value| *value != Value::Bool(false));
    for (field, is_set, must) in [
        ("type", !node.kind().is_empty(), "empty"),
        ("additionalProperties", additional, "undefined"),
        ("default", node.has("default"), "undefined"),
        ("title", !node.text("title").is_empty(), "empty"),
        ("description", !node.text("description").is_empty(), "empty"),
        ("nullable", node.nullable(), "false"),
        (
            "x-kubernetes-preserve-unknown-fields",
            node.preserves_unknown_fields(),
            "false",
        ),
        ("x-kubernetes-embedded-resource", node.is_embedded_resource(), "false"),
        ("x-kubernetes-int-or-string", node.is_int_or_string(), "false"),
        ("x-kubernetes-list-map-keys", !node.list_map_keys().is_empty(), "empty"),
        (
            "x-kubernetes-list-type",
            node.has("x-kubernetes-list-type"),
            "undefined",
        ),
        ("x-kubernetes-map-type", node.has("x-kubernetes-map-type"), "undefined"),
        ("x-kubernetes-validations", !node.rules().is_empty(), "empty"),
    ] {
        if is_set {
            errors.push(FieldError::forbidden(
                &path.child(field),
                format!("must be {must} to be structural"),
            ));
        }
    }
    if node.property("metadata").is_some() {
        let words = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(&properties.key("metadata"), words));
    }
}

/// Fields that quantors of the root name must be specified outside them. Nested quantors are not followed.
fn complete_value(
    validation: Props<'_>,
    structure: Option<Props<'_>>,
    outside: &PathRef<'_>,
    inside: &PathRef<'_>,
    errors: &mut Errors,
) {
    if let Some(not) = validation.not() {
        complete(not, structure, outside, &inside.child("not"), errors);
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        let inside = inside.child(field);
        for (index, schema) in validation.all(field).enumerate() {
            complete(schema, structure, outside, &inside.index(index), errors);
        }
    }
}

fn complete(
    validation: Props<'_>,
    structure: Option<Props<'_>>,
    outside: &PathRef<'_>,
    inside: &PathRef<'_>,
    errors: &mut Errors,
) {
    let Some(structure) = structure else {
        errors.push(FieldError::required(
            outside,
            format!("because it is defined in {inside}"),
        ));
        return;
    };
    complete_value(validation, Some(structure), outside, inside, errors);
    if let Some(item) = validation.item() {
        complete(
            item,
            structure.item(),
            &outside.child("items"),
            &inside.child("items"),
            errors,
        );
    }
    let (outside, inside) = (outside.child("properties"), inside.child("properties"));
    for (name, property) in validation.properties() {
        let (outside, inside) = (outside.key(name), inside.key(name));
        complete(property, structure.property(name), &outside, &inside, errors);
    }
}
