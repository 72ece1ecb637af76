//! Conditions: schemas below `not`, `oneOf`, `anyOf` and `allOf`, which may restrict a value but not declare its type.

use serde_json::{Map, Value, json};

use super::keywords;

/// The schema as a condition, or the first keyword that no condition may have.
pub(super) fn condition(schema: &Value) -> Result<Map<String, Value>, &str> {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(false) => return Ok(Map::from_iter([("not".to_owned(), json!({}))])),
        _ => return Ok(Map::new()),
    };
    let mut rewritten = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("const", value) => {
                rewritten.insert("enum".to_owned(), json!([value]));
                continue;
            }
            ("not" | "items", value) => condition(value)?.into(),
            ("oneOf" | "anyOf" | "allOf", Value::Array(parts)) => {
                let parts: Result<Vec<Value>, &str> =
                    parts.iter().map(|part| condition(part).map(Value::Object)).collect();
                parts?.into()
            }
            ("properties", Value::Object(properties)) => {
                let properties: Result<Map<String, Value>, &str> = properties
                    .iter()
                    .map(|(name, property)| Ok((name.clone(), condition(property)?.into())))
                    .collect();
                properties?.into()
            }
            (key, value) if keywords::RESTRICTING.contains(&key) => value.clone(),
            (key, _) if keywords::is_note(key) => continue,
            (key, _) => return Err(key),
        };
        rewritten.insert(key.clone(), value);
    }
    keywords::rewrite_exclusive_bounds(&mut rewritten);
    Ok(rewritten)
}
