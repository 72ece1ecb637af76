//! What Go prints inside messages: JSON in the order of a struct's fields, and the words of its converters.

use std::fmt::Write as _;

use kubewright_codec::{Decoded, json};
use kubewright_merge::{Shape, Topology as _};
use kubewright_schema::{Scalar, Source, TypeRef};
use serde_json::{Map, Value};

/// An object's JSON as upstream shows it after patching: in the order of the type, except that what the patch went
/// through (`touched`: objects by their keys) comes sorted.
pub(crate) fn json_of(ty: Option<TypeRef<'_>>, value: &Value, touched: &Value) -> String {
    let mut text = Vec::new();
    write_json(ty, value, Some(touched), &[], &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The same of an object after a merge patch, whose numbers are shown as they were sent.
pub(crate) fn json_after_merge(ty: Option<TypeRef<'_>>, value: &Value, patch: &Decoded) -> String {
    let mut touched = patch.value.clone();
    spell_numbers(patch, &mut touched, &mut String::new());
    json_of(ty, value, &touched)
}

/// Puts texts in the place of numbers that were not written as plain integers.
fn spell_numbers(patch: &Decoded, value: &mut Value, place: &mut String) {
    let length = place.len();
    match value {
        Value::Number(_) => {
            if let Some(text) = patch.number_at(place) {
                *value = text.into();
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if length > 0 {
                    place.push('.');
                }
                place.push_str(name);
                spell_numbers(patch, value, place);
                place.truncate(length);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                let _ = write!(place, "[{at}]");
                spell_numbers(patch, item, place);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// What a merge patch tells about the numbers that it brings along, whose paths are the same in its result.
pub(crate) struct SpelledNumbers<'p>(pub(crate) &'p Decoded);

impl Source for SpelledNumbers<'_> {
    fn literal(&self, path: &str) -> Option<&str> {
        self.0.number_at(path)
    }

    /// The result is no document of which a mistake could be the first: they keep their order.
    fn positions(&self, paths: &[&str]) -> Vec<usize> {
        (0..paths.len()).collect()
    }
}

/// The same of an object after a JSON patch: what it copies or moves keeps the order of the type where it was, what it brings along
/// that of no type.
pub(crate) fn json_after_patch(ty: Option<TypeRef<'_>>, value: &Value, operations: &Value) -> String {
    let moves = ty.map(|ty| moves(ty, operations)).unwrap_or_default();
    let moves: Vec<Move<'_, '_>> = moves.iter().map(|(steps, moved)| (steps.as_slice(), moved)).collect();
    let mut text = Vec::new();
    let touched = touched_by(ty, operations.as_array().map_or(&[], Vec::as_slice));
    write_json(ty, value, Some(&touched), &moves, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Brings the fields that no type knows into the order of the document, where a JSON patch copied or moved them.
pub(crate) fn order_unknown(ty: TypeRef<'_>, operations: &Value, unknown: &mut [String]) {
    for (steps, moved) in moves(ty, operations) {
        let Some(of) = moved.of.filter(|_| !moved.gone_through && moved.touched.is_none()) else {
            continue;
        };
        let mut place = String::new();
        for step in &steps {
            if step.bytes().all(|byte| byte.is_ascii_digit()) {
                place.extend(["[", step, "]"]);
            } else {
                place.push_str(step);
            }
            place.push('.');
        }
        let position = |field: &String| {
            let name = field.strip_prefix(&place)?;
            of.fields().position(|known| known.name() == name)
        };
        let Some(first) = unknown.iter().position(|field| position(field).is_some()) else {
            continue;
        };
        let count = unknown[first..]
            .iter()
            .take_while(|field| position(field).is_some())
            .count();
        unknown[first..first + count].sort_by_key(position);
    }
}

/// Where a value was moved to, as seen from where one is.
type Move<'s, 't> = (&'s [String], &'s Moved<'t>);

/// A value that a JSON patch puts somewhere.
struct Moved<'t> {
    /// The type of the place that it is from; none if the patch has it itself.
    of: Option<TypeRef<'t>>,
    /// What the patch had gone through in it, which is sorted.
    touched: Option<Value>,
    /// Whether a later operation goes through it.
    gone_through: bool,
}

/// The places that a JSON patch puts something at.
fn moves<'t>(ty: TypeRef<'t>, operations: &Value) -> Vec<(Vec<String>, Moved<'t>)> {
    let mut moves = Vec::new();
    let operations = operations.as_array().map_or(&[][..], Vec::as_slice);
    for (at, operation) in operations.iter().enumerate() {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let Some(to) = text("path") else { continue };
        let (of, touched) = match (text("op"), text("from")) {
            (Some("copy" | "move"), Some(from)) => {
                let from = steps(from);
                let Some(of) = from.iter().try_fold(ty, |ty, step| below(ty, step)) else {
                    continue;
                };
                // The way to where it goes to may lead through it.
                let so_far = touched_by(Some(ty), &operations[..=at]);
                let touched = from.iter().try_fold(&so_far, |touched, step| touched.get(step));
                (Some(of), touched.cloned())
            }
            (Some("add" | "replace"), _) => (None, None),
            _ => continue,
        };
        let goes_through = |path: &Value| {
            let path = steps(path.as_str().unwrap_or_default());
            path.len() > steps(to).len() && path.starts_with(&steps(to))
        };
        let gone_through = operations[at + 1..].iter().any(|later| {
            ["path", "from"]
                .iter()
                .filter_map(|key| later.get(key))
                .any(goes_through)
        });
        let value = Moved {
            of,
            touched,
            gone_through,
        };
        moves.push((steps(to), value));
    }
    moves
}

fn below<'t>(ty: TypeRef<'t>, key: &str) -> Option<TypeRef<'t>> {
    ty.field_named(key)
        .map(kubewright_schema::FieldRef::type_ref)
        .or_else(|| ty.element())
}

/// The steps of a JSON pointer.
fn steps(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

fn write_json(
    ty: Option<TypeRef<'_>>,
    value: &Value,
    touched: Option<&Value>,
    moves: &[Move<'_, '_>],
    text: &mut Vec<u8>,
) {
    if let Some((_, moved)) = moves.iter().rev().find(|(steps, _)| steps.is_empty()) {
        let touched = if moved.gone_through {
            touched
        } else {
            moved.touched.as_ref()
        };
        return write_json(moved.of, value, touched, &[], text);
    }
    let moves_below = |key: &str| -> Vec<Move<'_, '_>> {
        let below = moves.iter().filter(|(steps, _)| steps[0] == key);
        below.map(|(steps, moved)| (&steps[1..], *moved)).collect()
    };
    match (ty, value) {
        (_, Value::Object(object)) => {
            let ordered = ty.filter(|_| !touched.is_some_and(Value::is_object));
            let known: Vec<&str> = match ordered {
                Some(ty) => ty.fields().map(kubewright_schema::FieldRef::name).collect(),
                None => Vec::new(),
            };
            let in_order = known.iter().filter_map(|name| object.get_key_value(*name));
            let others = object.iter().filter(|(key, _)| !known.contains(&key.as_str()));
            text.push(b'{');
            for (at, (key, value)) in in_order.chain(others).enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                json::write_string(key, text);
                text.push(b':');
                let touched = touched.and_then(|touched| touched.get(key));
                write_json(
                    ty.and_then(|ty| below(ty, key)),
                    value,
                    touched,
                    &moves_below(key),
                    text,
                );
            }
            text.push(b'}');
        }
        // A list that a merge patch brought along is as it was sent.
        (_, Value::Array(items)) if touched.is_some_and(Value::is_array) => {
            text.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                write_json(None, item, touched.and_then(|touched| touched.get(at)), &[], text);
            }
            text.push(b']');
        }
        // A number as it was sent.
        (_, Value::Number(_)) if touched.is_some_and(Value::is_string) => {
            text.extend(touched.and_then(Value::as_str).unwrap_or_default().bytes());
        }
        (Some(ty), Value::Array(items)) => {
            text.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                let at = at.to_string();
                let touched = touched.and_then(|touched| touched.get(&at));
                write_json(ty.element(), item, touched, &moves_below(&at), text);
            }
            text.push(b']');
        }
        (_, value) => json::write(value, text),
    }
}

/// The objects that a JSON patch goes through, nested as in the document.
fn touched_by(ty: Option<TypeRef<'_>>, operations: &[Value]) -> Value {
    let mut touched = Value::Object(Map::new());
    for operation in operations {
        for path in ["path", "from"].iter().filter_map(|key| operation.get(key)?.as_str()) {
            let steps = steps(path);
            // A test reads what it compares, down to its leaves.
            let is_test = operation.get("op").is_some_and(|op| op == "test");
            let through = steps.len().saturating_sub(usize::from(!is_test)).min(MAX_STEPS);
            let mut place = &mut touched;
            for step in steps.iter().take(through) {
                place = touch(place, step);
            }
            if is_test {
                touch_all(place, operation.get("value").unwrap_or(&Value::Null));
            }
        }
        let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("op") {
            "add" | "copy" => move_items_on(ty, &mut touched, &steps(text("path")), false),
            "remove" => move_items_on(ty, &mut touched, &steps(text("path")), true),
            "move" => {
                move_items_on(ty, &mut touched, &steps(text("from")), true);
                move_items_on(ty, &mut touched, &steps(text("path")), false);
            }
            _ => {}
        }
    }
    touched
}

/// Notes that an item was inserted into a list, or taken out of it, which moves those behind it.
fn move_items_on(ty: Option<TypeRef<'_>>, touched: &mut Value, steps: &[String], taken_out: bool) {
    let Some((Ok(place), parents)) = steps
        .split_last()
        .map(|(last, parents)| (last.parse::<usize>(), parents))
    else {
        return;
    };
    let list = parents.iter().try_fold(ty, |ty, step| Some(below(ty?, step)));
    if !list
        .flatten()
        .is_some_and(|list| matches!(list.shape(), Shape::List(_)))
    {
        return;
    }
    let mut items = Some(touched);
    for step in parents {
        items = items.and_then(|items| items.get_mut(step));
    }
    let Some(items) = items.and_then(Value::as_object_mut) else {
        return;
    };
    let moved = std::mem::take(items)
        .into_iter()
        .filter_map(|(key, value)| match key.parse::<usize>() {
            Ok(at) if taken_out && at == place => None,
            Ok(at) if taken_out && at > place => Some(((at - 1).to_string(), value)),
            Ok(at) if !taken_out && at >= place => Some(((at + 1).to_string(), value)),
            _ => Some((key, value)),
        });
    *items = moved.collect();
}

/// Notes an object below one that a patch goes through.
fn touch<'v>(touched: &'v mut Value, key: &str) -> &'v mut Value {
    let below = &mut touched[key];
    if below.is_null() {
        *below = Value::Object(Map::new());
    }
    below
}

/// Notes every object of a value as one that a patch goes through.
fn touch_all(touched: &mut Value, value: &Value) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(at, item): (usize, _)| (at.to_string(), item))
            .collect(),
        _ => return,
    };
    for (key, value) in below
        .into_iter()
        .filter(|(_, value)| value.is_object() || value.is_array())
    {
        touch_all(touch(touched, &key), value);
    }
}

/// No document nests deeper.
const MAX_STEPS: usize = 256;

/// A type error in the words of the converter that strategic merge patches go through: `cannot restore map from slice`.
pub(crate) fn restoring(why: &str, ty: TypeRef<'_>, object: &Value) -> String {
    let parts = why.strip_prefix("json: cannot unmarshal ").and_then(|rest| {
        let (kind, rest) = rest.split_once(" into Go ")?;
        let (place, target) = rest.rsplit_once(" of type ")?;
        Some((kind, place, target))
    });
    let Some((kind, place, target)) = parts else {
        // Bytes are read by the JSON decoder, which the converter calls.
        let by_json = why.starts_with("illegal base64 data");
        return if by_json {
            format!("error decoding from json: {why}")
        } else {
            why.to_owned()
        };
    };
    let path = place
        .rsplit(' ')
        .next()
        .and_then(|place| place.split_once('.'))
        .map_or("", |(_, path)| path);
    let steps: Vec<&str> = path.split('.').collect();
    let kind = match kind.split(' ').next().unwrap_or_default() {
        "array" => "slice",
        "object" => "map",
        "number" if has_fraction_at(object, &steps) => "float64",
        "number" => "int64",
        other => other,
    };
    if target.starts_with("map[") {
        return format!("cannot restore map from {kind}");
    }
    if target.starts_with("[]") {
        return format!("cannot restore slice from {kind}");
    }
    // A map may have a name of its own: v1.ResourceList.
    let named = ty.types().iter().find(|known| known.go_type() == target);
    if named.is_some_and(|named| named.element().is_some() && matches!(named.shape(), Shape::Map { .. })) {
        return format!("cannot restore map from {kind}");
    }
    let simple = match scalar_at(ty, path) {
        Some(Scalar::String) => "string",
        Some(Scalar::Bool) => "bool",
        Some(Scalar::Int(_) | Scalar::Float) => target,
        _ if target.contains('.') => return format!("cannot restore struct from: {kind}"),
        _ => target,
    };
    // Go itself makes a text of an integer and a number of any other, which the converter then refuses.
    let is_conversion = match simple {
        "string" => kind == "int64",
        "bool" => false,
        _ => matches!(kind, "int64" | "float64"),
    };
    if is_conversion {
        format!("cannot convert {kind} to {target}")
    } else {
        format!("unrecognized type: {simple}")
    }
}

/// Whether a number that is no integer stands at a path of field names, in any item of the lists on the way.
fn has_fraction_at(value: &Value, steps: &[&str]) -> bool {
    match (value, steps) {
        (Value::Array(items), _) => items.iter().any(|item| has_fraction_at(item, steps)),
        (value, []) => value.is_f64(),
        (value, [step, rest @ ..]) => value.get(step).is_some_and(|value| has_fraction_at(value, rest)),
    }
}

/// What stands at a path of field names, which leaves out indexes, keys and nothing else.
fn scalar_at(ty: TypeRef<'_>, path: &str) -> Option<Scalar> {
    fn innermost(mut ty: TypeRef<'_>) -> TypeRef<'_> {
        while let Some(element) = ty.element() {
            ty = element;
        }
        ty
    }
    let mut ty = ty;
    for step in path.split('.') {
        ty = innermost(ty);
        // A struct that is part of another has a step of its own in Go's words, but not on the wire.
        if let Some(field) = ty.field_named(step) {
            ty = field.type_ref();
        }
    }
    innermost(ty).scalar()
}
