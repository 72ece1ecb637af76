//! A cursor into a type: what belongs at one place of a document, and how merging treats it.

use std::{fmt, sync::LazyLock};

use kubewright_merge::{ListKind, PatchStrategy, ScalarKind, Shape, Topology};
use serde_json::Value;

use crate::{
    model::{Declared, Facts, Field, Form, MapKind, Named, Node, Omit, Patch, Scalar, Struct, TypeId},
    types::Types,
};

static NO_FACTS: Facts = Facts {
    list: None,
    keys: Vec::new(),
    map: None,
    declared: Declared::Nothing,
    undescribed: false,
    format: None,
    values: None,
    patch: Patch {
        merge: false,
        retain_keys: false,
        replace: false,
        key: None,
    },
};

static EMPTY: Value = Value::String(String::new());
static FALSE: Value = Value::Bool(false);
static ZERO: LazyLock<Value> = LazyLock::new(|| Value::from(0));
static OBJECT: LazyLock<Value> = LazyLock::new(|| Value::Object(serde_json::Map::new()));

/// The type of one place. Cheap to copy; `'t` is the lifetime of the table it points into.
#[derive(Clone, Copy)]
pub struct TypeRef<'t> {
    types: &'t Types,
    named: Option<(&'t str, &'t Named)>,
    form: &'t Form,
    facts: &'t Facts,
    pointer: bool,
}

impl<'t> TypeRef<'t> {
    pub(crate) fn named(types: &'t Types, id: TypeId) -> Self {
        let (entry, named) = types.entry(id);
        TypeRef {
            types,
            named: Some((entry.name, named)),
            form: &named.node.form,
            facts: &NO_FACTS,
            pointer: false,
        }
    }

    fn at(types: &'t Types, node: &'t Node, facts: &'t Facts) -> Self {
        match node.form {
            Form::Named(id) => TypeRef {
                facts,
                pointer: node.pointer,
                ..Self::named(types, id)
            },
            _ => TypeRef {
                types,
                named: None,
                form: &node.form,
                facts,
                pointer: node.pointer,
            },
        }
    }

    /// The name `OpenAPI` documents have for it, if it has a name of its own.
    pub fn name(self) -> Option<&'t str> {
        self.named.map(|(name, _)| name)
    }

    /// The kind's name: the last part of [`Self::name`].
    pub fn short_name(self) -> Option<&'t str> {
        self.name()
            .map(|name| name.rsplit_once('.').map_or(name, |(_, last)| last))
    }

    /// It is an object of the API: it carries apiVersion and kind.
    pub fn is_kind(self) -> bool {
        self.named.is_some_and(|(_, named)| named.kind)
    }

    /// Go holds it behind a pointer: absent and zero are different values.
    pub fn is_pointer(self) -> bool {
        self.pointer
    }

    /// The kind of value, if it has no parts.
    pub fn scalar(self) -> Option<Scalar> {
        match self.form {
            Form::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// The fields of a struct, in declaration order; empty for everything else.
    pub fn fields(self) -> impl Iterator<Item = FieldRef<'t>> {
        let fields = self.structure().map_or(&[][..], |structure| &structure.fields);
        fields.iter().map(move |field| FieldRef {
            types: self.types,
            field,
        })
    }

    /// The field of that name.
    pub fn field_named(self, name: &str) -> Option<FieldRef<'t>> {
        let field = self.structure()?.field(name)?;
        Some(FieldRef {
            types: self.types,
            field,
        })
    }

    /// The values an enumerated string may have.
    pub fn enumeration(self) -> Option<&'t [Box<str>]> {
        self.facts.values.as_deref().or_else(|| self.named?.1.values.as_deref())
    }

    /// The `format` of the schema: `int32`, `date-time`, `byte` …
    pub fn format(self) -> Option<&'t str> {
        if let Some(format) = self.facts.format.as_deref().or_else(|| self.named?.1.format.as_deref()) {
            return Some(format);
        }
        match self.scalar()? {
            Scalar::Int(32) => Some("int32"),
            Scalar::Int(_) => Some("int64"),
            Scalar::Float => Some("double"),
            Scalar::Bytes => Some("byte"),
            Scalar::Time | Scalar::MicroTime => Some("date-time"),
            Scalar::IntOrString => Some("int-or-string"),
            _ => None,
        }
    }

    /// It has a default, or something below it has.
    pub(crate) fn has_defaults(self) -> bool {
        match self.named {
            Some((_, named)) => named.defaults,
            None => match self.form {
                Form::Struct(_) => true,
                Form::Map { .. } | Form::List(_) => self.element().is_some_and(TypeRef::has_defaults),
                Form::Scalar(_) | Form::Named(_) => false,
            },
        }
    }

    /// The type's name as Go prints it in a type error: `v1.Container`, `[]v1.Container`, `map[string]string`, `int32`.
    pub fn go_type(self) -> String {
        if let Some((name, _)) = self.named {
            return go_name(name).to_owned();
        }
        let mut text = String::new();
        self.write_go_type(self.form, &mut text);
        text
    }

    fn write_go_type(self, form: &Form, text: &mut String) {
        match form {
            Form::Named(id) => text.push_str(go_name(self.types.entry(*id).0.name)),
            Form::List(element) => {
                text.push_str("[]");
                self.write_go_use(element, text);
            }
            Form::Map { key, value } => {
                text.push_str("map[");
                text.push_str(key.map_or("string", |id| go_name(self.types.entry(id).0.name)));
                text.push(']');
                self.write_go_use(value, text);
            }
            Form::Scalar(scalar) => text.push_str(go_scalar(*scalar)),
            Form::Struct(_) => text.push_str("struct"),
        }
    }

    fn write_go_use(self, node: &Node, text: &mut String) {
        if node.pointer {
            text.push('*');
        }
        self.write_go_type(&node.form, text);
    }

    pub(crate) fn structure(self) -> Option<&'t Struct> {
        match self.form {
            Form::Struct(structure) => Some(structure),
            _ => None,
        }
    }

    /// A list that protobuf wraps in a message of its own.
    pub(crate) fn is_wrapped(self) -> bool {
        self.named.is_some_and(|(_, named)| named.message)
    }

    pub(crate) fn form(self) -> &'t Form {
        self.form
    }

    pub(crate) fn of_field(self, field: &'t Field) -> Self {
        Self::at(self.types, &field.node, &field.facts)
    }

    /// The type of a map's values or a list's items.
    pub fn element(self) -> Option<Self> {
        match self.form {
            Form::Map { value: element, .. } | Form::List(element) => Some(Self::at(self.types, element, &NO_FACTS)),
            _ => None,
        }
    }

    pub(crate) fn list_kind(self) -> Option<ListKind> {
        self.facts.list
    }

    /// What the field says of its map or struct.
    pub(crate) fn own_map_kind(self) -> Option<MapKind> {
        self.facts.map
    }

    /// What the type says of itself as a map or struct.
    pub(crate) fn named_map_kind(self) -> Option<MapKind> {
        self.named?.1.map
    }

    pub(crate) fn extensions(self) -> &'t [(Box<str>, Value)] {
        self.named.map_or(&[], |(_, named)| &named.extensions)
    }

    pub(crate) fn is_undescribed(self) -> bool {
        self.facts.undescribed
    }

    /// The group-version whose package it is in.
    pub(crate) fn group_version(self) -> Option<(&'t str, &'t str)> {
        self.types.group_version_of(self.name()?.rsplit_once('.')?.0)
    }

    /// The table it points into.
    pub fn types(self) -> &'t Types {
        self.types
    }
}

/// `io.k8s.api.core.v1.Container` is `v1.Container` in Go's messages.
fn go_name(name: &str) -> &str {
    match name.rmatch_indices('.').nth(1) {
        Some((at, _)) => &name[at + 1..],
        None => name,
    }
}

fn go_scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::Int(32) => "int32",
        Scalar::Int(_) => "int64",
        Scalar::Float => "float64",
        Scalar::Bytes => "[]uint8",
        _ => "string",
    }
}

impl fmt::Debug for TypeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeRef({})", self.go_type())
    }
}

impl<'t> Topology<'t> for TypeRef<'t> {
    fn shape(self) -> Shape {
        // What a field says of itself outweighs what its type says.
        let map = self.facts.map.or_else(|| self.named?.1.map);
        let atomic = map == Some(MapKind::Atomic);
        match self.form {
            Form::Struct(_) => Shape::Struct { atomic },
            Form::Map { .. } => Shape::Map { atomic },
            Form::List(_) => Shape::List(self.facts.list.unwrap_or(ListKind::Atomic)),
            Form::Scalar(
                Scalar::Any | Scalar::Fields | Scalar::SchemaOrArray | Scalar::SchemaOrBool | Scalar::SchemaOrStrings,
            ) => Shape::Untyped,
            Form::Scalar(_) | Form::Named(_) => Shape::Scalar,
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        self.structure()?.field(name).map(|field| self.of_field(field))
    }

    fn element(self) -> Option<Self> {
        TypeRef::element(self)
    }

    fn keys(self) -> &'t [Box<str>] {
        &self.facts.keys
    }

    fn default(self) -> Option<&'t Value> {
        match &self.facts.declared {
            Declared::Nothing => None,
            Declared::Value(value) => Some(value),
            Declared::ZeroIfWritten if self.pointer => None,
            Declared::ZeroIfWritten => match self.form {
                Form::Scalar(Scalar::String) => Some(&EMPTY),
                Form::Scalar(Scalar::Bool) => Some(&FALSE),
                Form::Scalar(Scalar::Int(_) | Scalar::Float) => Some(&ZERO),
                Form::Struct(_) => Some(&OBJECT),
                _ => None,
            },
        }
    }

    fn scalar(self) -> ScalarKind {
        match self.form {
            Form::Scalar(Scalar::String | Scalar::Bytes) => ScalarKind::String,
            Form::Scalar(Scalar::Int(_) | Scalar::Float) => ScalarKind::Number,
            Form::Scalar(Scalar::Bool) => ScalarKind::Boolean,
            Form::Scalar(Scalar::Quantity | Scalar::Time | Scalar::MicroTime | Scalar::IntOrString) => ScalarKind::Any,
            _ => ScalarKind::Whole,
        }
    }

    fn patch_strategy(self) -> PatchStrategy<'t> {
        PatchStrategy {
            merge: self.facts.patch.merge,
            retain_keys: self.facts.patch.retain_keys,
            replace: self.facts.patch.replace,
            merge_key: self.facts.patch.key.as_deref(),
        }
    }
}

/// A field of a struct.
#[derive(Clone, Copy)]
pub struct FieldRef<'t> {
    types: &'t Types,
    field: &'t Field,
}

impl<'t> FieldRef<'t> {
    /// Its name in JSON.
    pub fn name(self) -> &'t str {
        &self.field.name
    }

    /// Its type.
    pub fn type_ref(self) -> TypeRef<'t> {
        TypeRef::at(self.types, &self.field.node, &self.field.facts)
    }

    /// The schema says that it is required.
    pub fn is_required(self) -> bool {
        self.field.required
    }

    /// When an encoder leaves it out.
    pub fn omit(self) -> Omit {
        self.field.omit
    }

    /// What defaulting puts here when the field is unset, whatever else the object says.
    pub fn default(self) -> Option<&'t Value> {
        self.field.default.as_ref()
    }
}
