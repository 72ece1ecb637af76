//! Enumerations: `oneOf` and `anyOf` as serde's four ways of tagging write them, in the form a structural schema allows.
//!
//! A structural schema declares each field once, outside of any choice; inside the alternatives only conditions on those
//! fields may stand. So the variants' properties are hoisted and merged, and each alternative keeps the conditions that identify
//! it.

use serde_json::{Map, Value, json};

use super::known;
use super::rewrite::PRESERVE_UNKNOWN_FIELDS;
use crate::Problem;

const VALIDATIONS: &str = "x-kubernetes-validations";

/// One alternative of a choice, rewritten.
type Variant = Map<String, Value>;

/// The structural form of a choice among rewritten variants.
pub(super) fn rewrite(
    exclusive: bool,
    variants: Vec<Variant>,
    problem: &impl Fn(&str, &str) -> Box<Problem>,
) -> Result<Map<String, Value>, Box<Problem>> {
    if let Some(merged) = one_type_enum(&variants) {
        return Ok(merged);
    }
    if let Some(either) = int_or_string(&variants) {
        return Ok(either);
    }
    if variants.iter().all(is_object) {
        return hoist(exclusive, variants, problem);
    }
    if variants
        .iter()
        .all(|variant| is_object(variant) || is_text_enum(variant))
    {
        return Ok(unit_or_data(exclusive, variants));
    }
    Err(problem(
        "its variants are of different types, which a structural schema cannot describe",
        "use one type for all variants, or let a field say which is meant (`#[serde(tag = \"type\")]`), or keep the value as it \
         is (`serde_json::Value`)",
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

/// Variants that are values of one type become one list of values; their descriptions are joined.
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

/// An untagged choice between an integer and a string is Kubernetes' `int-or-string`. Bounds restrict only integers and patterns
/// only strings, so that both may be kept.
fn int_or_string(variants: &[Variant]) -> Option<Variant> {
    const OF_BOTH: [&str; 10] = [
        "type",
        "format",
        "title",
        "description",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "multipleOf",
    ];
    let [one, other] = variants else { return None };
    let types = [type_of(one), type_of(other)];
    let plain = [one, other]
        .into_iter()
        .flat_map(Map::keys)
        .all(|key| OF_BOTH.contains(&key.as_str()));
    if !plain || !types.contains(&Some("integer")) || !types.contains(&Some("string")) {
        return None;
    }
    let mut either = known::int_or_string();
    for (key, value) in one.iter().chain(other) {
        if !matches!(key.as_str(), "type" | "format" | "title" | "description") {
            either.insert(key.clone(), value.clone());
        }
    }
    Some(either)
}

/// Objects: all their properties together, and below the choice the conditions that identify each variant.
fn hoist(
    exclusive: bool,
    variants: Vec<Variant>,
    problem: &impl Fn(&str, &str) -> Box<Problem>,
) -> Result<Variant, Box<Problem>> {
    let mut hoisted = members([("type", "object".into())]);
    let defaulted = common_defaults(&variants);
    let mut properties: Map<String, Value> = Map::new();
    let mut rules: Vec<Value> = Vec::new();
    let mut alternatives = Vec::new();
    let mut always: Option<Vec<Value>> = None;
    for mut variant in variants {
        if variant.contains_key("additionalProperties") {
            return Err(problem(
                "one of its variants is a map, whose keys could be any field of the others",
                "give the map a field of its own",
            ));
        }
        if let Some(open) = variant.remove(PRESERVE_UNKNOWN_FIELDS) {
            hoisted.insert(PRESERVE_UNKNOWN_FIELDS.into(), open);
        }
        let required = list(&variant, "required");
        always = Some(match always {
            None => required.clone(),
            Some(before) => before.into_iter().filter(|name| required.contains(name)).collect(),
        });
        let mut tags: Map<String, Value> = Map::new();
        let own = match variant.remove("properties") {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        for (name, mut schema) in own {
            if !defaulted.contains(&name) {
                without_default(&mut schema);
            }
            if let Some(value) = tag(&schema) {
                tags.insert(name.clone(), json!({ "enum": [value] }));
            }
            let merged = match properties.remove(&name) {
                None => schema,
                Some(known) => merge_field(known, schema).ok_or_else(|| {
                    problem(
                        &format!("its variants disagree about the type of the field {name:?}"),
                        "rename the field in one of the variants",
                    )
                })?,
            };
            properties.insert(name, merged);
        }
        for rule in list(&variant, VALIDATIONS) {
            rules.push(guarded(&rule, &tags).ok_or_else(|| {
                problem(
                    "one of its variants has validation rules, and nothing tells when they are meant",
                    "move the rules to the type that holds the field, or give the enum a tag (`#[serde(tag = \"type\")]`)",
                )
            })?);
        }
        alternatives.push(alternative(variant, tags));
    }
    if !properties.is_empty() {
        hoisted.insert("properties".into(), properties.into());
    }
    // A variant without conditions admits everything, and so does the choice then.
    if alternatives.iter().all(|alternative| !alternative.is_empty()) {
        let alternatives: Vec<Value> = alternatives.into_iter().map(Value::Object).collect();
        hoisted.insert(if exclusive { "oneOf" } else { "anyOf" }.into(), alternatives.into());
    }
    let always = always.unwrap_or_default();
    if !always.is_empty() {
        hoisted.insert("required".into(), always.into());
    }
    if !rules.is_empty() {
        hoisted.insert(VALIDATIONS.into(), rules.into());
    }
    Ok(hoisted)
}

/// The fields for which all variants have the same default. The API server would fill any other default into all variants, and
/// could turn one variant into another; the type fills it in itself when it reads the value.
fn common_defaults(variants: &[Variant]) -> Vec<String> {
    let default_of = |variant: &Variant, name: &str| variant.get("properties")?.get(name)?.get("default").cloned();
    let Some(Value::Object(first)) = variants.first().and_then(|variant| variant.get("properties")) else {
        return Vec::new();
    };
    let is_common = |name: &&String| {
        let mut defaults = variants.iter().map(|variant| default_of(variant, name));
        let first = defaults.next().flatten();
        first.is_some() && defaults.all(|default| default == first)
    };
    first.keys().filter(is_common).cloned().collect()
}

fn without_default(schema: &mut Value) {
    if let Value::Object(schema) = schema {
        schema.remove("default");
    }
}

/// The conditions of a variant whose fields are declared outside of the choice.
fn alternative(mut variant: Variant, tags: Map<String, Value>) -> Map<String, Value> {
    let mut alternative = Map::new();
    if !tags.is_empty() {
        alternative.insert("properties".into(), tags.into());
    }
    for keyword in [
        "required",
        "oneOf",
        "anyOf",
        "allOf",
        "not",
        "minProperties",
        "maxProperties",
    ] {
        if let Some(demand) = variant.remove(keyword) {
            alternative.insert(keyword.into(), demand);
        }
    }
    alternative
}

/// A rule of a variant, restricted to objects with the variant's tag.
fn guarded(rule: &Value, tags: &Map<String, Value>) -> Option<Value> {
    let (field, tags) = tags.iter().next()?;
    let value = tags["enum"][0].as_str()?;
    let is_plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_plain(field) || field.starts_with(|first: char| first.is_ascii_digit()) || value.contains(['\'', '\\']) {
        return None;
    }
    let mut rule = rule.clone();
    let text = rule.get("rule")?.as_str()?;
    rule["rule"] = format!("self.{field} != '{value}' || ({text})").into();
    Some(rule)
}

fn list(schema: &Variant, key: &str) -> Vec<Value> {
    schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
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
    let defaulted = common_defaults(&[one.clone(), other.clone()]);
    for (name, schema) in other.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let merged = match properties.remove(name) {
            None => schema.clone(),
            Some(known) => merge_field(known, schema.clone())?,
        };
        properties.insert(name.clone(), merged);
    }
    for (name, property) in &mut properties {
        if !defaulted.contains(name) {
            without_default(property);
        }
    }
    let theirs = list(other, "required");
    let both: Vec<Value> = list(&one, "required")
        .into_iter()
        .filter(|name| theirs.contains(name))
        .collect();
    one.remove("required");
    if !both.is_empty() {
        one.insert("required".into(), both.into());
    }
    one.insert("properties".into(), properties.into());
    Some(one.into())
}

/// Variants with and without data, as serde writes them without a tag: a string or an object. No type of a structural schema
/// holds both, so the schema has no type and the alternatives check the value.
fn unit_or_data(exclusive: bool, variants: Vec<Variant>) -> Variant {
    let alternatives: Vec<Value> = variants
        .into_iter()
        .map(|variant| match variant.get("enum") {
            Some(values) => json!({ "enum": values }),
            // `required` does not apply to strings; an impossible length excludes them.
            None => json!({
                "required": variant.get("required").cloned().unwrap_or_else(|| json!([])),
                "minLength": 1,
                "maxLength": 0,
            }),
        })
        .collect();
    let choice = if exclusive { "oneOf" } else { "anyOf" };
    members([(PRESERVE_UNKNOWN_FIELDS, true.into()), (choice, alternatives.into())])
}

/// A schema with these members.
pub(super) fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}
