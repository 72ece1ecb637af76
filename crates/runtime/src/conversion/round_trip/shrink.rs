//! Making a failing object small, so that people see what matters.

use serde_json::Value;

use super::take_out;
use crate::strict::located::Segment;

/// How often a smaller object is tried.
const TRIES: usize = 2000;

/// The smallest object found that still fails.
pub(super) fn smallest(mut object: Value, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let mut tries = 0;
    loop {
        let mut places = Vec::new();
        collect(&object, &mut Vec::new(), &mut places);
        // Outer places first: taking out much at once is quick. Later elements first, so that positions stay true.
        places.sort_by_key(Vec::len);
        let smaller = places.iter().find_map(|place| {
            let candidates = candidates(&object, place);
            candidates.into_iter().find(|candidate| {
                tries += 1;
                tries <= TRIES && fails(candidate)
            })
        });
        match smaller {
            Some(smaller) => object = smaller,
            None => return object,
        }
    }
}

/// All places of the content.
fn collect(value: &Value, path: &mut Vec<Segment>, places: &mut Vec<Vec<Segment>>) {
    let mut visit = |segment: Segment, value: &Value| {
        path.push(segment);
        places.push(path.clone());
        collect(value, path, places);
        path.pop();
    };
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                // What identifies the object stays.
                if !matches!(key.as_str(), "apiVersion" | "kind" | "name" | "namespace" | "uid") || value.is_object() {
                    visit(Segment::Key(key.clone()), value);
                }
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.iter().enumerate().rev() {
                visit(Segment::Index(at), value);
            }
        }
        _ => {}
    }
}

/// The same object with less at a place.
fn candidates(object: &Value, place: &[Segment]) -> Vec<Value> {
    let mut candidates = Vec::new();
    let mut without = object.clone();
    if take_out(&mut without, place) {
        candidates.push(without);
    }
    let at = place.iter().try_fold(object, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    });
    let simpler: Vec<Value> = match at {
        Some(Value::Bool(true)) => vec![false.into()],
        Some(Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(0.0);
            let simpler = [0.0, 1.0, (number / 2.0).trunc()].into_iter();
            simpler
                .filter(|simpler| simpler.abs() < number.abs())
                .map(|simpler| Value::from(simpler as i64))
                .collect()
        }
        Some(Value::String(text)) => {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            let simpler = [String::new(), "a".to_owned(), half].into_iter();
            simpler
                .filter(|simpler| simpler.len() < text.len())
                .map(Value::from)
                .collect()
        }
        _ => Vec::new(),
    };
    for value in simpler {
        let mut candidate = object.clone();
        let slot = place.iter().try_fold(&mut candidate, |value, segment| match segment {
            Segment::Key(key) => value.get_mut(key),
            Segment::Index(index) => value.get_mut(index),
        });
        if let Some(slot) = slot {
            *slot = value;
            candidates.push(candidate);
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_matter_is_taken_out() {
        let object =
            json!({ "spec": { "a": [1, 2, { "deep": 77, "other": "text" }], "b": "long text" }, "status": {} });
        let small = smallest(object, |object| {
            object["spec"]["a"]
                .as_array()
                .is_some_and(|a| a.iter().any(|a| a["deep"].as_i64() > Some(9)))
        });
        assert_eq!(small, json!({ "spec": { "a": [{ "deep": 19 }] } }));
    }

    #[test]
    fn an_endless_search_ends() {
        let long: Vec<_> = (0..1000).collect();
        let mut asked = 0;
        smallest(json!({ "spec": { "a": long } }), |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, TRIES);
    }
}
