//! Comparisons in filters: only values of one type compare, as in Go's templates.

use std::cmp::Ordering;

use serde_json::Value;

use super::value::JsonPathValue;

/// Whether `left operator right` holds; `None` when the two do not compare that way.
pub(super) fn holds(left: JsonPathValue<'_>, operator: &str, right: JsonPathValue<'_>) -> Option<bool> {
    let (left, right) = (basic(left)?, basic(right)?);
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|equal| !equal),
        "<" => less(left, right),
        ">=" => less(left, right).map(|less| !less),
        "<=" => Some(less(left, right)? || equal(left, right)?),
        ">" => Some(!(less(left, right)? || equal(left, right)?)),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Basic<'a> {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(&'a str),
}

fn basic(found: JsonPathValue<'_>) -> Option<Basic<'_>> {
    Some(match found {
        JsonPathValue::Json(Value::Bool(value)) => Basic::Boolean(*value),
        JsonPathValue::Json(Value::String(text)) => Basic::Text(text),
        JsonPathValue::Json(Value::Number(number)) => match number.as_i64() {
            Some(integer) => Basic::Integer(integer),
            None => Basic::Float(number.as_f64()?),
        },
        JsonPathValue::Text(text) => Basic::Text(text),
        JsonPathValue::Integer(integer) => Basic::Integer(integer),
        JsonPathValue::Float(float) => Basic::Float(float),
        JsonPathValue::Boolean(value) => Basic::Boolean(value),
        JsonPathValue::Byte(byte) => Basic::Integer(byte.into()),
        JsonPathValue::Json(_) | JsonPathValue::Nothing => return None,
    })
}

fn equal(left: Basic<'_>, right: Basic<'_>) -> Option<bool> {
    match (left, right) {
        (Basic::Boolean(left), Basic::Boolean(right)) => Some(left == right),
        _ => order(left, right).map(|order| order == Ordering::Equal),
    }
}

fn less(left: Basic<'_>, right: Basic<'_>) -> Option<bool> {
    order(left, right).map(|order| order == Ordering::Less)
}

fn order(left: Basic<'_>, right: Basic<'_>) -> Option<Ordering> {
    match (left, right) {
        (Basic::Integer(left), Basic::Integer(right)) => Some(left.cmp(&right)),
        (Basic::Float(left), Basic::Float(right)) => left.partial_cmp(&right),
        (Basic::Text(left), Basic::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
