//! What typed decoding followed by encoding does to a document: unknown fields leave, wrong types are refused in Go's
//! words, values take their canonical form, zero values appear or vanish as the field's tags say (W2).

pub(crate) mod base64;
mod empties;
mod path;
mod scalar;
#[cfg(test)]
mod tests;
pub(crate) mod time;
pub(crate) mod zero;

use kubewright_apimachinery::go::value::json_kind;
use serde_json::Value;
use thiserror::Error;

pub use self::empties::{has_empties, keep_empties, leave_out_empties};
use self::path::DecodePath;
pub(crate) use self::{scalar::whole, zero::is_empty};
use crate::{
    model::{Form, Scalar, Struct},
    type_ref::TypeRef,
};

/// A document that went through its type.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The document as the API machinery would write it back.
    pub value: Value,
    /// The paths of the fields its type does not have, in alphabetical order: `spec.template.spec.containers[0].imagee`.
    pub unknown: Vec<String>,
}

/// A value that does not fit its type. `Display` is what follows `… cannot be handled as a Pod: ` in the server's answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct TypeError(pub String);

/// What only the bytes of a document tell: how a number was written, and which of two fields came first.
/// Asked only when a message or a quantity needs it; paths are spelled as in [`Decoded::unknown`].
pub trait Source {
    /// The text of the number at `path`, if it is no plain int64.
    fn literal(&self, path: &str) -> Option<&str>;
    /// The offset of each of the `paths` in the document.
    fn positions(&self, paths: &[&str]) -> Vec<usize>;
}

/// Decodes `value` as `ty` and returns it in the form in which the server stores and serves it.
///
/// Of several wrong values the first in the document is reported, or, without a `source`, the first in alphabetical order.
pub fn decode(ty: TypeRef<'_>, mut value: Value, source: Option<&dyn Source>) -> Result<Decoded, TypeError> {
    let keeps_empty = ty
        .name()
        .is_some_and(|name| STORED_AS_JSON.iter().any(|package| name.starts_with(package)));
    let mut walk = Walk {
        source,
        keeps_empty,
        unknown: Vec::new(),
        failures: Vec::new(),
        nested: 0,
    };
    walk.value(ty, &mut value, &DecodePath::ROOT);
    walk.finish(value)
}

/// Protobuf, in which all other kinds are stored, does not tell an empty list or map from none: these kinds keep theirs.
const STORED_AS_JSON: [&str; 2] = ["io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator."];
/// How deep a document may nest before its type stops being followed; codecs refuse such documents anyway.
const MAX_DEPTH: usize = 512;
/// The most errors that are collected.
const MAX_FAILURES: usize = 100;

struct Walk<'s> {
    source: Option<&'s dyn Source>,
    keeps_empty: bool,
    unknown: Vec<String>,
    failures: Vec<Failure>,
    /// Inside types that decode themselves with a decoder of their own: unknown fields go unreported there.
    nested: usize,
}

struct Failure {
    path: String,
    message: String,
    /// A type that decodes itself stops the decoder; other mismatches are reported at the end.
    stops: bool,
}

impl Walk<'_> {
    fn value(&mut self, ty: TypeRef<'_>, value: &mut Value, at: &DecodePath<'_>) {
        if value.is_null() && ty.is_pointer() {
            return;
        }
        if at.depth() > MAX_DEPTH {
            return self.stop(at, "exceeded max depth".to_owned());
        }
        match (ty.form(), &mut *value) {
            (Form::Scalar(scalar), _) => self.scalar(*scalar, ty, value, at),
            (Form::Struct(structure), Value::Object(map)) => self.fields(ty, structure, map, at),
            (Form::Struct(_), Value::Null) => *value = zero::of(ty),
            (Form::Map { .. }, Value::Object(map)) => {
                let Some(element) = ty.element() else { return };
                for (key, item) in &mut *map {
                    self.value(element, item, &at.key(key));
                    // In a map, protobuf knows no value that is nil, only empty ones.
                    if item.is_null() && !self.keeps_empty {
                        match element.form() {
                            Form::Scalar(Scalar::Bytes) => *item = Value::String(String::new()),
                            Form::List(_) => *item = Value::Array(Vec::new()),
                            _ => {}
                        }
                    }
                }
                if map.is_empty() && !self.keeps_empty {
                    *value = Value::Null;
                }
            }
            (Form::List(_), Value::Array(items)) => {
                let Some(element) = ty.element() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(element, item, &at.index(index));
                }
                if items.is_empty() && !self.keeps_empty {
                    *value = Value::Null;
                }
            }
            (Form::Map { .. } | Form::List(_), Value::Null) => {}
            (_, other) => {
                let found = json_kind(other);
                self.mismatch(at, found, &ty.go_type());
            }
        }
    }

    fn fields(
        &mut self,
        ty: TypeRef<'_>,
        structure: &Struct,
        map: &mut serde_json::Map<String, Value>,
        at: &DecodePath<'_>,
    ) {
        let owner = ty.short_name().unwrap_or_default();
        map.retain(|key, value| {
            let Some(field) = structure.field(key) else {
                if self.nested == 0 {
                    self.unknown.push(at.key(key).to_string());
                }
                return false;
            };
            self.value(ty.of_field(field), value, &at.field(owner, field));
            !zero::is_left_out(ty.of_field(field), field.omit, value)
        });
        for field in structure
            .always
            .iter()
            .map(|position| &structure.fields[usize::from(*position)])
        {
            if !map.contains_key(&*field.name) {
                map.insert(field.name.to_string(), zero::of(ty.of_field(field)));
            }
        }
    }

    /// A JSON value of the wrong kind.
    fn mismatch(&mut self, at: &DecodePath<'_>, found: &str, go_type: &str) {
        self.fail(at, at.mismatch(found, go_type), self.nested > 0);
    }

    /// A failure that ends the decoding: what a type's own decoder says.
    fn stop(&mut self, at: &DecodePath<'_>, message: String) {
        self.fail(at, message, true);
    }

    fn fail(&mut self, at: &DecodePath<'_>, message: String, stops: bool) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(Failure {
                path: at.to_string(),
                message,
                stops,
            });
        }
    }

    fn literal(&self, at: &DecodePath<'_>) -> Option<String> {
        self.source?.literal(&at.to_string()).map(str::to_owned)
    }

    fn finish(mut self, value: Value) -> Result<Decoded, TypeError> {
        // The first error that stops the decoder is reported instead of those that are collected.
        if self.failures.iter().any(|failure| failure.stops) {
            self.failures.retain(|failure| failure.stops);
        }
        let first = match (self.failures.len(), self.source) {
            (0, _) => {
                return Ok(Decoded {
                    value,
                    unknown: self.unknown,
                });
            }
            (2.., Some(source)) => {
                let paths: Vec<&str> = self.failures.iter().map(|failure| failure.path.as_str()).collect();
                let positions = source.positions(&paths).into_iter().zip(0..);
                positions
                    .min()
                    .map_or(0, |(_, first)| first)
                    .min(self.failures.len() - 1)
            }
            _ => 0,
        };
        Err(TypeError(self.failures.swap_remove(first).message))
    }
}
