//! Edits of an object that the steps made: fields that are set or removed, one after another, and what they make of an object.

use std::fmt;

use serde_json::{Map, Value};

use super::plan::ObjectName;

/// One change of an object. A field is named by its JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Set(String, Value),
    Remove(String),
    /// The object becomes what it was before the first change.
    Undo,
}

/// Changes of one object. After each of them, the cluster settles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpecEdit {
    pub(super) object: ObjectName,
    pub(super) changes: Vec<Change>,
}

impl SpecEdit {
    /// Whether the object ends as it was.
    pub(super) fn ends_as_it_was(&self) -> bool {
        self.changes.last() == Some(&Change::Undo)
    }

    /// Makes all changes at once, as somebody does who creates the object so.
    pub(super) fn apply_all(&self, object: &mut Value) {
        for change in &self.changes {
            change.apply(object);
        }
    }

    /// `viewers.example.com/a: /spec/replicas = 5; remove /spec/image; undo`
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (object, mut rest) = text.split_once(": ")?;
        let (resource, name) = object.rsplit_once('/')?;
        let mut changes = Vec::new();
        loop {
            let (change, after) = Change::parse(rest)?;
            changes.push(change);
            if after.is_empty() {
                break;
            }
            rest = after.strip_prefix("; ")?;
        }
        Some(SpecEdit {
            object: ObjectName {
                resource: resource.to_owned(),
                name: name.to_owned(),
            },
            changes,
        })
    }
}

impl fmt::Display for SpecEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        write!(f, "{}: {}", self.object, changes.join("; "))
    }
}

impl Change {
    /// Changes an object. A place that is not there and cannot be made is left alone.
    pub(super) fn apply(&self, object: &mut Value) {
        match self {
            Change::Set(pointer, value) => set(object, pointer, value.clone()),
            Change::Remove(pointer) => remove(object, pointer),
            Change::Undo => {}
        }
    }

    /// A change at the beginning of a text, and what comes after it. A value may hold every character.
    fn parse(text: &str) -> Option<(Self, &str)> {
        if let Some(rest) = text.strip_prefix("undo") {
            return Some((Change::Undo, rest));
        }
        if let Some(rest) = text.strip_prefix("remove ") {
            let end = rest.find("; ").unwrap_or(rest.len());
            return Some((Change::Remove(rest[..end].to_owned()), &rest[end..]));
        }
        let (pointer, value) = text.split_once(" = ")?;
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        let read = values.next()?.ok()?;
        let rest = &value[values.byte_offset()..];
        Some((Change::Set(pointer.to_owned(), read), rest))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Set(pointer, value) => write!(f, "{pointer} = {value}"),
            Change::Remove(pointer) => write!(f, "remove {pointer}"),
            Change::Undo => f.write_str("undo"),
        }
    }
}

/// A pointer to a member of what another one points to.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Parent and last name of a pointer.
fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, last) = pointer.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let Some((parent, last)) = split(pointer) else { return };
    if object.pointer(parent).is_none() {
        set(object, parent, Value::Object(Map::new()));
    }
    match object.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.insert(last, value);
        }
        Some(Value::Array(items)) => {
            if let Some(item) = last.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = value;
            }
        }
        _ => {}
    }
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, last)) = split(pointer) else { return };
    match object.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(&last);
        }
        Some(Value::Array(items)) => {
            if let Some(at) = last.parse::<usize>().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_are_read_as_they_are_written_whatever_their_values_hold() {
        for text in [
            "apps.example.com/a: /spec/replicas = 5",
            "apps.example.com/a: remove /spec/image; undo",
            r#"apps.example.com/a: /spec/text = "a; remove /b after step create of x"; /spec/list/0 = [1,{"a":null}]; undo"#,
        ] {
            assert_eq!(SpecEdit::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(SpecEdit::parse("apps.example.com/a: sing"), None);
        assert_eq!(SpecEdit::parse("apps.example.com/a: /spec/a = 1 and more"), None);
    }

    #[test]
    fn fields_are_set_and_removed_where_a_pointer_says() {
        let mut object = json!({ "spec": { "a/b": 1, "list": [1, 2] } });
        Change::Set(member("/spec", "a/b"), json!(2)).apply(&mut object);
        Change::Set("/spec/new/deep".to_owned(), json!(true)).apply(&mut object);
        Change::Set("/spec/list/1".to_owned(), json!(3)).apply(&mut object);
        Change::Set("/spec/list/7".to_owned(), json!(3)).apply(&mut object);
        Change::Remove("/spec/list/0".to_owned()).apply(&mut object);
        Change::Remove("/spec/not/there".to_owned()).apply(&mut object);
        assert_eq!(
            object,
            json!({ "spec": { "a/b": 2, "list": [3], "new": { "deep": true } } })
        );
    }
}
