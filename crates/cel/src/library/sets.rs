//! Lists as sets: whether one contains, equals or meets another, whatever their order.

use crate::error::EvalError;
use crate::eval::ops;
use crate::library::{Implementation, wrong};
use crate::value::{List, Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "sets.contains" => |args| compare(args, contains_all),
        "sets.equivalent" => |args| {
            compare(args, |left, right| {
                Ok(contains_all(left, right)? && contains_all(right, left)?)
            })
        },
        "sets.intersects" => |args| compare(args, intersects),
        _ => return None,
    })
}

type Test = for<'a> fn(&List<'a>, &List<'a>) -> Result<bool, EvalError>;

fn compare<'a>(args: &[Value<'a>], test: Test) -> Outcome<'a> {
    match args {
        [Value::List(left), Value::List(right)] => test(left, right).map(Value::Bool),
        _ => wrong(),
    }
}

fn has(list: &List<'_>, wanted: &Value<'_>) -> Result<bool, EvalError> {
    for item in list.iter() {
        if ops::equal(&item?, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains_all<'a>(list: &List<'a>, part: &List<'a>) -> Result<bool, EvalError> {
    for wanted in part.iter() {
        if !has(list, &wanted?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(left: &List<'a>, right: &List<'a>) -> Result<bool, EvalError> {
    for wanted in left.iter() {
        if has(right, &wanted?)? {
            return Ok(true);
        }
    }
    Ok(false)
}
