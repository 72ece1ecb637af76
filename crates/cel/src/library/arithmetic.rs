//! `+ - * / %` and the unary operators, with overflow as an error.

use crate::error::EvalError;
use crate::eval::ops;
use crate::library::{time, wrong};
use crate::value::{Outcome, Value};

const INT: EvalError = EvalError::fixed("integer overflow");
const UINT: EvalError = EvalError::fixed("unsigned integer overflow");
const DURATION: EvalError = EvalError::fixed("duration overflow");
const DIVISION: EvalError = EvalError::fixed("division by zero");
const MODULUS: EvalError = EvalError::fixed("modulus by zero");

pub(super) fn add<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(left), Value::Int(right)] => left.checked_add(*right).map(Value::Int).ok_or(INT),
        [Value::Uint(left), Value::Uint(right)] => left.checked_add(*right).map(Value::Uint).ok_or(UINT),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left + right)),
        [Value::String(left), Value::String(right)] => {
            let (left, right) = (left.as_str(), right.as_str());
            let mut text = String::with_capacity(left.len() + right.len());
            text.push_str(left);
            text.push_str(right);
            Ok(Value::text(text))
        }
        [Value::Bytes(left), Value::Bytes(right)] => Ok(Value::Bytes([&**left, &**right].concat().into())),
        [Value::List(left), Value::List(right)] => ops::add_lists(left, right),
        [Value::Duration(left), Value::Duration(right)] => {
            left.checked_add(*right).map(Value::Duration).ok_or(DURATION)
        }
        [Value::Timestamp(at), Value::Duration(by)] | [Value::Duration(by), Value::Timestamp(at)] => {
            at.add(*by).map(Value::Timestamp)
        }
        _ => wrong(),
    }
}

pub(super) fn subtract<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(left), Value::Int(right)] => left.checked_sub(*right).map(Value::Int).ok_or(INT),
        [Value::Uint(left), Value::Uint(right)] => left.checked_sub(*right).map(Value::Uint).ok_or(UINT),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left - right)),
        [Value::Duration(left), Value::Duration(right)] => {
            left.checked_sub(*right).map(Value::Duration).ok_or(DURATION)
        }
        [Value::Timestamp(at), Value::Duration(by)] => by
            .checked_neg()
            .ok_or(time::OVERFLOW)
            .and_then(|by| at.add(by))
            .map(Value::Timestamp),
        [Value::Timestamp(left), Value::Timestamp(right)] => left.since(*right).map(Value::Duration).ok_or(DURATION),
        _ => wrong(),
    }
}

pub(super) fn multiply<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(left), Value::Int(right)] => left.checked_mul(*right).map(Value::Int).ok_or(INT),
        [Value::Uint(left), Value::Uint(right)] => left.checked_mul(*right).map(Value::Uint).ok_or(UINT),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left * right)),
        _ => wrong(),
    }
}

pub(super) fn divide<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Err(DIVISION),
        [Value::Int(left), Value::Int(right)] => left.checked_div(*right).map(Value::Int).ok_or(INT),
        [Value::Uint(left), Value::Uint(right)] => Ok(Value::Uint(left / right)),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left / right)),
        _ => wrong(),
    }
}

pub(super) fn modulo<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Err(MODULUS),
        [Value::Int(left), Value::Int(right)] => left.checked_rem(*right).map(Value::Int).ok_or(INT),
        [Value::Uint(left), Value::Uint(right)] => Ok(Value::Uint(left % right)),
        _ => wrong(),
    }
}

pub(super) fn negate<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(value)] => value.checked_neg().map(Value::Int).ok_or(INT),
        [Value::Double(value)] => Ok(Value::Double(-value)),
        _ => wrong(),
    }
}

pub(super) fn not<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Bool(value)] => Ok(Value::Bool(!value)),
        _ => wrong(),
    }
}
