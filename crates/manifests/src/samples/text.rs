//! A text that a schema allows: of its format, matching its pattern, of its length.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

/// The longest string of a sample.
const MAX_LENGTH: usize = 1024;

/// A text of a schema.
pub(super) fn of(schema: &Value, field: &str, nth: usize) -> String {
    let length = |key: &str| schema.get(key).and_then(Value::as_u64).map(|length| length as usize);
    let (least, most) = (
        length("minLength").unwrap_or(0),
        length("maxLength").unwrap_or(MAX_LENGTH),
    );
    let format = schema.get("format").or_else(|| schema.pointer("/anyOf/0/format"));
    if let Some(text) = format.and_then(Value::as_str).and_then(formatted) {
        return text.to_owned();
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        // Strings of different lengths differ.
        let longer = matching(pattern, least.max(1) + nth, most).filter(|_| nth > 0);
        if let Some(text) = longer.or_else(|| matching(pattern, least, most)) {
            return text;
        }
    }
    let word = if field.is_empty() || field == "name" {
        "sample"
    } else {
        field
    };
    let mut text: String = numbered(word, nth).chars().take(most).collect();
    while text.chars().count() < least.min(MAX_LENGTH) {
        text.push('a');
    }
    text
}

/// `key`, `key-2`, `key-3`
pub(super) fn numbered(word: &str, nth: usize) -> String {
    match nth {
        0 => word.to_owned(),
        nth => format!("{word}-{}", nth + 1),
    }
}

fn formatted(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" | "datetime" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "duration" => "1h",
        "byte" => "c2FtcGxl",
        "uuid" | "uuid4" => "8b1d5a3e-6a5f-4c1e-9d53-0a4c7b1f2e90",
        "uuid3" => "8b1d5a3e-6a5f-3c1e-9d53-0a4c7b1f2e90",
        "uuid5" => "8b1d5a3e-6a5f-5c1e-9d53-0a4c7b1f2e90",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "cidr" => "192.0.2.0/24",
        "mac" => "02:00:00:00:00:01",
        "uri" => "https://example.com",
        "email" => "sample@example.com",
        "hostname" => "example.com",
        "hexcolor" => "#336699",
        "rgbcolor" => "rgb(51,102,153)",
        "isbn" | "isbn13" => "978-0321751041",
        "isbn10" => "0321751043",
        "creditcard" => "4111111111111111",
        "ssn" => "111-22-3333",
        "bsonobjectid" => "5f0e1a2b3c4d5e6f708192a3",
        "k8s-short-name" | "k8s-long-name" => "sample",
        _ => return None,
    })
}

/// The simplest text that a pattern matches and that is of an allowed length.
fn matching(pattern: &str, least: usize, most: usize) -> Option<String> {
    let tree = regex_syntax::Parser::new().parse(pattern).ok()?;
    // Where repetitions are open, repeating them makes a text that is too short long enough.
    (0..=least.min(MAX_LENGTH))
        .map(|more| {
            let mut text = String::new();
            write(&tree, more, &mut text);
            text
        })
        .find(|text| text.chars().count() >= least)
        .filter(|text| text.chars().count() <= most)
}

/// Writes what a part of a pattern matches, repeating `more` often than need be.
fn write(part: &Hir, more: usize, text: &mut String) {
    if text.len() > MAX_LENGTH {
        return;
    }
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(character(class)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(MAX_LENGTH, |most| most as usize);
            for _ in 0..(least + more).min(most).min(MAX_LENGTH) {
                write(&repetition.sub, 0, text);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, more, text)),
        HirKind::Alternation(parts) => {
            if let Some(first) = parts.first() {
                write(first, more, text);
            }
        }
    }
}

/// A plain character of a class, if it has one.
fn character(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => class
            .iter()
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
    };
    let holds = |wanted: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&wanted));
    ['a', 'A', '1', '0', '-', '.', '/']
        .into_iter()
        .find(holds)
        .or_else(|| ranges.first().map(|(first, _)| *first))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_matches_its_pattern_and_has_its_length() {
        let of = |schema: Value| super::of(&schema, "field", 0);
        let third = super::of(&json!({ "pattern": "^[a-z]+$" }), "field", 2);
        assert_ne!(third, of(json!({ "pattern": "^[a-z]+$" })));
        assert_eq!(of(json!({ "pattern": "^v[0-9]+(alpha|beta)?$" })), "v1");
        assert_eq!(of(json!({ "pattern": "^[a-z]+$", "minLength": 3 })), "aaa");
        assert_eq!(of(json!({ "pattern": r"^(\d+)(\.\d+){2}$" })), "1.1.1");
        assert_eq!(of(json!({ "maxLength": 3 })), "fie");
        assert_eq!(of(json!({ "minLength": 7 })), "fieldaa");
        assert_eq!(of(json!({ "format": "ipv4" })), "192.0.2.1");
        assert_eq!(of(json!({ "anyOf": [{ "format": "ipv6" }] })), "2001:db8::1");
    }
}
