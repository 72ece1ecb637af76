//! Rows that the real server printed, each with its object and the time of the answer: ours must be equal.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kubewright_tables::{Printer, Row};
use serde_json::{Value, json};

static RECORDED: &str = include_str!("../../recorded/rows.jsonl");

struct Recorded {
    plural: String,
    printer: Printer,
    now: Timestamp,
    line: Value,
}

fn recorded() -> Vec<Recorded> {
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a recorded row");
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        Recorded {
            plural: text("plural"),
            printer: Printer::builtin(&text("group"), &text("plural"), &text("subresource")).expect("a printer"),
            now: text("now").parse().expect("a time"),
            line,
        }
    };
    RECORDED.lines().map(read).collect()
}

fn conditions(row: &Row) -> Value {
    let conditions = row.conditions.iter().map(|condition| {
        json!({"type": condition.kind, "status": "True", "reason": condition.reason, "message": condition.message})
    });
    match conditions.collect::<Vec<_>>() {
        none if none.is_empty() => Value::Null,
        some => some.into(),
    }
}

#[test]
fn every_recorded_row_is_printed_as_the_real_server_printed_it() {
    for row in recorded() {
        let object = &row.line["object"];
        let ours = row.printer.row(object, row.now).expect("printable");
        assert_eq!(
            Value::from(ours.cells.clone()),
            row.line["cells"],
            "{} {object}",
            row.plural
        );
        assert_eq!(conditions(&ours), row.line["conditions"], "{} {object}", row.plural);
    }
}

#[test]
fn the_record_covers_every_built_in_resource() {
    let seen: BTreeSet<String> = recorded().into_iter().map(|row| row.plural).collect();
    for (_, plural, _) in kubewright_tables::Builtin::all() {
        // Scale is recorded as a subresource.
        assert!(plural == "scale" || seen.contains(plural), "{plural}");
    }
}

#[test]
fn no_broken_object_makes_a_printer_panic() {
    for row in recorded() {
        let mut object = row.line["object"].clone();
        let mut paths = Vec::new();
        leaves(&object, &mut String::new(), &mut paths);
        for path in paths {
            for wrong in [
                json!(null),
                json!("x"),
                json!(-1),
                json!([]),
                json!({"a": 1}),
                json!(true),
            ] {
                let Some(place) = object.pointer_mut(&path) else {
                    continue;
                };
                let right = std::mem::replace(place, wrong);
                let _ = row.printer.row(&object, row.now);
                if let Some(place) = object.pointer_mut(&path) {
                    *place = right;
                }
            }
        }
    }
}

fn leaves(value: &Value, path: &mut String, into: &mut Vec<String>) {
    into.push(path.clone());
    let length = path.len();
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        path.push('/');
        path.push_str(&name);
        leaves(child, path, into);
        path.truncate(length);
    }
}
