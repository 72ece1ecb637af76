//! The schema of a type.

use kubewright_merge::{ListKind, Topology as _};
use serde_json::{Map, Value, json};

use super::META;
use crate::{
    model::{Form, MapKind, Scalar},
    resources::GroupVersion,
    type_ref::{FieldRef, TypeRef},
};

/// The schema of a type with a name, as the document of a group-version has it.
pub(super) fn of(ty: TypeRef<'_>, gv: &GroupVersion) -> Value {
    let mut schema = match ty.form() {
        Form::Struct(_) => structure(ty),
        _ => inline(ty),
    };
    if ty.is_kind() {
        schema.insert("x-kubernetes-group-version-kind".to_owned(), kinds(ty, gv));
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
fn kinds(ty: TypeRef<'_>, gv: &GroupVersion) -> Value {
    let kind = ty.short_name().unwrap_or_default();
    let entry = |group: &str, version: &str| json!({"group": group, "version": version, "kind": kind});
    let shared = ty.name().is_some_and(|name| name.starts_with(META));
    match kind {
        "DeleteOptions" | "WatchEvent" if shared && !gv.group.is_empty() => {
            json!([entry("", "v1"), entry(gv.group, gv.version)])
        }
        _ if shared => json!([entry("", "v1")]),
        _ => {
            let (group, version) = ty.group_version().unwrap_or((gv.group, gv.version));
            json!([entry(group, version)])
        }
    }
}

fn structure(ty: TypeRef<'_>) -> Map<String, Value> {
    let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    let properties: Map<_, _> = ty
        .fields()
        .map(|field| (field.name().to_owned(), property(field)))
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

fn property(field: FieldRef<'_>) -> Value {
    let ty = field.type_ref();
    let mut schema = Map::new();
    if let Some(default) = ty.default() {
        schema.insert("default".to_owned(), default.clone());
    }
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
    match reference(ty) {
        // A reference admits nothing beside it.
        Some(reference) if schema.is_empty() && ty.is_undescribed() => return reference,
        Some(reference) => drop(schema.insert("allOf".to_owned(), json!([reference]))),
        None => schema.extend(inline(ty)),
    }
    Value::Object(schema)
}

fn map_type(kind: MapKind) -> Value {
    match kind {
        MapKind::Atomic => json!("atomic"),
        MapKind::Granular => json!("granular"),
    }
}

/// The reference to a type that has a schema of its own; named scalars, lists and maps have none.
fn reference(ty: TypeRef<'_>) -> Option<Value> {
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
    ty.name().filter(|_| has_schema).map(super::operation::reference)
}

/// The schema of an item of a list or a value of a map.
fn element(ty: TypeRef<'_>) -> Value {
    if let Some(reference) = reference(ty) {
        let wraps = ty.structure().is_some() && !ty.is_pointer();
        return if wraps {
            json!({"allOf": [reference], "default": {}})
        } else {
            reference
        };
    }
    let mut schema = inline(ty);
    let zero = match ty.scalar() {
        Some(Scalar::String) => Some(json!("")),
        Some(Scalar::Int(_) | Scalar::Float) => Some(json!(0)),
        Some(Scalar::Bool) => Some(json!(false)),
        _ => None,
    };
    if let Some(zero) = zero.filter(|_| !ty.is_pointer()) {
        schema.insert("default".to_owned(), zero);
    }
    Value::Object(schema)
}

fn inline(ty: TypeRef<'_>) -> Map<String, Value> {
    let mut schema = Map::new();
    let mut set = |name: &str, value: Value| drop(schema.insert(name.to_owned(), value));
    match ty.form() {
        Form::Scalar(scalar) => match scalar {
            Scalar::Bool => set("type", json!("boolean")),
            Scalar::Int(_) => set("type", json!("integer")),
            Scalar::Float => set("type", json!("number")),
            Scalar::String | Scalar::Bytes | Scalar::Time | Scalar::MicroTime => set("type", json!("string")),
            Scalar::Quantity => set("oneOf", json!([{"type": "string"}, {"type": "number"}])),
            Scalar::IntOrString => set("oneOf", json!([{"type": "integer"}, {"type": "string"}])),
            Scalar::Raw | Scalar::Fields => set("type", json!("object")),
            Scalar::Any | Scalar::SchemaOrBool | Scalar::SchemaOrArray | Scalar::SchemaOrStrings => {}
        },
        Form::List(_) => {
            set("type", json!("array"));
            set("items", ty.element().map_or(Value::Null, element));
        }
        Form::Map { .. } => {
            set("type", json!("object"));
            set("additionalProperties", ty.element().map_or(Value::Null, element));
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
