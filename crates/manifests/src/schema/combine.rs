//! Merges two schemas of one value: both must hold, and the description nearer to the field wins.

use serde_json::{Map, Value, json};

/// Merges `far` into `near`.
///
/// Conditions of both stay in force; of a description, a default or any other keyword that can only stand once, the nearer wins.
pub(super) fn merge(near: &mut Map<String, Value>, far: Map<String, Value>) {
    for (key, value) in far {
        let Some(known) = near.get_mut(&key) else {
            near.insert(key, value);
            continue;
        };
        match (key.as_str(), known, value) {
            ("properties", Value::Object(known), Value::Object(more)) => {
                for (name, schema) in more {
                    match (known.get_mut(&name), schema) {
                        (Some(Value::Object(known)), Value::Object(schema)) => merge(known, schema),
                        (Some(_), _) => {}
                        (None, schema) => drop(known.insert(name, schema)),
                    }
                }
            }
            ("items" | "additionalProperties", Value::Object(known), Value::Object(more)) => merge(known, more),
            ("required" | "allOf", Value::Array(known), Value::Array(more)) => {
                let new: Vec<Value> = more.into_iter().filter(|item| !known.contains(item)).collect();
                known.extend(new);
            }
            // The rules of a type come before those of a field of it.
            ("x-kubernetes-validations", Value::Array(known), Value::Array(mut more)) => {
                more.retain(|rule| !known.contains(rule));
                more.append(known);
                *known = more;
            }
            ("enum", Value::Array(known), Value::Array(more)) if known.iter().any(|value| more.contains(value)) => {
                known.retain(|value| more.contains(value));
            }
            ("minimum" | "minLength" | "minItems" | "minProperties", known, value) => keep(known, value, f64::gt),
            ("maximum" | "maxLength" | "maxItems" | "maxProperties", known, value) => keep(known, value, f64::lt),
            ("oneOf" | "anyOf" | "not" | "pattern" | "multipleOf", known, value) if *known != value => {
                also(near, &key, &value);
            }
            _ => {}
        }
    }
    keep_unknown_fields(near);
}

/// Keeps the stricter of two bounds.
fn keep(known: &mut Value, other: Value, stricter: impl Fn(&f64, &f64) -> bool) {
    if let (Some(known_bound), Some(bound)) = (known.as_f64(), other.as_f64())
        && stricter(&bound, &known_bound)
    {
        *known = other;
    }
}

/// Adds a keyword that the schema already has with another value: both must hold.
fn also(schema: &mut Map<String, Value>, key: &str, value: &Value) {
    let condition = json!({ key: value });
    if let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([]))
        && !all.contains(&condition)
    {
        all.push(condition);
    }
}

/// A structural schema cannot have `properties` and `additionalProperties`: unknown fields are preserved without a schema.
fn keep_unknown_fields(schema: &mut Map<String, Value>) {
    if schema.contains_key("properties") && schema.remove("additionalProperties").is_some() {
        schema.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    }
}
