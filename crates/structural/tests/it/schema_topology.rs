//! Who owns what in a custom resource (S6): the type that server-side apply sees.

use kubewright_merge::{ConversionError, FieldManager, ListKind, ScalarKind, Shape, Topology, Versions, apply};
use kubewright_structural::{Schema, schema::ResourceTopology};
use serde_json::{Value, json};

fn schema() -> Schema {
    Schema::compile(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "name": {"type": "string"},
            "when": {"type": "string", "format": "date-time"},
            "bytes": {"type": "string", "format": "byte"},
            "size": {"x-kubernetes-int-or-string": true},
            "count": {"type": "integer"},
            "args": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items":
                {"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
        }}}}),
        false,
    )
}

fn at<'s>(schema: &'s Schema, path: &str) -> ResourceTopology<'s> {
    path.split('.').fold(schema.topology(), |topology, step| {
        topology
            .field(step)
            .or_else(|| topology.element())
            .unwrap_or_else(|| panic!("{path}"))
    })
}

#[test]
fn nodes_have_the_shapes_of_their_markers() {
    let schema = schema();
    for (path, shape) in [
        ("spec", Shape::Struct { atomic: false }),
        ("metadata.labels", Shape::Map { atomic: false }),
        ("metadata.finalizers", Shape::List(ListKind::Set)),
        ("spec.args", Shape::List(ListKind::Atomic)),
        ("spec.tags", Shape::List(ListKind::Set)),
        ("spec.ports", Shape::List(ListKind::Map)),
        ("spec.labels", Shape::Map { atomic: false }),
        ("spec.selector", Shape::Map { atomic: true }),
        ("spec.size", Shape::Untyped),
        ("spec.any", Shape::Untyped),
        ("spec.free.unknown", Shape::Untyped),
        ("spec.free.known.unknown", Shape::Untyped),
        ("spec.template.metadata.labels", Shape::Map { atomic: false }),
        ("spec.template.kind", Shape::Scalar),
        ("spec.template.spec", Shape::Map { atomic: false }),
    ] {
        assert_eq!(at(&schema, path).shape(), shape, "{path}");
    }
    assert!(schema.topology().field("status").is_none() && schema.topology().element().is_none());
}

#[test]
fn scalars_are_told_apart_as_far_as_apply_does() {
    let schema = schema();
    for (path, kind) in [
        ("apiVersion", ScalarKind::String),
        ("spec.name", ScalarKind::String),
        ("spec.bytes", ScalarKind::String),
        ("spec.when", ScalarKind::Any),
        ("spec.count", ScalarKind::Number),
    ] {
        assert_eq!(at(&schema, path).scalar(), kind, "{path}");
    }
}

#[test]
fn keys_of_lists_have_their_defaults() {
    let schema = schema();
    let ports = at(&schema, "spec.ports");
    assert_eq!(ports.keys(), [Box::from("port"), Box::from("protocol")]);
    let protocol = ports.element().and_then(|port| port.field("protocol"));
    assert_eq!(protocol.and_then(Topology::default), Some(&json!("TCP")));
}

struct Only<'s>(&'s Schema);

impl<'s> Versions<'s> for Only<'s> {
    type Topology = ResourceTopology<'s>;

    fn topology(&self, _: &str) -> Option<ResourceTopology<'s>> {
        Some(self.0.topology())
    }

    fn convert(&self, object: &Value, _: &str) -> Result<Value, ConversionError> {
        Ok(object.clone())
    }

    fn zero(&self, api_version: &str) -> Value {
        json!({"apiVersion": api_version, "kind": "Thing"})
    }
}

fn applied(spec: &Value) -> Result<Value, String> {
    let schema = schema();
    let manager = FieldManager {
        name: "me",
        api_version: "example.com/v1",
        kind: "Thing",
        subresource: "",
        time: "2026-01-01T00:00:00Z",
    };
    let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec});
    apply(&Only(&schema), &manager, None, &object, false).map_err(|error| error.to_string())
}

#[test]
fn an_undeclared_field_is_refused_with_the_words_of_the_real_server() {
    let refused = applied(&json!({"foo": 1})).unwrap_err();
    assert_eq!(
        refused,
        "failed to create typed patch object (/x; example.com/v1, Kind=Thing): .spec.foo: field not declared in schema"
    );
}

#[test]
fn what_was_applied_is_owned_as_the_schema_divides_it() {
    let object = applied(&json!({
        "ports": [{"port": 1}], "tags": ["a"], "args": ["b"], "selector": {"a": "b"}, "labels": {"c": "d"},
        "free": {"x": {"y": 1}}, "size": "5%",
        "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"e": "f"}}},
    }))
    .unwrap();
    assert_eq!(
        object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {
            "f:args": {}, "f:selector": {}, "f:size": {},
            "f:free": {"f:x": {".": {}, "f:y": {}}},
            "f:labels": {"f:c": {}},
            "f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            "f:tags": {"v:\"a\"": {}},
            "f:template": {"f:apiVersion": {}, "f:kind": {}, "f:metadata": {"f:labels": {"f:e": {}}}},
        }})
    );
}
