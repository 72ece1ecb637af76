//! Places in a noted answer: JSON pointers, in which a step may name an element by what it holds.

use serde_json::{Value, json};

pub(super) fn picked(body: &Value, pointers: &[String]) -> Value {
    pointers
        .iter()
        .map(|pointer| (pointer.clone(), found_in_all(body, pointer)))
        .collect()
}

/// The value at a pointer. `*` stands for every element of a list and makes the value a list.
fn found_in_all(document: &Value, pointer: &str) -> Value {
    match pointer.split_once("/*") {
        None => found(document, pointer).cloned().unwrap_or(Value::Null),
        Some((list, rest)) => {
            let items = found(document, list).and_then(Value::as_array).into_iter().flatten();
            items.map(|item| found_in_all(item, rest)).collect()
        }
    }
}

/// The value at a JSON pointer. In a list, `metadata.name=x` is the element that has this value there, for lists whose order or
/// length is not known.
pub(super) fn found<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    let Some(path) = pointer.strip_prefix('/') else {
        return pointer.is_empty().then_some(document);
    };
    path.split('/').try_fold(document, |value, segment| {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        match (value, segment.split_once('=')) {
            (Value::Array(items), Some((place, wanted))) => items.iter().find(|item| {
                let there = place.split('.').try_fold(*item, |item, field| item.get(field));
                there.is_some_and(|there| there == wanted)
            }),
            (Value::Array(items), None) => items.get(segment.parse::<usize>().ok()?),
            (value, _) => value.get(&segment),
        }
    })
}

pub(super) fn omitting(mut note: Value, pointers: &[String]) -> Value {
    for pointer in pointers {
        if let Some(value) = note.pointer_mut(pointer) {
            *value = json!("<omitted>");
        }
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_finds_an_element_by_what_it_holds() {
        let groups = json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "versions": [1, 2]}]});
        assert_eq!(found(&groups, "/items/metadata.name=b/versions/1"), Some(&json!(2)));
        assert_eq!(found(&groups, "/items/metadata.name=c"), None);
        assert_eq!(found(&groups, ""), Some(&groups));
        assert_eq!(found_in_all(&groups, "/items/*/metadata/name"), json!(["a", "b"]));
    }
}
