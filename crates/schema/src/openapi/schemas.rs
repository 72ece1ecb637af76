//! The schemas of a document: those that something in it mentions, each made from its type.

use std::collections::HashSet;
use std::fmt::Write as _;

use kubewright_merge::{ListKind, Topology as _};
use serde_json::{Map, Value, json};

use super::{Dialect, META, TypeDocs, described_object, group_versions::GroupVersions, references};
use crate::{
    model::{Form, MapKind, Scalar},
    type_ref::{FieldRef, TypeRef},
    types::Types,
};

/// A kind whose schema is in every document that has schemas.
const ANY_KIND: &str = "io.k8s.api.core.v1.Pod";

/// Collects the schemas of a document.
pub(super) struct Schemas<'p> {
    dialect: Dialect,
    group_versions: GroupVersions,
    docs: &'p dyn TypeDocs,
    /// Those still to be made.
    wanted: Vec<String>,
    /// Those that were ever wanted.
    known: HashSet<String>,
    made: Map<String, Value>,
}

impl<'p> Schemas<'p> {
    pub(super) fn new(dialect: Dialect, group_versions: GroupVersions, docs: &'p dyn TypeDocs) -> Self {
        Schemas {
            dialect,
            group_versions,
            docs,
            wanted: Vec::new(),
            known: HashSet::new(),
            made: Map::new(),
        }
    }

    /// Adds a schema that no built-in type has.
    pub(super) fn put(&mut self, name: String, schema: Value) {
        self.known.insert(name.clone());
        self.made.insert(name, schema);
    }

    pub(super) fn want(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.wanted.push(name.to_owned());
        }
    }

    pub(super) fn want_references(&mut self, part: &Value) {
        references(part, self.dialect.prefix(), &mut |name| self.want(name));
    }

    /// Every schema that was put or wanted, and what those mention.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        while let Some(name) = self.wanted.pop() {
            if let Some(ty) = Types::builtin().named(&name) {
                let schema = self.of(ty, &name);
                self.want_references(&schema);
                self.made.insert(name, schema);
            }
        }
        self.made
    }

    /// The schema of a type with a name.
    fn of(&self, ty: TypeRef<'_>, name: &str) -> Value {
        let mut schema = described_object(self.docs.of_type(name));
        match ty.form() {
            Form::Struct(_) => schema.extend(self.structure(ty, name)),
            _ => schema.extend(self.inline(ty)),
        }
        if ty.is_kind() {
            schema.insert("x-kubernetes-group-version-kind".to_owned(), self.kinds(ty));
        }
        if let Some(kind) = ty.named_map_kind() {
            schema.insert("x-kubernetes-map-type".to_owned(), map_type(kind));
        }
        for (name, value) in ty.extensions() {
            schema.insert(name.to_string(), value.clone());
        }
        Value::Object(schema)
    }

    /// The group, version and kind under which a type is known; two of the shared kinds are in every group-version.
    fn kinds(&self, ty: TypeRef<'_>) -> Value {
        let kind = ty.short_name().unwrap_or_default();
        let shared = ty.name().is_some_and(|name| name.starts_with(META));
        let group_versions = match kind {
            "DeleteOptions" | "WatchEvent" if shared => self.group_versions.list(),
            _ if shared => vec![("", "v1")],
            _ => ty.group_version().into_iter().collect(),
        };
        let entries = group_versions
            .into_iter()
            .map(|(group, version)| json!({"group": group, "version": version, "kind": kind}));
        entries.collect()
    }

    fn structure(&self, ty: TypeRef<'_>, name: &str) -> Map<String, Value> {
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        let properties: Map<_, _> = ty
            .fields()
            .map(|field| {
                let description = self.words(name, ty, field);
                (field.name().to_owned(), self.property(field, description.as_deref()))
            })
            .collect();
        let required: Vec<_> = ty
            .fields()
            .filter(|field| field.is_required())
            .map(FieldRef::name)
            .collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema
    }

    /// What a field is for, and which values it may have.
    fn words(&self, name: &str, ty: TypeRef<'_>, field: FieldRef<'_>) -> Option<String> {
        let said = self.docs.of_field(name, field.name());
        // Every kind says the same about its type; lists have no words of their own.
        let said = match field.name() {
            "apiVersion" | "kind" if ty.is_kind() => said.or_else(|| self.docs.of_field(ANY_KIND, field.name())),
            _ => said,
        };
        let mut words = said?.to_owned();
        let values = field.type_ref().enumeration().unwrap_or_default();
        if !values.is_empty() {
            words.push_str("\n\nPossible enum values:");
            for value in values {
                let _ = write!(words, "\n - `\"{value}\"`");
                let enumeration = field.type_ref().name();
                if let Some(meaning) = enumeration.and_then(|name| self.docs.of_value(name, value)) {
                    let _ = write!(words, " {meaning}");
                }
            }
        }
        Some(words)
    }

    fn property(&self, field: FieldRef<'_>, description: Option<&str>) -> Value {
        let ty = field.type_ref();
        let mut schema = described_object(description);
        if let Some(default) = ty.default().filter(|_| self.dialect == Dialect::V3) {
            schema.insert("default".to_owned(), default.clone());
        }
        extend_for_merging(&mut schema, ty);
        match reference(ty) {
            // A reference that would have a description is wrapped, even where the description is missing.
            Some(name) if self.dialect == Dialect::V3 && !(schema.is_empty() && ty.is_undescribed()) => {
                schema.insert("allOf".to_owned(), json!([self.dialect.reference(name)]));
                Value::Object(schema)
            }
            Some(name) => self.dialect.described_reference(name, schema),
            None => {
                schema.extend(self.inline(ty));
                Value::Object(schema)
            }
        }
    }

    /// The schema of an item of a list or a value of a map.
    fn element(&self, ty: TypeRef<'_>) -> Value {
        let defaults = self.dialect == Dialect::V3 && !ty.is_pointer();
        if let Some(name) = reference(ty) {
            let reference = self.dialect.reference(name);
            return if defaults && ty.structure().is_some() {
                json!({"allOf": [reference], "default": {}})
            } else {
                reference
            };
        }
        let mut schema = self.inline(ty);
        let zero = match ty.scalar() {
            Some(Scalar::String) => Some(json!("")),
            Some(Scalar::Int(_) | Scalar::Float) => Some(json!(0)),
            Some(Scalar::Bool) => Some(json!(false)),
            _ => None,
        };
        if let Some(zero) = zero.filter(|_| defaults) {
            schema.insert("default".to_owned(), zero);
        }
        Value::Object(schema)
    }

    fn inline(&self, ty: TypeRef<'_>) -> Map<String, Value> {
        let mut schema = Map::new();
        let mut set = |name: &str, value: Value| drop(schema.insert(name.to_owned(), value));
        match ty.form() {
            Form::Scalar(scalar) => match scalar {
                Scalar::Bool => set("type", json!("boolean")),
                Scalar::Int(_) => set("type", json!("integer")),
                Scalar::Float => set("type", json!("number")),
                Scalar::String | Scalar::Bytes | Scalar::Time | Scalar::MicroTime => set("type", json!("string")),
                // Version 2 knows no alternatives.
                Scalar::Quantity | Scalar::IntOrString if self.dialect == Dialect::V2 => set("type", json!("string")),
                Scalar::Quantity => set("oneOf", json!([{"type": "string"}, {"type": "number"}])),
                Scalar::IntOrString => set("oneOf", json!([{"type": "integer"}, {"type": "string"}])),
                Scalar::Raw | Scalar::Fields => set("type", json!("object")),
                Scalar::Any | Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => {}
            },
            Form::List(_) => {
                set("type", json!("array"));
                set("items", ty.element().map_or(Value::Null, |item| self.element(item)));
            }
            Form::Map { .. } => {
                set("type", json!("object"));
                let values = ty.element().map_or(Value::Null, |value| self.element(value));
                set("additionalProperties", values);
            }
            Form::Struct(_) | Form::Named(_) => {}
        }
        if let Some(format) = ty.format() {
            set("format", json!(format));
        }
        if let Some(values) = ty.enumeration().filter(|values| !values.is_empty()) {
            set("enum", json!(values));
        }
        schema
    }
}

/// What a schema says about merging.
fn extend_for_merging(schema: &mut Map<String, Value>, ty: TypeRef<'_>) {
    let mut extend = |name: &str, value: Value| drop(schema.insert(format!("x-kubernetes-{name}"), value));
    match ty.list_kind() {
        Some(ListKind::Atomic) => extend("list-type", json!("atomic")),
        Some(ListKind::Set) => extend("list-type", json!("set")),
        Some(ListKind::Map) => {
            extend("list-type", json!("map"));
            extend("list-map-keys", json!(ty.keys()));
        }
        None => {}
    }
    if let Some(kind) = ty.own_map_kind() {
        extend("map-type", map_type(kind));
    }
    let patch = ty.patch_strategy();
    let strategies = [
        (patch.merge, "merge"),
        (patch.retain_keys, "retainKeys"),
        (patch.replace, "replace"),
    ];
    let strategies: Vec<_> = strategies
        .iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| *name)
        .collect();
    if !strategies.is_empty() {
        extend("patch-strategy", json!(strategies.join(",")));
    }
    if let Some(key) = patch.merge_key {
        extend("patch-merge-key", json!(key));
    }
}

fn map_type(kind: MapKind) -> Value {
    match kind {
        MapKind::Atomic => json!("atomic"),
        MapKind::Granular => json!("granular"),
    }
}

/// The name of a type that has a schema of its own; named scalars, lists and maps have none.
fn reference(ty: TypeRef<'_>) -> Option<&str> {
    let has_schema = match ty.form() {
        Form::Struct(_) => true,
        Form::Scalar(scalar) => matches!(
            scalar,
            Scalar::Quantity
                | Scalar::Time
                | Scalar::MicroTime
                | Scalar::IntOrString
                | Scalar::Raw
                | Scalar::Any
                | Scalar::Fields
                | Scalar::SchemaOrBool
                | Scalar::SchemaOrArray
                | Scalar::SchemaOrStrings
        ),
        _ => false,
    };
    ty.name().filter(|_| has_schema)
}
