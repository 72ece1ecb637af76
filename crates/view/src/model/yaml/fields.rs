//! Who manages which field, from managedFields.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::member;

/// Somebody who manages fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Manager {
    pub(crate) name: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// As `status`; empty for the object itself.
    pub(crate) subresource: String,
    /// When it wrote last.
    pub(crate) time: String,
}

/// The managers of fields, by path.
#[derive(Debug, Default)]
pub(super) struct Owners(BTreeMap<String, Vec<Owned>>);

#[derive(Debug)]
struct Owned {
    manager: usize,
    /// Whether all below belongs to it, too.
    is_whole: bool,
}

impl Owners {
    /// Who manages a field, itself or with one that it is in.
    pub(super) fn of(&self, path: &str) -> Vec<usize> {
        let own = self.0.get(path).into_iter().flatten();
        let mut found: Vec<usize> = own.map(|owned| owned.manager).collect();
        let ends = path.char_indices().filter(|(_, c)| matches!(c, '.' | '['));
        for (end, _) in ends {
            let above = self.0.get(&path[..end]).into_iter().flatten();
            found.extend(above.filter(|owned| owned.is_whole).map(|owned| owned.manager));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The managers of an object and what belongs to them.
pub(super) fn owners(object: &Value) -> (Vec<Manager>, Owners) {
    let entries = object["metadata"]["managedFields"].as_array();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut managers, mut owners) = (Vec::new(), Owners::default());
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        managers.push(Manager {
            name: text(&entry["manager"]),
            operation: text(&entry["operation"]),
            subresource: text(&entry["subresource"]),
            time: text(&entry["time"]),
        });
        if let Some(fields) = entry["fieldsV1"].as_object() {
            walk(fields, object, "", at, &mut owners);
        }
    }
    (managers, owners)
}

/// Takes what a set of fields says of a value.
fn walk(fields: &Map<String, Value>, value: &Value, path: &str, manager: usize, owners: &mut Owners) {
    for (name, below) in fields {
        let Some((inner, path)) = step(name, value, path) else {
            continue;
        };
        let below = below.as_object();
        let is_whole = below.is_none_or(Map::is_empty);
        if is_whole || below.is_some_and(|below| below.contains_key(".")) {
            let owned = Owned { manager, is_whole };
            owners.0.entry(path.clone()).or_default().push(owned);
        }
        if let Some(below) = below {
            walk(below, inner, &path, manager, owners);
        }
    }
}

/// The value that an element of a path leads to, and its path: `f:name`, `k:{"name":"a"}`, `v:"value"`, `i:0`.
fn step<'a>(element: &str, value: &'a Value, path: &str) -> Option<(&'a Value, String)> {
    let (kind, rest) = element.split_once(':')?;
    let item = |is: &dyn Fn(&Value) -> bool| {
        let place = value.as_array()?.iter().position(is)?;
        Some((&value[place], format!("{path}[{place}]")))
    };
    match kind {
        "f" => Some((value.get(rest)?, member(path, rest))),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            item(&|item| {
                keys.iter()
                    .all(|(name, value)| item.get(name).is_none_or(|own| own == value))
            })
        }
        "v" => {
            let wanted: Value = serde_json::from_str(rest).ok()?;
            item(&|item| *item == wanted)
        }
        "i" => {
            let place: usize = rest.parse().ok()?;
            Some((value.get(place)?, format!("{path}[{place}]")))
        }
        _ => None,
    }
}
