//! The status of a quota, counted anew.

use jiff::Timestamp;
use kubewright_quantity::Quantity;
use serde_json::{Map, Value, json};

use crate::{Evaluator, ResourceList, scope};

/// The resources whose objects a quota counts, as pairs of group and plural name, of those that `known` yields.
pub fn evaluators_of<'k>(
    quota: &'k Value,
    known: impl IntoIterator<Item = (&'k str, &'k str)>,
) -> Vec<(&'k str, &'k str)> {
    let hard = quota.pointer("/spec/hard").and_then(Value::as_object);
    let names: Vec<&String> = hard.into_iter().flat_map(Map::keys).collect();
    let known = known.into_iter().filter(|(group, plural)| {
        let evaluator = Evaluator::of(group, plural);
        names.iter().any(|name| evaluator.counts(name))
    });
    known.collect()
}

/// The status of a quota if these are all the objects that it counts, and if that is not the status it has. What nobody
/// can count keeps the number that it had.
pub fn recomputed(quota: &Value, objects: &[(Evaluator, Vec<Value>)], now: Timestamp) -> Option<Value> {
    let hard = ResourceList::read(quota.pointer("/spec/hard"));
    let mut used = ResourceList::read(quota.pointer("/status/used"));
    let mut counted = ResourceList::default();
    for (evaluator, objects) in objects {
        for (name, _) in hard.iter().filter(|(name, _)| evaluator.counts(name)) {
            counted.add(&[(name, Quantity::from_int(0))].into_iter().collect());
        }
        for object in objects
            .iter()
            .filter(|object| scope::matches(quota, evaluator.kind, object))
        {
            counted.add(&evaluator.usage(object, now));
        }
    }
    for (name, amount) in counted.iter() {
        used.set(name, amount.clone());
    }
    let used = used.only(|name| hard.get(name).is_some());
    let is_same = ResourceList::read(quota.pointer("/status/hard")) == hard
        && quota.pointer("/status/hard").is_some()
        && ResourceList::read(quota.pointer("/status/used")) == used;
    (!is_same).then(|| json!({ "hard": hard.to_value(), "used": used.to_value() }))
}
