//! Applying operations one after the other. Pointers are read as upstream's library reads them: what stands before the
//! first slash is ignored, negative indices count from the end, and `replace` of an absent field adds it.

use serde_json::{Map, Value};

use super::decode::{JsonPatch, Operation};
use super::size::{depth, encoded_length};
use crate::patch_error::PatchError;

/// How many bytes the `copy` operations of one patch may add, as upstream's server sets it.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// How deep the patched object may nest. Upstream's decoder gives up at 10 000; no kind needs a hundredth of it, and
/// copies could otherwise double the depth with every operation.
const MAX_DEPTH: usize = 256;

impl JsonPatch {
    /// Applies the patch to an object.
    pub fn apply(&self, object: Value) -> Result<Value, PatchError> {
        let mut document = Document {
            depth_bound: depth(&object),
            root: object,
            copied: 0,
        };
        self.operations
            .iter()
            .try_for_each(|operation| document.apply(operation))?;
        Ok(document.root)
    }
}

struct Document {
    root: Value,
    copied: usize,
    /// At least the depth of `root`.
    depth_bound: usize,
}

impl Document {
    fn apply(&mut self, operation: &Operation) -> Result<(), PatchError> {
        match operation.op.as_deref() {
            Some("add") => self.add(operation),
            Some("remove") => self.remove(operation),
            Some("replace") => self.replace(operation),
            Some("move") => self.move_value(operation),
            Some("copy") => self.copy(operation),
            Some("test") => self.test(operation),
            other => Err(PatchError::does_not_apply(format!(
                "Unexpected kind: {}",
                other.unwrap_or("unknown")
            ))),
        }
    }

    fn add(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = path(operation)?;
        let value = operation.value.clone().unwrap_or(Value::Null);
        let depth = segments(path) + depth(&value);
        self.put(path, value)?;
        self.reaches(depth)
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), PatchError> {
        self.take(path(operation)?).map(drop)
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = path(operation)?;
        let value = operation.value.clone().unwrap_or(Value::Null);
        if path.is_empty() {
            if !matches!(value, Value::Object(_) | Value::Array(_)) {
                return Err(PatchError::does_not_apply(
                    "replace operation value must be object or array",
                ));
            }
            self.depth_bound = depth(&value);
            self.root = value;
            return self.reaches(self.depth_bound);
        }
        let depth = segments(path) + depth(&value);
        let (parent, key) = self.find(path)?;
        match parent {
            Parent::Object(fields) => drop(fields.insert(key, value)),
            Parent::List(items) => {
                let index = index(&key, items.len())?;
                items[index] = value;
            }
        }
        self.reaches(depth)
    }

    fn move_value(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let source = from(operation)?;
        let value = self.take(source)?;
        let path = path(operation)?;
        self.put(path, value)?;
        self.reaches(self.depth_after(source, path))
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let source = from(operation)?;
        let value = self.get(source)?.cloned().unwrap_or(Value::Null);
        let path = path(operation)?;
        self.find(path)?;
        // To Go an absent or null source is a copy of nothing.
        self.copied += if value.is_null() { 0 } else { encoded_length(&value) };
        if self.copied > MAX_COPIED_BYTES {
            return Err(PatchError::does_not_apply(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {}",
                self.copied, MAX_COPIED_BYTES
            )));
        }
        self.put(path, value)?;
        self.reaches(self.depth_after(source, path))
    }

    fn test(&self, operation: &Operation) -> Result<(), PatchError> {
        let path = path(operation)?;
        let expected = operation.value.as_ref().unwrap_or(&Value::Null);
        let actual = if path.is_empty() {
            Some(&self.root)
        } else {
            self.get(path)?
        };
        // An absent field equals null.
        if actual.unwrap_or(&Value::Null) == expected {
            Ok(())
        } else {
            Err(PatchError::does_not_apply(format!(
                "testing value {path} failed: test failed"
            )))
        }
    }

    /// Adds a value to the object or list that `path` names; into a list before the item it names, or at its end (`-`).
    fn put(&mut self, path: &str, value: Value) -> Result<(), PatchError> {
        let (parent, key) = self.find(path)?;
        match parent {
            Parent::Object(fields) => drop(fields.insert(key, value)),
            Parent::List(items) if key == "-" => items.push(value),
            Parent::List(items) => {
                let index = index(&key, items.len() + 1)?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &str) -> Result<Value, PatchError> {
        let (parent, key) = self.find(path)?;
        match parent {
            Parent::Object(fields) => fields.remove(&key).ok_or_else(|| {
                PatchError::does_not_apply(format!("Unable to remove nonexistent key: {key}: missing value"))
            }),
            Parent::List(items) => Ok(items.remove(index(&key, items.len())?)),
        }
    }

    /// The value at `path`; `None` where an object has no such field.
    fn get(&self, path: &str) -> Result<Option<&Value>, PatchError> {
        let (parents, key) = split(path)?;
        let parent = parents.iter().try_fold(&self.root, |value, step| match value {
            Value::Object(fields) => fields.get(step),
            Value::Array(items) => index(step, items.len()).ok().map(|index| &items[index]),
            _ => None,
        });
        match parent {
            Some(Value::Object(fields)) => Ok(fields.get(&key)),
            Some(Value::Array(items)) => Ok(Some(&items[index(&key, items.len())?])),
            _ => Err(missing(path)),
        }
    }

    /// The object or list that holds what `path` names, and its name there.
    fn find(&mut self, path: &str) -> Result<(Parent<'_>, String), PatchError> {
        let (parents, key) = split(path)?;
        let parent = parents.iter().try_fold(&mut self.root, |value, step| match value {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => index(step, items.len()).ok().map(|index| &mut items[index]),
            _ => None,
        });
        match parent {
            Some(Value::Object(fields)) => Ok((Parent::Object(fields), key)),
            Some(Value::Array(items)) => Ok((Parent::List(items), key)),
            _ => Err(missing(path)),
        }
    }

    /// A bound of the depth after the value at `source` was put at `path`.
    fn depth_after(&self, source: &str, path: &str) -> usize {
        segments(path) + self.depth_bound.saturating_sub(segments(source))
    }

    /// Notes that the document may now be `depth` deep. Only when that seems too deep is it measured.
    fn reaches(&mut self, depth_bound: usize) -> Result<(), PatchError> {
        self.depth_bound = self.depth_bound.max(depth_bound);
        if self.depth_bound > MAX_DEPTH {
            self.depth_bound = depth(&self.root);
        }
        if self.depth_bound > MAX_DEPTH {
            return Err(PatchError::does_not_apply("exceeded max depth"));
        }
        Ok(())
    }
}

enum Parent<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

fn path(operation: &Operation) -> Result<&str, PatchError> {
    operation
        .path
        .as_deref()
        .ok_or_else(|| PatchError::does_not_apply("operation missing path field: missing value"))
}

fn from(operation: &Operation) -> Result<&str, PatchError> {
    operation
        .from
        .as_deref()
        .ok_or_else(|| PatchError::does_not_apply("operation, missing from field: missing value"))
}

fn missing(path: &str) -> PatchError {
    PatchError::does_not_apply(format!("doc is missing path: \"{path}\": missing value"))
}

/// The steps to the parent, and the last step.
fn split(path: &str) -> Result<(Vec<String>, String), PatchError> {
    let mut steps: Vec<String> = path.split('/').skip(1).map(unescape).collect();
    let key = steps.pop().ok_or_else(|| missing(path))?;
    Ok((steps, key))
}

fn segments(path: &str) -> usize {
    path.bytes().filter(|&byte| byte == b'/').count()
}

/// Reads `~1` as a slash and `~0` as a tilde, from left to right.
fn unescape(step: &str) -> String {
    let mut out = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        let (replacement, length) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(replacement);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

/// Reads an index below `length` as Go's `Atoi` does: a sign is allowed, and a negative one counts from the end.
fn index(step: &str, length: usize) -> Result<usize, PatchError> {
    let invalid = || {
        PatchError::does_not_apply(format!(
            "Unable to access invalid index: {step}: invalid index referenced"
        ))
    };
    let number: i64 = step.parse().map_err(|_| invalid())?;
    let index = if number < 0 {
        number.checked_add_unsigned(length as u64)
    } else {
        Some(number)
    };
    index
        .and_then(|index| usize::try_from(index).ok())
        .filter(|&index| index < length)
        .ok_or_else(invalid)
}
