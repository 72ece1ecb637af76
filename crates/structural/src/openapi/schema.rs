//! What is published of a structural schema: every keyword that has an effect, in the form the API machinery writes it.

use serde_json::{Map, Number, Value, json};

/// Keywords whose empty values say nothing.
const TEXTS: [&str; 5] = ["type", "description", "title", "format", "pattern"];
/// Keywords that say nothing when false.
const FLAGS: [&str; 4] = ["nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"];
/// Keywords that bound a number.
const NUMBERS: [&str; 3] = ["maximum", "minimum", "multipleOf"];
/// Keywords that bound a size; none of these is said by leaving them out.
const SIZES: [&str; 6] = [
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
];
const LISTS: [&str; 3] = ["enum", "required", "x-kubernetes-list-map-keys"];
const EXTENSION_FLAGS: [&str; 3] = [
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];
const EXTENSION_TEXTS: [&str; 2] = ["x-kubernetes-list-type", "x-kubernetes-map-type"];
const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The published form of a declared schema.
pub(super) fn published(declared: &Value) -> Map<String, Value> {
    let mut schema = shared(declared);
    if let Some(items) = declared.get("items").filter(|items| items.is_object()) {
        schema.insert("items".to_owned(), Value::Object(published(items)));
    }
    if let Some(Value::Object(properties)) = declared.get("properties")
        && !properties.is_empty()
    {
        let properties = properties
            .iter()
            .map(|(name, property)| (name.clone(), Value::Object(published(property))));
        schema.insert("properties".to_owned(), properties.collect());
    }
    match declared.get("additionalProperties") {
        Some(allowed @ Value::Bool(_)) => drop(schema.insert("additionalProperties".to_owned(), allowed.clone())),
        Some(values @ Value::Object(_)) => {
            schema.insert("additionalProperties".to_owned(), Value::Object(published(values)));
        }
        _ => {}
    }
    unfold(&mut schema);
    schema
}

/// The published form of a schema below a junctor, which only restricts values.
fn nested(declared: &Value) -> Value {
    let mut schema = shared(declared);
    if let Some(items) = declared.get("items").filter(|items| items.is_object()) {
        schema.insert("items".to_owned(), nested(items));
    }
    if let Some(Value::Object(properties)) = declared.get("properties")
        && !properties.is_empty()
    {
        let properties = properties
            .iter()
            .map(|(name, property)| (name.clone(), nested(property)));
        schema.insert("properties".to_owned(), properties.collect());
    }
    Value::Object(schema)
}

/// The keywords that both kinds of schemas have.
fn shared(declared: &Value) -> Map<String, Value> {
    let mut schema = Map::new();
    let mut keep = |keyword: &str, says: fn(&Value) -> bool| {
        if let Some(value) = declared.get(keyword).filter(|value| says(value)) {
            schema.insert(keyword.to_owned(), value.clone());
        }
    };
    for keyword in TEXTS {
        keep(keyword, |value| value.as_str().is_some_and(|text| !text.is_empty()));
    }
    for keyword in FLAGS.into_iter().chain(EXTENSION_FLAGS) {
        keep(keyword, |value| *value == true);
    }
    for keyword in SIZES.into_iter().chain(["default"]).chain(EXTENSION_TEXTS) {
        keep(keyword, |value| !value.is_null());
    }
    // Unlike a default, a null example is left out.
    keep("example", |value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    });
    for keyword in LISTS {
        keep(keyword, |value| value.as_array().is_some_and(|list| !list.is_empty()));
    }
    for keyword in NUMBERS {
        if let Some(Value::Number(number)) = declared.get(keyword) {
            schema.insert(keyword.to_owned(), Value::Number(as_double(number)));
        }
    }
    if let Some(Value::Object(docs)) = declared.get("externalDocs") {
        let says = |(_, value): &(&String, &Value)| value.as_str().is_some_and(|text| !text.is_empty());
        let docs = docs
            .iter()
            .filter(says)
            .map(|(name, value)| (name.clone(), value.clone()));
        schema.insert("externalDocs".to_owned(), docs.collect());
    }
    if let Some(Value::Array(rules)) = declared.get("x-kubernetes-validations")
        && !rules.is_empty()
    {
        schema.insert(
            "x-kubernetes-validations".to_owned(),
            rules.iter().map(rule_of).collect(),
        );
    }
    for keyword in JUNCTORS {
        if let Some(Value::Array(schemas)) = declared.get(keyword)
            && !schemas.is_empty()
        {
            schema.insert(keyword.to_owned(), schemas.iter().map(nested).collect());
        }
    }
    if let Some(not) = declared.get("not").filter(|not| not.is_object()) {
        schema.insert("not".to_owned(), nested(not));
    }
    schema
}

/// A rule says its rule, and what else it has to say.
fn rule_of(rule: &Value) -> Value {
    let Value::Object(rule) = rule else {
        return rule.clone();
    };
    let says = |(name, value): &(&String, &Value)| *name == "rule" || !(value.is_null() || **value == "");
    let said = rule
        .iter()
        .filter(says)
        .map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(said.collect())
}

/// Bounds are doubles: those without a fraction are written as integers.
fn as_double(number: &Number) -> Number {
    match number.as_f64() {
        Some(double) if double.fract() == 0.0 && double.abs() < 1e18 => Number::from(double as i64),
        _ => number.clone(),
    }
}

/// `x-kubernetes-int-or-string` means that the value is one or the other, and it is said unless it was.
fn unfold(schema: &mut Map<String, Value>) {
    if schema.get("x-kubernetes-int-or-string") != Some(&Value::Bool(true)) {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    if schema.get("anyOf") == Some(&either) {
        return;
    }
    let first = schema.get("allOf").and_then(|all| all.get(0));
    if first.and_then(|first| first.get("anyOf")) == Some(&either) {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf".to_owned(), either);
        return;
    }
    if let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([])) {
        all.insert(0, json!({"anyOf": either}));
    }
}
