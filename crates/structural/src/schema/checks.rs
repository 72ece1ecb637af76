//! What a value must satisfy beyond its type: bounds, patterns, formats, enums, and combinations of schemas.

use std::collections::HashSet;

use serde_json::{Number, Value};

use super::{formats::Format, go, node::Node, pattern::Pattern};

/// The keywords of one node that restrict values.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) format: Option<NamedFormat>,
    pub(super) string: StringChecks,
    pub(super) number: Option<Box<NumberChecks>>,
    pub(super) items: Bounds,
    pub(super) properties: Bounds,
    pub(super) required: Box<[Box<str>]>,
    pub(super) allowed: Option<Box<Enum>>,
    pub(super) quantors: Option<Box<Quantors>>,
}

/// `format`, where the server knows it for the type.
#[derive(Debug)]
pub(super) struct NamedFormat {
    /// As the schema spells it.
    pub(super) name: Box<str>,
    pub(super) kind: FormatKind,
}

/// What a format says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatKind {
    /// Of strings.
    Text(Format),
    Int32,
    Int64,
    Float,
    Double,
}

/// A lower and an upper bound of a count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
}

/// `maxLength`, `minLength`, `pattern`.
#[derive(Debug, Default)]
pub(super) struct StringChecks {
    pub(super) length: Bounds,
    pub(super) pattern: Option<Box<Pattern>>,
}

/// `multipleOf`, `minimum`, `maximum`.
#[derive(Debug, Default)]
pub(super) struct NumberChecks {
    pub(super) multiple_of: Option<Limit>,
    pub(super) minimum: Option<Limit>,
    pub(super) maximum: Option<Limit>,
}

/// A number that values are compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) value: f64,
    pub(super) exclusive: bool,
    /// The limit does not fit the type it limits; upstream then reports the limit, whatever the value.
    pub(super) misfit: bool,
}

/// `allOf`, `anyOf`, `oneOf`, `not`.
#[derive(Debug, Default)]
pub(super) struct Quantors {
    pub(super) any_of: Box<[Node]>,
    pub(super) one_of: Box<[Node]>,
    pub(super) all_of: Box<[Node]>,
    pub(super) not: Option<Box<Node>>,
}

/// `enum`.
#[derive(Debug)]
pub(super) struct Enum {
    /// The strings, for the lookup that nearly every enum is.
    strings: HashSet<Box<str>>,
    /// Everything else.
    others: Vec<Value>,
    /// As messages list them.
    pub(super) shown: Vec<String>,
}

impl Enum {
    pub(super) fn new(values: &[Value]) -> Self {
        let strings = values.iter().filter_map(Value::as_str).map(Box::from).collect();
        // Null is never equal to anything: upstream compares only what has a type.
        let others = values.iter().filter(|value| !value.is_string() && !value.is_null());
        Enum {
            strings,
            others: others.cloned().collect(),
            shown: values.iter().map(shown).collect(),
        }
    }

    /// Whether the value is one of them. Upstream converts it to each one's Go type first, so that a float meets an
    /// integer enum by its whole part, and an integer meets a string enum as the character of that number.
    pub(super) fn allows(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.strings.contains(text.as_str()),
            Value::Number(number) => self.allows_number(number),
            Value::Null => false,
            other => self.others.iter().any(|allowed| go::deep_equal(other, allowed)),
        }
    }

    fn allows_number(&self, number: &Number) -> bool {
        let number = go::Number::of(number);
        if let go::Number::Int(int) = number
            && !self.strings.is_empty()
        {
            let character = u32::try_from(int).ok().and_then(char::from_u32);
            let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
            if self.strings.contains(&*character.encode_utf8(&mut [0; 4])) {
                return true;
            }
        }
        let allowed = self.others.iter().filter_map(|allowed| match allowed {
            Value::Number(allowed) => Some(go::Number::of(allowed)),
            _ => None,
        });
        let mut allowed = allowed;
        allowed.any(|allowed| match (allowed, number) {
            (go::Number::Int(allowed), go::Number::Int(number)) => allowed == number,
            (go::Number::Int(allowed), go::Number::Float(number)) => allowed == go::to_int(number),
            (go::Number::Float(allowed), number) => allowed.to_bits() == number.as_float().to_bits(),
        })
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => go::json(other),
    }
}
