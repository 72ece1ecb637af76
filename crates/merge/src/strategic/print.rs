//! Values as Go's `%v` prints them, which is how upstream's messages quote patches.

use kubewright_apimachinery::go::value::{Numbers, plain};
use serde_json::Value;

use super::SET_ELEMENT_ORDER;

/// A value as Go's `%v` prints it: `map[a:1 b:[x y]]`.
pub fn printed(value: &Value) -> String {
    plain(value, Numbers::Int64)
}

/// A patch as it is printed after it was merged, which takes out of it the lists whose order it gives, and that order.
pub fn printed_after_merge(patch: &Value) -> String {
    printed(&without_ordered_lists(patch))
}

fn without_ordered_lists(patch: &Value) -> Value {
    let Value::Object(fields) = patch else {
        return patch.clone();
    };
    let is_taken =
        |name: &str| name.starts_with(SET_ELEMENT_ORDER) || fields.contains_key(&format!("{SET_ELEMENT_ORDER}/{name}"));
    let kept = fields.iter().filter(|(name, _)| !is_taken(name));
    kept.map(|(name, value)| (name.clone(), without_ordered_lists(value)))
        .collect()
}
