//! Functions of numbers beyond the operators.

use std::cmp::Ordering;

use crate::error::EvalError;
use crate::eval::ops::{self, Ranked};
use crate::library::{Implementation, wrong};
use crate::value::{Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "math.@max" => |args| extremum(args, "max", Ordering::Less),
        "math.@min" => |args| extremum(args, "min", Ordering::Greater),
        "math.abs" => abs,
        "math.sign" => sign,
        "math.sqrt" => sqrt,
        "math.ceil" => |args| of_double(args, f64::ceil),
        "math.floor" => |args| of_double(args, f64::floor),
        "math.round" => |args| of_double(args, f64::round),
        "math.trunc" => |args| of_double(args, f64::trunc),
        "math.isNaN" => |args| test_double(args, f64::is_nan),
        "math.isInf" => |args| test_double(args, f64::is_infinite),
        "math.isFinite" => |args| test_double(args, f64::is_finite),
        "math.bitAnd" => |args| bits(args, |left, right| left & right),
        "math.bitOr" => |args| bits(args, |left, right| left | right),
        "math.bitXor" => |args| bits(args, |left, right| left ^ right),
        "math.bitNot" => bit_not,
        "math.bitShiftLeft" => |args| shift(args, "math.bitShiftLeft()", true),
        "math.bitShiftRight" => |args| shift(args, "math.bitShiftRight()", false),
        _ => return None,
    })
}

fn extremum<'a>(args: &[Value<'a>], name: &str, replace_when: Ordering) -> Outcome<'a> {
    let items = match args {
        [Value::List(list)] => list.values()?,
        other => other.to_vec(),
    };
    let mut best: Option<Value<'a>> = None;
    for item in items {
        if !matches!(item, Value::Int(_) | Value::Uint(_) | Value::Double(_)) {
            return Err(EvalError::new(format!("no such overload: math.@{name}")));
        }
        best = Some(match best {
            Some(best) if ops::order(&best, &item) != Ranked::Order(replace_when) => best,
            _ => item,
        });
    }
    best.ok_or_else(|| EvalError::new(format!("math.@{name}(list) argument must not be empty")))
}

fn of_double<'a>(args: &[Value<'a>], function: fn(f64) -> f64) -> Outcome<'a> {
    match args {
        [Value::Double(value)] => Ok(Value::Double(function(*value))),
        _ => wrong(),
    }
}

fn test_double<'a>(args: &[Value<'a>], test: fn(f64) -> bool) -> Outcome<'a> {
    match args {
        [Value::Double(value)] => Ok(Value::Bool(test(*value))),
        _ => wrong(),
    }
}

fn abs<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(value)] => value
            .checked_abs()
            .map(Value::Int)
            .ok_or(EvalError::fixed("integer overflow")),
        [Value::Uint(value)] => Ok(Value::Uint(*value)),
        [Value::Double(value)] => Ok(Value::Double(value.abs())),
        _ => wrong(),
    }
}

fn sign<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(value)] => Ok(Value::Int(value.signum())),
        [Value::Uint(value)] => Ok(Value::Uint(u64::from(*value > 0))),
        [Value::Double(value)] if value.is_nan() || *value == 0.0 => Ok(Value::Double(*value)),
        [Value::Double(value)] => Ok(Value::Double(value.signum())),
        _ => wrong(),
    }
}

fn sqrt<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(value)] => Ok(Value::Double((*value as f64).sqrt())),
        [Value::Uint(value)] => Ok(Value::Double((*value as f64).sqrt())),
        [Value::Double(value)] => Ok(Value::Double(value.sqrt())),
        _ => wrong(),
    }
}

fn bits<'a>(args: &[Value<'a>], combine: fn(u64, u64) -> u64) -> Outcome<'a> {
    match args {
        [Value::Int(left), Value::Int(right)] => Ok(Value::Int(
            combine(left.cast_unsigned(), right.cast_unsigned()).cast_signed(),
        )),
        [Value::Uint(left), Value::Uint(right)] => Ok(Value::Uint(combine(*left, *right))),
        _ => wrong(),
    }
}

fn bit_not<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(value)] => Ok(Value::Int(!value)),
        [Value::Uint(value)] => Ok(Value::Uint(!value)),
        _ => wrong(),
    }
}

fn shift<'a>(args: &[Value<'a>], name: &str, left: bool) -> Outcome<'a> {
    let (bits, by, signed) = match args {
        [Value::Int(value), Value::Int(by)] => (value.cast_unsigned(), *by, true),
        [Value::Uint(value), Value::Int(by)] => (*value, *by, false),
        _ => return wrong(),
    };
    if by < 0 {
        return Err(EvalError::new(format!("{name} negative offset: {by}")));
    }
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let shifted = if left {
        bits.checked_shl(by)
    } else {
        bits.checked_shr(by)
    }
    .unwrap_or(0);
    Ok(if signed {
        Value::Int(shifted.cast_signed())
    } else {
        Value::Uint(shifted)
    })
}
