//! YAML as gnostic's package writes it: blocks, indented by four.

use kubewright_codec::yaml;
use serde_json::Value;

/// How deep the values of a mapping stand below it.
const INDENT: usize = 4;

/// A value as a document of its own.
pub(super) fn encode(value: &Value) -> String {
    let mut out = String::new();
    put(&mut out, value, 0);
    out.push('\n');
    out
}

/// Writes a value whose first line has begun and whose others stand at `indent`.
fn put(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                begin(out, index, indent);
                out.push_str("- ");
                put(out, item, indent + 2);
            }
        }
        Value::Object(members) if !members.is_empty() => {
            for (index, (name, value)) in members.iter().enumerate() {
                begin(out, index, indent);
                out.push_str(&scalar(&Value::from(name.as_str())));
                out.push(':');
                let is_block = match value {
                    Value::Array(items) => !items.is_empty(),
                    Value::Object(members) => !members.is_empty(),
                    _ => false,
                };
                if is_block {
                    let below = (indent + INDENT) / INDENT * INDENT;
                    line(out, below);
                    put(out, value, below);
                } else {
                    out.push(' ');
                    put(out, value, indent);
                }
            }
        }
        scalar_value => out.push_str(&scalar(scalar_value)),
    }
}

/// Begins the line of an item; that of the first one has begun.
fn begin(out: &mut String, index: usize, indent: usize) {
    if index > 0 {
        line(out, indent);
    }
}

fn line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A value on one line. Texts that the other package would fold stay in JSON's quotes, which mean the same.
fn scalar(value: &Value) -> String {
    let text = yaml::encode(value);
    let text = text.trim_end_matches('\n');
    if text.contains('\n') {
        return value.to_string();
    }
    text.to_owned()
}
