//! What decoding does to metadata, the object's own and that of embedded resources: typed as `ObjectMeta`, in canonical
//! form, without unknown fields (C6, W2). The rest of decoding is pruning.

use std::sync::OnceLock;

use kubewright_apimachinery::field::FieldError;
use kubewright_apimachinery::go::value::{Numbers, plain, type_name};
use kubewright_schema::{TypeRef, Types};
use serde_json::{Map, Value};
use thiserror::Error as ThisError;

use super::{Schema, default, node::Node, path::ObjectPath, prune};

/// What happens to metadata whose fields have the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The object is refused: it comes from a client.
    Refused,
    /// The fields are dropped: it comes from storage.
    Dropped,
}

/// What happens to fields that the schema does not have, and to nulls that it neither allows nor replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Dropped,
    /// It is left to validation.
    Kept,
}

/// An object that cannot be handled as its kind. `Display` is what follows `… cannot be handled as a Foo: `.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("{0}")]
pub struct CoerceError(pub String);

/// The type of every object's metadata.
pub(crate) fn object_meta() -> TypeRef<'static> {
    static META: OnceLock<TypeRef<'static>> = OnceLock::new();
    *META.get_or_init(|| {
        Types::builtin()
            .named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
            .expect("the table of facts has ObjectMeta")
    })
}

/// Decodes a whole object.
pub(super) fn decode(
    schema: &Schema,
    object: &mut Value,
    malformed: Malformed,
    excess: Excess,
    mut unknown: Option<&mut Vec<String>>,
) -> Result<(), CoerceError> {
    let Some(fields) = object.as_object_mut() else {
        return Ok(());
    };
    for name in ["kind", "apiVersion"] {
        if let Some(value) = fields.get(name).filter(|value| !value.is_string()) {
            return Err(CoerceError(not_a_string(name, value)));
        }
    }
    if let Some(metadata) = fields.get_mut("metadata") {
        let found = unknown.as_deref_mut();
        coerce_metadata(metadata, malformed, &ObjectPath::ROOT, found).map_err(CoerceError)?;
    }
    if !schema.preserve_unknown_fields && excess == Excess::Dropped {
        match unknown.as_deref_mut() {
            Some(unknown) => {
                let mut pruned = Vec::new();
                prune::prune(&schema.root, object, Some(&mut pruned));
                pruned.sort_unstable();
                unknown.append(&mut pruned);
            }
            None => prune::prune(&schema.root, object, None),
        }
        default::prune_nulls(&schema.root, object);
    }
    if schema.root.below.embedded {
        let mut found = Vec::new();
        let mut walk = Walk {
            malformed,
            unknown: unknown.is_some().then_some(&mut found),
        };
        walk.value(&schema.root, schema.root.embedded, object, &ObjectPath::ROOT)?;
        found.sort_unstable();
        if let Some(unknown) = unknown {
            unknown.append(&mut found);
        }
    }
    Ok(())
}

/// Objects that were stored before generations were counted get generation 1.
pub(super) fn repair_generation(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata")
        && metadata.get("generation").and_then(Value::as_i64).unwrap_or_default() == 0
    {
        metadata.insert("generation".to_owned(), 1.into());
    }
}

/// Gives the metadata in a default its canonical form; the default is in its position in a whole object.
pub(super) fn coerce_default(root: &Node, object: &mut Value) {
    let mut walk = Walk {
        malformed: Malformed::Dropped,
        unknown: None,
    };
    // Nothing is refused when malformed fields are dropped.
    let _ = walk.value(root, true, object, &ObjectPath::ROOT);
}

struct Walk<'u> {
    malformed: Malformed,
    unknown: Option<&'u mut Vec<String>>,
}

impl Walk<'_> {
    fn value(
        &mut self,
        node: &Node,
        embedded: bool,
        value: &mut Value,
        at: &ObjectPath<'_>,
    ) -> Result<(), CoerceError> {
        match value {
            Value::Object(fields) => {
                if embedded {
                    self.resource(fields, at)?;
                }
                for (name, value) in fields {
                    if let Some(property) = node.property(name) {
                        self.below(property, value, &at.field(name))?;
                    } else if let Some(values) = node.additional.schema() {
                        self.below(values, value, &at.key(name))?;
                    }
                }
            }
            Value::Array(items) => {
                if let Some(of) = &node.items {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.below(of, item, &at.index(index))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn below(&mut self, node: &Node, value: &mut Value, at: &ObjectPath<'_>) -> Result<(), CoerceError> {
        if node.below.embedded {
            self.value(node, node.embedded, value, at)
        } else {
            Ok(())
        }
    }

    /// The three fields of an embedded resource that are typed whatever its schema says.
    fn resource(&mut self, fields: &mut Map<String, Value>, at: &ObjectPath<'_>) -> Result<(), CoerceError> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = fields.get(name).filter(|value| !value.is_string()) else {
                continue;
            };
            if self.malformed == Malformed::Refused {
                return Err(refused(&at.field(name), value, "must be a string"));
            }
            fields.remove(name);
        }
        if let Some(metadata) = fields.get_mut("metadata") {
            // A refusal shows what was given, which decoding consumes.
            let given = (self.malformed == Malformed::Refused).then(|| metadata.clone());
            let coerced = coerce_metadata(metadata, self.malformed, at, self.unknown.as_deref_mut());
            if let (Err(message), Some(given)) = (coerced, given) {
                return Err(refused(&at.field("metadata"), &given, &message));
            }
        }
        Ok(())
    }
}

fn refused(at: &ObjectPath<'_>, value: &Value, detail: &str) -> CoerceError {
    CoerceError(FieldError::invalid(&at.field_path(), value, detail).to_string())
}

/// Types metadata as `ObjectMeta` and writes it back in canonical form. On an error the value is left as it was if it was
/// no object, and is otherwise unusable. `at` is the resource that has it.
fn coerce_metadata(
    metadata: &mut Value,
    malformed: Malformed,
    at: &ObjectPath<'_>,
    unknown: Option<&mut Vec<String>>,
) -> Result<(), String> {
    let ty = object_meta();
    if malformed == Malformed::Dropped && kubewright_schema::decode(ty, metadata.clone(), None).is_err() {
        match metadata {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    let alone = Map::from_iter([(name.clone(), value.clone())]);
                    kubewright_schema::decode(ty, Value::Object(alone), None).is_ok()
                });
            }
            other => {
                return Err(format!(
                    "invalid metadata: expected object, got {}",
                    type_name(other, Numbers::Int64)
                ));
            }
        }
    }
    let decoded = kubewright_schema::decode(ty, metadata.take(), None).map_err(|error| error.0)?;
    *metadata = decoded.value;
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    if let Some(unknown) = unknown
        && !decoded.unknown.is_empty()
    {
        let prefix = at.field("metadata").field_path();
        unknown.extend(decoded.unknown.iter().map(|path| format!("{prefix}.{path}")));
    }
    Ok(())
}

fn not_a_string(name: &str, value: &Value) -> String {
    format!(
        ".{name} accessor error: {} is of the type {}, expected string",
        plain(value, Numbers::Int64),
        type_name(value, Numbers::Int64)
    )
}
