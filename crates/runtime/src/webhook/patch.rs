//! JSON patches: the shortest way from one value to another, and what a typed change means for the object it was made from.

use kubewright_codec::json;
use serde_json::{Map, Value};

use super::align::{ListEdit, align};

/// One operation of a JSON patch (RFC 6902). Paths are JSON pointers: `/metadata/labels/app.kubernetes.io~1name`.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchOperation {
    /// Adds a field, replaces it if there is one, or inserts an item into a list.
    Add {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Removes a field or an item.
    Remove {
        /// Where.
        path: String,
    },
    /// Replaces what is there.
    Replace {
        /// Where.
        path: String,
        /// By what.
        value: Value,
    },
    /// Moves what is somewhere else.
    Move {
        /// From where.
        from: String,
        /// To where.
        path: String,
    },
    /// Copies what is somewhere else.
    Copy {
        /// From where.
        from: String,
        /// To where.
        path: String,
    },
    /// The patch fails unless this is there.
    Test {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
}

/// What a value holds outside of itself.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size_of::<Value>() + value_bytes(item)).sum(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                size_of::<String>() + name.len() + size_of::<Value>() + value_bytes(value)
            };
            members.iter().map(member).sum()
        }
    }
}

impl PatchOperation {
    /// Adds a field, replaces it if there is one, or inserts an item into a list.
    pub fn add(path: impl Into<String>, value: impl Into<Value>) -> Self {
        PatchOperation::Add {
            path: path.into(),
            value: value.into(),
        }
    }

    /// Removes a field or an item.
    pub fn remove(path: impl Into<String>) -> Self {
        PatchOperation::Remove { path: path.into() }
    }

    /// Replaces what is there.
    pub fn replace(path: impl Into<String>, value: impl Into<Value>) -> Self {
        PatchOperation::Replace {
            path: path.into(),
            value: value.into(),
        }
    }

    /// Where it works.
    pub fn path(&self) -> &str {
        match self {
            PatchOperation::Add { path, .. }
            | PatchOperation::Remove { path }
            | PatchOperation::Replace { path, .. }
            | PatchOperation::Move { path, .. }
            | PatchOperation::Copy { path, .. }
            | PatchOperation::Test { path, .. } => path,
        }
    }

    /// How many bytes it holds, near enough.
    pub(super) fn bytes(&self) -> usize {
        let held = match self {
            PatchOperation::Add { value, .. }
            | PatchOperation::Replace { value, .. }
            | PatchOperation::Test { value, .. } => value_bytes(value),
            PatchOperation::Move { from, .. } | PatchOperation::Copy { from, .. } => from.len(),
            PatchOperation::Remove { .. } => 0,
        };
        size_of::<PatchOperation>() + self.path().len() + held
    }

    /// A field's name as a part of a path.
    pub fn escape(name: &str) -> String {
        name.replace('~', "~0").replace('/', "~1")
    }

    /// The operations that make `to` of `from`.
    ///
    /// ```
    /// use kubewright_runtime::webhook::PatchOperation;
    /// use serde_json::json;
    ///
    /// let from = json!({ "spec": { "replicas": 1, "image": "a" }, "status": {} });
    /// let to = json!({ "spec": { "replicas": 2, "image": "a" } });
    /// assert_eq!(
    ///     PatchOperation::between(&from, &to),
    ///     [PatchOperation::replace("/spec/replicas", 2), PatchOperation::remove("/status")]
    /// );
    /// ```
    pub fn between(from: &Value, to: &Value) -> Vec<Self> {
        let mut operations = Vec::new();
        diff(&mut String::new(), from, to, &mut operations);
        operations
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (name, from, value) = match self {
            PatchOperation::Add { value, .. } => ("add", None, Some(value)),
            PatchOperation::Remove { .. } => ("remove", None, None),
            PatchOperation::Replace { value, .. } => ("replace", None, Some(value)),
            PatchOperation::Move { from, .. } => ("move", Some(from), None),
            PatchOperation::Copy { from, .. } => ("copy", Some(from), None),
            PatchOperation::Test { value, .. } => ("test", None, Some(value)),
        };
        out.extend_from_slice(b"{\"op\":\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\",\"path\":");
        json::write_string(self.path(), out);
        if let Some(from) = from {
            out.extend_from_slice(b",\"from\":");
            json::write_string(from, out);
        }
        if let Some(value) = value {
            out.extend_from_slice(b",\"value\":");
            json::write(value, out);
        }
        out.push(b'}');
    }
}

/// A patch as JSON.
pub(super) fn to_bytes(operations: &[PatchOperation]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, operation) in operations.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        operation.write(&mut out);
    }
    out.push(b']');
    out
}

/// Does what an operation says to an object. `None`, and some of it may be done, if it does not fit.
pub(super) fn apply(object: &mut Value, operation: &PatchOperation) -> Option<()> {
    match operation {
        PatchOperation::Add { path, value } => put(object, path, value.clone()),
        PatchOperation::Remove { path } => take(object, path).map(drop),
        PatchOperation::Replace { path, value } => {
            *object.pointer_mut(path)? = value.clone();
            Some(())
        }
        PatchOperation::Move { from, path } => {
            let value = take(object, from)?;
            put(object, path, value)
        }
        PatchOperation::Copy { from, path } => {
            let value = object.pointer(from)?.clone();
            put(object, path, value)
        }
        PatchOperation::Test { path, value } => (object.pointer(path)? == value).then_some(()),
    }
}

fn put(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let Some((parent, last)) = path.rsplit_once('/') else {
        *object = value;
        return Some(());
    };
    match object.pointer_mut(parent)? {
        Value::Object(members) => _ = members.insert(unescape(last), value),
        Value::Array(items) => {
            let at = if last == "-" { items.len() } else { last.parse().ok()? };
            if at > items.len() {
                return None;
            }
            items.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = path.rsplit_once('/')?;
    match object.pointer_mut(parent)? {
        Value::Object(members) => members.remove(&unescape(last)),
        Value::Array(items) => {
            let at = last.parse().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Runs `inner` with a path that goes one step further.
fn below(path: &mut String, step: &str, inner: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    inner(path);
    path.truncate(length);
}

fn diff(path: &mut String, from: &Value, to: &Value, out: &mut Vec<PatchOperation>) {
    match (from, to) {
        (from, to) if from == to => {}
        (Value::Object(from), Value::Object(to)) => diff_objects(path, from, to, out),
        (Value::Array(from), Value::Array(to)) => {
            let mut at = 0_usize;
            for step in align(from, to) {
                let operations = &mut *out;
                below(path, &at.to_string(), |path| match step {
                    ListEdit::Pair(old, new) => diff(path, &from[old], &to[new], operations),
                    ListEdit::Delete(_) => operations.push(PatchOperation::remove(path.clone())),
                    ListEdit::Insert(new) => operations.push(PatchOperation::add(path.clone(), to[new].clone())),
                });
                at += usize::from(!matches!(step, ListEdit::Delete(_)));
            }
        }
        (_, to) => out.push(PatchOperation::replace(path.clone(), to.clone())),
    }
}

fn diff_objects(path: &mut String, from: &Map<String, Value>, to: &Map<String, Value>, out: &mut Vec<PatchOperation>) {
    for (name, old) in from {
        below(path, &PatchOperation::escape(name), |path| match to.get(name) {
            Some(new) => diff(path, old, new, out),
            None => out.push(PatchOperation::remove(path.clone())),
        });
    }
    for (name, new) in to.iter().filter(|(name, _)| !from.contains_key(*name)) {
        below(path, &PatchOperation::escape(name), |path| {
            out.push(PatchOperation::add(path.clone(), new.clone()));
        });
    }
}

/// What becomes of an object when what its type knows of it changes from `before` to `after`: only what changed is changed, and
/// fields that the type does not know, or writes in another way, stay as they are.
pub(super) fn carry_over(raw: &Value, before: &Value, after: &Value) -> Value {
    match (raw, before, after) {
        (raw, before, after) if before == after => raw.clone(),
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(carry_over_fields(raw, before, after))
        }
        // The type fills in what was not there; only what changed comes to be.
        (Value::Null, Value::Object(before), Value::Object(after)) => {
            Value::Object(carry_over_fields(&Map::new(), before, after))
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after)) if raw.len() == before.len() => {
            let items = align(before, after).into_iter().filter_map(|step| match step {
                ListEdit::Pair(old, new) => Some(carry_over(&raw[old], &before[old], &after[new])),
                ListEdit::Insert(new) => Some(after[new].clone()),
                ListEdit::Delete(_) => None,
            });
            Value::Array(items.collect())
        }
        (_, _, after) => after.clone(),
    }
}

fn carry_over_fields(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut result = raw.clone();
    for (name, new) in after {
        let there = raw.get(name).unwrap_or(&Value::Null);
        let value = match before.get(name) {
            Some(old) if old == new => continue,
            Some(old) => carry_over(there, old, new),
            // The type left out what it found, since it was empty to it or unknown in part.
            None if there.is_object() && new.is_object() => carry_over(there, &Value::Object(Map::new()), new),
            None => new.clone(),
        };
        result.insert(name.clone(), value);
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        result.remove(name);
    }
    result
}
