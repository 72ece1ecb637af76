//! Values as Go's `%v` prints them, which is how upstream's messages quote patches.

use kubewright_apimachinery::go::value::{Numbers, plain};
use serde_json::Value;

use super::{PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER};

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub fn printed(value: &Value) -> String {
    plain(value, Numbers::Int64)
}

/// A patch as it is printed after it was merged, which takes out of it what was done: lists whose order it gives, and that order,
/// the keys to retain, and that an object replaces another.
pub fn printed_after_merge(patch: &Value) -> String {
    printed(&without_what_was_done(patch))
}

fn without_what_was_done(patch: &Value) -> Value {
    let Value::Object(fields) = patch else {
        return patch.clone();
    };
    // What replaces is not looked into.
    if fields.get(PATCH).is_some_and(|directive| directive == "replace") {
        let mut replacing = fields.clone();
        replacing.remove(PATCH);
        return Value::Object(replacing);
    }
    let is_taken = |name: &str| {
        name == RETAIN_KEYS
            || name.starts_with(SET_ELEMENT_ORDER)
            || fields.contains_key(&format!("{SET_ELEMENT_ORDER}/{name}"))
    };
    let kept = fields.iter().filter(|(name, _)| !is_taken(name));
    kept.map(|(name, value)| (name.clone(), without_what_was_done(value)))
        .collect()
}
