//! A value that a structural schema allows.

use serde_json::{Map, Value, json};

use super::text;

/// A value of a schema. `nth` makes the values of one list differ.
pub(super) fn of(schema: &Value, field: &str, nth: usize) -> Value {
    let values = schema.get("enum").and_then(Value::as_array);
    if let Some(value) = values.and_then(|values| values.get(nth % values.len().max(1))) {
        return value.clone();
    }
    if nth == 0
        && let Some(given) = schema.get("default").or_else(|| schema.get("example"))
    {
        return given.clone();
    }
    if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        return json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "sample" } });
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => object(schema, nth).into(),
        Some("array") => list(schema, field).into(),
        Some("string") => text::of(schema, field, nth).into(),
        Some("integer") => integer(schema, nth).into(),
        Some("number") => number(schema, nth),
        Some("boolean") => true.into(),
        // A number or a text, or anything: what the first alternative wants, or what is simplest.
        _ if schema.get("x-kubernetes-int-or-string").is_some() => integer(schema, nth).into(),
        _ => anything(schema, field, nth),
    }
}

fn anything(schema: &Value, field: &str, nth: usize) -> Value {
    let alternatives = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|choice| schema.get(choice)?.as_array())
        .flatten();
    let enumerated = alternatives
        .into_iter()
        .find(|alternative| alternative.get("enum").is_some());
    enumerated.map_or_else(|| json!({}), |alternative| of(alternative, field, nth))
}

/// What an object must have: of a choice, the first.
fn object(schema: &Value, nth: usize) -> Map<String, Value> {
    let mut object = Map::new();
    fill(schema, schema, nth, &mut object);
    if let Some(values) = schema.get("additionalProperties") {
        let least = bound(schema, "minProperties").unwrap_or(0.0).clamp(0.0, 100.0) as usize;
        for at in object.len()..least {
            object.insert(text::numbered("key", at), of(values, "key", at));
        }
    }
    if object.len() < bound(schema, "minProperties").unwrap_or(0.0).clamp(0.0, 100.0) as usize {
        for (name, property) in fields(schema) {
            object.entry(name.clone()).or_insert_with(|| of(property, name, nth));
        }
    }
    object
}

/// Fills in what `demand` requires of the fields that `declared` declares.
fn fill(declared: &Value, demand: &Value, nth: usize, object: &mut Map<String, Value>) {
    for name in demand
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if let Some(property) = declared
            .pointer("/properties")
            .and_then(|properties| properties.get(name))
        {
            object.entry(name).or_insert_with(|| of(property, name, nth));
        }
    }
    // The tag of the variant.
    if !std::ptr::eq(declared, demand) {
        for (name, condition) in fields(demand) {
            let required = demand.get("required").and_then(Value::as_array);
            let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
            if let Some(value) = condition.pointer("/enum/0").filter(|_| is_required) {
                object.insert(name.clone(), value.clone());
            }
        }
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = demand.get(choice).and_then(|choice| choice.get(0)) {
            fill(declared, first, nth, object);
        }
    }
    for part in demand.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        fill(declared, part, nth, object);
    }
}

fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn list(schema: &Value, field: &str) -> Vec<Value> {
    let least = bound(schema, "minItems").unwrap_or(0.0).clamp(0.0, 100.0) as usize;
    let Some(items) = schema.get("items") else {
        return Vec::new();
    };
    (0..least).map(|nth| of(items, field, nth)).collect()
}

fn integer(schema: &Value, nth: usize) -> i64 {
    let (least, most) = bounds(schema, 1.0);
    let step = bound(schema, "multipleOf").filter(|step| *step >= 1.0).unwrap_or(1.0);
    // The first multiple that is not below the least.
    let first = (least.unwrap_or(1.0_f64.min(most.unwrap_or(1.0))) / step).ceil() * step;
    (first + step * nth as f64) as i64
}

fn number(schema: &Value, nth: usize) -> Value {
    let (least, most) = bounds(schema, 0.5);
    let step = bound(schema, "multipleOf").filter(|step| *step > 0.0);
    let first = least.unwrap_or(1.0_f64.min(most.unwrap_or(1.0)));
    let first = step.map_or(first, |step| (first / step).ceil() * step);
    json!(first + step.unwrap_or(1.0) * nth as f64)
}

/// The least and the most that are allowed; `beyond` an exclusive bound.
fn bounds(schema: &Value, beyond: f64) -> (Option<f64>, Option<f64>) {
    let is_exclusive = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let least = bound(schema, "minimum").map(|least| {
        if is_exclusive("exclusiveMinimum") {
            least + beyond
        } else {
            least
        }
    });
    let most = bound(schema, "maximum").map(|most| {
        if is_exclusive("exclusiveMaximum") {
            most - beyond
        } else {
            most
        }
    });
    (least, most)
}

fn bound(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}
