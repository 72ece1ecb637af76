//! Functions of lists, those of cel-go and those of Kubernetes.

use std::cmp::Ordering;

use crate::error::EvalError;
use crate::eval::ops::{self, Ranked};
use crate::library::{Implementation, arithmetic, wrong};
use crate::value::{List, Outcome, Value};

/// How many elements `lists.range` may make.
const MAX_RANGE: i64 = 1_000_000;

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" => |args| extremum(args, "min", Ordering::Greater),
        "max" => |args| extremum(args, "max", Ordering::Less),
        "slice" => slice,
        "flatten" => flatten,
        "distinct" => distinct,
        "sort" => sort,
        "@sortByAssociatedKeys" => sort_by_keys,
        "lists.range" => range,
        "first" => |args| end(args, false),
        "last" => |args| end(args, true),
        "cel.@mapInsert" => map_insert,
        _ => return None,
    })
}

fn only_list<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v List<'a>, EvalError> {
    match args {
        [Value::List(list)] => Ok(list),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn order(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, EvalError> {
    match ops::order(left, right) {
        Ranked::Order(order) => Ok(order),
        Ranked::NotANumber => Err(EvalError::fixed("NaN values cannot be ordered")),
        Ranked::Incomparable => Err(EvalError::no_such_overload()),
    }
}

pub(super) fn index_of<'a>(list: &List<'a>, item: &Value<'a>, from_end: bool) -> Value<'a> {
    let matches = |index: &usize| {
        list.get(*index)
            .is_some_and(|value| value.and_then(|value| ops::equal(&value, item)) == Ok(true))
    };
    let found = if from_end {
        (0..list.len()).rev().find(matches)
    } else {
        (0..list.len()).find(matches)
    };
    Value::Int(found.map_or(-1, |index| index as i64))
}

fn is_sorted<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut previous: Option<Value<'a>> = None;
    for item in only_list(args)?.iter() {
        let item = item?;
        if let Some(previous) = &previous
            && order(previous, &item)? == Ordering::Greater
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut total: Option<Value<'a>> = None;
    for item in only_list(args)?.iter() {
        let item = item?;
        total = Some(match total {
            None => item,
            Some(total) => arithmetic::add(&[total, item])?,
        });
    }
    // The sum of nothing has the type of the elements, which is unknown here; zero equals zero of any number type.
    Ok(total.unwrap_or(Value::Int(0)))
}

fn extremum<'a>(args: &[Value<'a>], name: &str, replace_when: Ordering) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for item in only_list(args)?.iter() {
        let item = item?;
        best = Some(match best {
            Some(best) if order(&best, &item)? != replace_when => best,
            _ => item,
        });
    }
    best.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn slice<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else {
        return wrong();
    };
    let refuse = |why: String| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refuse("negative indexes not supported".to_owned());
    };
    if from > to {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if to > list.len() {
        return refuse(format!("list is length {}", list.len()));
    }
    let items = (from..to)
        .filter_map(|index| list.get(index))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Value::list(items))
}

fn flatten<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return wrong(),
    };
    if depth < 0 {
        return Err(EvalError::fixed("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(list, depth, &mut out)?;
    Ok(Value::list(out))
}

fn flatten_into<'a>(list: &List<'a>, depth: i64, out: &mut Vec<Value<'a>>) -> Result<(), EvalError> {
    for item in list.iter() {
        match item? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, out)?,
            other => out.push(other),
        }
    }
    Ok(())
}

fn distinct<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let mut keys = std::collections::HashSet::new();
    let mut others: Vec<Value<'a>> = Vec::new();
    let mut out = Vec::new();
    for item in only_list(args)?.iter() {
        let item = item?;
        let is_new = if let Some(key) = item.key() {
            keys.insert(key)
        } else {
            let mut known = false;
            for other in &others {
                known = known || ops::equal(other, &item)?;
            }
            if !known {
                others.push(item.clone());
            }
            !known
        };
        if is_new {
            out.push(item);
        }
    }
    Ok(Value::list(out))
}

fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Outcome<'a> {
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.values()?.into_iter().zip(list.values()?).collect();
    if let Some((first, _)) = pairs.first() {
        let first_type = first.type_of();
        if ops::order(first, first) == Ranked::Incomparable {
            return Err(EvalError::fixed("list elements must be comparable"));
        }
        if pairs.iter().any(|(key, _)| key.type_of() != first_type) {
            return Err(EvalError::fixed("list elements must have the same type"));
        }
    }
    pairs.sort_by(|(left, _), (right, _)| order(left, right).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, value)| value).collect()))
}

fn sort<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let list = only_list(args)?;
    sorted(list, list)
}

fn sort_by_keys<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::List(list), Value::List(keys)] => sorted(list, keys),
        _ => wrong(),
    }
}

fn range<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(count)] if *count > MAX_RANGE => Err(EvalError::fixed("lists.range() size exceeds limit")),
        [Value::Int(count)] => Ok(Value::list((0..*count).map(Value::Int).collect())),
        _ => wrong(),
    }
}

fn end<'a>(args: &[Value<'a>], back: bool) -> Outcome<'a> {
    let list = only_list(args)?;
    let index = if back { list.len().checked_sub(1) } else { Some(0) };
    match index.and_then(|index| list.get(index)) {
        Some(value) => Ok(Value::some(value?)),
        None => Ok(Value::Optional(None)),
    }
}

fn map_insert<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    use crate::value::Map;
    let (map, entries) = match args {
        [Value::Map(map), key, value] => (map, vec![(key.clone(), value.clone())]),
        [Value::Map(map), Value::Map(other)] => {
            let entries = other
                .keys()
                .into_iter()
                .map(|key| {
                    let value = other.get(&key)?.unwrap_or(Value::Null);
                    Ok((key, value))
                })
                .collect::<Result<Vec<_>, EvalError>>()?;
            (map, entries)
        }
        _ => return wrong(),
    };
    let Map::Shared(shared) = map else { return wrong() };
    let mut shared = shared.clone();
    let target = std::sync::Arc::make_mut(&mut shared);
    for (key, value) in entries {
        let normal = key
            .key()
            .ok_or_else(|| EvalError::new(format!("unsupported key type: {}", key.type_of())))?;
        if target.contains_key(&normal) {
            return Err(EvalError::new(format!(
                "insert failed: key {} already exists",
                crate::library::display(&key)
            )));
        }
        target.insert(normal, (key, value));
    }
    Ok(Value::Map(Map::Shared(shared)))
}
