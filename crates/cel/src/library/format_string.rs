//! `'%s is %d'.format([a, b])`

use kubewright_apimachinery::go::{float, quote};

use crate::error::EvalError;
use crate::library::{conversion, time, wrong};
use crate::value::{List, Outcome, Value};

/// The most digits after the point.
const MAX_PRECISION: usize = 1000;

pub(super) fn format<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(pattern), Value::List(list)] = args else {
        return wrong();
    };
    render(pattern.as_str(), list).map(Value::text)
}

fn error(message: String) -> EvalError {
    EvalError::new(message)
}

fn render(pattern: &str, list: &List<'_>) -> Result<String, EvalError> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut next_arg = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let arg = match list.get(next_arg) {
            Some(arg) => arg?,
            None => return Err(error(format!("index {next_arg} out of range"))),
        };
        if chars.peek().is_none() {
            return Err(EvalError::fixed("unexpected end of string"));
        }
        next_arg += 1;
        let precision = precision(&mut chars)?;
        let Some(verb) = chars.next() else {
            return Err(EvalError::fixed(
                "could not parse formatting clause: unexpected end of string",
            ));
        };
        let failed = |why: String| error(format!("could not parse formatting clause: {why}"));
        out.push_str(&match verb {
            's' => string(&arg)?,
            'd' => decimal(&arg)?,
            'f' => fixed(&arg, precision.unwrap_or(6))?,
            'e' => scientific(&arg, precision.unwrap_or(6))?,
            'b' => binary(&arg)?,
            'x' => hex(&arg, false)?,
            'X' => hex(&arg, true)?,
            'o' => octal(&arg)?,
            other => return Err(failed(format!("unrecognized formatting clause \"{other}\""))),
        });
    }
    Ok(out)
}

fn precision(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, EvalError> {
    if chars.peek() != Some(&'.') {
        return Ok(None);
    }
    chars.next();
    let mut digits = String::new();
    while let Some(c) = chars.peek().filter(|c| c.is_ascii_digit()) {
        digits.push(*c);
        chars.next();
    }
    if chars.peek().is_none() {
        let why = "could not find end of precision specifier";
        return Err(error(format!(
            "could not parse formatting clause: error while parsing precision: {why}"
        )));
    }
    match digits.parse::<usize>() {
        Ok(precision) if precision <= MAX_PRECISION => Ok(Some(precision)),
        _ => Err(error(format!(
            "could not parse formatting clause: error while parsing precision: error while converting precision to \
             integer: strconv.Atoi: parsing {}: invalid syntax",
            quote(&digits)
        ))),
    }
}

fn wrong_type(verb: &str, expected: &str, arg: &Value<'_>) -> EvalError {
    error(format!(
        "error during formatting: {verb} clause can only be used on {expected}, was given {}",
        arg.type_of()
    ))
}

fn string(arg: &Value<'_>) -> Result<String, EvalError> {
    Ok(match arg {
        Value::String(_)
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Bytes(_)
        | Value::Null
        | Value::Type(_)
        | Value::Timestamp(_) => conversion::display(arg),
        Value::Double(value) if value.is_nan() => "NaN".to_owned(),
        Value::Double(value) if value.is_infinite() => if *value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Double(value) => float::positional(*value),
        Value::Duration(nanos) => time::duration_text(*nanos),
        Value::List(list) => {
            let items = list
                .iter()
                .map(|item| string(&item?))
                .collect::<Result<Vec<_>, EvalError>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let value = map.get(&key)?.unwrap_or(Value::Null);
                entries.push(format!("{}: {}", string(&key)?, string(&value)?));
            }
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        other => {
            let expected = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
            return Err(wrong_type("string", expected, other));
        }
    })
}

fn decimal(arg: &Value<'_>) -> Result<String, EvalError> {
    match arg {
        Value::Int(_) | Value::Uint(_) => Ok(conversion::display(arg)),
        Value::Double(value) if !value.is_finite() => string(arg),
        other => Err(wrong_type("decimal", "integers", other)),
    }
}

fn number(arg: &Value<'_>) -> Option<f64> {
    match arg {
        Value::Double(value) => Some(*value),
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        _ => None,
    }
}

fn fixed(arg: &Value<'_>, precision: usize) -> Result<String, EvalError> {
    match number(arg) {
        Some(value) if !value.is_finite() => string(&Value::Double(value)),
        Some(value) => Ok(float::fixed(value, precision)),
        None => Err(wrong_type("fixed-point", "doubles", arg)),
    }
}

fn scientific(arg: &Value<'_>, precision: usize) -> Result<String, EvalError> {
    match number(arg) {
        Some(value) if !value.is_finite() => string(&Value::Double(value)),
        Some(value) => Ok(float::scientific(value, precision)),
        None => Err(wrong_type("scientific", "doubles", arg)),
    }
}

fn radix(value: i64, digits: String) -> String {
    if value < 0 { format!("-{digits}") } else { digits }
}

fn binary(arg: &Value<'_>) -> Result<String, EvalError> {
    match arg {
        Value::Int(value) => Ok(radix(*value, format!("{:b}", value.unsigned_abs()))),
        Value::Uint(value) => Ok(format!("{value:b}")),
        Value::Bool(value) => Ok(u8::from(*value).to_string()),
        other => Err(wrong_type("binary", "integers and bools", other)),
    }
}

fn octal(arg: &Value<'_>) -> Result<String, EvalError> {
    match arg {
        Value::Int(value) => Ok(radix(*value, format!("{:o}", value.unsigned_abs()))),
        Value::Uint(value) => Ok(format!("{value:o}")),
        other => Err(wrong_type("octal", "integers", other)),
    }
}

fn hex(arg: &Value<'_>, upper: bool) -> Result<String, EvalError> {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let bytes = |bytes: &[u8]| -> String {
        bytes
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    };
    let text = match arg {
        Value::Int(value) => radix(*value, format!("{:x}", value.unsigned_abs())),
        Value::Uint(value) => format!("{value:x}"),
        Value::String(text) => bytes(text.as_str().as_bytes()),
        Value::Bytes(value) => bytes(value),
        other => return Err(wrong_type("hex", "integers, byte buffers, and strings", other)),
    };
    Ok(if upper { text.to_uppercase() } else { text })
}
