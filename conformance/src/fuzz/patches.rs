//! Patches of all kinds, made from an object and a changed copy of it.

use serde_json::{Map, Value, json};

use super::random::Choices;

/// The places of a value as JSON pointers, itself included.
pub fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    visit(value, String::new(), &mut found);
    found
}

fn visit(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                visit(
                    value,
                    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                visit(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

/// One to four operations of a JSON patch, most of them on places that are there.
pub fn json_patch(choices: &mut Choices, object: &Value, changed: &Value) -> Value {
    let targets = places(object);
    let sources = places(changed);
    let count = 1 + choices.below(4);
    let operations = (0..count).map(|_| {
        let mut path = choices.pick(&targets).clone();
        match choices.below(12) {
            0 => path.push_str("/-"),
            1 => path.push_str("/new"),
            2 => "/no/such/place".clone_into(&mut path),
            3 => path.push_str("/0"),
            _ => {}
        }
        let source = choices.pick(&sources);
        let value = changed.pointer(source).cloned().unwrap_or(Value::Null);
        let from = choices.pick(&targets).clone();
        match choices.below(14) {
            0..=3 => json!({"op": "add", "path": path, "value": value}),
            4..=6 => json!({"op": "replace", "path": path, "value": value}),
            7..=8 => json!({"op": "remove", "path": path}),
            9 => json!({"op": "test", "path": path, "value": object.pointer(&path)}),
            10 => json!({"op": "test", "path": path, "value": value}),
            11 => json!({"op": "copy", "from": from, "path": path}),
            12 => json!({"op": "move", "from": from, "path": path}),
            _ => choices
                .pick(&[
                    json!({"op": "add", "path": path}),
                    json!({"op": "unknown", "path": path, "value": 1}),
                    json!({"op": "replace", "path": "metadata", "value": {}}),
                    json!({"path": path, "value": value}),
                    json!("add"),
                ])
                .clone(),
        }
    });
    let operations: Vec<Value> = operations.collect();
    if choices.percent(3) {
        return operations.into_iter().next().unwrap_or_default();
    }
    Value::Array(operations)
}

/// A part of an object from its root down: one branch, with all or some of what hangs on it.
pub fn fragment(choices: &mut Choices, object: &Value) -> Value {
    match object {
        Value::Object(fields) if !fields.is_empty() => {
            let keys: Vec<&String> = fields
                .keys()
                .filter(|key| !["apiVersion", "kind"].contains(&key.as_str()))
                .collect();
            if keys.is_empty() || choices.percent(25) {
                return object.clone();
            }
            let key = *choices.pick(&keys);
            Value::Object(Map::from_iter([(key.clone(), fragment(choices, &fields[key]))]))
        }
        Value::Array(items) if !items.is_empty() && choices.percent(50) => json!([choices.pick(items)]),
        other => other.clone(),
    }
}

/// A merge patch: a part of the changed object, here and there null.
pub fn merge_patch(choices: &mut Choices, changed: &Value) -> Value {
    let mut patch = fragment(choices, changed);
    if choices.percent(30) {
        let places: Vec<String> = places(&patch).into_iter().filter(|place| place.len() > 1).collect();
        if !places.is_empty() {
            let place = choices.pick(&places);
            if let Some(value) = patch.pointer_mut(place) {
                *value = Value::Null;
            }
        }
    }
    patch
}

/// A strategic merge patch: a merge patch, some with directives.
pub fn strategic_patch(choices: &mut Choices, changed: &Value) -> Value {
    let mut patch = merge_patch(choices, changed);
    if choices.percent(35) {
        let objects: Vec<String> = places(&patch)
            .into_iter()
            .filter(|place| patch.pointer(place).is_some_and(Value::is_object))
            .collect();
        if !objects.is_empty() {
            let place = choices.pick(&objects);
            if let Some(fields) = patch.pointer_mut(place).and_then(Value::as_object_mut) {
                directive(choices, fields);
            }
        }
    }
    patch
}

fn directive(choices: &mut Choices, fields: &mut Map<String, Value>) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let key = if keys.is_empty() {
        "x".to_owned()
    } else {
        choices.pick(&keys).clone()
    };
    let (name, value) = match choices.below(7) {
        0 => ("$patch".to_owned(), json!("replace")),
        1 => ("$patch".to_owned(), json!("delete")),
        2 => ("$patch".to_owned(), json!("merge")),
        3 => ("$patch".to_owned(), json!("nonsense")),
        4 => ("$retainKeys".to_owned(), json!(keys)),
        5 => (
            format!("$setElementOrder/{key}"),
            order(&fields.get(&key).cloned().unwrap_or_default()),
        ),
        _ => (
            format!("$deleteFromPrimitiveList/{key}"),
            fields.get(&key).cloned().unwrap_or_default(),
        ),
    };
    fields.insert(name, value);
}

fn order(list: &Value) -> Value {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| match item {
            Value::Object(fields) => fields
                .get("name")
                .map_or_else(|| item.clone(), |name| json!({"name": name})),
            plain => plain.clone(),
        })
        .collect()
}
