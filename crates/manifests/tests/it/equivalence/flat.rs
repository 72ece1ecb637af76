//! A definition as a list of facts, one per line: `v1 spec.size: minimum` is 1.
//! What means the same to an API server is the same fact, however it is written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Facts by what they are about.
pub(crate) type Facts = BTreeMap<String, Value>;

/// What a definition says, and, apart from it, its descriptions.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    /// All but descriptions.
    pub(crate) facts: Facts,
    /// The descriptions of the schemas.
    pub(crate) descriptions: Facts,
}

/// The facts of a `CustomResourceDefinition`.
pub(crate) fn definition(definition: &Value) -> Flat {
    let mut flat = Flat::default();
    leaves(&mut flat.facts, "metadata", &definition["metadata"]);
    // The name and version of the tool that wrote it are no part of what it says.
    flat.facts
        .retain(|key, _| !key.starts_with("metadata.annotations.controller-gen.kubebuilder.io/version"));
    let spec = &definition["spec"];
    for (key, value) in members(spec).filter(|(key, _)| *key != "versions") {
        leaves(&mut flat.facts, key, value);
    }
    for version in spec["versions"].as_array().into_iter().flatten() {
        one_version(&mut flat, version);
    }
    flat
}

fn one_version(flat: &mut Flat, version: &Value) {
    let name = version["name"].as_str().unwrap_or_default();
    for (key, value) in members(version) {
        match key {
            "name" => {}
            "schema" => schema(flat, name, "", &value["openAPIV3Schema"]),
            "additionalPrinterColumns" => {
                // Columns are shown in their order.
                for (index, column) in value.as_array().into_iter().flatten().enumerate() {
                    leaves(&mut flat.facts, &format!("{name} column {index}"), column);
                }
            }
            "selectableFields" => {
                for field in value.as_array().into_iter().flatten() {
                    let path = field["jsonPath"].as_str().unwrap_or_default();
                    flat.facts.insert(format!("{name} selectable {path}"), true.into());
                }
            }
            "subresources" => {
                for (subresource, value) in members(value) {
                    flat.facts
                        .insert(format!("{name} subresource {subresource}"), true.into());
                    leaves(&mut flat.facts, &format!("{name} subresource {subresource}"), value);
                }
            }
            _ => leaves(&mut flat.facts, &format!("{name} {key}"), value),
        }
    }
}

/// One schema and all below it.
fn schema(flat: &mut Flat, version: &str, path: &str, schema: &Value) {
    let at = format!("{version} {}", if path.is_empty() { "." } else { path });
    // That a field is there at all is a fact, even if nothing more is said of it.
    flat.facts.insert(at.clone(), true.into());
    let below = |part: &str| match (path, part) {
        ("", part) => part.to_owned(),
        (path, "[]" | "{}") => format!("{path}{part}"),
        (path, part) => format!("{path}.{part}"),
    };
    let schema = &folded(schema);
    for (key, value) in members(schema) {
        match key {
            // The switch says just that.
            "anyOf" if schema["x-kubernetes-int-or-string"] == true && *value == either() => {}
            "properties" => {
                for (name, value) in members(value) {
                    self::schema(flat, version, &below(name), value);
                }
            }
            "items" => self::schema(flat, version, &below("[]"), value),
            "additionalProperties" if value.is_object() => self::schema(flat, version, &below("{}"), value),
            "description" => {
                flat.descriptions.insert(at.clone(), value.clone());
            }
            "required" => {
                for name in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    flat.facts.insert(format!("{at}: requires {name}"), true.into());
                }
            }
            "x-kubernetes-validations" => {
                for rule in value.as_array().into_iter().flatten() {
                    let text = rule["rule"].as_str().unwrap_or_default();
                    leaves(&mut flat.facts, &format!("{at}: rule {text}"), rule);
                }
            }
            // Neither the order of values nor that of keys means anything.
            "enum" | "x-kubernetes-list-map-keys" => {
                flat.facts.insert(format!("{at}: {key}"), sorted(value));
            }
            _ => {
                flat.facts.insert(format!("{at}: {key}"), plain(value));
            }
        }
    }
}

/// What a document holds at its ends: `rules.0.verbs.1`.
pub(crate) fn leaves(facts: &mut Facts, at: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                leaves(facts, &format!("{at}.{key}"), value);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(facts, &format!("{at}.{index}"), item);
            }
        }
        scalar => {
            facts.insert(at.to_owned(), plain(scalar));
        }
    }
}

/// Bounds that hold together are the narrowest of them, whether they stand in `allOf` or beside each other.
fn folded(schema: &Value) -> Value {
    let parts = schema["allOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (Value::Object(whole), true) = (schema, !parts.is_empty() && parts.iter().all(is_bounds)) else {
        return schema.clone();
    };
    let mut whole = whole.clone();
    whole.remove("allOf");
    for (key, value) in parts.iter().flat_map(members) {
        let both = match whole.get(key) {
            None => value.clone(),
            Some(known) => narrower(key, known, value),
        };
        whole.insert(key.to_owned(), both);
    }
    whole.into()
}

fn is_bounds(schema: &Value) -> bool {
    members(schema).all(|(key, _)| key == "pattern" || key.starts_with("min") || key.starts_with("max"))
}

fn narrower(key: &str, one: &Value, other: &Value) -> Value {
    if key == "pattern" {
        // Both must be met.
        let listed = |pattern: &Value| pattern.as_array().cloned().unwrap_or_else(|| vec![pattern.clone()]);
        let mut patterns = listed(one);
        patterns.extend(listed(other));
        return sorted(&patterns.into());
    }
    let is_less = one.as_f64() < other.as_f64();
    if is_less == key.starts_with("max") {
        one.clone()
    } else {
        other.clone()
    }
}

fn either() -> Value {
    json!([{ "type": "integer" }, { "type": "string" }])
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, value)| (key.as_str(), value))
}

fn sorted(value: &Value) -> Value {
    let mut items: Vec<Value> = value.as_array().cloned().unwrap_or_default();
    items.sort_by_key(Value::to_string);
    items.into()
}

/// 1.0 and 1 are one number.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        _ => value.clone(),
    }
}

#[test]
fn bounds_that_hold_together_are_the_narrowest_of_them() {
    let together = json!({
        "allOf": [{ "minimum": 1, "maxLength": 10, "pattern": "b" }, { "minimum": -5, "pattern": "a" }],
        "maxLength": 20,
    });
    assert_eq!(
        folded(&together),
        json!({ "minimum": 1, "maxLength": 10, "pattern": ["a", "b"] })
    );
    let other = json!({ "allOf": [{ "required": ["a"] }] });
    assert_eq!(folded(&other), other);
}
