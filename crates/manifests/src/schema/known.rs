//! Facts about Kubernetes' own types that their Rust types lack: how lists and maps merge, defaults, and the validation markers of
//! Go's types. With them, a definition that holds a Pod template merges containers by name.

use kubewright_merge::{ListKind, Shape, Topology as _};
use kubewright_schema::{FieldRef, Omit, Types};
use serde_json::{Map, Value, json};

use super::rewrite::SchemaOptions;

/// The pattern of a resource quantity.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// The pattern of a label key: an optional domain and a name.
const QUALIFIED_NAME: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// The schema that replaces that of a type.
pub(super) fn replacement(name: &str, options: &SchemaOptions) -> Option<Map<String, Value>> {
    let schema = match name {
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" if !options.embedded_metadata => json!({ "type": "object" }),
        // The API server sets all other metadata; templates have no use for it.
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" => {
            let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
            json!({ "type": "object", "properties": {
                "annotations": texts,
                "finalizers": { "type": "array", "items": { "type": "string" } },
                "labels": texts,
                "name": { "type": "string" },
                "namespace": { "type": "string" },
            } })
        }
        "io.k8s.apimachinery.pkg.runtime.RawExtension" | "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1" => {
            json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
        }
        // Their descriptions are about Go.
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time" | "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime" => {
            json!({ "type": "string", "format": "date-time" })
        }
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => int_or_string().into(),
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => {
            let mut quantity = int_or_string();
            quantity.insert("pattern".into(), QUANTITY.into());
            quantity.into()
        }
        _ => return None,
    };
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// An integer or a string.
pub(super) fn int_or_string() -> Map<String, Value> {
    Map::from_iter([
        ("anyOf".to_owned(), json!([{ "type": "integer" }, { "type": "string" }])),
        ("x-kubernetes-int-or-string".to_owned(), true.into()),
    ])
}

/// Adds the facts about a type to its schema.
pub(super) fn refine(name: &str, schema: &mut Map<String, Value>) {
    if !name.starts_with("io.k8s.") {
        return;
    }
    if name == "io.k8s.apimachinery.pkg.apis.meta.v1.Condition" {
        refine_condition(schema);
    }
    let Some(ty) = Types::builtin().named(name) else {
        return;
    };
    if matches!(ty.shape(), Shape::Struct { atomic: true } | Shape::Map { atomic: true }) {
        set_if_absent(schema, "x-kubernetes-map-type", "atomic");
    }
    let fields: Vec<FieldRef<'_>> = ty.fields().collect();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for field in &fields {
            if let Some(Value::Object(property)) = properties.get_mut(field.name()) {
                refine_field(*field, property);
            }
        }
    }
    // The Rust types require some fields that have defaults in the API server.
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        let is_optional = |name: &Value| fields.iter().any(|field| name == field.name() && !field.is_required());
        required.retain(|name| !is_optional(name));
        if required.is_empty() {
            schema.remove("required");
        }
    }
}

fn refine_field(field: FieldRef<'_>, property: &mut Map<String, Value>) {
    let ty = field.type_ref();
    match ty.shape() {
        Shape::List(ListKind::Map) => {
            set_if_absent(property, "x-kubernetes-list-type", "map");
            let keys: Vec<&str> = ty.keys().iter().map(AsRef::as_ref).collect();
            set_if_absent(property, "x-kubernetes-list-map-keys", keys);
        }
        Shape::List(ListKind::Set) => set_if_absent(property, "x-kubernetes-list-type", "set"),
        Shape::List(ListKind::Atomic) => set_if_absent(property, "x-kubernetes-list-type", "atomic"),
        Shape::Struct { atomic: true } | Shape::Map { atomic: true } => {
            set_if_absent(property, "x-kubernetes-map-type", "atomic");
        }
        _ => {}
    }
    // The zero value of a field that Go always writes is not a default; that of a pointer is.
    let is_default = !field.is_required() && (field.omit() != Omit::Never || ty.is_pointer());
    if let Some(default) = ty.default().filter(|_| is_default) {
        set_if_absent(property, "default", default.clone());
    }
}

fn set_if_absent(schema: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    schema.entry(key).or_insert_with(|| value.into());
}

/// The validation of `meta/v1` conditions.
fn refine_condition(schema: &mut Map<String, Value>) {
    let demands = [
        ("type", json!({ "maxLength": 316, "pattern": QUALIFIED_NAME })),
        ("status", json!({ "enum": ["True", "False", "Unknown"] })),
        ("observedGeneration", json!({ "minimum": 0 })),
        (
            "reason",
            json!({ "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
        ),
        ("message", json!({ "maxLength": 32768 })),
    ];
    for (field, demand) in demands {
        let property = schema
            .get_mut("properties")
            .and_then(|properties| properties.get_mut(field));
        if let (Some(Value::Object(property)), Value::Object(demand)) = (property, demand) {
            property.extend(demand);
        }
    }
}
