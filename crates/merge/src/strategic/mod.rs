//! Strategic merge patch (W5): objects are merged field by field, lists by their items' keys, and directives say the
//! rest. The type decides what merges ([`Topology::patch_strategy`]).

mod error;
mod fields;
mod list;
mod order;
mod print;
mod retain;

use kubewright_apimachinery::go::value::json_kind;
use serde_json::Value;

use crate::patch_error::PatchError;
use crate::topology::Topology;
pub use print::{printed, printed_after_merge};

/// Says what becomes of an object in a patch: `delete` or `replace`.
const PATCH: &str = "$patch";
/// Lists the fields an object keeps.
const RETAIN_KEYS: &str = "$retainKeys";
/// Before a field's name: items that its list of scalars loses.
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
/// Before a field's name: the order of its list.
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object whose type `topology` describes.
pub fn apply<'t, T: Topology<'t>>(object: Value, patch: Value, topology: T) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        // To Go, null is an empty map.
        Value::Null => return Ok(object),
        patch => {
            let kind = json_kind(&patch);
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let fields = if let Value::Object(fields) = object {
        fields
    } else {
        serde_json::Map::new()
    };
    fields::merge(fields, patch, topology).map(Value::Object)
}
