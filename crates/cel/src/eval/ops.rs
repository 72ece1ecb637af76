//! Equality, order and indexing of values.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::{DeclKind, ListKind};
use crate::error::EvalError;
use crate::library::time::Timestamp;
use crate::value::{Key, List, Map, Outcome, Value};

use super::Comparison;

pub(super) fn compare<'a>(comparison: Comparison, left: &Value<'a>, right: &Value<'a>) -> Outcome<'a> {
    let result = match comparison {
        Comparison::Equal => equal(left, right)?,
        // What cannot be compared is not equal.
        Comparison::NotEqual => !equal(left, right).unwrap_or(false),
        _ => {
            // NaN has no order to anything: every comparison with it is false.
            match (order(left, right), comparison) {
                (Ranked::Incomparable, _) => return Err(EvalError::no_such_overload()),
                (Ranked::NotANumber, _) => false,
                (Ranked::Order(order), comparison) => comparison.holds(order),
            }
        }
    };
    Ok(Value::Bool(result))
}

/// The result of comparing two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranked {
    /// They have an order.
    Order(Ordering),
    /// One of them is not a number.
    NotANumber,
    /// They are of kinds that have no order.
    Incomparable,
}

impl From<Option<Ordering>> for Ranked {
    fn from(order: Option<Ordering>) -> Self {
        order.map_or(Ranked::NotANumber, Ranked::Order)
    }
}

/// The order of two values.
pub(crate) fn order(left: &Value<'_>, right: &Value<'_>) -> Ranked {
    Ranked::Order(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.as_str().cmp(right.as_str()),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        _ => return number_order(left, right),
    })
}

/// Integers are compared with doubles as doubles, as upstream does.
fn number_order(left: &Value<'_>, right: &Value<'_>) -> Ranked {
    let order = match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Double(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Double(left), Value::Uint(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Int(left), Value::Double(right)) => (*left as f64).partial_cmp(right),
        (Value::Uint(left), Value::Double(right)) => (*left as f64).partial_cmp(right),
        _ => return Ranked::Incomparable,
    };
    order.into()
}

/// Whether two values are equal; values of different kinds are not.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool, EvalError> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) | (Value::Lazy, Value::Lazy) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::String(left), Value::String(right)) => left.as_str() == right.as_str(),
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::List(left), Value::List(right)) => lists_equal(left, right)?,
        (Value::Map(left), Value::Map(right)) => maps_equal(left, right)?,
        (Value::Type(left), Value::Type(right)) => same_runtime_type(left, right),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (None, None) => true,
            (Some(left), Some(right)) => equal(left, right)?,
            _ => false,
        },
        (Value::Opaque(left), Value::Opaque(right)) => left.equals(right)?,
        (Value::Preserved(left), Value::Preserved(right)) => left == right,
        (Value::Object(left), Value::Object(right)) => left.equals(right)?,
        (Value::Opaque(_), other) if !matches!(other, Value::Null) => return Err(EvalError::no_such_overload()),
        // Upstream has no overload for comparing a list or object that has a schema with a value of another type.
        (Value::List(list), _) if list.decl().is_some() => return Err(EvalError::no_such_overload()),
        (Value::Map(Map::Json { decl: Some(_), .. }), _) => return Err(EvalError::no_such_overload()),
        _ => number_order(left, right) == Ranked::Order(Ordering::Equal),
    })
}

/// Types are equal at run time when their outermost names are.
fn same_runtime_type(left: &crate::types::Type, right: &crate::types::Type) -> bool {
    use crate::types::Type;
    match (left, right) {
        (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) | (Type::Type(_), Type::Type(_)) => true,
        (Type::Opaque(left, _), Type::Opaque(right, _)) => left == right,
        _ => left == right,
    }
}

fn lists_equal(left: &List<'_>, right: &List<'_>) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.list_kind() {
        Some(ListKind::Set) => {
            let set: HashSet<SetItem> = set_items(left)?.into_iter().flatten().collect();
            let is_in_set = |item: &Option<SetItem>| item.as_ref().is_some_and(|item| set.contains(item));
            Ok(set_items(right)?.iter().all(is_in_set))
        }
        Some(ListKind::Map(keys)) => {
            let mut elements = HashMap::new();
            for element in left.iter() {
                let element = element?;
                if let Some(key) = list_map_key(&element, keys) {
                    elements.insert(key, element);
                }
            }
            for element in right.iter() {
                let element = element?;
                match list_map_key(&element, keys).and_then(|key| elements.get(&key)) {
                    Some(other) if equal(other, &element)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => {
            for (left, right) in left.iter().zip(right.iter()) {
                if !equal(&left?, &right?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// An item of a set, such that items that are the same are equal. Numbers are the same if their values are.
#[derive(PartialEq, Eq, Hash)]
enum SetItem {
    Scalar(Key),
    Bytes(Arc<[u8]>),
    Duration(i64),
    Timestamp(Timestamp),
    /// A list or an object.
    Composite(Json),
}

impl SetItem {
    /// `None` for values that no set of an object can have, such as types; they are never the same as others.
    fn of(value: &Value<'_>) -> Option<SetItem> {
        match value {
            Value::Bytes(bytes) => Some(SetItem::Bytes(Arc::clone(bytes))),
            Value::Duration(nanoseconds) => Some(SetItem::Duration(*nanoseconds)),
            Value::Timestamp(time) => Some(SetItem::Timestamp(*time)),
            Value::List(_) | Value::Map(_) | Value::Object(_) => value.to_json().ok().map(SetItem::Composite),
            Value::Preserved(json) => Some(SetItem::Composite((*json).clone())),
            _ => value.key().map(SetItem::Scalar),
        }
    }
}

fn set_items(list: &List<'_>) -> Result<Vec<Option<SetItem>>, EvalError> {
    list.iter().map(|item| item.map(|item| SetItem::of(&item))).collect()
}

/// The values of the `keys` of an item of a map list; `None` for what an expression built, which upstream takes for no
/// item of such a list and never finds by its keys.
fn list_map_key<'a>(item: &Value<'a>, keys: &[String]) -> Option<Vec<Option<&'a Json>>> {
    let Value::Map(Map::Json { fields, .. }) = item else {
        return None;
    };
    let fields: &'a serde_json::Map<String, Json> = fields;
    Some(keys.iter().map(|key| fields.get(key)).collect())
}

fn maps_equal(left: &Map<'_>, right: &Map<'_>) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    if let (
        Map::Json {
            fields: left,
            decl: Some(decl),
        },
        Map::Json { fields: right, .. },
    ) = (left, right)
    {
        return objects_equal(left, right, decl);
    }
    for key in left.keys() {
        let (Some(left), Some(right)) = (left.get(&key)?, right.get(&key)?) else {
            return Ok(false);
        };
        if !equal(&left, &right)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn objects_equal(
    left: &serde_json::Map<String, Json>,
    right: &serde_json::Map<String, Json>,
    decl: &crate::decl::Decl,
) -> Result<bool, EvalError> {
    for (key, value) in left {
        let (schema, null_is_absent) = match &decl.kind {
            DeclKind::Map(values) => (Some(values), false),
            DeclKind::Object { properties } => (properties.get(key), true),
            _ => (None, true),
        };
        let other = right.get(key);
        let Some(schema) = schema else {
            if other.is_some_and(|other| other != value) {
                return Ok(false);
            }
            continue;
        };
        let absent = |value: Option<&Json>| value.is_none_or(|value| null_is_absent && value.is_null());
        match (absent(Some(value)), absent(other), other) {
            (true, true, _) => {}
            (false, false, Some(other)) => {
                if !equal(&schema.read(value)?, &schema.read(other)?)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// `a + b` for lists, with the semantics of the left list's schema.
pub(crate) fn add_lists<'a>(left: &List<'a>, right: &List<'a>) -> Outcome<'a> {
    let decl = left.decl();
    let mut items = left.values()?;
    match left.list_kind() {
        Some(ListKind::Set) => {
            let mut known: HashSet<SetItem> = items.iter().filter_map(SetItem::of).collect();
            for item in right.iter() {
                let item = item?;
                if SetItem::of(&item).is_none_or(|item| known.insert(item)) {
                    items.push(item);
                }
            }
        }
        Some(ListKind::Map(keys)) => {
            let mut positions = HashMap::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(key) = list_map_key(item, keys) {
                    positions.insert(key, index);
                }
            }
            for item in right.iter() {
                let item = item?;
                let Some(key) = list_map_key(&item, keys) else {
                    items.push(item);
                    continue;
                };
                match positions.entry(key) {
                    Entry::Occupied(position) => items[*position.get()] = item,
                    Entry::Vacant(position) => {
                        position.insert(items.len());
                        items.push(item);
                    }
                }
            }
        }
        _ => {
            for item in right.iter() {
                items.push(item?);
            }
        }
    }
    Ok(Value::List(List::Shared(Arc::new(items), decl)))
}

/// `a[b]` and `a[?b]`.
pub(super) fn index<'a>(operand: &Value<'a>, index: &Value<'a>, optional: bool) -> Outcome<'a> {
    match operand {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => return self::index(inner, index, true),
        _ => {}
    }
    let found = match operand {
        Value::List(list) => match position(index)? {
            Some(at) => list.get(at).transpose()?,
            None => None,
        },
        Value::Map(map) => map.get(index)?,
        _ => return Err(EvalError::no_such_overload()),
    };
    match found {
        Some(value) if optional => Ok(Value::some(value)),
        Some(value) => Ok(value),
        None if optional => Ok(Value::Optional(None)),
        None => {
            let shown = crate::library::display(index);
            Err(EvalError::new(match operand {
                Value::List(_) => format!("index out of bounds: {shown}"),
                _ => format!("no such key: {shown}"),
            }))
        }
    }
}

/// The index a value stands for; `None` if it is before the first element.
fn position(index: &Value<'_>) -> Result<Option<usize>, EvalError> {
    Ok(match index {
        Value::Int(at) => usize::try_from(*at).ok(),
        Value::Uint(at) => usize::try_from(*at).ok(),
        Value::Double(at) if at.fract() == 0.0 && *at >= 0.0 && *at < 9e15 => Some(*at as usize),
        other => {
            let shown = crate::library::display(other);
            return Err(EvalError::new(format!("unsupported index value {shown} in list")));
        }
    })
}

/// Whether one is true; if none is, the first that failed.
fn any<'a>(answers: impl Iterator<Item = Result<bool, EvalError>>) -> Outcome<'a> {
    let mut failed = None;
    for answer in answers {
        match answer {
            Ok(true) => return Ok(Value::Bool(true)),
            Ok(false) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(Value::Bool(false)), Err)
}

/// `a in b`.
pub(crate) fn contains<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [needle, haystack] = args else {
        return Err(EvalError::no_such_overload());
    };
    match haystack {
        Value::List(list) => {
            if let (
                List::Json {
                    items,
                    decl: Some(decl),
                },
                Value::String(text),
            ) = (list, needle)
                && matches!(&decl.kind, DeclKind::List { items, .. } if matches!(items.kind, DeclKind::String))
            {
                return Ok(Value::Bool(
                    items.iter().any(|item| item.as_str() == Some(text.as_str())),
                ));
            }
            match list {
                List::Shared(items, _) => any(items.iter().map(|item| equal(item, needle))),
                List::Json { .. } => any(list.iter().map(|item| equal(&item?, needle))),
            }
        }
        Value::Map(map) => Ok(Value::Bool(map.get(needle)?.is_some())),
        _ => Err(EvalError::no_such_overload()),
    }
}
