//! From the types of k8s-openapi to what was set of them.
//!
//! They write every required field, set or not: a `DeploymentSpec` of which only `replicas` was set has `"selector": {}` and
//! `"template": {}` in JSON, which a server refuses. A table says which fields those are.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Error, Map, Value};

use crate::{Apply, BuiltIn, Fields};

/// Why a value of k8s-openapi cannot be applied as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// A required number or boolean is zero or false: the type cannot say whether somebody set it.
    #[error("{path}: {value} may be set or not, the type cannot tell: use the setters")]
    Undecided {
        /// The field, as in `.status.replicas`.
        path: String,
        /// What it holds.
        value: Value,
    },
    /// The object was read from a server: it has everybody's fields.
    #[error("the object was read from a server and has the fields of all managers: extract those of yours")]
    Read,
    /// The value cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] Error),
}

/// The fields of a type that need a look: those that are always written, and those that lead to one.
type Known = HashMap<&'static str, Vec<KnownField>>;

struct KnownField {
    name: &'static str,
    always_written: bool,
    /// The type of its value, where that needs a look.
    inside: Option<&'static str>,
}

static FACTS: &str = include_str!("always_written.facts");

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut known = Known::new();
        let mut ty = "";
        for line in FACTS.lines().filter(|line| !line.starts_with('#')) {
            let Some(field) = line.strip_prefix(' ') else {
                ty = line;
                continue;
            };
            let mut words = field.split(' ').peekable();
            let name = words.next().unwrap_or_default();
            let always_written = words.next_if_eq(&"!").is_some();
            known.entry(ty).or_default().push(KnownField {
                name,
                always_written,
                inside: words.next(),
            });
        }
        known
    })
}

/// The fields that were set of a value of a type.
pub(crate) fn part(value: Result<Value, Error>, ty: &str) -> Result<Fields, TypedError> {
    let mut members = members(value?);
    leave_out_unset(&mut members, ty, &mut String::new())?;
    Ok(Fields::of(members))
}

/// The fields that were set of an object.
pub(crate) fn root<K>(value: Result<Value, Error>, ty: &str) -> Result<Apply<K, BuiltIn>, TypedError> {
    let mut members = members(value?);
    let metadata = members.remove("metadata").unwrap_or_else(|| Value::Object(Map::new()));
    let metadata: ObjectMeta = serde_json::from_value(metadata)?;
    if metadata.managed_fields.is_some() || metadata.resource_version.is_some() {
        return Err(TypedError::Read);
    }
    members.remove("apiVersion");
    members.remove("kind");
    leave_out_unset(&mut members, ty, &mut String::new())?;
    Ok(Apply::of(metadata, Fields::of(members)))
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn leave_out_unset(members: &mut Map<String, Value>, ty: &str, path: &mut String) -> Result<(), TypedError> {
    let length = path.len();
    for field in known().get(ty).into_iter().flatten() {
        let Some(value) = members.get_mut(field.name) else {
            continue;
        };
        path.push('.');
        path.push_str(field.name);
        if let Some(inside) = field.inside {
            look_inside(value, inside, path)?;
        }
        if field.always_written {
            match value {
                Value::Bool(false) => return Err(undecided(value, path)),
                Value::Number(number) if number.as_f64() == Some(0.0) => return Err(undecided(value, path)),
                _ if is_empty(value) => {
                    members.remove(field.name);
                }
                _ => {}
            }
        }
        path.truncate(length);
    }
    Ok(())
}

/// Looks into a value of a type: `[]` before its name is a list of such, `{}` a map.
fn look_inside(value: &mut Value, ty: &str, path: &mut String) -> Result<(), TypedError> {
    let length = path.len();
    match value {
        Value::Array(items) => {
            let ty = ty.trim_start_matches("[]");
            for (index, item) in items.iter_mut().enumerate() {
                let _ = write!(path, "[{index}]");
                look_inside(item, ty, path)?;
                path.truncate(length);
            }
        }
        Value::Object(members) => match ty.strip_prefix("{}") {
            None => leave_out_unset(members, ty, path)?,
            Some(ty) => {
                for (key, value) in members {
                    path.push('.');
                    path.push_str(key);
                    look_inside(value, ty, path)?;
                    path.truncate(length);
                }
            }
        },
        _ => {}
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn undecided(value: &Value, path: &str) -> TypedError {
    TypedError::Undecided {
        path: path.to_owned(),
        value: value.clone(),
    }
}
