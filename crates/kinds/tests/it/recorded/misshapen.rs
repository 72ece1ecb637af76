//! Objects that differ from recorded ones in one place, where something of another shape stands.
//! Decoding refuses most of these before the rules see them; the rules do not rely on it.

use kubewright_kinds::service::allocate::Allocator;
use kubewright_kinds::{Create, Update, behaviour};
use serde_json::{Map, Value};

use super::write::resource_of;

/// Some places, each with a shape; over all turns every kind of place meets every shape.
pub(crate) fn variants(object: &Value, turn: usize) -> Vec<Value> {
    let shapes = [
        Value::Null,
        Value::from(-1),
        Value::from("é/%*"),
        Value::Array(vec![Value::Null, Value::from("x")]),
        Value::Object(Map::new()),
        Value::from(i64::MIN),
        Value::from(""),
        Value::from(u64::MAX),
        Value::Bool(true),
        Value::from("\u{e9}:/@%-'..\u{0}"),
    ];
    let mut places = Vec::new();
    list_places(object, String::new(), &mut places);
    // The largest recorded objects have many equal places; at most this many of them keep the test short.
    let apart = 3.max(places.len() / 100);
    let chosen = places.iter().skip(turn % apart).step_by(apart);
    let shapes = shapes.iter().cycle().skip(turn % shapes.len());
    let misshapen = chosen.zip(shapes).map(|(place, shape)| {
        let mut object = object.clone();
        if let Some(slot) = object.pointer_mut(place) {
            *slot = shape.clone();
        }
        object
    });
    misshapen.collect()
}

fn list_places(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let step = key.replace('~', "~0").replace('/', "~1");
                list_places(value, format!("{at}/{step}"), places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                list_places(value, format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

/// Creates the object, and updates `stored` and the object itself with it, as a whole and through `status`.
pub(crate) fn try_all_writes(object: &Value, stored: Option<&Value>) {
    let (group, plural) = resource_of(object).map_or(("", ""), |resource| (resource.group, resource.plural));
    let rules = behaviour(group, plural);
    let mut errors = Vec::new();
    let mut created = object.clone();
    rules.default(&mut created);
    let _ = Allocator::default().begin_create(&mut created, false, &mut |_| 0);
    rules.prepare_create(Create { object: &mut created });
    rules.validate_create(&created, &mut errors);
    let _ = rules.warnings(&created, None);
    for old in stored.into_iter().chain([object]) {
        for subresource in [None, Some("status")] {
            let mut updated = created.clone();
            let _ = Allocator::default().begin_update(&mut updated, old, false, &mut |_| 0);
            rules.prepare_update(Update {
                object: &mut updated,
                old,
                subresource,
            });
            rules.validate_update(&updated, old, subresource, &mut errors);
            let _ = rules.warnings(&updated, Some(old));
        }
    }
}
