//! A template in the words of Go's `%#v`, as go-spew writes them: types in parentheses, fields in their order.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::Value;

use super::quantity;

static TYPES: &str = include_str!("../../../facts/pod_template_types.txt");

/// A named type.
enum Type {
    /// Printed as what it is.
    Plain,
    /// Printed by its own rules.
    Special,
    /// Printed as another type, such as a map.
    Alias(&'static str),
    /// Name, JSON name (none if its fields are those of the parent) and type of each field.
    Struct(Vec<Field>),
}

struct Field {
    name: &'static str,
    json: Option<&'static str>,
    type_: &'static str,
}

static TABLE: LazyLock<HashMap<&'static str, Type>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    let mut current = "";
    for line in TYPES.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else {
            continue;
        };
        if let Some(type_) = words.next() {
            let json = (second != "-").then_some(second);
            if let Some(Type::Struct(fields)) = table.get_mut(current) {
                fields.push(Field {
                    name: first,
                    json,
                    type_,
                });
            }
            continue;
        }
        current = first;
        let type_ = match second {
            "struct" => Type::Struct(Vec::new()),
            "special" => Type::Special,
            alias if alias.starts_with("map[") => Type::Alias(alias),
            _ => Type::Plain,
        };
        table.insert(first, type_);
    }
    table
});

/// The text of a whole template.
pub(super) fn template(value: &Value) -> String {
    let mut text = String::new();
    print(&mut text, "v1.PodTemplateSpec", value, true);
    text
}

/// Prints a value of a type; `named` says whether the type is named first.
fn print(text: &mut String, type_: &str, value: &Value, named: bool) {
    if let Some(target) = type_.strip_prefix('*') {
        let prefix = if named { format!("({type_})") } else { String::new() };
        if value.is_null() {
            text.push_str(&prefix);
            return text.push_str("<nil>");
        }
        text.push_str(if named { &prefix } else { "<*>" });
        return print(text, target, value, false);
    }
    if named {
        let _ = write!(text, "({type_})");
    }
    if let Some(item) = type_.strip_prefix("[]") {
        print_list(text, item, value);
    } else if let Some((_, target)) = type_.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
        print_map(text, target, value);
    } else {
        print_named(text, type_, value);
    }
}

fn print_list(text: &mut String, item: &str, value: &Value) {
    // What is empty on the wire is nil.
    let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
        return text.push_str("<nil>");
    };
    text.push('[');
    for (place, value) in items.iter().enumerate() {
        if place > 0 {
            text.push(' ');
        }
        print(text, item, value, false);
    }
    text.push(']');
}

fn print_map(text: &mut String, target: &str, value: &Value) {
    let Some(members) = value.as_object().filter(|members| !members.is_empty()) else {
        return text.push_str("<nil>");
    };
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    text.push_str("map[");
    for (place, (key, value)) in members.into_iter().enumerate() {
        if place > 0 {
            text.push(' ');
        }
        let _ = write!(text, "{key}:");
        print(text, target, value, false);
    }
    text.push(']');
}

fn print_named(text: &mut String, type_: &str, value: &Value) {
    match TABLE.get(type_) {
        Some(Type::Struct(fields)) => {
            text.push('{');
            for (place, field) in fields.iter().enumerate() {
                if place > 0 {
                    text.push(' ');
                }
                let _ = write!(text, "{}:", field.name);
                let inner = field.json.map_or(value, |json| value.get(json).unwrap_or(&Value::Null));
                print(text, field.type_, inner, true);
            }
            text.push('}');
        }
        Some(Type::Alias(alias)) => print(text, alias, value, false),
        Some(Type::Special) => print_special(text, type_, value),
        _ => print_plain(text, type_, value),
    }
}

fn print_special(text: &mut String, type_: &str, value: &Value) {
    match (type_, value) {
        ("resource.Quantity", value) => text.push_str(&quantity::print(value.as_str())),
        ("intstr.IntOrString", Value::String(name)) => {
            let _ = write!(text, "{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){name}}}");
        }
        ("intstr.IntOrString", value) => {
            let number = value.as_i64().unwrap_or(0);
            let _ = write!(text, "{{Type:(intstr.Type)0 IntVal:(int32){number} StrVal:(string)}}");
        }
        // No template has a time of its own: the server drops what is given.
        _ => text.push_str("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"),
    }
}

fn print_plain(text: &mut String, type_: &str, value: &Value) {
    match value {
        Value::String(value) => text.push_str(value),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => {
            let _ = write!(text, "{value}");
        }
        _ => match type_ {
            "bool" => text.push_str("false"),
            "int" | "int32" | "int64" => text.push('0'),
            _ => {}
        },
    }
}
