//! `fieldPath`: a path of fields and map keys below a node.

use serde_json::Value as Json;

/// The path as errors show it, or why it is none.
pub(super) fn normalize(path: &str, schema: &Json) -> Result<String, String> {
    let mut out = String::new();
    let mut schema = schema;
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|quoted| quoted.strip_suffix('\''));
                let inner = inner.filter(|_| quoted.len() >= 2);
                let name = unescape(inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?)?;
                match tokens.next() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        if let Some(properties) = schema.get("properties") {
            schema = properties.get(&name).ok_or("does not refer to a valid field")?;
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        } else if let Some(values) = schema.get("additionalProperties") {
            schema = values;
            out.push('[');
            out.push_str(&name);
            out.push(']');
        } else {
            return Err("does not refer to a valid field".to_owned());
        }
    }
    Ok(out)
}

/// Dots and brackets alone, quoted strings whole, everything between them together.
fn tokens(path: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let bytes = rest.as_bytes();
        let end = match bytes[0] {
            b'.' | b'[' | b']' => 1,
            b'\'' => (1..bytes.len())
                .find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\')
                .map_or(rest.len(), |at| at + 1),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        out.push(&rest[..end]);
        rest = &rest[end..];
    }
    out
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') | None => '\\',
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        });
    }
    Ok(out)
}
