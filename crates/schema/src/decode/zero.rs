//! Zero values: what Go writes for a field that is not set, and when it leaves the field out.

use serde_json::{Map, Value};

use crate::{
    model::{Form, Omit, Scalar},
    type_ref::TypeRef,
};

/// The encoding of the type's zero value.
pub(crate) fn of(ty: TypeRef<'_>) -> Value {
    if ty.is_pointer() {
        return Value::Null;
    }
    match ty.form() {
        Form::Struct(structure) => {
            let always = structure
                .always
                .iter()
                .map(|position| &structure.fields[usize::from(*position)]);
            let map: Map<_, _> = always
                .map(|field| (field.name.to_string(), of(ty.of_field(field))))
                .collect();
            Value::Object(map)
        }
        Form::Scalar(scalar) => of_scalar(*scalar),
        Form::Map { .. } | Form::List(_) | Form::Named(_) => Value::Null,
    }
}

fn of_scalar(scalar: Scalar) -> Value {
    match scalar {
        Scalar::Bool | Scalar::SchemaOrBool => Value::Bool(false),
        Scalar::Int(_) | Scalar::Float | Scalar::IntOrString => Value::from(0),
        Scalar::String => Value::String(String::new()),
        Scalar::Quantity => Value::String("0".to_owned()),
        Scalar::Bytes
        | Scalar::Time
        | Scalar::MicroTime
        | Scalar::Raw
        | Scalar::Any
        | Scalar::Fields
        | Scalar::SchemaOrArray
        | Scalar::SchemaOrStrings => Value::Null,
    }
}

/// Whether the encoder leaves out a field of that type that holds `value`.
pub(crate) fn is_left_out(ty: TypeRef<'_>, omit: Omit, value: &Value) -> bool {
    match omit {
        Omit::Never => false,
        Omit::Empty | Omit::Zero if ty.is_pointer() => value.is_null(),
        Omit::Empty => is_empty(value),
        Omit::Zero => *value == of(ty),
    }
}

/// False, 0, an empty string, list or map, nil.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
