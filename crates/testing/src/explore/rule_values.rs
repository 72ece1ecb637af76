//! Values on both sides of simple CEL rules: comparisons of fields with numbers, texts and each other, sizes, and lists.
//!
//! Only the words of a rule are read, not its meaning: values near to what it compares with. The server says which side they are on.

use serde_json::{Value, json};

use super::spec_edit::{Change, member};

/// Values that are longer are not made.
const LONGEST: i64 = 10_000;
const COMPARISONS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];

#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A field of what the rule is about, as a pointer below it.
    Field(String),
    /// How long a field is.
    SizeOf(String),
    Integer(i64),
    Text(String),
    Sign(&'static str),
    Other,
}

/// The changes that a rule of the value at `pointer` suggests.
pub(super) fn changes(rule: &str, pointer: &str, value: &Value) -> Vec<Change> {
    let words = words(rule);
    let mut changes = Vec::new();
    for (at, three) in words.windows(3).enumerate() {
        match three {
            [left, Word::Sign(sign), right] if COMPARISONS.contains(sign) => {
                if matches!(left, Word::Field(_) | Word::SizeOf(_)) {
                    beside(left, right, pointer, value, &mut changes);
                } else {
                    beside(right, left, pointer, value, &mut changes);
                }
            }
            [Word::Field(field), Word::Sign("in"), Word::Sign("[")] => {
                let listed = words[at + 3..].iter().take_while(|word| **word != Word::Sign("]"));
                let place = format!("{pointer}{field}");
                for word in listed {
                    match word {
                        Word::Integer(number) => changes.push(Change::Set(place.clone(), json!(number))),
                        Word::Text(text) => changes.push(Change::Set(place.clone(), json!(text))),
                        _ => {}
                    }
                }
                changes.push(Change::Set(place, json!("no-such-value")));
            }
            _ => {}
        }
    }
    changes
}

/// The values of a field beside what it is compared with.
fn beside(field: &Word, other: &Word, pointer: &str, value: &Value, changes: &mut Vec<Change>) {
    let limit = match other {
        Word::Integer(number) => Some(*number),
        Word::Field(other) => value.pointer(other).and_then(Value::as_i64),
        _ => None,
    };
    match (field, limit, other) {
        (Word::Field(field), Some(limit), _) => {
            for number in [limit.saturating_sub(1), limit, limit.saturating_add(1)] {
                changes.push(Change::Set(format!("{pointer}{field}"), json!(number)));
            }
        }
        (Word::Field(field), None, Word::Text(text)) => {
            for text in [text.clone(), format!("{text}-other")] {
                changes.push(Change::Set(format!("{pointer}{field}"), json!(text)));
            }
        }
        (Word::SizeOf(field), Some(limit), _) => {
            for size in [limit.saturating_sub(1), limit, limit.saturating_add(1)] {
                let sized = value.pointer(field).and_then(|current| of_size(current, size));
                if let Some(sized) = sized {
                    changes.push(Change::Set(format!("{pointer}{field}"), sized));
                }
            }
        }
        _ => {}
    }
}

/// A value of another length, from what it is now.
fn of_size(current: &Value, size: i64) -> Option<Value> {
    let size = usize::try_from(size).ok().filter(|_| size <= LONGEST)?;
    match current {
        Value::String(_) => Some(json!("x".repeat(size))),
        Value::Array(items) => {
            let last = items.last()?;
            Some(
                items
                    .iter()
                    .chain(std::iter::repeat(last))
                    .take(size)
                    .cloned()
                    .collect(),
            )
        }
        Value::Object(members) => {
            let last = members.values().next_back()?;
            let mut sized: serde_json::Map<String, Value> = members
                .iter()
                .take(size)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let mut at = 0;
            while sized.len() < size {
                sized.insert(format!("explore-{at}"), last.clone());
                at += 1;
            }
            Some(Value::Object(sized))
        }
        _ => None,
    }
}

/// The words of a rule. Fields of `self` and their sizes are one word each.
fn words(rule: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = rule.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = if let Some(inner) = rest.strip_prefix("size(self") {
            let (field, after) = field(inner);
            match after.strip_prefix(')') {
                Some(after) => (Word::SizeOf(field), after),
                None => (Word::Other, inner),
            }
        } else if is_word(rest, "self") {
            let (field, after) = field(&rest[4..]);
            match after.strip_prefix(".size()") {
                Some(after) => (Word::SizeOf(field), after),
                // Another method: what it answers is not the field.
                None if after.starts_with('(') => (Word::Other, after),
                None => (Word::Field(field), after),
            }
        } else if is_word(rest, "in") {
            (Word::Sign("in"), &rest[2..])
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            (Word::Other, &rest[end..])
        } else if first.is_ascii_digit()
            || (first == '-' && !matches!(words.last(), Some(Word::Field(_) | Word::Integer(_))))
        {
            let end = rest[1..]
                .find(|c: char| !c.is_ascii_digit())
                .map_or(rest.len(), |at| at + 1);
            let word = rest[..end].parse().map_or(Word::Other, Word::Integer);
            (word, &rest[end..])
        } else if first == '\'' || first == '"' {
            let body = &rest[1..];
            match body.find(first) {
                Some(end) if !body[..end].contains('\\') => (Word::Text(body[..end].to_owned()), &body[end + 1..]),
                _ => break,
            }
        } else if let Some(sign) = COMPARISONS.iter().find(|sign| rest.starts_with(**sign)) {
            (Word::Sign(sign), &rest[sign.len()..])
        } else {
            let sign = match first {
                '[' => Word::Sign("["),
                ']' => Word::Sign("]"),
                ',' => Word::Sign(","),
                _ => Word::Other,
            };
            (sign, &rest[first.len_utf8()..])
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name))
}

/// The fields after `self`, as a pointer, and the text after them. The last one may be a method, which the caller sees by `(`.
fn field(mut text: &str) -> (String, &str) {
    let mut pointer = String::new();
    while let Some(name) = text.strip_prefix('.') {
        let end = name.find(|c: char| !is_name(c)).unwrap_or(name.len());
        let is_size = &name[..end] == "size" && name[end..].starts_with("()");
        if end == 0 || is_size {
            break;
        }
        pointer = member(&pointer, &name[..end]);
        text = &name[end..];
    }
    (pointer, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rule: &str, value: &Value) -> Vec<String> {
        changes(rule, "/spec", value).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn both_sides_of_a_comparison_are_tried() {
        assert_eq!(
            texts("self.replicas <= 5", &json!({ "replicas": 1 })),
            ["/spec/replicas = 4", "/spec/replicas = 5", "/spec/replicas = 6"]
        );
        assert_eq!(
            texts("3 < self.a.b", &json!({})),
            ["/spec/a/b = 2", "/spec/a/b = 3", "/spec/a/b = 4"]
        );
        assert_eq!(
            texts("self.min <= self.max", &json!({ "min": 1, "max": 7 })),
            ["/spec/min = 6", "/spec/min = 7", "/spec/min = 8"]
        );
        assert_eq!(
            texts("self >= -1", &json!(0)),
            ["/spec = -2", "/spec = -1", "/spec = 0"]
        );
    }

    #[test]
    fn texts_lists_and_sizes_are_read() {
        assert_eq!(
            texts("self.mode != 'Off' || has(self.reason)", &json!({})),
            [r#"/spec/mode = "Off""#, r#"/spec/mode = "Off-other""#]
        );
        assert_eq!(
            texts("self.mode in ['a', \"b\"]", &json!({})),
            [
                r#"/spec/mode = "a""#,
                r#"/spec/mode = "b""#,
                r#"/spec/mode = "no-such-value""#
            ]
        );
        assert_eq!(
            texts(
                "self.name.size() <= 1 && size(self.list) > 1",
                &json!({ "name": "ab", "list": [1] })
            ),
            [
                r#"/spec/name = """#,
                r#"/spec/name = "x""#,
                r#"/spec/name = "xx""#,
                "/spec/list = []",
                "/spec/list = [1]",
                "/spec/list = [1,1]",
            ]
        );
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
        for rule in [
            "self == oldSelf",
            "self.all(x, x > 3)",
            "self.name.startsWith('a')",
            "'it\\'s",
            "",
            "!!",
        ] {
            assert!(texts(rule, &json!({ "name": "a" })).is_empty(), "{rule}");
        }
    }
}
