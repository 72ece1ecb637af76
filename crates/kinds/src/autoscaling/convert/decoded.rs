//! The annotations of a v1 object as fields of v2.

use serde_json::{Map, Value, json};

use super::SOURCES;
use crate::rules::access::{at, str_at};

/// A field of decoded JSON whatever its case, the way Go's decoder finds it.
fn caseless<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    let found = fields.get(name).or_else(|| {
        fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })?;
    (!found.is_null()).then_some(found)
}

pub(super) fn v2_behavior(behavior: &Value) -> Option<Value> {
    let mut result = Map::new();
    for direction in ["scaleUp", "scaleDown"] {
        let Some(rules) = caseless(behavior, direction) else {
            continue;
        };
        let mut found = Map::new();
        for field in ["stabilizationWindowSeconds", "selectPolicy", "tolerance"] {
            if let Some(value) = caseless(rules, field) {
                found.insert(field.into(), value.clone());
            }
        }
        if let Some(Value::Array(policies)) = caseless(rules, "policies") {
            let policy = |policy: &Value| {
                let fields = ["type", "value", "periodSeconds"];
                let found = fields
                    .into_iter()
                    .filter_map(|field| Some((field.to_owned(), caseless(policy, field)?.clone())));
                Value::Object(found.collect())
            };
            found.insert("policies".into(), policies.iter().map(policy).collect());
        }
        result.insert(direction.into(), found.into());
    }
    (!result.is_empty()).then_some(Value::Object(result))
}

/// An object of the fields that have a value.
fn some_fields(fields: &[(&str, Option<Value>)]) -> Value {
    let set = fields
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Value::Object(set.collect())
}

pub(super) fn v2_metric(metric: &Value) -> Value {
    with_sources(metric, |name, source| {
        let field = |field: &str| at(source, &[field]).cloned();
        match name {
            "object" => {
                let average = field("averageValue");
                let value = field("targetValue").or_else(|| Some("0".into()));
                let (kind, value) = match &average {
                    None => ("Value", value),
                    Some(_) => (
                        "AverageValue",
                        value.filter(|value| *value != json!("0") && *value != json!(0)),
                    ),
                };
                let target = [("type", Some(kind.into())), ("value", value), ("averageValue", average)];
                some_fields(&[
                    ("describedObject", field("target")),
                    ("target", Some(some_fields(&target))),
                    ("metric", Some(identifier(source, "selector"))),
                ])
            }
            "pods" => {
                let average = field("targetAverageValue").or_else(|| Some("0".into()));
                let target = [("type", Some("AverageValue".into())), ("averageValue", average)];
                some_fields(&[
                    ("metric", Some(identifier(source, "selector"))),
                    ("target", Some(some_fields(&target))),
                ])
            }
            "external" => {
                let value = field("targetValue");
                let kind = if value.is_none() { "AverageValue" } else { "Value" };
                let target = [
                    ("type", Some(kind.into())),
                    ("value", value),
                    ("averageValue", field("targetAverageValue")),
                ];
                some_fields(&[
                    ("metric", Some(identifier(source, "metricSelector"))),
                    ("target", Some(some_fields(&target))),
                ])
            }
            _ => {
                let utilization = field("targetAverageUtilization");
                let kind = if utilization.is_none() {
                    "AverageValue"
                } else {
                    "Utilization"
                };
                let target = [
                    ("type", Some(kind.into())),
                    ("averageValue", field("targetAverageValue")),
                    ("averageUtilization", utilization),
                ];
                some_fields(&[
                    ("name", field("name")),
                    ("container", field("container")),
                    ("target", Some(some_fields(&target))),
                ])
            }
        }
    })
}

/// A metric's type, and each source it has as `convert` reads it.
fn with_sources(metric: &Value, convert: impl Fn(&str, &Value) -> Value) -> Value {
    let mut result = Map::new();
    result.insert("type".into(), str_at(metric, &["type"]).into());
    for name in SOURCES {
        if let Some(source) = at(metric, &[name]) {
            result.insert(name.into(), convert(name, source));
        }
    }
    Value::Object(result)
}

fn identifier(source: &Value, selector: &str) -> Value {
    some_fields(&[
        ("name", Some(str_at(source, &["metricName"]).into())),
        ("selector", at(source, &[selector]).cloned()),
    ])
}

pub(super) fn v2_metric_status(metric: &Value) -> Value {
    with_sources(metric, |name, source| {
        let field = |field: &str| at(source, &[field]).cloned();
        let or_zero = |name: &str| field(name).or_else(|| Some("0".into()));
        match name {
            "object" => {
                let current = [
                    ("value", or_zero("currentValue")),
                    ("averageValue", field("averageValue")),
                ];
                some_fields(&[
                    ("describedObject", field("target")),
                    ("current", Some(some_fields(&current))),
                    ("metric", Some(identifier(source, "selector"))),
                ])
            }
            "pods" => some_fields(&[
                ("metric", Some(identifier(source, "selector"))),
                (
                    "current",
                    Some(some_fields(&[("averageValue", or_zero("currentAverageValue"))])),
                ),
            ]),
            "external" => {
                let current = [
                    ("value", or_zero("currentValue")),
                    ("averageValue", field("currentAverageValue")),
                ];
                some_fields(&[
                    ("metric", Some(identifier(source, "metricSelector"))),
                    ("current", Some(some_fields(&current))),
                ])
            }
            _ => {
                let current = [
                    ("averageValue", or_zero("currentAverageValue")),
                    ("averageUtilization", field("currentAverageUtilization")),
                ];
                some_fields(&[
                    ("name", field("name")),
                    ("container", field("container")),
                    ("current", Some(some_fields(&current))),
                ])
            }
        }
    })
}
