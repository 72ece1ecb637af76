//! One step of a path: a field, an item by its keys, an item by its value, an item by its index.

use std::cmp::Ordering;
use std::fmt;

use kubewright_apimachinery::go::{float, json, quote};
use serde_json::{Number, Value};

use super::order::compare_values;

/// One step of a path into an object.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or an entry of a map (`f:`).
    Field(Box<str>),
    /// The item of an associative list whose keys have these values, sorted by name (`k:`).
    Key(Box<[(Box<str>, Value)]>),
    /// The item of a set that has this value (`v:`).
    Value(Value),
    /// The item at this position (`i:`).
    Index(i64),
}

/// A path into an object, printed as the API server prints it (`.spec.containers[name="c"].image`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<PathElement>);

impl PathElement {
    /// The step to a field.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The step to the item with these keys.
    pub fn key(mut keys: Vec<(Box<str>, Value)>) -> Self {
        keys.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(keys.into())
    }
}

impl PathElement {
    /// The step as it is printed when it comes from an applied configuration.
    pub(crate) fn into_configured(self) -> Self {
        match self {
            Self::Key(keys) => Self::Key(
                keys.into_iter()
                    .map(|(name, value)| (name, with_floats(value)))
                    .collect(),
            ),
            Self::Value(value) => Self::Value(with_floats(value)),
            other => other,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => {
                for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
                    match left_name.cmp(right_name).then_with(|| compare_values(left, right)) {
                        Ordering::Equal => {}
                        other => return other,
                    }
                }
                left.len().cmp(&right.len())
            }
            (Self::Value(left), Self::Value(right)) => compare_values(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", readable(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", readable(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// A value inside a path, as messages show it.
fn readable(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) if number.is_f64() => float::general(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(readable).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", readable(value)))
                .collect();
            fields.concat()
        }
    }
}

/// What is wrong with a step in the form of `FieldsV1`.
pub(super) enum ElementError {
    /// A kind of step that this version does not know; ignored, as upstream does.
    Unknown,
    /// Not readable.
    Invalid(String),
}

impl PathElement {
    /// Reads the form of `FieldsV1`: `f:name`, `k:{…}`, `v:…`, `i:0`.
    pub(super) fn decode(text: &str) -> Result<Self, ElementError> {
        if text.len() < 2 {
            return Err(ElementError::Invalid("key must be 2 characters long:".to_owned()));
        }
        if text.as_bytes()[1] != b':' {
            return Err(ElementError::Invalid(format!("missing colon: {text}")));
        }
        let content = &text[2..];
        match text.as_bytes()[0] {
            b'f' => Ok(Self::Field(content.into())),
            b'v' => read_value(content).map(Self::Value),
            b'k' => match read_value(content)? {
                Value::Object(fields) => {
                    // The map is sorted already.
                    Ok(Self::Key(
                        fields
                            .into_iter()
                            .map(|(name, value)| (name.into_boxed_str(), value))
                            .collect(),
                    ))
                }
                _ => Err(ElementError::Invalid("expect { or n".to_owned())),
            },
            b'i' => content.parse().map(Self::Index).map_err(|_| {
                ElementError::Invalid(format!("strconv.Atoi: parsing {}: invalid syntax", quote(content)))
            }),
            _ => Err(ElementError::Unknown),
        }
    }

    /// Writes the form of `FieldsV1`.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Field(name) => {
                let mut out = String::with_capacity(name.len() + 2);
                out.push_str("f:");
                out.push_str(name);
                out
            }
            Self::Key(keys) => {
                let mut out = String::from("k:{");
                for (index, (name, value)) in keys.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    json::write_string(name, &mut out);
                    out.push(':');
                    json::write(value, &mut out);
                }
                out.push('}');
                out
            }
            Self::Value(value) => {
                let mut out = String::from("v:");
                json::write(value, &mut out);
                out
            }
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

fn read_value(content: &str) -> Result<Value, ElementError> {
    serde_json::from_str(content)
        .map(with_floats)
        .map_err(|error| ElementError::Invalid(error.to_string()))
}

/// Go reads numbers of sets and of applied configurations as float64 and prints them so. Integers that a float64 would
/// round stay what they are.
fn with_floats(value: Value) -> Value {
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|integer| integer.unsigned_abs() <= EXACT) => {
            number.as_f64().and_then(Number::from_f64).unwrap_or(number).into()
        }
        Value::Array(items) => items.into_iter().map(with_floats).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, with_floats(value)))
            .collect(),
        other => other,
    }
}
