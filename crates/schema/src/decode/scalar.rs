//! Scalars: Go's checks of them and the form in which it writes them.

use kubewright_apimachinery::go::value::json_kind;
use kubewright_quantity::Quantity;
use serde_json::{Number, Value};

use super::{DecodePath, Walk, base64, time, zero};
use crate::{model::Scalar, type_ref::TypeRef};

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

impl Walk<'_> {
    pub(super) fn scalar(&mut self, scalar: Scalar, ty: TypeRef<'_>, value: &mut Value, at: &DecodePath<'_>) {
        match scalar {
            Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => {
                self.schema_or(scalar, ty, value, at);
            }
            _ if value.is_null() => *value = zero::of(ty),
            Scalar::Bool => {
                if !value.is_boolean() {
                    self.mismatch(at, json_kind(value), &ty.go_type());
                }
            }
            Scalar::String => {
                if !value.is_string() {
                    self.mismatch(at, json_kind(value), &ty.go_type());
                }
            }
            Scalar::Int(bits) => self.int(bits, &|| ty.go_type(), value, at, false),
            Scalar::Float => self.float(ty, value, at),
            Scalar::Bytes => self.bytes(value, at),
            Scalar::Quantity => self.quantity(value, at),
            Scalar::Time => self.time(time::Layout::Seconds, value, at),
            Scalar::MicroTime => self.time(time::Layout::Micros, value, at),
            Scalar::IntOrString => {
                if !value.is_string() {
                    self.int(32, &|| "int32".to_owned(), value, at, true);
                }
            }
            Scalar::Any => rewrite_numbers(value),
            Scalar::Raw | Scalar::Fields => {}
        }
    }

    fn int(&mut self, bits: u8, go_type: &dyn Fn() -> String, value: &Value, at: &DecodePath<'_>, stops: bool) {
        let fits = match value {
            Value::Number(number) => number
                .as_i64()
                .is_some_and(|number| bits != 32 || i32::try_from(number).is_ok()),
            _ => false,
        };
        if fits {
            return;
        }
        let found = match value {
            Value::Number(number) => format!("number {}", self.spelling(number, at)),
            other => json_kind(other).to_owned(),
        };
        let message = at.mismatch(&found, &go_type());
        self.fail(at, message, stops || self.nested > 0);
    }

    /// The number as it stands in the document.
    fn spelling(&self, number: &Number, at: &DecodePath<'_>) -> String {
        if number.is_i64() {
            return number.to_string();
        }
        self.literal(at).unwrap_or_else(|| number.to_string())
    }

    fn float(&mut self, ty: TypeRef<'_>, value: &mut Value, at: &DecodePath<'_>) {
        let Value::Number(number) = value else {
            return self.mismatch(at, json_kind(value), &ty.go_type());
        };
        if let Some(whole) = whole(number) {
            *number = whole;
        }
    }

    fn bytes(&mut self, value: &mut Value, at: &DecodePath<'_>) {
        match value {
            Value::String(text) => match base64::canonical(text) {
                Ok(None) => {}
                Ok(Some(canonical)) => *text = canonical,
                Err(position) => self.fail(
                    at,
                    format!("illegal base64 data at input byte {position}"),
                    self.nested > 0,
                ),
            },
            // A list of numbers is bytes, too, for Go's decoder.
            Value::Array(items) => {
                let mut bytes = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    match item {
                        Value::Null => bytes.push(0),
                        Value::Number(number) => {
                            let at = &at.index(index);
                            let byte = number.as_u64().and_then(|number| u8::try_from(number).ok());
                            if byte.is_none() {
                                let found = format!("number {}", self.spelling(number, at));
                                self.mismatch(at, &found, "uint8");
                            }
                            bytes.extend(byte);
                        }
                        other => self.mismatch(&at.index(index), json_kind(other), "uint8"),
                    }
                }
                *value = Value::String(base64::encode(&bytes));
            }
            other => {
                let found = json_kind(other);
                self.mismatch(at, found, "[]uint8");
            }
        }
    }

    fn quantity(&mut self, value: &mut Value, at: &DecodePath<'_>) {
        let spelled;
        let text = match value {
            Value::String(text) => text.trim(),
            Value::Number(number) => {
                spelled = self.spelling(number, at);
                &spelled
            }
            // Neither a string nor a number: its JSON is never a quantity.
            _ => "?",
        };
        match Quantity::parse(text) {
            Ok(quantity) => *value = Value::String(quantity.to_string()),
            Err(error) => self.stop(at, error.to_string()),
        }
    }

    fn time(&mut self, layout: time::Layout, value: &mut Value, at: &DecodePath<'_>) {
        let Value::String(text) = value else {
            let message = at.mismatch(json_kind(value), "string");
            return self.stop(at, message);
        };
        match time::canonical(layout, text) {
            Ok(Some(canonical)) => *text = canonical,
            Ok(None) => *value = Value::Null,
            Err(message) => self.stop(at, message),
        }
    }

    fn schema_or(&mut self, scalar: Scalar, ty: TypeRef<'_>, value: &mut Value, at: &DecodePath<'_>) {
        let at = at.own_decoder();
        let Some(schema) = ty.types().named(SCHEMA) else { return };
        self.nested += 1;
        match (scalar, &mut *value) {
            (_, Value::Object(_)) => self.value(schema, value, &at),
            (Scalar::SchemaOrBool, Value::Bool(_)) => {}
            (Scalar::SchemaOrBool, _) => self.stop(&at, "boolean or JSON schema expected".to_owned()),
            (_, Value::Array(items)) if !items.is_empty() => {
                for (index, item) in items.iter_mut().enumerate() {
                    let at = at.index(index);
                    match item {
                        Value::String(_) if scalar == Scalar::SchemaOrStrings => {}
                        Value::Null if scalar == Scalar::SchemaOrStrings => *item = Value::String(String::new()),
                        other if scalar == Scalar::SchemaOrStrings => self.mismatch(&at, json_kind(other), "string"),
                        _ => self.value(schema, item, &at),
                    }
                }
            }
            _ => *value = Value::Null,
        }
        self.nested -= 1;
    }
}

/// Go writes a whole double without a fraction.
pub(crate) fn whole(number: &Number) -> Option<Number> {
    let double = number
        .as_f64()
        .filter(|double| number.is_f64() && double.fract() == 0.0 && double.abs() < 9e18)?;
    Some(Number::from(double as i64))
}

/// What Go reads into untyped values it writes in its own way.
fn rewrite_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite_numbers),
        Value::Object(map) => map.values_mut().for_each(rewrite_numbers),
        _ => {}
    }
}
