//! What the shapes of Rust types become. Each row of what today's generators get wrong comes out right, and everything that
//! comes out is accepted by the rules of the API server.
#![allow(missing_docs, dead_code, clippy::items_after_statements, clippy::struct_field_names)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright_manifests::schema::{Mistake, structural};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The structural schema of a field of type `T`, as the API server accepts it.
fn shape<T: JsonSchema>() -> Value {
    #[derive(JsonSchema)]
    #[schemars(rename = "Spec")]
    struct Holder<T> {
        field: T,
    }
    let whole = structural(schema_for!(Holder<T>).as_value(), "spec").unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    accepted(&whole);
    whole["properties"]["field"].clone()
}

fn mistakes<T: JsonSchema>() -> Vec<Mistake> {
    structural(schema_for!(T).as_value(), "spec").unwrap_err()
}

/// Lets the API server's own rules judge the schema.
fn accepted(spec: &Value) {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com",
            "names": { "plural": "things", "kind": "Thing" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec },
            } } }],
        },
    });
    kubewright_structural::crd::default(&mut definition);
    let errors = kubewright_structural::crd::validate_create(&definition);
    assert!(errors.is_empty(), "{errors:#?}\n{spec:#}");
}

#[test]
fn unsigned_and_narrow_integers_have_known_formats_and_bounds() {
    assert_eq!(
        shape::<u8>(),
        json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 255 })
    );
    assert_eq!(
        shape::<i16>(),
        json!({ "type": "integer", "format": "int32", "minimum": -32768, "maximum": 32767 })
    );
    assert_eq!(
        shape::<u32>(),
        json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32 })
    );
    assert_eq!(
        shape::<u64>(),
        json!({ "type": "integer", "format": "int64", "minimum": 0 })
    );
    assert_eq!(shape::<i64>(), json!({ "type": "integer", "format": "int64" }));
}

#[test]
fn an_option_may_be_left_out_and_is_not_nullable() {
    #[derive(JsonSchema)]
    struct Spec {
        name: Option<String>,
        inner: Option<Inner>,
    }
    #[derive(JsonSchema)]
    struct Inner {
        port: i32,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(
        spec,
        json!({ "type": "object", "properties": {
            "name": { "type": "string" },
            "inner": { "type": "object", "properties": { "port": { "type": "integer", "format": "int32" } }, "required": ["port"] },
        } })
    );
}

#[test]
fn values_of_an_enum_are_one_list_and_tell_what_they_are_for() {
    #[derive(JsonSchema, Serialize)]
    enum Policy {
        /// Keep everything.
        Retain,
        Delete,
    }
    let policy = shape::<Policy>();
    assert_eq!(policy["type"], "string");
    let mut values: Vec<&str> = policy["enum"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    values.sort_unstable();
    assert_eq!(values, ["Delete", "Retain"]);
    assert_eq!(policy["description"], "- `Retain`: Keep everything.");
}

#[test]
fn an_externally_tagged_enum_has_one_of_its_fields() {
    #[derive(JsonSchema, Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Source {
        Git { url: String },
        Image(String),
    }
    assert_eq!(
        shape::<Source>(),
        json!({
            "type": "object",
            "properties": {
                "git": { "type": "object", "properties": { "url": { "type": "string" } }, "required": ["url"] },
                "image": { "type": "string" },
            },
            "oneOf": [{ "required": ["git"] }, { "required": ["image"] }],
        })
    );
}

#[test]
fn an_internally_tagged_enum_keeps_its_tag_in_one_field() {
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "type")]
    enum Probe {
        Never,
        Http { port: u16, path: String },
        Tcp { port: u16 },
    }
    let port = json!({ "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 });
    assert_eq!(
        shape::<Probe>(),
        json!({
            "type": "object",
            "properties": {
                "type": { "type": "string", "enum": ["Never", "Http", "Tcp"] },
                "port": port,
                "path": { "type": "string" },
            },
            "required": ["type"],
            "oneOf": [
                { "properties": { "type": { "enum": ["Never"] } }, "required": ["type"] },
                { "properties": { "type": { "enum": ["Http"] } }, "required": ["type", "port", "path"] },
                { "properties": { "type": { "enum": ["Tcp"] } }, "required": ["type", "port"] },
            ],
        })
    );
}

#[test]
fn an_adjacently_tagged_enum_keeps_the_contents_of_its_variants_in_one_field() {
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "kind", content = "with")]
    enum Step {
        Wait { seconds: i32 },
        Say { words: String },
    }
    assert_eq!(
        shape::<Step>(),
        json!({
            "type": "object",
            "properties": {
                "kind": { "type": "string", "enum": ["Wait", "Say"] },
                "with": { "type": "object", "properties": {
                    "seconds": { "type": "integer", "format": "int32" },
                    "words": { "type": "string" },
                } },
            },
            "required": ["kind", "with"],
            "oneOf": [
                { "properties": { "kind": { "enum": ["Wait"] } }, "required": ["kind", "with"] },
                { "properties": { "kind": { "enum": ["Say"] } }, "required": ["kind", "with"] },
            ],
        })
    );
}

#[test]
fn variants_with_and_without_data_are_a_text_or_an_object() {
    #[derive(JsonSchema, Serialize)]
    enum Size {
        Default,
        Fixed { gib: i32 },
    }
    assert_eq!(
        shape::<Size>(),
        json!({
            "x-kubernetes-preserve-unknown-fields": true,
            "oneOf": [{ "enum": ["Default"] }, { "required": ["Fixed"] }],
        })
    );
}

#[test]
fn an_untagged_number_or_text_is_an_int_or_string() {
    #[derive(JsonSchema, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Port {
        Number(i32),
        Name(String),
    }
    assert_eq!(shape::<Port>(), json!({ "x-kubernetes-int-or-string": true }));
    assert_eq!(shape::<IntOrString>()["x-kubernetes-int-or-string"], true);
    assert_eq!(shape::<Quantity>()["x-kubernetes-int-or-string"], true);
}

#[test]
fn untagged_structs_share_their_fields() {
    #[derive(JsonSchema, Serialize)]
    #[serde(untagged)]
    enum Target {
        Name { name: String },
        Labels { labels: BTreeMap<String, String> },
    }
    assert_eq!(
        shape::<Target>(),
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "anyOf": [{ "required": ["name"] }, { "required": ["labels"] }],
        })
    );
}

#[test]
fn maps_keep_the_schema_of_their_values_whatever_their_keys() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "boolean" } });
    assert_eq!(shape::<BTreeMap<String, bool>>(), map);
    assert_eq!(shape::<BTreeMap<i32, bool>>(), map);
}

#[test]
fn what_may_be_anything_is_kept_as_it_is() {
    assert_eq!(
        shape::<Value>(),
        json!({ "x-kubernetes-preserve-unknown-fields": true })
    );
    #[derive(JsonSchema)]
    struct Open {
        known: bool,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    assert_eq!(
        shape::<Open>(),
        json!({
            "type": "object",
            "properties": { "known": { "type": "boolean" } },
            "required": ["known"],
            "x-kubernetes-preserve-unknown-fields": true,
        })
    );
}

#[test]
fn bounds_patterns_and_rules_stay() {
    #[derive(JsonSchema)]
    struct Spec {
        #[schemars(length(min = 1, max = 3), regex(pattern = "^a"))]
        #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self != 'ab'" }]))]
        name: String,
        #[schemars(range(min = 1, max = 5))]
        replicas: i32,
        #[schemars(extend("x-kubernetes-list-type" = "set"))]
        tags: Vec<String>,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(
        spec["properties"],
        json!({
            "name": {
                "type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a",
                "x-kubernetes-validations": [{ "rule": "self != 'ab'" }],
            },
            "replicas": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 5 },
            "tags": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        })
    );
}

#[test]
fn the_description_of_a_field_beats_that_of_its_type() {
    /// Of the type.
    #[derive(JsonSchema)]
    struct Inner {
        port: i32,
    }
    #[derive(JsonSchema)]
    struct Spec {
        /// Of the field.
        told: Inner,
        untold: Inner,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    assert_eq!(spec["properties"]["told"]["description"], "Of the field.");
    assert_eq!(spec["properties"]["untold"]["description"], "Of the type.");
}

#[test]
fn a_type_that_contains_itself_is_refused_where_it_does() {
    #[derive(JsonSchema)]
    struct Spec {
        tree: Tree,
    }
    #[derive(JsonSchema)]
    struct Tree {
        branches: Vec<Tree>,
    }
    let mistakes = mistakes::<Spec>();
    assert_eq!(mistakes.len(), 1);
    assert_eq!(mistakes[0].field, "spec.tree.branches[]");
    assert_eq!(mistakes[0].ty.as_deref(), Some("Tree"));
    assert!(mistakes[0].to_string().contains("contains itself"), "{}", mistakes[0]);

    #[derive(JsonSchema)]
    struct Own {
        next: Option<Box<Own>>,
    }
    assert_eq!(self::mistakes::<Own>()[0].field, "spec.next");
}

#[test]
fn every_mistake_is_told_at_once() {
    #[derive(JsonSchema)]
    struct Spec {
        pair: (i32, String),
        nothing: (),
        mixed: Mixed,
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(untagged)]
    enum Mixed {
        Yes(bool),
        Text(String),
    }
    let fields: Vec<String> = mistakes::<Spec>().into_iter().map(|mistake| mistake.field).collect();
    assert_eq!(fields, ["spec.mixed", "spec.nothing", "spec.pair"]);
}

#[test]
fn variants_that_disagree_about_a_field_are_refused() {
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "type")]
    enum Limit {
        Count { value: i32 },
        Text { value: String },
    }
    #[derive(JsonSchema)]
    struct Spec {
        limit: Limit,
    }
    let mistakes = mistakes::<Spec>();
    assert_eq!(
        mistakes[0].to_string(),
        "spec.limit (type Limit): its variants disagree about the type of the field \"value\"; rename the field in one of \
         the variants"
    );
}
