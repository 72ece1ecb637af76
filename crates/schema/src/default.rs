//! Defaulting: unconditional defaults. Those that depend on other fields, or on where a type is used, are in
//! `kubewright-kinds`.

use serde_json::Value;

use crate::{decode::is_empty, model::Field, type_ref::TypeRef};

/// Fills in the unconditional defaults of `ty`, from the outside in: a default that creates a struct is itself defaulted.
pub fn default(ty: TypeRef<'_>, value: &mut Value) {
    if !ty.has_defaults() {
        return;
    }
    match value {
        Value::Object(map) => {
            if let Some(structure) = ty.structure() {
                for field in &structure.fields {
                    let field_type = ty.of_field(field);
                    if let Some(default) = &field.default
                        && map.get(&*field.name).is_none_or(|value| is_unset(field, value))
                    {
                        map.insert(field.name.to_string(), default.clone());
                    }
                    if field_type.has_defaults()
                        && let Some(value) = map.get_mut(&*field.name)
                    {
                        self::default(field_type, value);
                    }
                }
            } else if let Some(element) = ty.element() {
                for value in map.values_mut() {
                    default(element, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(element) = ty.element() {
                for item in items {
                    default(element, item);
                }
            }
        }
        _ => {}
    }
}

/// Defaulting cannot tell a zero value from an absent one unless Go holds it behind a pointer.
fn is_unset(field: &Field, value: &Value) -> bool {
    if field.node.pointer {
        value.is_null()
    } else {
        is_empty(value)
    }
}
