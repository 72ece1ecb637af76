//! Objects as upstream prints them in errors and diffs: its internal Go types as JSON, every field in declaration order.
//! The layout of those types is data (`internal_types.txt`); this walks a value along it.

use std::collections::HashMap;
use std::sync::OnceLock;

use kubewright_apimachinery::field::{FieldError, PathRef};
use kubewright_apimachinery::go::json;
use serde_json::Value;

use crate::rules::access;
use crate::rules::printed;
use crate::rules::resource_names::quantity;

/// A value as Go prints it: objects keep their fields' order.
#[derive(Clone, Debug)]
pub(crate) enum Printed {
    /// A scalar, already as JSON text.
    Scalar(String),
    /// A list.
    List(Vec<Printed>),
    /// A map; empty and absent are the same thing to upstream.
    Map(Vec<(String, Printed)>),
    /// A struct.
    Struct(Vec<(&'static str, Printed)>),
}

/// Prints `value` as the internal type `name`.
pub(crate) fn print(name: &str, value: &Value) -> Printed {
    struct_of(name, value, &Value::Null)
}

/// Prints `value`, a list of the internal type `name`.
pub(crate) fn print_list(name: &str, values: &Value) -> Printed {
    match values.as_array() {
        None => null(),
        Some(items) => Printed::List(items.iter().map(|item| print(name, item)).collect()),
    }
}

/// Prints `value` as a pointer to the internal type `name`.
pub(crate) fn print_optional(name: &str, value: &Value) -> Printed {
    if value.is_null() { null() } else { print(name, value) }
}

/// Prints a string, number or boolean, or the lack of one.
pub(crate) fn print_scalar(value: &Value) -> Printed {
    Printed::Scalar(json::to_string(value))
}

/// Prints a label selector, whose Go fields carry their wire names and are left out where they are empty.
pub(crate) fn print_selector(selector: &Value) -> Printed {
    let Some(fields) = selector.as_object() else {
        return plain(selector);
    };
    let mut printed = Vec::new();
    let has_labels = |labels: &&Value| !labels.as_object().is_some_and(serde_json::Map::is_empty);
    if let Some(labels) = fields.get("matchLabels").filter(has_labels) {
        printed.push(("matchLabels", plain(labels)));
    }
    let expressions = fields.get("matchExpressions").and_then(Value::as_array);
    if let Some(expressions) = expressions.filter(|expressions| !expressions.is_empty()) {
        let list = expressions
            .iter()
            .map(|expression| wired(expression, &[("key", true), ("operator", true), ("values", false)]))
            .collect();
        printed.push(("matchExpressions", Printed::List(list)));
    }
    Printed::Struct(printed)
}

/// A struct whose Go fields carry their wire names: these fields in this order, where an empty one is left out unless it is always
/// written, as `true` says.
fn wired(value: &Value, order: &[(&'static str, bool)]) -> Printed {
    let Some(fields) = value.as_object() else {
        return plain(value);
    };
    let present = order.iter().filter_map(|(name, always)| match fields.get(*name) {
        None | Some(Value::Null) => always.then(|| (*name, Printed::Scalar("\"\"".to_owned()))),
        Some(Value::Array(items)) if items.is_empty() && !always => None,
        Some(value) => Some((*name, plain(value))),
    });
    Printed::Struct(present.collect())
}

/// A value whose maps Go sorts by key.
fn plain(value: &Value) -> Printed {
    match value {
        Value::Array(items) => Printed::List(items.iter().map(plain).collect()),
        Value::Object(fields) => Printed::Map(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), plain(value)))
                .collect(),
        ),
        scalar => Printed::Scalar(json::to_string(scalar)),
    }
}

/// Whether two values of the internal type `name` mean the same to upstream.
pub(crate) fn same(name: &str, left: &Value, right: &Value) -> bool {
    left == right || print(name, left).means(&print(name, right))
}

/// A malformed value, shown as upstream prints it.
pub(crate) fn invalid(path: &PathRef<'_>, value: &Printed, words: &str) -> FieldError {
    printed::invalid(path, &value.compact(), words)
}

/// A value that is none of `supported`, shown as upstream prints it.
pub(crate) fn not_supported(path: &PathRef<'_>, value: &Printed, supported: &[&str]) -> FieldError {
    printed::not_supported(path, &value.compact(), supported)
}

impl Printed {
    /// Equal but for the difference between empty and absent.
    pub(crate) fn means(&self, other: &Printed) -> bool {
        match (self, other) {
            (Printed::Scalar(left), Printed::Scalar(right)) => left == right,
            (Printed::List(left), Printed::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.means(right))
            }
            (Printed::Map(left), Printed::Map(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| left.0 == right.0 && left.1.means(&right.1))
            }
            (Printed::Struct(left), Printed::Struct(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .zip(right)
                        .all(|(left, right)| left.0 == right.0 && left.1.means(&right.1))
            }
            (one, other) => one.is_unset() && other.is_unset(),
        }
    }

    fn is_unset(&self) -> bool {
        match self {
            Printed::Scalar(text) => text == "null",
            Printed::List(items) => items.is_empty(),
            Printed::Map(entries) => entries.is_empty(),
            Printed::Struct(_) => false,
        }
    }

    /// On one line.
    pub(crate) fn compact(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text
    }

    /// Over many lines, one space per level.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text
    }

    fn write(&self, text: &mut String, depth: Option<usize>) {
        match self {
            Printed::Scalar(scalar) => text.push_str(scalar),
            Printed::List(items) => {
                write_items(text, depth, ['[', ']'], items.iter(), |text, depth, item| {
                    item.write(text, depth);
                });
            }
            Printed::Map(entries) => {
                write_items(text, depth, ['{', '}'], entries.iter(), |text, depth, (key, value)| {
                    write_member(text, depth, key, value);
                });
            }
            Printed::Struct(fields) => {
                write_items(text, depth, ['{', '}'], fields.iter(), |text, depth, (key, value)| {
                    write_member(text, depth, key, value);
                });
            }
        }
    }
}

fn write_member(text: &mut String, depth: Option<usize>, key: &str, value: &Printed) {
    text.push_str(&json::to_string(&Value::from(key)));
    text.push(':');
    if depth.is_some() {
        text.push(' ');
    }
    value.write(text, depth);
}

fn write_items<'a, T: 'a>(
    text: &mut String,
    depth: Option<usize>,
    [open, close]: [char; 2],
    items: impl ExactSizeIterator<Item = &'a T>,
    write: impl Fn(&mut String, Option<usize>, &T),
) {
    text.push(open);
    let any = items.len() > 0;
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(',');
        }
        new_line(text, depth.map(|depth| depth + 1));
        write(text, depth.map(|depth| depth + 1), item);
    }
    if any {
        new_line(text, depth);
    }
    text.push(close);
}

fn new_line(text: &mut String, depth: Option<usize>) {
    if let Some(depth) = depth {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', depth));
    }
}

fn null() -> Printed {
    Printed::Scalar("null".to_owned())
}

fn struct_of(name: &str, value: &Value, parent: &Value) -> Printed {
    let mut fields = Vec::new();
    add_fields(name, value, parent, &mut fields);
    Printed::Struct(fields)
}

fn add_fields(name: &str, value: &Value, parent: &Value, fields: &mut Vec<(&'static str, Printed)>) {
    for field in layout().get(name).map_or(&[][..], Vec::as_slice) {
        match field {
            Field::Embedded("ObjectMeta") => add_metadata(&value["metadata"], fields),
            Field::Embedded(embedded) => add_fields(embedded, value, parent, fields),
            Field::Named { go, wire, shape } => {
                let (holder, wire) = wire.strip_prefix('^').map_or((value, *wire), |above| (parent, above));
                fields.push((go, shaped(shape, &holder[wire], value)));
            }
        }
    }
}

/// Metadata's Go fields carry wire names and leave out what is empty.
fn add_metadata(metadata: &Value, fields: &mut Vec<(&'static str, Printed)>) {
    const DECLARED: [&str; 13] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    for name in DECLARED {
        match metadata.get(name) {
            None => {}
            Some(value) if access::is_empty(value) && name != "deletionGracePeriodSeconds" => {}
            Some(Value::Array(owners)) if name == "ownerReferences" => {
                fields.push((name, Printed::List(owners.iter().map(print_owner).collect())));
            }
            Some(value) => fields.push((name, plain(value))),
        }
    }
}

fn print_owner(owner: &Value) -> Printed {
    let order = [
        ("apiVersion", true),
        ("kind", true),
        ("name", true),
        ("uid", true),
        ("controller", false),
        ("blockOwnerDeletion", false),
    ];
    wired(owner, &order)
}

fn shaped(shape: &str, value: &Value, parent: &Value) -> Printed {
    if let Some(item) = shape.strip_prefix("[]") {
        return match value.as_array() {
            None => null(),
            Some(items) => Printed::List(items.iter().map(|value| shaped(item, value, parent)).collect()),
        };
    }
    if let Some(item) = shape.strip_prefix("{}") {
        return match value.as_object() {
            None => null(),
            Some(entries) => Printed::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), shaped(item, value, parent)))
                    .collect(),
            ),
        };
    }
    let (optional, shape) = shape.strip_prefix('*').map_or((false, shape), |shape| (true, shape));
    if value.is_null() {
        // The wire's five host-namespace fields live in the security context, which upstream always makes.
        if optional && shape != "PodSecurityContext" {
            return null();
        }
        return match shape {
            "s" => Printed::Scalar("\"\"".to_owned()),
            "n" | "i" => Printed::Scalar("0".to_owned()),
            "b" => Printed::Scalar("false".to_owned()),
            "q" => Printed::Scalar("\"0\"".to_owned()),
            "w" | "r" => null(),
            name => struct_of(name, value, parent),
        };
    }
    match shape {
        "s" | "n" | "i" | "b" => Printed::Scalar(json::to_string(value)),
        "q" => Printed::Scalar(json::to_string(&canonical(value))),
        "w" => print_selector(value),
        "r" => plain(value),
        name => struct_of(name, value, parent),
    }
}

/// A quantity in canonical form; what is none stays as written.
fn canonical(value: &Value) -> Value {
    quantity(value).map_or_else(|| value.clone(), |quantity| quantity.to_string().into())
}

enum Field {
    Embedded(&'static str),
    Named {
        go: &'static str,
        wire: &'static str,
        shape: &'static str,
    },
}

fn layout() -> &'static HashMap<&'static str, Vec<Field>> {
    static LAYOUT: OnceLock<HashMap<&'static str, Vec<Field>>> = OnceLock::new();
    LAYOUT.get_or_init(|| {
        let lines = include_str!("internal_types.txt")
            .lines()
            .filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let mut words = line.split(' ');
                let name = words.next()?;
                Some((name, words.filter_map(field).collect()))
            })
            .collect()
    })
}

fn field(word: &'static str) -> Option<Field> {
    if let Some(embedded) = word.strip_prefix('+') {
        return Some(Field::Embedded(embedded));
    }
    let mut parts = word.splitn(3, ':');
    Some(Field::Named {
        go: parts.next()?,
        wire: parts.next()?,
        shape: parts.next()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_struct_prints_every_field_in_declaration_order() {
        let printed = print(
            "SecurityContext",
            &json!({"privileged": true, "allowPrivilegeEscalation": false}),
        );
        assert_eq!(
            printed.compact(),
            r#"{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}"#
        );
    }

    #[test]
    fn empty_and_absent_lists_mean_the_same() {
        assert!(same("PodSpec", &json!({"containers": []}), &json!({})));
        assert!(!same("PodSpec", &json!({"affinity": {}}), &json!({})));
    }

    #[test]
    fn every_type_the_table_names_is_in_the_table() {
        for (name, fields) in layout() {
            for field in fields {
                let shape = match field {
                    Field::Embedded("ObjectMeta") => continue,
                    Field::Embedded(embedded) => embedded,
                    Field::Named { shape, .. } => shape.trim_start_matches(['*', '[', ']', '{', '}']),
                };
                assert!(
                    ["s", "n", "b", "q", "i", "w", "r"].contains(&shape) || layout().contains_key(shape),
                    "{name} has an unknown {shape}"
                );
            }
        }
    }
}
