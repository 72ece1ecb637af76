//! Whatever a type's schema looks like, there is a structural schema for it that a server accepts, or problems that say where.
#![allow(missing_docs)]

use kubewright_apimachinery::field::Errors;
use kubewright_manifests::samples::sample;
use kubewright_manifests::schema::structural;
use kubewright_structural::Schema;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// Schemas as `schemars` writes them for fields.
fn field_schema() -> impl Strategy<Value = Value> {
    let formats = [
        "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64", "uint128", "uint",
    ];
    let describable = prop_oneof![
        select(formats.to_vec()).prop_map(|format| json!({ "type": "integer", "format": format })),
        select(formats.to_vec()).prop_map(|format| json!({ "type": ["integer", "null"], "format": format })),
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "string", "minLength": 1, "maxLength": 1 })),
        Just(json!({ "type": ["string", "null"], "default": null })),
        Just(json!({ "type": "boolean", "default": false, "description": "A switch." })),
        Just(json!({ "type": "number", "format": "double", "exclusiveMinimum": 0.5 })),
        Just(json!({ "type": "integer", "format": "int32", "not": { "const": 0 } })),
        Just(json!(true)),
        Just(json!({})),
        Just(json!({ "$ref": "#/$defs/Name" })),
        Just(json!({ "$ref": "#/$defs/Name", "description": "Of the field." })),
        Just(json!({ "anyOf": [{ "$ref": "#/$defs/Pair" }, { "type": "null" }] })),
        Just(json!({ "$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.Condition" })),
        Just(json!({ "type": "string", "enum": ["A", "B"] })),
        Just(
            json!({ "oneOf": [{ "type": "string", "const": "A", "description": "a" }, { "type": "string", "enum": ["B"] }] })
        ),
        Just(json!({ "anyOf": [{ "type": "integer", "format": "uint16" }, { "type": "string" }] })),
        Just(
            json!({ "type": "object", "patternProperties": { "^\\d+$": { "type": "boolean" } }, "additionalProperties": false })
        ),
    ];
    let indescribable = select(vec![
        json!({ "type": "null" }),
        json!({ "$ref": "#/$defs/Loop" }),
        json!({ "anyOf": [{ "type": "boolean" }, { "type": "string" }] }),
        json!({ "type": "array", "prefixItems": [{ "type": "string" }] }),
    ]);
    let leaf = prop_oneof![60 => describable, 1 => indescribable];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let named = (subsequence(vec!["a", "b", "c"], 2..=3), prop::collection::vec(inner.clone(), 3))
            .prop_map(|(names, contents)| names.into_iter().zip(contents).collect::<Vec<(&str, Value)>>());
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            inner.clone().prop_map(|items| json!({ "type": "array", "uniqueItems": true, "items": items })),
            inner.clone().prop_map(|values| json!({ "type": "object", "additionalProperties": values })),
            inner.clone().prop_map(|schema| json!({ "anyOf": [schema, { "type": "null" }] })),
            inner.clone().prop_map(|schema| json!({ "allOf": [schema], "description": "Through a part." })),
            structure(inner.clone()),
            // An externally tagged enum, and one that is flattened into a struct.
            named.clone().prop_map(|variants| json!({ "oneOf": external(variants) })),
            (structure(inner.clone()), named.clone()).prop_map(|(mut outer, variants)| {
                outer["oneOf"] = external(variants);
                outer
            }),
            (structure(inner.clone()), named).prop_map(|(mut outer, variants)| {
                outer["allOf"] = json!([{ "oneOf": external(variants.clone()) }, { "anyOf": [{ "oneOf": external(variants) }, {}] }]);
                outer
            }),
            // Internally and adjacently tagged ones.
            prop::collection::vec(structure(inner.clone()), 2..4).prop_map(|variants| {
                let tagged = variants.into_iter().enumerate().map(|(at, mut variant)| {
                    variant["properties"]["type"] = json!({ "type": "string", "const": format!("V{at}") });
                    variant["required"] = json!(["type"]);
                    variant
                });
                json!({ "oneOf": tagged.collect::<Vec<Value>>() })
            }),
            prop::collection::vec(inner, 2..4).prop_map(|contents| {
                let tagged = contents.into_iter().enumerate().map(|(at, content)| {
                    json!({
                        "type": "object",
                        "properties": { "t": { "type": "string", "const": format!("V{at}") }, "c": content },
                        "required": ["t", "c"],
                    })
                });
                json!({ "oneOf": tagged.collect::<Vec<Value>>() })
            }),
        ]
    })
}

fn structure(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let names = ["x", "y", "z"];
    let fields = prop::collection::vec(inner, names.len());
    (fields, subsequence(names.to_vec(), 0..=3), any::<bool>(), any::<bool>()).prop_map(
        move |(fields, required, open, closed)| {
            let properties: Map<String, Value> = names.iter().map(|name| (*name).to_owned()).zip(fields).collect();
            let mut schema = json!({ "type": "object", "properties": properties, "required": required });
            if open {
                schema["additionalProperties"] = json!({});
            } else if closed {
                schema["additionalProperties"] = false.into();
            }
            schema
        },
    )
}

fn external(variants: Vec<(&str, Value)>) -> Value {
    let variants = variants.into_iter().map(|(name, content)| {
        json!({ "type": "object", "properties": { name: content }, "required": [name], "additionalProperties": false })
    });
    variants.collect()
}

fn with_definitions(field: &Value) -> Value {
    json!({
        "type": "object",
        "title": "Spec",
        "properties": { "field": field },
        "$defs": {
            "Name": { "type": "string", "pattern": "^[a-z]+$", "description": "Of the type." },
            "Pair": { "type": "object", "properties": { "one": { "$ref": "#/$defs/Name" } }, "required": ["one"] },
            "Loop": { "type": "array", "items": { "$ref": "#/$defs/Loop" } },
            "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": {
                "type": "object", "properties": { "type": { "type": "string" } }, "required": ["type"],
            },
        },
    })
}

/// A definition whose `spec` has this schema.
pub(crate) fn definition_of(spec: &Value) -> Value {
    json!({
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
    })
}

fn faults(spec: &Value) -> Vec<String> {
    let mut definition = definition_of(spec);
    kubewright_structural::crd::default(&mut definition);
    kubewright_structural::crd::validate_create(&definition)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Any JSON at all, with words that mean something in schemas.
fn any_json() -> impl Strategy<Value = Value> {
    let words = vec![
        "type",
        "object",
        "array",
        "properties",
        "items",
        "oneOf",
        "anyOf",
        "allOf",
        "not",
        "$ref",
        "#",
        "#/$defs/A",
        "$defs",
        "enum",
        "const",
        "required",
        "default",
        "null",
        "nullable",
        "additionalProperties",
        "patternProperties",
        "format",
        "uint8",
        "minimum",
        "exclusiveMinimum",
        "x-kubernetes-validations",
        "rule",
        "examples",
        "x-kubewright-source",
        "uniqueItems",
        "description",
        "prefixItems",
        "A",
    ];
    let word = select(words);
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(6, 64, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_schema_is_accepted_or_its_problems_are_located(field in field_schema()) {
        match structural(&with_definitions(&field), "spec") {
            Ok(spec) => prop_assert_eq!(faults(&spec), Vec::<String>::new(), "{:#}", spec),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert!(problem.location.field.as_ref().is_some_and(|field| field.starts_with("spec")), "{}", problem);
                    prop_assert!(!problem.message.is_empty() && !problem.hint.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_sample_keeps_to_its_schema(field in field_schema()) {
        if let Ok(mut spec) = structural(&with_definitions(&field), "spec") {
            spec["required"] = json!(["field"]);
            let definition = definition_of(&spec);
            let mut object = sample(&definition, "v1").unwrap();
            let schema = Schema::compile(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], false);
            schema.default(&mut object);
            let mut errors = Errors::default();
            schema.validate(&object, None, &mut errors);
            prop_assert!(errors.is_empty(), "{:?}\n{:#}\n{:#}", errors, object, spec);
        }
    }

    #[test]
    fn nothing_panics(schema in any_json()) {
        let _ = structural(&schema, "spec");
    }
}
