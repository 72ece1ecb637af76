//! What the shapes of Rust types become. Each row of what today's generators get wrong comes out right, and everything that
//! comes out is accepted by the rules of the API server.
#![allow(missing_docs, dead_code, clippy::items_after_statements, clippy::struct_field_names)]

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kubewright_manifests::Problem;
use kubewright_manifests::schema::structural;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::any_schema::definition_of;

/// The structural schema of a field of type `T`, as the API server accepts it.
fn shape<T: JsonSchema>() -> Value {
    #[derive(JsonSchema)]
    #[schemars(rename = "Spec")]
    struct Holder<T> {
        field: T,
    }
    let whole = structural(schema_for!(Holder<T>).as_value(), "spec").unwrap_or_else(|problems| panic!("{problems:?}"));
    accepted(&whole);
    whole["properties"]["field"].clone()
}

fn problems<T: JsonSchema>() -> Vec<Problem> {
    structural(schema_for!(T).as_value(), "spec").unwrap_err()
}

/// Lets the API server's own rules judge the schema.
fn accepted(spec: &Value) {
    let mut definition = definition_of(spec);
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
            "oneOf": [{ "enum": ["Default"] }, { "required": ["Fixed"], "minLength": 1, "maxLength": 0 }],
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
    assert_eq!(
        shape::<Port>(),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }], "x-kubernetes-int-or-string": true })
    );
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
fn an_option_in_a_list_or_a_map_may_be_null() {
    assert_eq!(
        shape::<Vec<Option<String>>>(),
        json!({ "type": "array", "items": { "type": "string", "nullable": true } })
    );
    assert_eq!(
        shape::<BTreeMap<String, Option<bool>>>(),
        json!({ "type": "object", "additionalProperties": { "type": "boolean", "nullable": true } })
    );
    // An enumeration would refuse null even if it listed it.
    #[derive(JsonSchema, Serialize)]
    enum Mark {
        #[serde(rename = "a.b")]
        Dot,
        #[serde(rename = "c")]
        Letter,
    }
    assert_eq!(
        shape::<Vec<Option<Mark>>>()["items"],
        json!({ "type": "string", "nullable": true, "pattern": "^(a\\.b|c)$" })
    );
}

#[test]
fn a_set_of_plain_values_is_a_set_and_one_of_objects_a_list() {
    #[derive(JsonSchema)]
    struct Part {
        name: String,
    }
    assert_eq!(
        shape::<BTreeSet<i32>>(),
        json!({ "type": "array", "items": { "type": "integer", "format": "int32" }, "x-kubernetes-list-type": "set" })
    );
    assert_eq!(shape::<BTreeSet<Part>>().get("x-kubernetes-list-type"), None);
}

#[test]
fn the_rarer_types_of_the_standard_library_have_a_schema() {
    assert_eq!(
        shape::<char>(),
        json!({ "type": "string", "minLength": 1, "maxLength": 1 })
    );
    assert_eq!(
        shape::<u128>(),
        json!({ "type": "integer", "format": "int64", "minimum": 0 })
    );
    assert_eq!(shape::<i128>(), json!({ "type": "integer", "format": "int64" }));
    assert_eq!(
        shape::<std::num::NonZeroI32>(),
        json!({ "type": "integer", "format": "int32", "not": { "enum": [0] } })
    );
    assert_eq!(
        shape::<std::net::IpAddr>(),
        json!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] })
    );
    assert_eq!(shape::<[bool; 2]>()["minItems"], 2);
    assert_eq!(shape::<std::time::Duration>()["required"], json!(["secs", "nanos"]));
    assert_eq!(shape::<Box<std::sync::Arc<str>>>(), json!({ "type": "string" }));
    #[derive(JsonSchema)]
    struct Empty {}
    assert_eq!(shape::<Empty>(), json!({ "type": "object" }));
    #[derive(JsonSchema)]
    struct Metres(u8);
    assert_eq!(shape::<Metres>()["maximum"], 255);
}

#[test]
fn flattened_enums_share_the_fields_of_their_struct() {
    #[derive(JsonSchema, Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Source {
        Git { url: String },
        Image(String),
    }
    #[derive(JsonSchema, Serialize)]
    #[serde(tag = "mode")]
    enum Mode {
        Fast,
        Slow { seconds: i32 },
    }
    #[derive(JsonSchema, Serialize)]
    struct Both {
        name: String,
        #[serde(flatten)]
        source: Source,
        #[serde(flatten)]
        mode: Mode,
    }
    let choices = json!([
        { "oneOf": [{ "required": ["git"] }, { "required": ["image"] }] },
        { "oneOf": [
            { "properties": { "mode": { "enum": ["Fast"] } }, "required": ["mode"] },
            { "properties": { "mode": { "enum": ["Slow"] } }, "required": ["mode", "seconds"] },
        ] },
    ]);
    let both = shape::<Both>();
    let names: Vec<&String> = both["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["git", "image", "mode", "name", "seconds"]);
    assert_eq!(both["required"], json!(["name", "mode"]));
    // Both choices hold, wherever they stand.
    let mut found: Vec<Value> = both["allOf"].as_array().cloned().unwrap_or_default();
    if let Some(one) = both.get("oneOf") {
        found.insert(0, json!({ "oneOf": one }));
    }
    assert_eq!(Value::from(found), choices);

    #[derive(JsonSchema, Serialize)]
    struct Perhaps {
        #[serde(flatten)]
        source: Option<Source>,
    }
    let perhaps = shape::<Perhaps>();
    assert_eq!(perhaps["properties"]["image"], json!({ "type": "string" }));
    assert_eq!((perhaps.get("oneOf"), perhaps.get("required")), (None, None));
}

#[test]
fn rules_of_a_type_and_of_a_field_of_it_both_hold() {
    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.low <= self.high" }]))]
    struct Span {
        #[schemars(range(min = 0))]
        low: i32,
        high: i32,
    }
    #[derive(JsonSchema)]
    struct Spec {
        #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.high < 10" }]))]
        span: Span,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(
        spec["properties"]["span"]["x-kubernetes-validations"],
        json!([{ "rule": "self.low <= self.high" }, { "rule": "self.high < 10" }])
    );
}

#[test]
fn what_is_said_beside_a_type_adds_to_it() {
    #[derive(JsonSchema)]
    struct Names(#[schemars(length(max = 7))] Vec<String>);
    #[derive(JsonSchema)]
    struct Spec {
        #[schemars(extend("items" = { "minLength": 1 }, "minItems" = 2))]
        names: Names,
        #[schemars(extend("properties" = { "low": { "maximum": 5 } }))]
        span: Span,
    }
    #[derive(JsonSchema)]
    struct Span {
        /// The lower end.
        #[schemars(range(min = 0, max = 7))]
        low: i32,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(
        spec["properties"]["names"],
        json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 2, "maxItems": 7 })
    );
    assert_eq!(
        spec["properties"]["span"]["properties"]["low"],
        json!({ "type": "integer", "format": "int32", "description": "The lower end.", "minimum": 0, "maximum": 5 })
    );
}

#[test]
fn a_value_of_no_type_is_refused() {
    let schema =
        json!({ "type": "object", "properties": { "rules": { "type": "array", "items": { "pattern": "^a" } } } });
    let problems = structural(&schema, "spec").unwrap_err();
    assert_eq!(problems[0].location.field.as_deref(), Some("spec.rules[]"));
    assert!(problems[0].hint.contains("\"type\""), "{}", problems[0]);
}

#[test]
fn rules_of_a_variant_hold_only_for_it() {
    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-validations" = [{ "rule": "self.port > 1023" }]))]
    struct Tcp {
        port: i32,
    }
    #[derive(JsonSchema)]
    #[serde(tag = "type")]
    enum Probe {
        Never,
        Tcp(Tcp),
    }
    assert_eq!(
        shape::<Probe>()["x-kubernetes-validations"],
        json!([{ "rule": "self.type != 'Tcp' || (self.port > 1023)" }])
    );
}

#[test]
fn conditions_that_are_written_as_a_definition_has_them_stay() {
    #[derive(JsonSchema)]
    #[schemars(extend("oneOf" = [{ "required": ["a"] }, { "required": ["b"], "properties": { "b": { "const": 1 } } }]))]
    #[schemars(extend("not" = { "required": ["a"], "properties": { "a": { "exclusiveMinimum": 7 } } }))]
    struct Either {
        a: Option<i32>,
        b: Option<i32>,
    }
    let either = shape::<Either>();
    assert_eq!(
        either["oneOf"],
        json!([{ "required": ["a"] }, { "required": ["b"], "properties": { "b": { "enum": [1] } } }])
    );
    assert_eq!(
        either["not"],
        json!({ "required": ["a"], "properties": { "a": { "minimum": 7, "exclusiveMinimum": true } } })
    );
}

#[test]
fn defaults_hold_no_nulls() {
    #[derive(JsonSchema, Serialize, Default)]
    struct Inner {
        name: Option<String>,
        port: i32,
    }
    #[derive(JsonSchema, Serialize)]
    struct Spec {
        #[serde(default)]
        inner: Inner,
        #[serde(default)]
        missing: Option<Inner>,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(spec["properties"]["inner"]["default"], json!({ "port": 0 }));
    assert_eq!(spec["properties"]["missing"].get("default"), None);
}

#[test]
fn titles_and_examples_stay_and_notes_of_ours_do_not() {
    #[derive(JsonSchema)]
    struct Spec {
        #[schemars(title = "The port", example = 8080, extend("x-kubewright-source" = "src/spec.rs:3"))]
        #[schemars(extend("externalDocs" = { "url": "https://example.com" }))]
        port: i32,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    accepted(&spec);
    assert_eq!(
        spec["properties"]["port"],
        json!({
            "title": "The port", "type": "integer", "format": "int32", "example": 8080,
            "externalDocs": { "url": "https://example.com" },
        })
    );
    assert_eq!(spec.get("title"), None);
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
        /// Of the field that may be missing.
        perhaps: Option<Inner>,
        untold: Inner,
    }
    let spec = structural(schema_for!(Spec).as_value(), "spec").unwrap();
    assert_eq!(spec["properties"]["told"]["description"], "Of the field.");
    assert_eq!(
        spec["properties"]["perhaps"]["description"],
        "Of the field that may be missing."
    );
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
    let problems = problems::<Spec>();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].location.field.as_deref(), Some("spec.tree.branches[]"));
    assert_eq!(problems[0].location.field_ty.as_deref(), Some("Tree"));
    assert!(problems[0].to_string().contains("contains itself"), "{}", problems[0]);

    #[derive(JsonSchema)]
    struct Own {
        next: Option<Box<Own>>,
    }
    assert_eq!(self::problems::<Own>()[0].location.field.as_deref(), Some("spec.next"));
}

#[test]
fn every_problem_is_reported_at_once() {
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
    let fields: Vec<String> = problems::<Spec>()
        .into_iter()
        .filter_map(|problem| problem.location.field)
        .collect();
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
    let problems = problems::<Spec>();
    assert_eq!(
        problems[0].to_string(),
        "spec.limit (type Limit): its variants disagree about the type of the field \"value\"; rename the field in one of \
         the variants"
    );
}
