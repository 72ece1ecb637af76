//! JSON for readers: a value that fits on a line is printed on one line.

use serde_json::Value;

const WIDTH: usize = 150;

/// The text of a value, indented by two spaces, without a final newline. Keys come in the given order of importance,
/// then by name.
pub fn readable(value: &Value) -> String {
    let mut text = String::new();
    print(value, 0, 0, &mut text);
    text
}

/// Keys that a reader looks for first.
const FIRST: [&str; 12] = [
    "watch",
    "read",
    "request",
    "status",
    "headers",
    "type",
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "code",
    "reason",
];

fn print(value: &Value, indent: usize, used: usize, text: &mut String) {
    let line = inline(value);
    let empty = matches!(value, Value::Array(items) if items.is_empty())
        || matches!(value, Value::Object(fields) if fields.is_empty());
    if empty || !value.is_array() && !value.is_object() || indent + used + line.len() <= WIDTH {
        text.push_str(&line);
        return;
    }
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, indent + 2, text);
                print(item, indent + 2, 1, text);
            }
            close(']', indent, text);
        }
        Value::Object(fields) => {
            text.push('{');
            for (index, (key, field)) in ordered(fields).into_iter().enumerate() {
                separate(index, indent + 2, text);
                let key = format!("{}: ", Value::from(key));
                text.push_str(&key);
                print(field, indent + 2, key.len() + 1, text);
            }
            close('}', indent, text);
        }
        _ => {}
    }
}

fn separate(index: usize, indent: usize, text: &mut String) {
    text.push_str(if index == 0 { "\n" } else { ",\n" });
    text.push_str(&" ".repeat(indent));
}

fn close(bracket: char, indent: usize, text: &mut String) {
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(bracket);
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields: Vec<_> = ordered(fields)
                .into_iter()
                .map(|(key, field)| format!("{}: {}", Value::from(key), inline(field)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        plain => plain.to_string(),
    }
}

fn ordered(fields: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut fields: Vec<_> = fields.iter().map(|(key, field)| (key.as_str(), field)).collect();
    fields.sort_by_key(|(key, _)| (FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()), *key));
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_printed_reads_back_as_it_was() {
        let value = json!({"request": "GET /x", "body": {"items": [{"a": "x".repeat(90), "b": [1, 2.5, null]}, {}], "kind": "L"}});
        let text = readable(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.lines().count() > 3, "{text}");
    }

    #[test]
    fn what_fits_stays_on_one_line() {
        assert_eq!(
            readable(&json!({"status": 200, "body": {"kind": "Pod"}})),
            r#"{"status": 200, "body": {"kind": "Pod"}}"#
        );
    }
}
