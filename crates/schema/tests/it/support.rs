//! The cases of golden files, and documents for property tests: any JSON, and JSON that mostly follows a type.

use kubewright_schema::{TypeRef, Types, resources};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-10..10i64).prop_map(Value::from),
        any::<f64>().prop_map(|double| json!(double)),
        ".{0,8}".prop_map(Value::from),
        prop_oneof![
            Just("1Gi"),
            Just("100m"),
            Just("YQ=="),
            Just("2024-01-02T03:04:05Z"),
            Just("Always"),
            Just("25%"),
            Just("2024-01-02T03:04:05.000001+01:00"),
            Just("1e3")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A document that mostly follows its type, with strangers in between, grown from a list of choices.
fn grow(ty: TypeRef<'_>, choices: &mut impl Iterator<Item = u8>, strangers: &mut impl Iterator<Item = Value>) -> Value {
    let choice = choices.next().unwrap_or(0);
    if choice > 240 {
        return strangers.next().unwrap_or(Value::Null);
    }
    if ty.fields().next().is_some() {
        let mut map = Map::new();
        for field in ty.fields() {
            if choices.next().unwrap_or(0) > 170 {
                map.insert(field.name().to_owned(), grow(field.type_ref(), choices, strangers));
            }
        }
        return Value::Object(map);
    }
    match (ty.element(), ty.scalar()) {
        (Some(element), _) if ty.go_type().starts_with("map") || ty.go_type() == "v1.ResourceList" => {
            json!({"key": grow(element, choices, strangers)})
        }
        (Some(element), _) => (0..choice % 3).map(|_| grow(element, choices, strangers)).collect(),
        _ => strangers.next().unwrap_or(Value::Null),
    }
}

pub(crate) fn kinds() -> Vec<TypeRef<'static>> {
    resources()
        .iter()
        .filter_map(|resource| Types::builtin().kind(resource.group, resource.version, resource.kind))
        .collect()
}

/// A document of one of the built-in kinds that mostly follows its type.
pub(crate) fn typed_document() -> impl Strategy<Value = (TypeRef<'static>, Value)> {
    let choices = prop::collection::vec(any::<u8>(), 0..400);
    let strangers = prop::collection::vec(any_json(), 0..40);
    (choices, strangers, prop::sample::select(kinds())).prop_map(|(choices, strangers, ty)| {
        let document = grow(ty, &mut choices.into_iter(), &mut strangers.into_iter());
        (ty, document)
    })
}

/// The pairs of lines in a golden file: what was sent, and the answer.
pub(crate) fn pairs(golden: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = golden.lines();
    std::iter::from_fn(move || {
        let sent = lines.next()?;
        let answer = lines.next().expect("the golden file ends in the middle of a case");
        Some((sent, answer.trim_start()))
    })
}

/// The type of a built-in object.
pub(crate) fn type_of(object: &Value) -> TypeRef<'static> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Types::builtin()
        .kind(group, version, object["kind"].as_str().unwrap())
        .unwrap()
}
