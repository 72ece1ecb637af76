//! Searches in text with regular expressions of RE2's syntax and guarantees.
//! A constant pattern is compiled once, when the expression is; any other at every call.

use std::sync::Arc;

use kubewright_re2::Regex;

use crate::error::EvalError;
use crate::library::{Implementation, wrong};
use crate::value::{Outcome, Value};

/// The memory one pattern may take, so that no pattern is a denial of service.
const SIZE_LIMIT: usize = 10 << 20;

/// A function of its arguments whose pattern, the second one, is compiled.
pub(crate) type Search = for<'a> fn(&Regex, &[Value<'a>]) -> Outcome<'a>;

/// Compiles a pattern; what RE2 does not have is refused here too.
pub(crate) fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
    kubewright_re2::compile(pattern, SIZE_LIMIT).map(Arc::new)
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "matches" => |args| matches(&*compiled(args, "")?, args),
        "find" => |args| find(&*compiled(args, ILLEGAL)?, args),
        "findAll" => |args| find_all(&*compiled(args, ILLEGAL)?, args),
        _ => return None,
    })
}

/// What a function does whose pattern is known beforehand.
pub(crate) fn search(name: &str) -> Option<Search> {
    Some(match name {
        "matches" => matches,
        "find" => find,
        "findAll" => find_all,
        _ => return None,
    })
}

/// What precedes the message about an invalid pattern.
const ILLEGAL: &str = "Illegal regex: ";

fn compiled(args: &[Value<'_>], prefix: &str) -> Result<Arc<Regex>, EvalError> {
    match args {
        [Value::String(_), Value::String(pattern), ..] => {
            compile(pattern.as_str()).map_err(|error| EvalError::new(format!("{prefix}{error}")))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn matches<'a>(regex: &Regex, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(_)] = args else {
        return wrong();
    };
    Ok(Value::Bool(regex.is_match(text.as_str())))
}

fn find<'a>(regex: &Regex, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(_)] = args else {
        return wrong();
    };
    Ok(Value::text(regex.find(text.as_str()).unwrap_or("")))
}

fn find_all<'a>(regex: &Regex, args: &[Value<'a>]) -> Outcome<'a> {
    let (text, limit) = match args {
        [Value::String(text), Value::String(_)] => (text, usize::MAX),
        [Value::String(text), Value::String(_), Value::Int(limit)] => {
            (text, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return wrong(),
    };
    let found = regex.find_iter(text.as_str()).take(limit).map(Value::text).collect();
    Ok(Value::list(found))
}
