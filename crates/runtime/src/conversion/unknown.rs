//! Fields that neither type knows stay where they were.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::strict::located::{Segment, decode};

/// Whether a path that a type ignored is content. The type's names and the metadata are taken over by other means.
pub(super) fn is_content(path: &[Segment]) -> bool {
    !matches!(path.first(), Some(Segment::Key(key)) if matches!(key.as_str(), "apiVersion" | "kind" | "metadata"))
}

/// Puts what the source's type ignored into the target, except where the target has another shape or where its type would
/// read it. Without ignored fields, which is the rule, this costs nothing.
pub(super) fn carry<T: DeserializeOwned>(source: &Value, ignored: &[Vec<Segment>], target: &mut Value) {
    let mut carried = Vec::new();
    for path in ignored {
        if let Some(value) = get(source, path)
            && insert(target, source, path, value)
        {
            carried.push(path);
        }
    }
    if carried.is_empty() {
        return;
    }
    let mut still_ignored = Vec::new();
    let readable = decode::<T>(target, &mut still_ignored).is_ok();
    still_ignored.sort_by(|a, b| order(a).cmp(order(b)));
    for path in carried {
        let unknown = || {
            still_ignored
                .binary_search_by(|known| order(known).cmp(order(path)))
                .is_ok()
        };
        if !(readable && unknown()) {
            remove(target, path);
        }
    }
}

/// A total order of paths.
fn order(path: &[Segment]) -> impl Iterator<Item = (usize, &str)> {
    path.iter().map(|segment| match segment {
        Segment::Key(key) => (usize::MAX, key.as_str()),
        Segment::Index(index) => (*index, ""),
    })
}

fn get<'a>(value: &'a Value, path: &[Segment]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(index) => value.get(index),
    })
}

/// Adds a member that is not there yet to an object that is. Elements of lists are the same ones only if both lists have as
/// many.
fn insert(target: &mut Value, source: &Value, path: &[Segment], value: &Value) -> bool {
    let Some((Segment::Key(last), parents)) = path.split_last() else {
        return false;
    };
    let (mut to, mut from) = (target, source);
    for segment in parents {
        let next = match (segment, to, from) {
            (Segment::Key(key), Value::Object(to), Value::Object(from)) => to.get_mut(key).zip(from.get(key)),
            (Segment::Index(at), Value::Array(to), Value::Array(from)) if to.len() == from.len() => {
                to.get_mut(*at).zip(from.get(*at))
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        (to, from) = next;
    }
    match to {
        Value::Object(members) if !members.contains_key(last) => {
            members.insert(last.clone(), value.clone());
            true
        }
        _ => false,
    }
}

fn remove(target: &mut Value, path: &[Segment]) {
    let Some((Segment::Key(last), parents)) = path.split_last() else {
        return;
    };
    let parent = parents.iter().try_fold(target, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    });
    if let Some(Value::Object(members)) = parent {
        members.remove(last);
    }
}
