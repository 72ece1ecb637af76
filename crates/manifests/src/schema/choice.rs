//! Enumerations: `oneOf` and `anyOf` as serde's four ways of tagging write them, in the form a structural schema allows.
//!
//! A structural schema declares each field once, outside of any choice; inside the alternatives only conditions on those
//! fields may stand. So the variants' properties are hoisted and merged, and each alternative keeps what tells it apart.

use serde_json::{Map, Value, json};

use super::mistake::Mistake;

/// One alternative of a choice, rewritten.
type Variant = Map<String, Value>;

/// What a choice among rewritten variants becomes.
pub(super) fn settle(
    exclusive: bool,
    variants: Vec<Variant>,
    mistake: &impl Fn(&str, &str) -> Mistake,
) -> Result<Map<String, Value>, Mistake> {
    if let Some(merged) = one_type_enum(&variants) {
        return Ok(merged);
    }
    if is_int_or_string(&variants) {
        return Ok(members([("x-kubernetes-int-or-string", true.into())]));
    }
    if variants.iter().all(is_object) {
        return hoist(exclusive, variants, mistake);
    }
    if variants
        .iter()
        .all(|variant| is_object(variant) || is_text_enum(variant))
    {
        return Ok(unit_or_data(exclusive, variants));
    }
    Err(mistake(
        "its variants are of different types, which a structural schema cannot describe",
        "use one type for all variants, or let one of its fields say which is meant (`#[serde(tag = \"type\")]`)",
    ))
}

fn type_of(schema: &Variant) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

fn is_object(schema: &Variant) -> bool {
    type_of(schema) == Some("object")
}

fn is_text_enum(schema: &Variant) -> bool {
    type_of(schema) == Some("string") && schema.contains_key("enum")
}

/// Variants that are values of one type become one list of values. What each is for joins the description.
fn one_type_enum(variants: &[Variant]) -> Option<Variant> {
    let first = variants.first()?;
    let ty = type_of(first)?;
    let mut values: Vec<Value> = Vec::new();
    let mut notes = Vec::new();
    for variant in variants {
        let allowed = variant.get("enum")?.as_array()?;
        if type_of(variant) != Some(ty) {
            return None;
        }
        if let (Some(note), [value]) = (variant.get("description").and_then(Value::as_str), allowed.as_slice()) {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            notes.push(format!("- `{shown}`: {note}"));
        }
        for value in allowed {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
    }
    let mut merged = members([("type", ty.into()), ("enum", values.into())]);
    if !notes.is_empty() {
        merged.insert("description".into(), notes.join("\n").into());
    }
    Some(merged)
}

/// An untagged choice between a number and a text is what Kubernetes has a name of its own for.
fn is_int_or_string(variants: &[Variant]) -> bool {
    let plain = |variant: &Variant, ty: &str| {
        type_of(variant) == Some(ty)
            && variant
                .keys()
                .all(|key| matches!(key.as_str(), "type" | "format" | "description" | "minimum" | "maximum"))
    };
    match variants {
        [one, other] => {
            (plain(one, "integer") && plain(other, "string")) || (plain(one, "string") && plain(other, "integer"))
        }
        _ => false,
    }
}

/// Objects: their properties side by side, and beneath the choice what tells them apart.
fn hoist(
    exclusive: bool,
    variants: Vec<Variant>,
    mistake: &impl Fn(&str, &str) -> Mistake,
) -> Result<Variant, Mistake> {
    let mut properties: Map<String, Value> = Map::new();
    let mut alternatives = Vec::new();
    let mut always: Option<Vec<Value>> = None;
    for variant in variants {
        if variant.contains_key("additionalProperties") {
            return Err(mistake(
                "one of its variants is a map, whose keys could be any field of the others",
                "give the map a field of its own",
            ));
        }
        let own = variant
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let required = variant
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        always = Some(match always {
            None => required.clone(),
            Some(before) => before.into_iter().filter(|name| required.contains(name)).collect(),
        });
        let mut told: Map<String, Value> = Map::new();
        for (name, schema) in own {
            if let Some(value) = tag(&schema) {
                told.insert(name.clone(), json!({ "enum": [value] }));
            }
            match properties.remove(&name) {
                None => properties.insert(name, schema),
                Some(known) => {
                    let merged = merge_field(known, schema).ok_or_else(|| {
                        mistake(
                            &format!("its variants disagree about the type of the field {name:?}"),
                            "rename the field in one of the variants",
                        )
                    })?;
                    properties.insert(name, merged)
                }
            };
        }
        let mut alternative = Map::new();
        if !told.is_empty() {
            alternative.insert("properties".into(), told.into());
        }
        if !required.is_empty() {
            alternative.insert("required".into(), required.into());
        }
        alternatives.push(alternative);
    }
    let mut hoisted = members([("type", "object".into()), ("properties", properties.into())]);
    // A variant without a mark of its own is met by everything: the choice says nothing then.
    if alternatives.iter().all(|alternative| !alternative.is_empty()) {
        let alternatives: Vec<Value> = alternatives.into_iter().map(Value::Object).collect();
        hoisted.insert(if exclusive { "oneOf" } else { "anyOf" }.into(), alternatives.into());
    }
    let always = always.unwrap_or_default();
    if !always.is_empty() {
        hoisted.insert("required".into(), always.into());
    }
    Ok(hoisted)
}

/// The only text that a field may have, if there is only one: the tag of a variant.
fn tag(schema: &Value) -> Option<&Value> {
    match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        Some([value]) => Some(value),
        _ => None,
    }
}

/// One schema for a field that several variants have: the same, or an enumeration of all their values.
fn merge_field(one: Value, other: Value) -> Option<Value> {
    if one == other {
        return Some(one);
    }
    let (Value::Object(one), Value::Object(other)) = (one, other) else {
        return None;
    };
    if let Some(merged) = one_type_enum(&[one.clone(), other.clone()]) {
        return Some(merged.into());
    }
    let undescribed = |schema: &Variant| {
        let mut schema = schema.clone();
        schema.remove("description");
        schema
    };
    // Adjacent tagging keeps each variant's content in one field.
    if is_object(&one) && is_object(&other) {
        return merge_objects(one, &other);
    }
    (undescribed(&one) == undescribed(&other)).then(|| one.into())
}

fn merge_objects(mut one: Variant, other: &Variant) -> Option<Value> {
    let closed = |schema: &Variant| {
        schema
            .keys()
            .all(|key| matches!(key.as_str(), "type" | "properties" | "required" | "description"))
    };
    if !closed(&one) || !closed(other) {
        return None;
    }
    let mut properties = one
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    for (name, schema) in other.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let merged = match properties.remove(name) {
            None => schema.clone(),
            Some(known) => merge_field(known, schema.clone())?,
        };
        properties.insert(name.clone(), merged);
    }
    let names = |schema: &Variant| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let theirs = names(other);
    let both: Vec<Value> = names(&one).into_iter().filter(|name| theirs.contains(name)).collect();
    one.remove("required");
    if !both.is_empty() {
        one.insert("required".into(), both.into());
    }
    one.insert("properties".into(), properties.into());
    Some(one.into())
}

/// Variants with and without data, as serde writes them without a tag: a text or an object. No type of a structural schema
/// holds both, so the value is kept as it is and the alternatives judge it.
fn unit_or_data(exclusive: bool, variants: Vec<Variant>) -> Variant {
    let alternatives: Vec<Value> = variants
        .into_iter()
        .map(|variant| match variant.get("enum") {
            Some(values) => json!({ "enum": values }),
            None => json!({ "required": variant.get("required").cloned().unwrap_or_else(|| json!([])) }),
        })
        .collect();
    let choice = if exclusive { "oneOf" } else { "anyOf" };
    members([
        ("x-kubernetes-preserve-unknown-fields", true.into()),
        (choice, alternatives.into()),
    ])
}

/// A schema with these members.
pub(super) fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}
