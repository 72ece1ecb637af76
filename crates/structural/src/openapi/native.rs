//! The schemas of a custom kind and of its list, with what every Kubernetes object has: type, metadata, group and version.

use kubewright_schema::openapi::{Dialect, schema_name};
use serde_json::{Map, Value, json};

use super::{lossy, schema};
use crate::crd::{Definition, Version};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const CONVENTIONS: &str =
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// The schema of the objects of a version.
pub(super) fn object(definition: &Definition, version: &Version, dialect: Dialect) -> Value {
    let mut published = match version.schema.as_deref() {
        Some(declared) if !(dialect == Dialect::V2 && is_open(definition, declared)) => {
            let mut published = schema::published(declared);
            if dialect == Dialect::V2 {
                lossy::to_v2(&mut published);
            }
            let properties = properties(&mut published);
            properties.insert("metadata".to_owned(), reference(dialect, OBJECT_META, METADATA));
            put_type_meta(properties, API_VERSION, KIND);
            embed(&mut published, dialect);
            published
        }
        // A client would take the properties listed here for all there are.
        _ => Map::from_iter([("type".to_owned(), json!("object"))]),
    };
    finish(&mut published, definition, version, &definition.requested_kind);
    Value::Object(published)
}

/// The schema of the lists of a version.
pub(super) fn list(definition: &Definition, version: &Version, dialect: Dialect) -> Value {
    let kind = &definition.requested_kind;
    let list_kind = &definition.names.list_kind;
    let item = dialect.reference(&schema_name(&definition.group, &version.name, kind));
    let mut properties = Map::from_iter([
        (
            "items".to_owned(),
            json!({
                "description": format!("List of {}. {CONVENTIONS}", definition.names.plural),
                "type": "array",
                "items": item,
            }),
        ),
        ("metadata".to_owned(), reference(dialect, LIST_META, LIST_METADATA)),
    ]);
    put_type_meta(&mut properties, API_VERSION, KIND);
    let mut published = Map::from_iter([
        (
            "description".to_owned(),
            json!(format!("{list_kind} is a list of {kind}")),
        ),
        ("type".to_owned(), json!("object")),
        ("required".to_owned(), json!(["items"])),
        ("properties".to_owned(), Value::Object(properties)),
    ]);
    finish(&mut published, definition, version, list_kind);
    Value::Object(published)
}

/// Whether objects may have any field at all.
fn is_open(definition: &Definition, declared: &Value) -> bool {
    definition.preserve_unknown_fields || declared["x-kubernetes-preserve-unknown-fields"] == true
}

fn finish(published: &mut Map<String, Value>, definition: &Definition, version: &Version, kind: &str) {
    published.insert(
        "x-kubernetes-group-version-kind".to_owned(),
        json!([{"group": definition.group, "version": version.name, "kind": kind}]),
    );
    if !version.selectable_fields.is_empty() {
        let fields = version
            .selectable_fields
            .iter()
            .map(|path| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)}));
        published.insert("x-kubernetes-selectable-fields".to_owned(), fields.collect());
    }
}

fn properties(schema: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if !properties.is_object() {
        *properties = Value::Object(Map::new());
    }
    match properties {
        Value::Object(properties) => properties,
        _ => unreachable!("it was made an object"),
    }
}

fn put_type_meta(properties: &mut Map<String, Value>, api_version: &str, kind: &str) {
    for (name, description) in [("apiVersion", api_version), ("kind", kind)] {
        properties.insert(name.to_owned(), json!({"description": description, "type": "string"}));
    }
}

fn reference(dialect: Dialect, name: &str, description: &str) -> Value {
    let beside = Map::from_iter([("description".to_owned(), json!(description))]);
    dialect.described_reference(name, beside)
}

/// Embedded resources have type and metadata too.
fn embed(schema: &mut Map<String, Value>, dialect: Dialect) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            embed(property, dialect);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(Value::Object(below)) = schema.get_mut(keyword) {
            embed(below, dialect);
        }
    }
    let has = |extension: &str| schema.get(extension).is_some_and(|value| *value == true);
    // Said in version 2, they would make a client refuse all other fields.
    if dialect == Dialect::V2 && has("x-kubernetes-preserve-unknown-fields") {
        return;
    }
    if !has("x-kubernetes-embedded-resource") {
        return;
    }
    let properties = properties(schema);
    put_type_meta(properties, EMBEDDED_API_VERSION, EMBEDDED_KIND);
    properties.insert("metadata".to_owned(), reference(dialect, OBJECT_META, METADATA));
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|present| present == name) {
                required.push(json!(name));
            }
        }
    }
}
