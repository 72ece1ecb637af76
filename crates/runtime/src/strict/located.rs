//! From JSON to a type, with the path of what does not fit and of what the type ignores.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One step of a path in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

/// Reads a value. The paths it ignores are reported, from the outside in.
pub(crate) fn decode<T: DeserializeOwned>(value: &Value, ignored: &mut Vec<Vec<Segment>>) -> Result<T, String> {
    let mut report = |path: serde_ignored::Path<'_>| ignored.push(segments(&path));
    let read = T::deserialize(serde_ignored::Deserializer::new(value, &mut report));
    // Errors of values know no path: reading once more finds it, and costs only where something is wrong.
    read.map_err(|error| match serde_path_to_error::deserialize::<_, T>(value) {
        Err(located) if located.path().iter().next().is_some() => {
            format!("{}: {}", located.path(), located.inner())
        }
        _ => error.to_string(),
    })
}

/// Where the first thing is that does not fit, if the type can tell.
pub(crate) fn misfit<T: DeserializeOwned>(value: &Value) -> Option<Vec<Segment>> {
    use serde_path_to_error::Segment as At;

    let located = serde_path_to_error::deserialize::<_, T>(value).err()?;
    let segments = located.path().iter().map_while(|segment| match segment {
        At::Seq { index } => Some(Segment::Index(*index)),
        At::Map { key } => Some(Segment::Key(key.clone())),
        At::Enum { .. } | At::Unknown => None,
    });
    Some(segments.collect())
}

/// The paths of a value that a type takes whatever stands there, and does not write again; `kept` is what it writes of the value. They are
/// those inside of tagged, untagged and flattened types, too, which serde reads into a buffer of its own before anybody else sees what it
/// ignores there.
pub(crate) fn dropped<T: DeserializeOwned + Serialize>(value: &Value, kept: &Value) -> Vec<Vec<Segment>> {
    let mut paths = Vec::new();
    missing(value, kept, &mut Vec::new(), &mut paths);
    paths.retain(|path| takes_anything::<T>(value, path, kept));
    paths
}

/// The members of a value that another has not, from the outside in.
fn missing(value: &Value, kept: &Value, path: &mut Vec<Segment>, paths: &mut Vec<Vec<Segment>>) {
    match (value, kept) {
        (Value::Object(members), Value::Object(kept)) => {
            for (name, member) in members {
                path.push(Segment::Key(name.clone()));
                match kept.get(name) {
                    Some(kept) => missing(member, kept, path, paths),
                    None => paths.push(path.clone()),
                }
                path.pop();
            }
        }
        // What is left of a list that was made shorter is not known by its place.
        (Value::Array(items), Value::Array(kept)) if items.len() == kept.len() => {
            for (index, (item, kept)) in items.iter().zip(kept).enumerate() {
                path.push(Segment::Index(index));
                missing(item, kept, path, paths);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether values of every type at a path make no difference. A field that was left out because it has its default, or is written under
/// another name, has a type that one of them is not of, or is written again.
fn takes_anything<T: DeserializeOwned + Serialize>(value: &Value, path: &[Segment], kept: &Value) -> bool {
    let others = [
        json!({ "of": "any type" }),
        json!(["of any type"]),
        json!("of any type"),
        json!(true),
        json!(7),
    ];
    let mut changed = value.clone();
    others.into_iter().all(|other| {
        if let Some(place) = at(&mut changed, path) {
            *place = other;
        }
        let read = T::deserialize(&changed).ok();
        read.and_then(|read| serde_json::to_value(read).ok()).as_ref() == Some(kept)
    })
}

fn at<'a>(value: &'a mut Value, path: &[Segment]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

fn segments(path: &serde_ignored::Path<'_>) -> Vec<Segment> {
    use serde_ignored::Path;

    let mut reversed = Vec::new();
    let mut at = path;
    loop {
        at = match at {
            Path::Root => break,
            Path::Seq { parent, index } => {
                reversed.push(Segment::Index(*index));
                parent
            }
            Path::Map { parent, key } => {
                reversed.push(Segment::Key(key.clone()));
                parent
            }
            Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => parent,
        };
    }
    reversed.reverse();
    reversed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(serde::Deserialize, Debug)]
    struct Inner {
        #[serde(rename = "size")]
        _size: u8,
    }

    #[derive(serde::Deserialize, Debug)]
    struct Outer {
        #[serde(rename = "parts")]
        _parts: Vec<Inner>,
        #[serde(rename = "only")]
        _only: Option<Inner>,
    }

    #[test]
    fn what_the_type_ignores_is_reported_with_its_path() {
        let value =
            json!({ "parts": [{ "size": 1 }, { "size": 2, "colour": "red" }], "only": { "size": 1, "x": 1 }, "y": 0 });
        let mut ignored = Vec::new();
        decode::<Outer>(&value, &mut ignored).unwrap();
        let key = |key: &str| Segment::Key(key.to_owned());
        let mut expected = vec![
            vec![key("parts"), Segment::Index(1), key("colour")],
            vec![key("only"), key("x")],
            vec![key("y")],
        ];
        expected.sort_by_key(|path| format!("{path:?}"));
        ignored.sort_by_key(|path| format!("{path:?}"));
        assert_eq!(ignored, expected);
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_path() {
        let value = json!({ "parts": [{ "size": 1 }, { "size": "large" }] });
        let error = decode::<Outer>(&value, &mut Vec::new()).unwrap_err();
        assert_eq!(error, "parts[1].size: invalid type: string \"large\", expected u8");
        let error = decode::<Outer>(&json!(3), &mut Vec::new()).unwrap_err();
        assert_eq!(error, "invalid type: integer `3`, expected struct Outer");
    }
}
