//! Functions of strings. Positions are counted in characters.

use crate::error::EvalError;
use crate::library::{Implementation, format_string, lists, wrong};
use crate::value::{Outcome, Text, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "contains" => |args| test(args, |text, part| text.contains(part)),
        "startsWith" => |args| test(args, |text, part| text.starts_with(part)),
        "endsWith" => |args| test(args, |text, part| text.ends_with(part)),
        "charAt" => char_at,
        "indexOf" => index_of,
        "lastIndexOf" => last_index_of,
        "lowerAscii" => |args| change(args, str::to_ascii_lowercase),
        "upperAscii" => |args| change(args, str::to_ascii_uppercase),
        "trim" => |args| change(args, |text| text.trim().to_owned()),
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "join" => join,
        "reverse" => reverse,
        "jsonpatch.escapeKey" => |args| change(args, escape_key),
        "strings.quote" => |args| change(args, quote),
        "format" => format_string::format,
        _ => return None,
    })
}

fn test<'a>(args: &[Value<'a>], check: fn(&str, &str) -> bool) -> Outcome<'a> {
    match args {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(check(text.as_str(), part.as_str()))),
        _ => wrong(),
    }
}

fn change<'a>(args: &[Value<'a>], to: impl Fn(&str) -> String) -> Outcome<'a> {
    match args {
        [Value::String(text)] => Ok(Value::text(to(text.as_str()))),
        _ => wrong(),
    }
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::new(format!("index out of range: {index}"))
}

fn char_at<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::Int(index)] = args else {
        return wrong();
    };
    let count = text.as_str().chars().count() as i64;
    if *index == count {
        return Ok(Value::text(""));
    }
    let at = usize::try_from(*index).map_err(|_| out_of_range(*index))?;
    let found = text.as_str().chars().nth(at).ok_or_else(|| out_of_range(*index))?;
    Ok(Value::text(found.to_string()))
}

fn index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, from) = match args {
        [Value::List(list), item] => return Ok(lists::index_of(list, item, false)),
        [Value::String(text), Value::String(part)] => (text.as_str(), part.as_str(), 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text.as_str(), part.as_str(), *from),
        _ => return wrong(),
    };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let start = byte_offset(text, from).ok_or_else(|| out_of_range(from))?;
    let found = text[start..]
        .find(part)
        .map(|at| text[..start + at].chars().count() as i64);
    Ok(Value::Int(found.unwrap_or(-1)))
}

/// The byte at which the character with this index begins; the end of the text counts as one more.
fn byte_offset(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, part, from) = match args {
        [Value::List(list), item] => return Ok(lists::index_of(list, item, true)),
        [Value::String(text), Value::String(part)] => (text.as_str(), part.as_str(), None),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text.as_str(), part.as_str(), Some(*from)),
        _ => return wrong(),
    };
    let count = text.chars().count() as i64;
    if part.is_empty() {
        return match from {
            None => Ok(Value::Int(count)),
            Some(from) => Ok(Value::Int(from)),
        };
    }
    if let Some(from) = from
        && (from < 0 || from >= count.max(1))
    {
        return Err(out_of_range(from));
    }
    let end = match from {
        Some(from) => byte_offset(text, from).unwrap_or(0),
        None => text.len(),
    };
    let starts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .take_while(|at| *at <= end)
        .collect();
    let found = starts
        .iter()
        .rposition(|at| text[*at..].starts_with(part))
        .map(|index| index as i64);
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn replace<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, old, new, limit) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(limit),
        ] => (text, old, new, *limit),
        _ => return wrong(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(Value::text(text.as_str().replacen(old.as_str(), new.as_str(), limit)))
}

fn split<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, separator, limit) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return wrong(),
    };
    if limit == 0 {
        return Ok(Value::list(Vec::new()));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (text, separator) = (text.as_str(), separator.as_str());
    let parts = if separator.is_empty() {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if parts.len() + 1 == limit {
                parts.push(Value::text(rest));
                break;
            }
            parts.push(Value::text(&rest[..c.len_utf8()]));
            rest = &rest[c.len_utf8()..];
        }
        parts
    } else {
        text.splitn(limit, separator).map(Value::text).collect()
    };
    Ok(Value::list(parts))
}

fn substring<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text.as_str(), *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text.as_str(), *start, Some(*end)),
        _ => return wrong(),
    };
    if let Some(end) = end
        && start > end
    {
        return Err(EvalError::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let from = byte_offset(text, start).ok_or_else(|| out_of_range(start))?;
    let to = match end {
        Some(end) => byte_offset(text, end).ok_or_else(|| out_of_range(end))?,
        None => text.len(),
    };
    Ok(Value::text(&text[from..to]))
}

fn join<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (list, separator) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, separator.as_str()),
        _ => return wrong(),
    };
    let mut out = String::new();
    for (index, item) in list.iter().enumerate() {
        let item = item?;
        let Some(text) = item.as_str() else {
            return Err(EvalError::new(format!(
                "join: invalid input: {}",
                crate::library::display(&item)
            )));
        };
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(Value::text(out))
}

fn reverse<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => Ok(Value::text(text.as_str().chars().rev().collect::<String>())),
        [Value::List(list)] => {
            let mut items = list.values()?;
            items.reverse();
            Ok(Value::list(items))
        }
        _ => wrong(),
    }
}

/// A key as the path of a JSON patch writes it.
fn escape_key(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        match c {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            c => out.push(c),
        }
    }
    out
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// The text of a string argument.
pub(super) fn text<'t>(value: &'t Value<'_>) -> Option<&'t str> {
    match value {
        Value::String(Text::Borrowed(text)) => Some(text),
        Value::String(Text::Shared(text)) => Some(text),
        _ => None,
    }
}
