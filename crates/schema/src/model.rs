//! The type model: what a type's block of the table (or, later, a custom resource's schema) says, in memory.
//! Private to the crate; the outside sees it through [`TypeRef`](crate::TypeRef).

use std::sync::OnceLock;

use kubewright_merge::ListKind;
use serde_json::Value;

use crate::protobuf::Message;

/// The index of a named type in its [`Types`](crate::Types).
pub(crate) type TypeId = u32;

/// A type as used in one place: `*int32`, `[]Container`, `map[string]string`, `ObjectMeta`.
#[derive(Debug)]
pub(crate) struct Node {
    /// Go holds it behind a pointer: absent and zero are different values.
    pub pointer: bool,
    pub form: Form,
}

impl Node {
    pub(crate) const fn of(form: Form) -> Self {
        Node { pointer: false, form }
    }
}

/// The structure of a value.
#[derive(Debug)]
pub(crate) enum Form {
    Scalar(Scalar),
    Struct(Struct),
    Map {
        /// The type of the keys, where it is not plain `string`.
        key: Option<TypeId>,
        value: Box<Node>,
    },
    List(Box<Node>),
    /// A type with a block of its own.
    Named(TypeId),
}

/// A value without parts, or one whose parts have no type here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A boolean.
    Bool,
    /// A signed integer of that many bits.
    Int(u8),
    /// A double.
    Float,
    /// A string.
    String,
    /// Bytes, base64 on the wire.
    Bytes,
    /// `resource.Quantity`.
    Quantity,
    /// `metav1.Time`: RFC 3339 with seconds.
    Time,
    /// `metav1.MicroTime`: RFC 3339 with microseconds.
    MicroTime,
    /// `intstr.IntOrString`.
    IntOrString,
    /// Any JSON, kept as it came (`RawExtension`).
    Raw,
    /// Any JSON value (`apiextensions.JSON`).
    Any,
    /// A JSON object kept as it came (`FieldsV1`).
    Fields,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of schemas.
    SchemaOrArray,
    /// A schema or a list of strings.
    SchemaOrStrings,
}

/// A type with fields.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    /// In declaration order.
    pub fields: Box<[Field]>,
    /// Positions in `fields`, ordered by the fields' names.
    pub by_name: Box<[u16]>,
    /// Positions of the fields that are written even when zero.
    pub always: Box<[u16]>,
    /// How protobuf orders the fields; made when first asked for.
    pub message: OnceLock<Message>,
}

impl Struct {
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        let positions = |keep: fn(&Field) -> bool| -> Vec<u16> {
            (0u16..)
                .zip(&fields)
                .filter(|(_, field)| keep(field))
                .map(|(at, _)| at)
                .collect()
        };
        let mut by_name = positions(|_| true);
        by_name.sort_by(|a, b| fields[usize::from(*a)].name.cmp(&fields[usize::from(*b)].name));
        let always = positions(|field| field.omit == Omit::Never);
        Struct {
            by_name: by_name.into(),
            always: always.into(),
            fields: fields.into(),
            message: OnceLock::new(),
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        Some(&self.fields[usize::from(self.position(name)?)])
    }

    /// The place of a field in the order of declaration.
    pub(crate) fn position(&self, name: &str) -> Option<u16> {
        let found = self
            .by_name
            .binary_search_by(|at| (*self.fields[usize::from(*at)].name).cmp(name))
            .ok()?;
        Some(self.by_name[found])
    }
}

/// When an encoder leaves a field out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Omit {
    /// It is always written, zero or not.
    #[default]
    Never,
    /// When false, 0, empty or nil (`omitempty`, where that has an effect).
    Empty,
    /// When it is the zero value of its type (`omitzero`).
    Zero,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: Box<str>,
    pub node: Node,
    pub omit: Omit,
    pub required: bool,
    /// The Go names of the embedded structs it was promoted from, which type errors mention.
    pub via: Box<[Box<str>]>,
    pub number: Number,
    /// The Go name, where it is not the JSON name with a capital.
    pub go_name: Option<Box<str>>,
    pub facts: Facts,
    /// What the API machinery's defaulting puts here when the field is unset.
    pub default: Option<Value>,
}

/// Where a field is in a protobuf message: its number, behind those of the embedded messages that it was promoted from.
/// Zeros fill up, and a field that begins with one is in no message.
pub(crate) type Number = [u16; 3];

/// What the schema says about a place beyond its Go type.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub list: Option<ListKind>,
    pub keys: Vec<Box<str>>,
    /// `x-kubernetes-map-type`.
    pub map: Option<MapKind>,
    pub declared: Declared,
    pub format: Option<Box<str>>,
    pub values: Option<Box<[Box<str>]>>,
    pub patch: Patch,
    /// Its schema has no description, and so no reason to wrap a reference.
    pub undescribed: bool,
}

/// How a map or struct is owned (`x-kubernetes-map-type`); granular where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapKind {
    Atomic,
    Granular,
}

/// The strategies and the key of strategic merge patch.
#[derive(Debug, Default)]
pub(crate) struct Patch {
    pub merge: bool,
    pub retain_keys: bool,
    pub replace: bool,
    pub key: Option<Box<str>>,
}

/// The default that a schema declares for a place, apart from what defaulting does.
#[derive(Debug, Default)]
pub(crate) enum Declared {
    #[default]
    Nothing,
    /// The zero value of its type, as schemas declare it for values that are always written.
    ZeroIfWritten,
    Value(Value),
}

/// A type with a name and a block of its own.
#[derive(Debug)]
pub(crate) struct Named {
    pub node: Node,
    /// `x-kubernetes-map-type`.
    pub map: Option<MapKind>,
    pub format: Option<Box<str>>,
    /// The values an enumerated string may have.
    pub values: Option<Box<[Box<str>]>>,
    /// It is an object of the API: it has apiVersion and kind.
    pub kind: bool,
    /// It has a default, or something below it has.
    pub defaults: bool,
    /// A list that protobuf wraps in a message of its own.
    pub message: bool,
    /// Further `x-kubernetes-…` of its schema.
    pub extensions: Vec<(Box<str>, Value)>,
}
