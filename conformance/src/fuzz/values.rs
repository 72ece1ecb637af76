//! Values of built-in types, made from the table of facts.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use kubewright_schema::{FieldRef, Scalar, TypeRef};
use serde_json::{Map, Value, json};

use super::random::Choices;
use super::weights::UNUSUAL;
use super::words;

/// How deep a made-up value may be.
const DEEPEST: usize = 5;

/// A value of a type, for a field of this name.
pub fn of_type(choices: &mut Choices, of: TypeRef<'_>, field: &str) -> Value {
    value(choices, of, field, 0)
}

fn value(choices: &mut Choices, of: TypeRef<'_>, field: &str, depth: usize) -> Value {
    if let Some(values) = of.enumeration()
        && !choices.percent(UNUSUAL / 2)
    {
        return json!(choices.pick(values));
    }
    if let Some(scalar) = of.scalar() {
        return scalar_value(choices, scalar, field);
    }
    match of.element() {
        Some(element) if of.go_type().starts_with("map[") => {
            let mut map = Map::new();
            for _ in 0..=choices.below(2) {
                let key = words::key(choices, field);
                map.insert(key, value(choices, element, field, depth + 1));
            }
            Value::Object(map)
        }
        Some(element) if depth < DEEPEST => {
            let count = 1 + choices.below(2);
            (0..count).map(|_| value(choices, element, field, depth + 1)).collect()
        }
        Some(_) => json!([]),
        None => structure(choices, of, depth),
    }
}

/// Required fields, and either one other field, since many types are unions, or each with a small chance.
fn structure(choices: &mut Choices, of: TypeRef<'_>, depth: usize) -> Value {
    let fields: Vec<FieldRef<'_>> = of.fields().filter(|field| !is_server_side(field.name())).collect();
    let optional: Vec<&str> = fields
        .iter()
        .filter(|field| !field.is_required())
        .map(|field| field.name())
        .collect();
    let mut chosen: Vec<&str> = Vec::new();
    if depth < DEEPEST && !optional.is_empty() {
        if choices.percent(55) {
            chosen.push(choices.word(&optional));
        } else {
            chosen.extend(optional.iter().filter(|_| choices.percent(22)));
        }
    }
    let mut object = Map::new();
    for field in fields {
        let wanted = field.is_required() && !choices.percent(3) || chosen.contains(&field.name());
        if wanted {
            object.insert(
                field.name().to_owned(),
                value(choices, field.type_ref(), field.name(), depth + 1),
            );
        }
    }
    Value::Object(object)
}

/// Whether servers write the field and clients do not.
pub fn is_server_side(field: &str) -> bool {
    ["managedFields", "kind", "apiVersion", "selfLink"].contains(&field)
}

fn scalar_value(choices: &mut Choices, scalar: Scalar, field: &str) -> Value {
    match scalar {
        Scalar::Bool => json!(choices.percent(50)),
        Scalar::Int(_) => json!(words::integer(choices)),
        Scalar::Float => choices.pick(&[json!(0.5), json!(1), json!(-2.25)]).clone(),
        Scalar::String => json!(words::string(choices, field)),
        Scalar::Bytes => json!(BASE64.encode(choices.word(&["", "v", "a longer value"]))),
        Scalar::Quantity => json!(words::quantity(choices)),
        Scalar::Time => json!(choices.word(&[
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05+02:00",
            "2026-01-02T03:04:05.9Z"
        ])),
        Scalar::MicroTime => json!(choices.word(&["2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05Z"])),
        Scalar::IntOrString => choices
            .pick(&[
                json!(1),
                json!(80),
                json!("25%"),
                json!("http"),
                json!("150%"),
                json!(-1),
                json!(0),
                json!(""),
            ])
            .clone(),
        Scalar::Raw | Scalar::Any | Scalar::Fields => choices
            .pick(&[
                json!({"x": 1}),
                json!({"x": {"y": ["z"]}}),
                json!({"apiVersion": "v1", "kind": "X"}),
            ])
            .clone(),
        Scalar::SchemaOrBool => choices
            .pick(&[json!(true), json!(false), json!({"type": "string"})])
            .clone(),
        Scalar::SchemaOrArray | Scalar::SchemaOrStrings => json!({"type": "string"}),
    }
}

/// A value of a type other than this value's.
pub fn of_another_type(choices: &mut Choices, value: &Value) -> Value {
    let others = [
        json!("text"),
        json!(7),
        json!(true),
        json!({"x": "y"}),
        json!(["x"]),
        json!(1.5),
        json!([{"x": 1}]),
    ];
    let mut other = choices.pick(&others).clone();
    if std::mem::discriminant(&other) == std::mem::discriminant(value) {
        other = if value.is_string() { json!(12) } else { json!("text") };
    }
    other
}

/// What is empty in the type of a value.
pub fn empty_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => json!({}),
        Value::Array(_) => json!([]),
        Value::String(_) => json!(""),
        Value::Number(_) => json!(0),
        Value::Bool(_) | Value::Null => json!(false),
    }
}
