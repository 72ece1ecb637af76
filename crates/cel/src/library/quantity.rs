//! Quantities and, because they share method names, versions.

use std::cmp::Ordering;

use kubewright_quantity::Quantity;

use crate::error::EvalError;
use crate::library::net::opaque;
use crate::library::semver::Semver;
use crate::library::{Implementation, Opaque, strings, wrong};
use crate::value::{Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "quantity" => |args| match args {
            [Value::String(text)] => parse(text.as_str()).map(|quantity| opaque(Opaque::Quantity(quantity))),
            _ => wrong(),
        },
        "isQuantity" => |args| match args {
            [Value::String(text)] => Ok(Value::Bool(parse(text.as_str()).is_ok())),
            _ => wrong(),
        },
        "semver" => |args| semver(args).map(|version| opaque(Opaque::Semver(version))),
        "isSemver" => |args| match args.first().and_then(strings::text) {
            Some(_) => Ok(Value::Bool(semver(args).is_ok())),
            None => wrong(),
        },
        "compareTo" => |args| order(args).map(|order| Value::Int(order as i64)),
        "isGreaterThan" => |args| order(args).map(|order| Value::Bool(order == Ordering::Greater)),
        "isLessThan" => |args| order(args).map(|order| Value::Bool(order == Ordering::Less)),
        "sign" => |args| Ok(Value::Int(i64::from(quantity(args.first())?.sign()))),
        "isInteger" => |args| Ok(Value::Bool(quantity(args.first())?.as_i64().is_some())),
        "asInteger" => |args| match quantity(args.first())?.as_i64() {
            Some(value) => Ok(Value::Int(value)),
            None => Err(EvalError::fixed("cannot convert value to integer")),
        },
        "asApproximateFloat" => |args| Ok(Value::Double(approximate(quantity(args.first())?))),
        "add" => |args| combine(args, Quantity::add),
        "sub" => |args| combine(args, Quantity::sub),
        "major" => |args| version(args.first()).map(|version| Value::Int(version.numbers[0] as i64)),
        "minor" => |args| version(args.first()).map(|version| Value::Int(version.numbers[1] as i64)),
        "patch" => |args| version(args.first()).map(|version| Value::Int(version.numbers[2] as i64)),
        _ => return None,
    })
}

fn parse(text: &str) -> Result<Quantity, EvalError> {
    // Upstream does not trim here, unlike where quantities stand in objects.
    if text.trim() != text {
        return Err(EvalError::fixed(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ));
    }
    Quantity::parse(text).map_err(|error| EvalError::new(error.to_string()))
}

fn semver(args: &[Value<'_>]) -> Result<Semver, EvalError> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Semver::parse(text.as_str()),
        [Value::String(text), Value::Bool(true)] => Semver::parse_lenient(text.as_str()),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn quantity<'v>(value: Option<&'v Value<'_>>) -> Result<&'v Quantity, EvalError> {
    match value {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Quantity(quantity) => Ok(quantity),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn version<'v>(value: Option<&'v Value<'_>>) -> Result<&'v Semver, EvalError> {
    match value {
        Some(Value::Opaque(opaque)) => match &**opaque {
            Opaque::Semver(version) => Ok(version),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn order(args: &[Value<'_>]) -> Result<Ordering, EvalError> {
    let [left, right] = args else {
        return Err(EvalError::no_such_overload());
    };
    if let (Ok(left), Ok(right)) = (quantity(Some(left)), quantity(Some(right))) {
        return Ok(left.cmp(right));
    }
    Ok(version(Some(left))?.order(version(Some(right))?))
}

fn combine<'a>(args: &[Value<'a>], apply: fn(&mut Quantity, &Quantity)) -> Outcome<'a> {
    let [left, right] = args else { return wrong() };
    let mut result = quantity(Some(left))?.clone();
    match right {
        Value::Int(value) => apply(&mut result, &Quantity::from_int(*value)),
        other => apply(&mut result, quantity(Some(other))?),
    }
    Ok(opaque(Opaque::Quantity(result)))
}

/// The nearest double.
fn approximate(quantity: &Quantity) -> f64 {
    if let Some(value) = quantity.as_i64() {
        return value as f64;
    }
    let text = quantity.to_string();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.parse().unwrap_or(f64::NAN);
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024f64.powi(2),
        "Gi" => 1024f64.powi(3),
        "Ti" => 1024f64.powi(4),
        "Pi" => 1024f64.powi(5),
        "Ei" => 1024f64.powi(6),
        "" => 1.0,
        exponent => exponent[1..].parse::<i32>().map_or(f64::NAN, |power| 10f64.powi(power)),
    };
    number * factor
}
