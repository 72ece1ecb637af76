//! `FieldsV1`: the form of a set inside `managedFields` (S2).

use kubewright_apimachinery::go::json;
use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::element::{ElementError, PathElement};
use super::set::{FieldSet, Node};

/// Why a set could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A place that should hold an object holds something else.
    #[error("expected an object in a set of fields")]
    NotAnObject,
    /// A key that is not a path element.
    #[error("parsing key as path element: {0}")]
    Element(String),
    /// Nested deeper than any object.
    #[error("a set of fields is nested too deeply")]
    TooDeep,
}

/// A set as it was read.
pub(super) struct Decoded {
    pub(super) set: FieldSet,
    /// Whether writing the set would give the same JSON again.
    pub(super) canonical: bool,
}

impl FieldSet {
    /// Reads the form of `FieldsV1`. Steps of unknown kinds are dropped; the order of steps does not matter.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, FieldsError> {
        decode(fields).map(|decoded| decoded.set)
    }

    /// The set in the form of `FieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.encode(false))
    }

    /// The set as the text of `FieldsV1`, with the steps in upstream's order: fields, keys, values, indexes.
    pub fn to_fields_v1_text(&self) -> String {
        let mut out = String::new();
        self.write(false, &mut out);
        out
    }

    fn encode(&self, is_member: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        if is_member && !self.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for node in &self.nodes {
            fields.insert(node.element.encode(), Value::Object(node.children.encode(node.member)));
        }
        fields
    }

    fn write(&self, is_member: bool, out: &mut String) {
        out.push('{');
        let mut separate = false;
        if is_member && !self.is_empty() {
            out.push_str("\".\":{}");
            separate = true;
        }
        for node in &self.nodes {
            if separate {
                out.push(',');
            }
            separate = true;
            json::write_string(&node.element.encode(), out);
            out.push(':');
            node.children.write(node.member, out);
        }
        out.push('}');
    }
}

pub(super) fn decode(fields: &Value) -> Result<Decoded, FieldsError> {
    let mut canonical = true;
    let (set, _) = decode_at(fields, 0, &mut canonical)?;
    Ok(Decoded { set, canonical })
}

/// The set below one step, and whether the step itself is a member.
fn decode_at(fields: &Value, depth: usize, canonical: &mut bool) -> Result<(FieldSet, bool), FieldsError> {
    if depth > MAX_DEPTH {
        return Err(FieldsError::TooDeep);
    }
    let fields = match fields {
        Value::Object(fields) => fields,
        // Upstream reads null as an empty object.
        Value::Null => {
            *canonical = false;
            return Ok((FieldSet::new(), true));
        }
        _ => return Err(FieldsError::NotAnObject),
    };
    let mut set = FieldSet {
        nodes: Vec::with_capacity(fields.len()),
    };
    let mut is_member = false;
    // JSON's order of keys and ours differ (`k:{"port":443}` and `k:{"port":80}`).
    let mut is_sorted = true;
    for (name, below) in fields {
        if name == "." {
            is_member = true;
            *canonical &= matches!(below, Value::Object(below) if below.is_empty());
            continue;
        }
        let element = match PathElement::decode(name) {
            Ok(element) => element,
            Err(ElementError::Unknown) => {
                *canonical = false;
                continue;
            }
            Err(ElementError::Invalid(message)) => return Err(FieldsError::Element(message)),
        };
        if !matches!(element, PathElement::Field(_)) {
            *canonical &= element.encode() == *name;
        }
        let (children, member) = decode_at(below, depth + 1, canonical)?;
        if !member && children.is_empty() {
            continue;
        }
        is_sorted &= set.nodes.last().is_none_or(|last| last.element < element);
        set.nodes.push(Node {
            element,
            member,
            children,
        });
    }
    if !is_sorted {
        set.sort();
    }
    let is_member = is_member || set.is_empty();
    // A lone `.` says what an empty object says.
    *canonical &= !set.is_empty() || fields.is_empty();
    Ok((set, is_member))
}
