//! Documents of `OpenAPI` v2: reduced to some of their paths, and merged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

/// The sections that references point into.
const SECTIONS: [&str; 2] = ["definitions", "parameters"];

/// A document with some of its paths. Definitions go that only the others used. `None` if it is no such document.
pub(super) fn filter(mut document: Value, keep: impl Fn(&str) -> bool) -> Option<Value> {
    let fields = document.as_object_mut()?;
    match fields.get("paths") {
        None | Some(Value::Null) => return Some(document),
        Some(paths) if !paths.is_object() => return None,
        Some(_) => {}
    }
    let before = used(fields);
    if let Some(paths) = fields.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| keep(path));
    }
    let after = used(fields);
    if let Some(definitions) = fields.get_mut("definitions").and_then(Value::as_object_mut) {
        definitions.retain(|name, _| after.contains(name) || !before.contains(name));
    }
    Some(document)
}

/// The names of the definitions that paths and shared parameters and responses lead to.
fn used(document: &Map<String, Value>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left: Vec<String> = Vec::new();
    for section in ["paths", "parameters", "responses"] {
        if let Some(section) = document.get(section) {
            references(section, &mut left);
        }
    }
    while let Some(reference) = left.pop() {
        let Some(name) = reference.strip_prefix("#/definitions/") else {
            continue;
        };
        if found.insert(name.to_owned())
            && let Some(definition) = document.get("definitions").and_then(|all| all.get(name))
        {
            references(definition, &mut left);
        }
    }
    found
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Merges a document into another. Paths that are there already stay as they are; a definition or parameter with the name of
/// another one is renamed (`name_v2`), unless it is the same but for the kinds that it is of.
pub(crate) fn merge(into: &mut Value, from: Value) {
    let is_new = |path: &str| into["paths"].get(path).is_none();
    let Some(paths) = from.get("paths").and_then(Value::as_object) else {
        return;
    };
    if !paths.keys().any(|path| is_new(path)) {
        return;
    }
    let Some(mut from) = filter(from, is_new) else { return };
    let mut renamed = BTreeMap::new();
    for section in SECTIONS {
        rename_conflicts(&into[section], &mut from[section], section, &mut renamed);
    }
    if !renamed.is_empty() {
        rename_references(&mut from, &renamed);
    }
    for section in SECTIONS.into_iter().chain(["paths"]) {
        let Value::Object(entries) = from[section].take() else {
            continue;
        };
        if !into[section].is_object() {
            into[section] = Value::Object(Map::new());
        }
        let Some(known) = into[section].as_object_mut() else {
            continue;
        };
        for (name, entry) in entries {
            match known.get_mut(&name) {
                Some(existing) => merge_kinds(existing, &entry),
                None => {
                    known.insert(name, entry);
                }
            }
        }
    }
}

/// Finds other names for what is called like something else, and gives them.
fn rename_conflicts(into: &Value, from: &mut Value, section: &str, renamed: &mut BTreeMap<String, String>) {
    let Some(entries) = from.as_object_mut() else { return };
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (name, entry) in entries.iter() {
        let Some(existing) = into.get(name) else { continue };
        if is_same(existing, entry) {
            continue;
        }
        let mut number = 2;
        let new = loop {
            let new = format!("{name}_v{number}");
            let is_free = match into.get(&new) {
                Some(existing) => is_same(existing, entry),
                None => !entries.contains_key(&new) && !names.values().any(|taken| *taken == new),
            };
            if is_free {
                break new;
            }
            number += 1;
        };
        names.insert(name.clone(), new);
    }
    for (name, new) in names {
        if let Some(entry) = entries.remove(&name) {
            entries.insert(new.clone(), entry);
        }
        renamed.insert(format!("#/{section}/{name}"), format!("#/{section}/{new}"));
    }
}

fn rename_references(value: &mut Value, renamed: &BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some(new) = renamed.get(reference)
            {
                reference.clone_from(new);
            }
            fields.values_mut().for_each(|value| rename_references(value, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| rename_references(value, renamed)),
        _ => {}
    }
}

/// Whether two definitions are the same but for the kinds that they are of.
fn is_same(one: &Value, other: &Value) -> bool {
    let (Some(a), Some(b)) = (one.as_object(), other.as_object()) else {
        return one == other;
    };
    let rest = |fields: &Map<String, Value>| fields.keys().filter(|key| *key != GROUP_VERSION_KIND).count();
    rest(a) == rest(b)
        && a.iter()
            .all(|(key, value)| key == GROUP_VERSION_KIND || b.get(key) == Some(value))
}

/// A definition is of the kinds of both.
fn merge_kinds(existing: &mut Value, other: &Value) {
    let Some(kinds) = other.get(GROUP_VERSION_KIND).and_then(Value::as_array) else {
        return;
    };
    let Some(known) = existing.get_mut(GROUP_VERSION_KIND).and_then(Value::as_array_mut) else {
        return;
    };
    for kind in kinds {
        if !known.contains(kind) {
            known.push(kind.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(path: &str, reference: &str, definitions: &Value) -> Value {
        json!({
            "paths": {path: {"get": {"responses": {"200": {"schema": {"$ref": format!("#/definitions/{reference}")}}}}}},
            "definitions": definitions,
        })
    }

    #[test]
    fn what_other_paths_used_goes() {
        let mut whole = document(
            "/apis/a/v1/as",
            "A",
            &json!({"A": {"properties": {"b": {"$ref": "#/definitions/B"}}}, "B": {}, "C": {}, "Free": {}}),
        );
        whole["paths"]["/apis/c/v1/cs"] = json!({"get": {"schema": {"$ref": "#/definitions/C"}}});
        let kept = filter(whole, |path| path.starts_with("/apis/a/v1/")).unwrap();
        let names: Vec<&String> = kept["definitions"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["A", "B", "Free"]);
        assert_eq!(kept["paths"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn another_definition_of_the_same_name_gets_a_new_one() {
        let mut into = document(
            "/apis/a/v1/as",
            "A",
            &json!({"A": {"type": "object"}, "Same": {"type": "string"}}),
        );
        let from = document(
            "/apis/b/v1/bs",
            "A",
            &json!({"A": {"type": "integer"}, "Same": {"type": "string"}}),
        );
        merge(&mut into, from);
        assert_eq!(into["definitions"]["A"]["type"], "object");
        assert_eq!(into["definitions"]["A_v2"]["type"], "integer");
        let reference = &into["paths"]["/apis/b/v1/bs"]["get"]["responses"]["200"]["schema"]["$ref"];
        assert_eq!(reference, "#/definitions/A_v2");
        assert_eq!(into["definitions"].as_object().unwrap().len(), 3);
    }

    #[test]
    fn a_path_that_is_there_stays() {
        let mut into = document("/apis/a/v1/as", "A", &json!({"A": {"type": "object"}}));
        let from = document("/apis/a/v1/as", "X", &json!({"X": {}}));
        merge(&mut into, from);
        assert_eq!(into, document("/apis/a/v1/as", "A", &json!({"A": {"type": "object"}})));
    }
}
