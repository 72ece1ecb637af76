//! Keys of mappings, which in YAML need not be strings.

use std::cmp::Ordering;

use kubewright_apimachinery::go::value::{Numbers, element_syntax};
use kubewright_apimachinery::go::{float, quote};
use serde_json::Value;

use super::error::YamlError;
use super::scalar::ResolvedScalar;

/// A key as Go's `yaml` holds it: `1` and `"1"` are two keys.
#[derive(Clone, Debug)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl Key {
    /// The key that a scalar makes; `text` is what it says.
    pub(super) fn new(resolved: ResolvedScalar, text: &str) -> Self {
        match resolved {
            ResolvedScalar::Null => Self::Null,
            ResolvedScalar::Bool(value) => Self::Bool(value),
            ResolvedScalar::Integer(number) => Self::Integer(number),
            ResolvedScalar::Unsigned(number) => Self::Unsigned(number),
            ResolvedScalar::Float(number) => Self::Float(number),
            ResolvedScalar::Timestamp | ResolvedScalar::Text => Self::Text(text.to_owned()),
        }
    }

    /// The field's name in JSON; `value` is what the message about a key without a name says too.
    pub(super) fn into_name(self, value: &Value) -> Result<String, YamlError> {
        Ok(match self {
            Self::Text(text) => text,
            Self::Integer(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Float(number) => match float::general_32(number as f32).as_str() {
                "+Inf" => ".inf".to_owned(),
                "-Inf" => "-.inf".to_owned(),
                "NaN" => ".nan".to_owned(),
                text => text.to_owned(),
            },
            Self::Null | Self::Unsigned(_) => {
                let kind = if let Self::Null = self { "%!s(<nil>)" } else { "uint64" };
                let value = match value {
                    Value::Null => "<nil>".to_owned(),
                    value => element_syntax(value, Numbers::Yaml),
                };
                return Err(YamlError::conversion(format!(
                    "unsupported map key of type: {kind}, key: {self}, value: {value}"
                )));
            }
        })
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Integer(_) => 2,
            Self::Unsigned(_) => 3,
            Self::Float(_) => 4,
            Self::Text(_) => 5,
        }
    }
}

/// As Go's `%#v` prints it.
impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("<nil>"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Unsigned(number) => write!(f, "{number:#x}"),
            Self::Float(number) => f.write_str(&float::general(*number)),
            Self::Text(text) => f.write_str(&quote(text)),
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Unsigned(a), Self::Unsigned(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            // Adding zero makes zero of its negative, which equals it.
            (Self::Float(a), Self::Float(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}
