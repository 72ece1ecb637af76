//! Two schemas of one value made one: both must hold, and what is said nearer to the field is what readers see.

use serde_json::{Map, Value, json};

/// Adds to `near` what `far` says of the same value.
///
/// Conditions of both stay in force; of a description, a default or any other word that can only stand once, the nearer wins.
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
    settle_open(near);
}

/// Keeps the stricter of two bounds.
fn keep(known: &mut Value, other: Value, stricter: impl Fn(&f64, &f64) -> bool) {
    if let (Some(known_bound), Some(bound)) = (known.as_f64(), other.as_f64())
        && stricter(&bound, &known_bound)
    {
        *known = other;
    }
}

/// A keyword that is there already holds as well.
fn also(schema: &mut Map<String, Value>, key: &str, value: &Value) {
    let condition = json!({ key: value });
    if let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([]))
        && !all.contains(&condition)
    {
        all.push(condition);
    }
}

/// Fields beside the known ones are kept as they are: no schema can say what they hold.
fn settle_open(schema: &mut Map<String, Value>) {
    if schema.contains_key("properties") && schema.remove("additionalProperties").is_some() {
        schema.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    }
}
