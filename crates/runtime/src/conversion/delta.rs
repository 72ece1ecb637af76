//! What got lost between two forms of an object, and how it is put back without undoing what changed since.
//!
//! A delta tells for each place what was *seen* on the other side and what should be *kept* here. It is put back where what
//! is there now is still what was seen: whoever changed a field meanwhile wins.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

/// The difference between what was seen and what is kept. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delta {
    /// One place. `None` is absence.
    Place { seen: Option<Value>, kept: Option<Value> },
    /// Members of an object.
    Members(BTreeMap<String, Delta>),
    /// Elements of a list that has as many here as there. They are found again by what they looked like, or by their name:
    /// positions change when somebody inserts.
    Elements(Vec<(Element, Delta)>),
}

/// How an element of a list is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    digest: u64,
    /// How many before it looked the same.
    nth: usize,
    name: Option<String>,
}

impl Delta {
    /// What makes `kept` out of `seen`.
    pub(super) fn between(seen: &Value, kept: &Value) -> Option<Delta> {
        match (seen, kept) {
            _ if seen == kept => None,
            (Value::Object(seen), Value::Object(kept)) => Self::between_members(seen, kept),
            (Value::Array(seen), Value::Array(kept)) if seen.len() == kept.len() => {
                let changes = elements(seen).zip(seen.iter().zip(kept));
                let changes = changes
                    .filter_map(|(element, (seen, kept))| Some((element, Delta::between(seen, kept)?)))
                    .collect::<Vec<_>>();
                (!changes.is_empty()).then_some(Delta::Elements(changes))
            }
            _ => Some(Delta::Place {
                seen: Some(seen.clone()),
                kept: Some(kept.clone()),
            }),
        }
    }

    pub(super) fn between_members(seen: &Map<String, Value>, kept: &Map<String, Value>) -> Option<Delta> {
        let mut changes = BTreeMap::new();
        for (key, kept) in kept {
            let change = match seen.get(key) {
                Some(seen) => Delta::between(seen, kept),
                None => Some(Delta::Place {
                    seen: None,
                    kept: Some(kept.clone()),
                }),
            };
            changes.extend(change.map(|change| (key.clone(), change)));
        }
        for (key, seen) in seen {
            if !kept.contains_key(key) {
                let seen = Some(seen.clone());
                changes.insert(key.clone(), Delta::Place { seen, kept: None });
            }
        }
        (!changes.is_empty()).then_some(Delta::Members(changes))
    }

    /// Restores the values that were not changed meanwhile.
    pub(super) fn restore(&self, now: Option<Value>) -> Option<Value> {
        match (self, now) {
            (Delta::Place { seen, kept }, now) if *seen == now => kept.clone(),
            (Delta::Members(changes), Some(Value::Object(mut members))) => {
                for (key, change) in changes {
                    if let Some(value) = change.restore(members.remove(key)) {
                        members.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(members))
            }
            (Delta::Elements(changes), Some(Value::Array(mut elements))) => {
                restore_elements(changes, &mut elements);
                Some(Value::Array(elements))
            }
            (_, now) => now,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Delta::Place { seen, kept } => {
                let mut place = Map::new();
                place.extend(seen.clone().map(|value| ("seen".to_owned(), value)));
                place.extend(kept.clone().map(|value| ("kept".to_owned(), value)));
                Value::Object(place)
            }
            Delta::Members(changes) => {
                let changes = changes.iter().map(|(key, change)| (key.clone(), change.to_json()));
                json!({ "members": changes.collect::<Map<_, _>>() })
            }
            Delta::Elements(changes) => {
                let changes = changes.iter().map(|(element, change)| {
                    let mut item = Map::new();
                    item.insert("look".to_owned(), format!("{:016x}", element.digest).into());
                    if element.nth > 0 {
                        item.insert("nth".to_owned(), element.nth.into());
                    }
                    item.extend(element.name.clone().map(|name| ("name".to_owned(), name.into())));
                    item.insert("change".to_owned(), change.to_json());
                    Value::Object(item)
                });
                json!({ "elements": changes.collect::<Vec<_>>() })
            }
        }
    }

    /// Reads a delta. `None` if it is malformed. Its depth is that of the JSON, which the parser limits.
    pub(super) fn from_json(value: &Value) -> Option<Delta> {
        let members = value.as_object()?;
        if let Some(changes) = members.get("members") {
            let changes = changes.as_object()?.iter();
            let changes = changes.map(|(key, change)| Some((key.clone(), Delta::from_json(change)?)));
            return Some(Delta::Members(changes.collect::<Option<_>>()?));
        }
        if let Some(changes) = members.get("elements") {
            let changes = changes.as_array()?.iter().map(|item| {
                let element = Element {
                    digest: u64::from_str_radix(item.get("look")?.as_str()?, 16).ok()?,
                    nth: item.get("nth").and_then(Value::as_u64).unwrap_or(0) as usize,
                    name: item.get("name").and_then(Value::as_str).map(str::to_owned),
                };
                Some((element, Delta::from_json(item.get("change")?)?))
            });
            return Some(Delta::Elements(changes.collect::<Option<_>>()?));
        }
        Some(Delta::Place {
            seen: members.get("seen").cloned(),
            kept: members.get("kept").cloned(),
        })
    }
}

/// How the elements of a list are identified.
fn elements(list: &[Value]) -> impl Iterator<Item = Element> {
    let mut before = BTreeMap::<u64, usize>::new();
    list.iter().map(move |value| {
        let digest = digest(value);
        let same = before.entry(digest).or_default();
        let nth = *same;
        *same += 1;
        Element {
            digest,
            nth,
            name: value.get("name").and_then(Value::as_str).map(str::to_owned),
        }
    })
}

/// FNV-1a of the text, whose members are sorted: the same for equal values in every process and version.
fn digest(value: &Value) -> u64 {
    value.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Each change goes to the element that looks as the one it was made for, or else to one of the same name.
fn restore_elements(changes: &[(Element, Delta)], list: &mut [Value]) {
    let mut by_look = BTreeMap::<u64, Vec<usize>>::new();
    let mut by_name = BTreeMap::<String, VecDeque<usize>>::new();
    for (at, Element { digest, name, .. }) in elements(list).enumerate() {
        by_look.entry(digest).or_default().push(at);
        if let Some(name) = name {
            by_name.entry(name).or_default().push_back(at);
        }
    }
    let mut free = vec![true; list.len()];
    let mut others = Vec::new();
    for (element, change) in changes {
        let at = by_look
            .get(&element.digest)
            .and_then(|places| places.get(element.nth).copied());
        match at.filter(|at| free[*at]) {
            Some(at) => put_back(change, &mut list[at], &mut free[at]),
            None => others.push((element, change)),
        }
    }
    for (element, change) in others {
        let Some(places) = element.name.as_ref().and_then(|name| by_name.get_mut(name)) else {
            continue;
        };
        while let Some(at) = places.pop_front() {
            if free[at] {
                put_back(change, &mut list[at], &mut free[at]);
                break;
            }
        }
    }
}

fn put_back(change: &Delta, element: &mut Value, free: &mut bool) {
    *free = false;
    if let Some(value) = change.restore(Some(element.take())) {
        *element = value;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn delta(seen: &Value, kept: &Value) -> Delta {
        let delta = Delta::between(seen, kept).unwrap();
        assert_eq!(Delta::from_json(&delta.to_json()).unwrap(), delta);
        delta
    }

    #[test]
    fn what_nobody_touched_is_put_back_exactly() {
        let seen = json!({ "a": 1, "list": [{ "x": 1 }, { "x": 1 }, { "x": 2 }], "gone": { "b": 1 }, "short": [1] });
        let kept =
            json!({ "a": 2, "list": [{ "x": 1 }, { "x": 1, "y": 1 }, { "x": 2, "y": 2 }], "n": {}, "short": [1, 2] });
        assert_eq!(Delta::between(&kept, &kept), None);
        assert_eq!(delta(&seen, &kept).restore(Some(seen.clone())), Some(kept));
    }

    #[test]
    fn whoever_changed_a_field_meanwhile_wins() {
        let seen = json!({ "size": 1, "other": 1 });
        let kept = json!({ "size": 3, "other": 1, "mode": "fast" });
        let now = json!({ "size": 2, "other": 9 });
        let restored = delta(&seen, &kept).restore(Some(now)).unwrap();
        assert_eq!(restored, json!({ "size": 2, "other": 9, "mode": "fast" }));
    }

    #[test]
    fn elements_are_found_again_where_somebody_inserted_and_edited() {
        let seen = json!([{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }, { "port": 3 }]);
        let kept =
            json!([{ "name": "a", "port": 1, "udp": true }, { "name": "b", "port": 2 }, { "port": 3, "udp": true }]);
        let now = json!([{ "port": 9 }, { "port": 3 }, { "name": "a", "port": 8 }]);
        let restored = delta(&seen, &kept).restore(Some(now)).unwrap();
        assert_eq!(
            restored,
            json!([{ "port": 9 }, { "port": 3, "udp": true }, { "name": "a", "port": 8, "udp": true }])
        );
    }

    proptest! {
        #[test]
        fn whatever_got_lost_comes_back(seen in any_json(), kept in any_json()) {
            match Delta::between(&seen, &kept) {
                None => prop_assert_eq!(seen, kept),
                Some(delta) => {
                    prop_assert_eq!(&Delta::from_json(&delta.to_json()), &Some(delta.clone()));
                    prop_assert_eq!(delta.restore(Some(seen)), Some(kept));
                }
            }
        }

        #[test]
        fn any_delta_meets_any_value_without_harm(a in any_json(), b in any_json(), now in any_json()) {
            if let Some(delta) = Delta::between(&a, &b) {
                delta.restore(Some(now));
            }
            Delta::from_json(&a);
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            (0..3).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let key = prop_oneof![Just("name"), Just("a"), Just("members"), Just("kept")];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn a_delta_of_somebody_else_s_making_is_none() {
        for bad in [
            json!(1),
            json!({ "members": 1 }),
            json!({ "elements": [{ "look": "zz", "change": {} }] }),
            json!({ "elements": [1] }),
        ] {
            assert_eq!(Delta::from_json(&bad), None, "{bad}");
        }
    }
}
