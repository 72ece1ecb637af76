//! From a schema and an object to changes of the object: every field, on both sides of each of its limits.
//!
//! Whether a value is allowed is for the server to say. What it refuses must change nothing, which is worth a run as well.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::rule_values;
use super::spec_edit::{Change, member};

/// Numbers beyond it are tried only where the schema refuses them: nobody waits for two billion Pods.
const LARGEST: i64 = 1000;
/// Texts and lists that are longer are not made.
const LONGEST: u64 = 10_000;
/// How deep absent values are made up.
const DEEPEST: usize = 6;
/// What is no part of what a user asks for.
const NOT_ASKED_FOR: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// What a schema says of an object.
pub(super) struct Changes {
    /// Those of outer fields first.
    pub(super) changes: Vec<Change>,
    /// The CEL rules that suggest none.
    pub(super) unread_rules: BTreeSet<String>,
}

/// The changes of an object.
pub(super) fn changes(schema: &Value, object: &Value) -> Changes {
    let mut found = Found::default();
    for (name, property) in properties(schema) {
        if NOT_ASKED_FOR.contains(&name.as_str()) {
            continue;
        }
        found.field(property, &member("", name), object.get(name), is_required(schema, name));
    }
    found.rules(schema, "", object);
    Changes {
        unread_rules: std::mem::take(&mut found.unread_rules),
        changes: found.in_order(object),
    }
}

#[derive(Default)]
struct Found {
    changes: Vec<Change>,
    unread_rules: BTreeSet<String>,
}

impl Found {
    fn set(&mut self, pointer: &str, value: Value) {
        self.changes.push(Change::Set(pointer.to_owned(), value));
    }

    /// All changes of a field and of what is below it.
    fn field(&mut self, schema: &Value, pointer: &str, value: Option<&Value>, is_needed: bool) {
        if let Some(default) = schema.get("default") {
            self.set(pointer, default.clone());
        }
        if schema["nullable"] == true {
            self.set(pointer, Value::Null);
        }
        for each in schema["enum"].as_array().into_iter().flatten() {
            self.set(pointer, each.clone());
        }
        if value.is_some() {
            self.changes.push(Change::Remove(pointer.to_owned()));
        } else if let Some(made) = minimal(schema, 0) {
            self.set(pointer, made);
        }
        if schema["x-kubernetes-int-or-string"] == true {
            for each in [json!(0), json!(1), json!("25%"), json!("none")] {
                self.set(pointer, each);
            }
        }
        match schema["type"].as_str().unwrap_or_default() {
            "boolean" => {
                self.set(pointer, json!(true));
                self.set(pointer, json!(false));
            }
            "integer" => self.integer(schema, pointer, value),
            "number" => self.number(schema, pointer),
            "string" => self.string(schema, pointer, value),
            "array" => self.array(schema, pointer, value),
            "object" => self.object(schema, pointer, value, is_needed),
            _ => {}
        }
        if let Some(value) = value {
            self.rules(schema, pointer, value);
        }
    }

    fn integer(&mut self, schema: &Value, pointer: &str, value: Option<&Value>) {
        let current = value.and_then(Value::as_i64).unwrap_or_default();
        let (least, most) = (bound(schema, "minimum"), bound(schema, "maximum"));
        let mut values = vec![current.saturating_add(1), current.saturating_sub(1)];
        match least {
            Some(least) => values.extend([least, least.saturating_sub(1)]),
            None => values.extend([0, -1]),
        }
        if let Some(most) = most {
            values.extend([most, most.saturating_add(1)]);
        }
        let is_refused = |value: i64| least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most);
        for value in values {
            if value.abs() <= LARGEST || is_refused(value) {
                self.set(pointer, json!(value));
            }
        }
        if schema["format"] == "int32" {
            self.set(pointer, json!(i64::from(i32::MAX) + 1));
        }
    }

    fn number(&mut self, schema: &Value, pointer: &str) {
        for bound in ["minimum", "maximum"] {
            if let Some(number) = schema[bound].as_f64() {
                for value in [number, number - 0.5, number + 0.5] {
                    self.set(pointer, json!(value));
                }
            }
        }
        self.set(pointer, json!(0.5));
    }

    fn string(&mut self, schema: &Value, pointer: &str, value: Option<&Value>) {
        let text = |length: u64| json!("x".repeat(usize::try_from(length).unwrap_or_default()));
        if schema["enum"].is_array() {
            self.set(pointer, json!("no-such-value"));
            return;
        }
        self.set(pointer, json!(""));
        let current = value.and_then(Value::as_str).unwrap_or_default();
        self.set(pointer, json!(format!("{current}-edited").trim_start_matches('-')));
        let limits = [("minLength", -1), ("maxLength", 1)];
        for (limit, beyond) in limits {
            if let Some(length) = schema[limit].as_u64().filter(|length| *length <= LONGEST) {
                self.set(pointer, text(length));
                self.set(pointer, text(length.saturating_add_signed(beyond)));
            }
        }
    }

    fn array(&mut self, schema: &Value, pointer: &str, value: Option<&Value>) {
        self.set(pointer, json!([]));
        let items = value.and_then(Value::as_array).cloned().unwrap_or_default();
        let made = items.last().cloned().or_else(|| minimal(&schema["items"], 0));
        if let Some(item) = made {
            let of_length = |length: u64| -> Value {
                let length = usize::try_from(length).unwrap_or_default();
                let more = (items.len()..length).map(|at| another(schema, &item, at));
                items.iter().take(length).cloned().chain(more).collect()
            };
            let length = u64::try_from(items.len()).unwrap_or_default();
            let limits = [("minItems", -1), ("maxItems", 1)];
            for (limit, beyond) in limits {
                if let Some(length) = schema[limit].as_u64().filter(|length| *length <= LONGEST) {
                    self.set(pointer, of_length(length));
                    self.set(pointer, of_length(length.saturating_add_signed(beyond)));
                }
            }
            self.set(pointer, of_length(length + 1));
        }
        if let Some(first) = items.first() {
            if items.len() > 1 {
                self.set(pointer, items.iter().rev().cloned().collect());
                self.changes.push(Change::Remove(member(pointer, "0")));
            }
            if schema["x-kubernetes-list-type"] == "set" || schema["x-kubernetes-list-type"] == "map" {
                let twice = items.iter().chain([first]).cloned().collect();
                self.set(pointer, twice);
            }
            self.field(&schema["items"], &member(pointer, "0"), Some(first), true);
        }
    }

    fn object(&mut self, schema: &Value, pointer: &str, value: Option<&Value>, is_needed: bool) {
        if !is_needed || value.is_some() {
            self.set(pointer, json!({}));
        }
        let Some(members) = value.and_then(Value::as_object) else {
            self.absent_object(schema, pointer);
            return;
        };
        for (name, property) in properties(schema) {
            self.field(
                property,
                &member(pointer, name),
                members.get(name),
                is_required(schema, name),
            );
        }
        let entries = &schema["additionalProperties"];
        if entries.is_object() {
            let first = members.iter().next();
            let added = first.map(|(_, value)| value.clone()).or_else(|| minimal(entries, 0));
            if let Some(added) = added {
                self.set(&member(pointer, "explore-added"), added);
            }
            if let Some((name, value)) = first {
                self.field(entries, &member(pointer, name), Some(value), false);
            }
        }
    }

    /// What is not there, with each of the members that it may have and does not need.
    fn absent_object(&mut self, schema: &Value, pointer: &str) {
        let Some(Value::Object(least)) = minimal(schema, 0) else {
            return;
        };
        for (name, property) in properties(schema).filter(|(name, _)| !least.contains_key(*name)) {
            if let Some(made) = minimal(property, 1) {
                let mut with = least.clone();
                with.insert(name.clone(), made);
                self.set(pointer, Value::Object(with));
            }
        }
    }

    fn rules(&mut self, schema: &Value, pointer: &str, value: &Value) {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            let text = rule["rule"].as_str().unwrap_or_default();
            let suggested = rule_values::changes(text, pointer, value);
            if suggested.is_empty() {
                self.unread_rules.insert(text.to_owned());
            }
            self.changes.extend(suggested);
        }
    }

    /// Each change once, outer fields first; none that changes nothing.
    fn in_order(self, object: &Value) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for change in self.changes {
            let mut after = object.clone();
            change.apply(&mut after);
            if after != *object && !changes.contains(&change) {
                changes.push(change);
            }
        }
        let depth = |change: &Change| match change {
            Change::Set(pointer, _) | Change::Remove(pointer) => pointer.matches('/').count(),
            Change::Undo => 0,
        };
        changes.sort_by_key(depth);
        changes
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|each| each == name))
}

/// A whole limit of a number.
fn bound(schema: &Value, limit: &str) -> Option<i64> {
    let value = &schema[limit];
    #[expect(clippy::cast_possible_truncation, reason = "limits of integers are whole")]
    let whole = value.as_i64().or_else(|| value.as_f64().map(|number| number as i64));
    let is_exclusive = match limit {
        "minimum" => schema["exclusiveMinimum"] == true,
        _ => schema["exclusiveMaximum"] == true,
    };
    let step = if limit == "minimum" { 1 } else { -1 };
    whole.map(|whole| {
        if is_exclusive {
            whole.saturating_add(step)
        } else {
            whole
        }
    })
}

/// One more item of a list: another key where keys tell items apart, another value in a set.
fn another(schema: &Value, item: &Value, at: usize) -> Value {
    let differ = |value: &Value| match value {
        Value::String(text) => json!(format!("{text}-{at}")),
        Value::Number(number) => {
            let more = i64::try_from(at).unwrap_or(i64::MAX);
            json!(number.as_i64().unwrap_or_default().saturating_add(more))
        }
        other => other.clone(),
    };
    match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            let mut item = item.clone();
            for key in schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten() {
                if let Some(value) = key.as_str().and_then(|key| item.get_mut(key)) {
                    *value = differ(value);
                }
            }
            item
        }
        Some("set") => differ(item),
        _ => item.clone(),
    }
}

/// The smallest value that a schema allows, as far as one can be made up: a pattern or a format may refuse it.
fn minimal(schema: &Value, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(default) = schema.get("default") {
        return Some(default.clone());
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return Some(first.clone());
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Some(json!(1));
    }
    match schema["type"].as_str()? {
        "boolean" => Some(json!(true)),
        "integer" => Some(json!(bound(schema, "minimum").unwrap_or(1))),
        "number" => Some(json!(schema["minimum"].as_f64().unwrap_or(1.0))),
        "string" if schema["format"] == "date-time" => Some(json!("2026-01-01T00:00:00Z")),
        "string" => {
            let length = schema["minLength"].as_u64().unwrap_or(1).clamp(1, LONGEST);
            Some(json!("x".repeat(usize::try_from(length).unwrap_or(1))))
        }
        "array" => {
            let length = usize::try_from(schema["minItems"].as_u64().unwrap_or(1).clamp(1, 10)).unwrap_or(1);
            let item = minimal(&schema["items"], depth + 1)?;
            Some((0..length).map(|at| another(schema, &item, at)).collect())
        }
        "object" => {
            let mut members = Map::new();
            for (name, property) in properties(schema).filter(|(name, _)| is_required(schema, name)) {
                members.insert(name.clone(), minimal(property, depth + 1)?);
            }
            Some(Value::Object(members))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(schema: &Value, object: &Value) -> Vec<String> {
        let found = changes(schema, object);
        found.changes.iter().map(ToString::to_string).collect()
    }

    fn of_spec(properties: &Value) -> Value {
        json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } })
    }

    #[test]
    fn numbers_are_tried_on_both_sides_of_their_limits() {
        let schema = of_spec(&json!({ "n": { "type": "integer", "minimum": 1, "maximum": 5, "format": "int32" } }));
        let found = texts(&schema, &json!({ "spec": { "n": 1 } }));
        for expected in [
            "remove /spec/n",
            "/spec/n = 0",
            "/spec/n = 2",
            "/spec/n = 5",
            "/spec/n = 6",
            "/spec/n = 2147483648",
        ] {
            assert!(found.iter().any(|text| text == expected), "no {expected} in {found:?}");
        }
        assert!(
            !found.contains(&"/spec/n = 1".to_owned()),
            "it is what it is: {found:?}"
        );
    }

    #[test]
    fn large_numbers_are_tried_only_where_they_are_refused() {
        let schema = of_spec(&json!({ "n": { "type": "integer", "maximum": 100_000 } }));
        let found = texts(&schema, &json!({ "spec": { "n": 1 } }));
        assert!(found.contains(&"/spec/n = 100001".to_owned()), "{found:?}");
        assert!(!found.contains(&"/spec/n = 100000".to_owned()), "{found:?}");
    }

    #[test]
    fn each_value_of_an_enumeration_and_one_more_is_tried() {
        let schema = of_spec(&json!({ "mode": { "type": "string", "enum": ["On", "Off"], "default": "On" } }));
        let found = texts(&schema, &json!({ "spec": { "mode": "On" } }));
        assert_eq!(
            found[2..],
            [
                "/spec/mode = \"Off\"",
                "remove /spec/mode",
                "/spec/mode = \"no-such-value\""
            ]
        );
        assert_eq!(found[..2], ["remove /spec", "/spec = {}"]);
    }

    #[test]
    fn what_is_absent_is_made_up_with_what_it_needs() {
        let schema = of_spec(&json!({ "probe": {
            "type": "object", "required": ["port"],
            "properties": { "port": { "type": "integer", "minimum": 80 }, "path": { "type": "string" } },
        }}));
        let found = texts(&schema, &json!({ "spec": {} }));
        for expected in [
            r#"/spec/probe = {"port":80}"#,
            r#"/spec/probe = {"path":"x","port":80}"#,
        ] {
            assert!(found.contains(&expected.to_owned()), "no {expected} in {found:?}");
        }
    }

    #[test]
    fn a_rule_that_suggests_nothing_is_told() {
        let mut schema = of_spec(&json!({ "n": { "type": "integer" } }));
        schema["properties"]["spec"]["x-kubernetes-validations"] =
            json!([{ "rule": "self.n <= 5" }, { "rule": "self.names.all(name, name.startsWith('a'))" }]);
        let found = changes(&schema, &json!({ "spec": { "n": 1 } }));
        assert_eq!(
            found.unread_rules,
            BTreeSet::from(["self.names.all(name, name.startsWith('a'))".to_owned()])
        );
    }

    #[test]
    fn lists_and_maps_lose_and_get_entries() {
        let schema = of_spec(&json!({
            "ports": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "properties": { "name": { "type": "string" } } },
            },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
        }));
        let found = texts(
            &schema,
            &json!({ "spec": { "ports": [{ "name": "web" }], "labels": { "a": "b" } } }),
        );
        for expected in [
            "/spec/ports = []",
            r#"/spec/ports = [{"name":"web"},{"name":"web-1"}]"#,
            r#"/spec/ports = [{"name":"web"},{"name":"web"}]"#,
            r#"/spec/labels/explore-added = "b""#,
            "remove /spec/labels/a",
            r#"/spec/ports/0/name = "web-edited""#,
        ] {
            assert!(found.iter().any(|text| text == expected), "no {expected} in {found:#?}");
        }
    }

    #[test]
    fn metadata_and_status_are_left_alone() {
        let property = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        let schema = json!({ "properties": { "metadata": property, "status": property, "spec": property } });
        let found = texts(
            &schema,
            &json!({ "metadata": { "a": "x" }, "status": { "a": "x" }, "spec": { "a": "x" } }),
        );
        assert!(found.iter().all(|text| text.contains("/spec")), "{found:?}");
    }
}
