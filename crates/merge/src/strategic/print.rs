//! Values as Go's `%v` prints them, which is how upstream's messages quote patches.

use std::fmt::Write as _;

use serde_json::Value;

use super::SET_ELEMENT_ORDER;

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub fn printed(value: &Value) -> String {
    let mut out = String::new();
    print(value, &mut out);
    out
}

/// A patch as it is printed after it was merged, which takes out of it the lists whose order it gives, and that order.
pub fn printed_after_merge(patch: &Value) -> String {
    printed(&without_ordered_lists(patch))
}

fn without_ordered_lists(patch: &Value) -> Value {
    let Value::Object(fields) = patch else {
        return patch.clone();
    };
    let is_taken =
        |name: &str| name.starts_with(SET_ELEMENT_ORDER) || fields.contains_key(&format!("{SET_ELEMENT_ORDER}/{name}"));
    let kept = fields.iter().filter(|(name, _)| !is_taken(name));
    kept.map(|(name, value)| (name.clone(), without_ordered_lists(value)))
        .collect()
}

fn print(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            print_items(items, out);
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " " });
                out.push_str(name);
                out.push(':');
                print(value, out);
            }
            out.push(']');
        }
        // Writing to a string cannot fail.
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => print_float(float, out),
            _ => drop(write!(out, "{number}")),
        },
        Value::Bool(value) => drop(write!(out, "{value}")),
    }
}

fn print_items(items: &[Value], out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { " " });
        print(item, out);
    }
}

/// The shortest digits, scientific from `1e6` up and below `1e-4`, with two digits of exponent at least.
fn print_float(number: f64, out: &mut String) {
    let magnitude = number.abs();
    let scientific = format!("{number:e}");
    // Writing to a string cannot fail.
    let _ = match scientific.split_once('e') {
        Some((digits, exponent)) if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) => {
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(out, "{digits}e{sign}{:02}", exponent.abs())
        }
        _ => write!(out, "{number}"),
    };
}
