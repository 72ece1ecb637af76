//! The order and equality of values inside path elements: numbers by value, whether integer or float.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Upstream's total order: numbers, strings, booleans, lists, maps, null.
pub(crate) fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            for (left, right) in left.iter().zip(right) {
                match compare_values(left, right) {
                    Ordering::Equal => {}
                    other => return other,
                }
            }
            left.len().cmp(&right.len())
        }
        (Value::Object(left), Value::Object(right)) => {
            for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
                match left_name.cmp(right_name).then_with(|| compare_values(left, right)) {
                    Ordering::Equal => {}
                    other => return other,
                }
            }
            left.len().cmp(&right.len())
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

/// Deep equality with numbers compared by value (`1` equals `1.0`).
pub(crate) fn equal_values(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal_values(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((left_name, left), (right_name, right))| {
                    left_name == right_name && equal_values(left, right)
                })
        }
        _ => left == right,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Exact, so that the order is total: integers are not rounded to floats as upstream does beyond 2^53.
fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_integer_with_float(left, right.as_f64().unwrap_or_default()),
        (None, Some(right)) => compare_integer_with_float(right, left.as_f64().unwrap_or_default()).reverse(),
        (None, None) => {
            let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

fn integer(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

fn compare_integer_with_float(integer: i128, float: f64) -> Ordering {
    // Casting saturates: a float beyond every integer stays beyond it.
    let whole = float.floor();
    match integer.cmp(&(whole as i128)) {
        Ordering::Equal if float > whole => Ordering::Less,
        other => other,
    }
}
