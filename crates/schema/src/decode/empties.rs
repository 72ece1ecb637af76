//! Empty lists and maps. Go tells them from none as long as an object is on its way; what storage gives back has none, because
//! protobuf does not write them. So a write keeps those that it was sent until it is stored.

use serde_json::Value;

use crate::{
    model::{Form, Omit},
    type_ref::TypeRef,
};

/// Gives a decoded object the empty lists and maps back that it was sent with, also where the encoding leaves them out.
pub fn keep_empties(ty: TypeRef<'_>, given: &Value, decoded: &mut Value) {
    match (given, &mut *decoded) {
        (Value::Object(given), Value::Object(fields)) => {
            if let Some(structure) = ty.structure() {
                for (name, given) in given {
                    let Some(field) = structure.field(name) else { continue };
                    let of = ty.of_field(field);
                    match fields.get_mut(name) {
                        Some(value) => keep_empties(of, given, value),
                        None if is_empty_collection(of, given) => {
                            fields.insert(name.clone(), given.clone());
                        }
                        None => {}
                    }
                }
            } else if let Some(element) = ty.element() {
                for (name, value) in fields {
                    if let Some(given) = given.get(name) {
                        keep_empties(element, given, value);
                    }
                }
            }
        }
        (Value::Array(given), Value::Array(items)) => {
            let Some(element) = ty.element() else { return };
            for (given, item) in given.iter().zip(items) {
                keep_empties(element, given, item);
            }
        }
        (given, Value::Null) if is_empty_collection(ty, given) => *decoded = given.clone(),
        _ => {}
    }
}

/// Whether an object has an empty list or map, which storage would lose.
pub fn has_empties(ty: TypeRef<'_>, value: &Value) -> bool {
    if is_empty_collection(ty, value) {
        return true;
    }
    match value {
        Value::Object(fields) => {
            if let Some(structure) = ty.structure() {
                fields.iter().any(|(name, value)| {
                    let field = structure.field(name);
                    field.is_some_and(|field| has_empties(ty.of_field(field), value))
                })
            } else {
                let element = ty.element();
                element.is_some_and(|element| fields.values().any(|value| has_empties(element, value)))
            }
        }
        Value::Array(items) => {
            let element = ty.element();
            element.is_some_and(|element| items.iter().any(|item| has_empties(element, item)))
        }
        _ => false,
    }
}

/// Leaves out the empty lists and maps that the encoding leaves out: those of fields that may be omitted.
pub fn leave_out_empties(ty: TypeRef<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(structure) = ty.structure() {
                fields.retain(|name, value| {
                    let Some(field) = structure.field(name) else {
                        return true;
                    };
                    let of = ty.of_field(field);
                    leave_out_empties(of, value);
                    !(is_empty_collection(of, value) && field.omit != Omit::Never)
                });
            } else if let Some(element) = ty.element() {
                fields.values_mut().for_each(|value| leave_out_empties(element, value));
            }
        }
        Value::Array(items) => {
            if let Some(element) = ty.element() {
                for item in items {
                    leave_out_empties(element, item);
                }
            }
        }
        _ => {}
    }
}

fn is_empty_collection(ty: TypeRef<'_>, value: &Value) -> bool {
    match (ty.form(), value) {
        (Form::List(_), Value::Array(items)) => items.is_empty(),
        (Form::Map { .. }, Value::Object(entries)) => entries.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Types, decode};

    #[test]
    fn empty_lists_and_maps_come_back_and_structs_stay_what_they_are() {
        let ty = Types::builtin().kind("", "v1", "Pod").expect("a Pod");
        let given = json!({
            "metadata": { "labels": {}, "annotations": null },
            "spec": {
                "containers": [{ "name": "a", "ports": [], "securityContext": {}, "unknown": [] }],
                "nodeSelector": {}, "volumes": [{ "name": "v", "emptyDir": {} }],
            },
        });
        let mut decoded = decode(ty, given.clone(), None).expect("a Pod").value;
        assert!(!has_empties(ty, &decoded));
        keep_empties(ty, &given, &mut decoded);
        assert!(has_empties(ty, &decoded));
        assert_eq!(decoded["metadata"]["labels"], json!({}));
        assert_eq!(decoded["metadata"].get("annotations"), None);
        assert_eq!(decoded["spec"]["nodeSelector"], json!({}));
        assert_eq!(decoded["spec"]["containers"][0]["ports"], json!([]));
        assert_eq!(decoded["spec"]["containers"][0].get("unknown"), None);
        leave_out_empties(ty, &mut decoded);
        assert!(!has_empties(ty, &decoded));
        assert_eq!(decoded["spec"]["containers"][0]["securityContext"], json!({}));
    }
}
