//! How an item of an associative list is identified: by its keys, or by its value in a set.

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use crate::managed::PathElement;
use crate::{ListKind, Topology};

/// The step to an item of the list of type `list`. Keys that are not given have their default, if there is one.
pub(super) fn element_of<'t, T: Topology<'t>>(list: T, kind: ListKind, item: &Value) -> Result<PathElement, String> {
    let keys = list.keys();
    if kind == ListKind::Map && !keys.is_empty() {
        return by_keys(list, keys, item);
    }
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        value => Ok(PathElement::Value(value.clone())),
    }
}

fn by_keys<'t, T: Topology<'t>>(list: T, keys: &[Box<str>], item: &Value) -> Result<PathElement, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let declared = || {
            list.element()
                .and_then(|item| item.field(key))
                .and_then(Topology::default)
        };
        if let Some(value) = fields.get(&**key).or_else(declared) {
            found.push((key.clone(), value.clone()));
        }
    }
    if found.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
             any key fields)",
            keys.join(" ")
        ));
    }
    Ok(PathElement::key(found))
}
