//! From JSON to a type, with the path of what does not fit and of what the type ignores.

use serde::de::DeserializeOwned;
use serde_json::Value;

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
