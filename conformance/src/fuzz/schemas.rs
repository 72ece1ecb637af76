//! Structural schemas that the real server accepts, and values for schemas, whoever wrote them.

use serde_json::{Map, Value, json};

use super::random::Choices;
use super::values::{empty_like, of_another_type};
use super::weights::UNUSUAL;
use super::words;

/// How deep a made-up schema or value may be.
const DEEPEST: usize = 4;

/// The schema of an object with some properties.
pub fn object(choices: &mut Choices, depth: usize) -> Value {
    let mut properties = Map::new();
    for name in ["a", "b", "c", "d"].iter().take(1 + choices.below(4)) {
        properties.insert((*name).to_owned(), schema(choices, depth + 1));
    }
    let mut object = json!({"type": "object", "properties": properties});
    if choices.percent(25) {
        let names: Vec<&String> = properties.keys().collect();
        object["required"] = json!([choices.pick(&names)]);
    }
    let preserves = choices.percent(8);
    if preserves {
        object["x-kubernetes-preserve-unknown-fields"] = json!(true);
    } else if choices.percent(8) {
        object["x-kubernetes-map-type"] = json!(choices.word(&["atomic", "granular"]));
    }
    if object["required"].is_null() && depth > 0 && choices.percent(15) {
        object["default"] = json!({});
    }
    if choices.percent(12) {
        object["x-kubernetes-validations"] = rules(choices, &properties);
    }
    object
}

/// Rules over the first property, which hold for many values.
fn rules(choices: &mut Choices, properties: &Map<String, Value>) -> Value {
    let Some((name, schema)) = properties.iter().next() else {
        return json!([]);
    };
    let rule = match schema["type"].as_str() {
        Some("string") if schema["format"].is_null() => format!("!has(self.{name}) || self.{name}.size() < 5"),
        Some("integer" | "number") => format!("!has(self.{name}) || self.{name} < 50"),
        Some("boolean") => format!("!has(self.{name}) || self.{name}"),
        _ => format!("has(self.{name})"),
    };
    let mut rule = json!({"rule": rule});
    match choices.below(4) {
        0 => rule["message"] = json!("not like this"),
        1 => rule["messageExpression"] = json!(format!("'no ' + '{name}'")),
        2 => {
            rule["reason"] = json!(choices.word(&["FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]));
        }
        _ => {}
    }
    json!([rule])
}

fn schema(choices: &mut Choices, depth: usize) -> Value {
    let mut schema = match choices.below(if depth < DEEPEST { 13 } else { 6 }) {
        0..=1 => string(choices),
        2..=3 => integer(choices),
        4 => json!({"type": "boolean"}),
        5 => choices
            .pick(&[
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
                json!({"type": "number", "multipleOf": 0.5}),
                json!({"x-kubernetes-int-or-string": true}),
            ])
            .clone(),
        6..=8 => object(choices, depth),
        9 => json!({"type": "object", "additionalProperties": self::schema(choices, depth + 1)}),
        _ => list(choices, depth),
    };
    if choices.percent(8) {
        schema["nullable"] = json!(true);
    }
    if choices.percent(14) && schema["default"].is_null() {
        match schema["type"].as_str() {
            Some("boolean") => schema["default"] = json!(choices.percent(50)),
            Some("integer") if schema["multipleOf"].is_null() => schema["default"] = json!(3),
            _ => {}
        }
    }
    schema
}

fn string(choices: &mut Choices) -> Value {
    choices
        .pick(&[
            json!({"type": "string"}),
            json!({"type": "string"}),
            json!({"type": "string", "default": "x"}),
            json!({"type": "string", "maxLength": 3}),
            json!({"type": "string", "minLength": 2, "maxLength": 20}),
            json!({"type": "string", "enum": ["x", "y", "z"]}),
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "ipv4"}),
            json!({"type": "string", "format": "byte"}),
            json!({"type": "string", "format": "duration"}),
            json!({"type": "string", "format": "uuid"}),
            json!({"type": "string", "format": "date"}),
            json!({"type": "string", "format": "hostname"}),
            json!({"type": "string", "format": "cidr"}),
        ])
        .clone()
}

fn integer(choices: &mut Choices) -> Value {
    choices
        .pick(&[
            json!({"type": "integer"}),
            json!({"type": "integer", "format": "int32"}),
            json!({"type": "integer", "format": "int64", "minimum": 1}),
            json!({"type": "integer", "minimum": 0, "maximum": 10}),
            json!({"type": "integer", "maximum": 100, "exclusiveMaximum": true}),
            json!({"type": "integer", "multipleOf": 2}),
            json!({"type": "integer", "enum": [1, 2, 3]}),
        ])
        .clone()
}

fn list(choices: &mut Choices, depth: usize) -> Value {
    let scalar = json!({"type": "string", "maxLength": 20});
    let keyed = json!({
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}, "value": schema(choices, depth + 2)},
    });
    let mut list = match choices.below(6) {
        0 => json!({"type": "array", "items": scalar, "x-kubernetes-list-type": "set"}),
        1 => {
            json!({"type": "array", "items": keyed, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})
        }
        2 => {
            json!({"type": "array", "items": keyed, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]})
        }
        3 => json!({"type": "array", "items": schema(choices, depth + 1), "x-kubernetes-list-type": "atomic"}),
        4 => json!({"type": "array", "items": scalar}),
        _ => json!({"type": "array", "items": schema(choices, depth + 1)}),
    };
    if choices.percent(25) {
        list["maxItems"] = json!(2);
    }
    if choices.percent(10) {
        list["minItems"] = json!(1);
    }
    // Items of a set may not be null, nor may those of a map.
    if !list["x-kubernetes-list-type"].is_null() && list["items"]["nullable"] == true {
        list["items"]["nullable"] = json!(false);
    }
    list
}

/// A value for a schema, most of the time a valid one.
pub fn value(choices: &mut Choices, schema: &Value, name: &str, depth: usize) -> Value {
    if schema["nullable"] == true && choices.percent(10) {
        return Value::Null;
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty())
        && !choices.percent(UNUSUAL / 2)
    {
        return choices.pick(values).clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return choices.pick(&[json!(1), json!("50%"), json!("1Gi"), json!(-1)]).clone();
    }
    match schema["type"].as_str() {
        Some("string") => json!(string_of(choices, schema, name)),
        Some("integer") => number_of(choices, schema),
        Some("number") => choices.pick(&[json!(0.5), json!(1), json!(-2), json!(2.25)]).clone(),
        Some("boolean") => json!(choices.percent(50)),
        Some("array") => {
            let most = 1 + choices.below(2);
            let count = if depth > DEEPEST + 4 { 0 } else { most };
            (0..count)
                .map(|_| value(choices, &schema["items"], name, depth + 1))
                .collect()
        }
        Some("object") => object_of(choices, schema, name, depth),
        _ => choices.pick(&[json!({"x": 1}), json!("x"), json!([1])]).clone(),
    }
}

fn object_of(choices: &mut Choices, schema: &Value, name: &str, depth: usize) -> Value {
    let mut object = Map::new();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // Unions say in their alternatives what they require.
    let alternatives: Vec<&str> = ["oneOf", "anyOf"]
        .iter()
        .flat_map(|word| schema[*word].as_array().into_iter().flatten())
        .flat_map(|branch| branch["required"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    let alternative = if alternatives.is_empty() {
        None
    } else {
        Some(*choices.pick(&alternatives))
    };
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let must = required.contains(&key.as_str()) || alternative == Some(key.as_str());
        let chance = if alternatives.contains(&key.as_str()) {
            3
        } else if depth < 2 {
            45
        } else {
            18
        };
        if must && !choices.percent(3) || depth < DEEPEST + 3 && choices.percent(chance) {
            object.insert(key.clone(), value(choices, property, key, depth + 1));
        }
    }
    if schema["additionalProperties"].is_object() {
        for _ in 0..=choices.below(2) {
            let key = words::key(choices, name);
            object.insert(key, value(choices, &schema["additionalProperties"], name, depth + 1));
        }
    }
    Value::Object(object)
}

fn string_of(choices: &mut Choices, schema: &Value, name: &str) -> String {
    let formatted: &[&str] = match schema["format"].as_str() {
        Some("date-time") => &["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+01:00", "2026-01-02"],
        Some("date") => &["2026-01-02", "2026-13-02"],
        Some("duration") => &["1h", "90s", "1 day", "x"],
        Some("byte") => &["dg==", "!"],
        Some("ipv4" | "ip") => &["10.1.2.3", "fd00::1", "010.1.1.1"],
        Some("ipv6") => &["fd00::1", "10.1.2.3"],
        Some("cidr") => &["10.0.0.0/8", "10.0.0.0"],
        Some("uuid") => &[
            "0b6f1f6c-8a2b-4f6a-9d2e-1c2b3a4d5e6f",
            "0b6f1f6c8a2b4f6a9d2e1c2b3a4d5e6f",
            "x",
        ],
        Some("hostname") => &["h.example.com", "-h", "H_x"],
        _ => &[],
    };
    if formatted.is_empty() {
        words::string(choices, name)
    } else {
        choices.word(formatted).to_owned()
    }
}

fn number_of(choices: &mut Choices, schema: &Value) -> Value {
    let minimum = schema["minimum"].as_i64().unwrap_or(0);
    if choices.percent(UNUSUAL) {
        return choices
            .pick(&[
                json!(-1),
                json!(11),
                json!(101),
                json!(1.5),
                json!(2_147_483_648_i64),
                json!(3.0),
            ])
            .clone();
    }
    json!(minimum + choices.below(4) as i64)
}

/// A copy of a value that differs at one to three places; some of what is new has a place in the schema.
pub fn changed(choices: &mut Choices, schema: &Value, value: &Value) -> Value {
    let mut changed = value.clone();
    for _ in 0..=choices.below(3) {
        change(choices, schema, &mut changed, "", 0);
    }
    changed
}

fn change(choices: &mut Choices, schema: &Value, value: &mut Value, name: &str, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = choices.pick(&keys).clone();
            let below = |key: &str| match &schema["properties"][key] {
                Value::Null => schema["additionalProperties"].clone(),
                property => property.clone(),
            };
            let inner = fields
                .get(&key)
                .is_some_and(|value| value.is_object() || value.is_array());
            if inner && choices.percent(70) {
                let below = below(&key);
                if let Some(value) = fields.get_mut(&key) {
                    change(choices, &below, value, &key, depth + 1);
                }
                return;
            }
            let old = fields[&key].clone();
            match choices.below(9) {
                0 => drop(fields.remove(&key)),
                1 => drop(fields.insert(key, Value::Null)),
                2 => drop(fields.insert(key, of_another_type(choices, &old))),
                3 => drop(fields.insert(key, empty_like(&old))),
                4 => drop(fields.insert("unknownField".to_owned(), json!("x"))),
                5..=6 => drop(fields.insert(key.clone(), self::value(choices, &below(&key), &key, depth))),
                _ => {
                    let known: Vec<&String> = schema["properties"]
                        .as_object()
                        .map(|known| known.keys().collect())
                        .unwrap_or_default();
                    if !known.is_empty() {
                        let key = (*choices.pick(&known)).clone();
                        let value = self::value(choices, &below(&key), &key, depth);
                        fields.insert(key, value);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = choices.below(items.len());
            match choices.below(5) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.push(self::value(choices, &schema["items"], name, depth)),
                _ => change(choices, &schema["items"], &mut items[at], name, depth + 1),
            }
        }
        _ => *value = self::value(choices, schema, name, depth),
    }
}
