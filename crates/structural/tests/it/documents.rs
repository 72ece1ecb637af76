//! The documents of custom resources are the real server's: the goldens are what kube-apiserver 1.36 published for four
//! definitions that use every construct, without the docs of its own types and parameters (C15, O1–O3).

use std::sync::LazyLock;

use kubewright_schema::openapi::{NoTypeDocs, schema_name, swagger};
use kubewright_structural::{crd::Definition, discovery, openapi};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn golden() -> Value {
    serde_json::from_str(include_str!("../goldens/custom-documents.json")).unwrap()
}

fn definitions(golden: &Value) -> Vec<Definition> {
    let objects = golden["definitions"].as_array().unwrap();
    objects.iter().filter_map(Definition::of).collect()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn assert_same_members(ours: &Value, real: &Value, place: &str) {
    for (name, real) in object(real) {
        assert_eq!(&ours[name], real, "{name} in {place}");
    }
}

#[test]
fn the_document_of_a_group_version_is_the_real_one() {
    let golden = golden();
    let definitions = definitions(&golden);
    let names: Vec<&String> = object(&golden["v3"]).keys().collect();
    assert_eq!(openapi::names(&definitions).iter().collect::<Vec<_>>(), names);
    for (name, real) in object(&golden["v3"]) {
        let (group, version) = name["apis/".len()..].split_once('/').unwrap();
        let ours = openapi::v3(group, version, &definitions, &NoTypeDocs).unwrap();
        assert_same_members(&ours["components"]["schemas"], &real["components"]["schemas"], name);
        assert_same_members(&ours["paths"], &real["paths"], name);
        assert_eq!(object(&ours["paths"]).len(), object(&real["paths"]).len(), "{name}");
        let schemas: Vec<&String> = object(&ours["components"]["schemas"]).keys().collect();
        let real_schemas: Vec<&str> = real["names"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(schemas, real_schemas, "{name}");
        assert_eq!(ours["info"], real["info"]);
        assert_eq!(object(&ours["components"]).len(), 1);
    }
    assert!(openapi::v3("openapi.example.com", "v1alpha1", &definitions, &NoTypeDocs).is_none());
    assert!(openapi::v3("apps", "v1", &definitions, &NoTypeDocs).is_none());
}

/// Replaces references to shared parameters by what they refer to: their names depend on docs.
fn resolve(part: &mut Value, parameters: &Value) {
    match part {
        Value::Object(map) => {
            let shared = map.get("$ref").and_then(Value::as_str);
            if let Some(name) = shared.and_then(|target| target.strip_prefix("#/parameters/")) {
                *part = parameters[name].clone();
                return;
            }
            map.values_mut().for_each(|value| resolve(value, parameters));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, parameters)),
        _ => {}
    }
}

#[test]
fn the_part_of_version_2_is_the_real_one() {
    let golden = golden();
    let before = swagger(&NoTypeDocs);
    let mut ours = before.clone();
    openapi::add_to_v2(&mut ours, &definitions(&golden), &NoTypeDocs);
    for part in ["definitions", "paths"] {
        let added = object(&ours[part]).len() - object(&before[part]).len();
        assert_eq!(added, object(&golden["v2"][part]).len(), "{part}");
        assert_same_members(&ours[part], &before[part], part);
    }
    let parameters = ours["parameters"].clone();
    resolve(&mut ours["paths"], &parameters);
    for part in ["definitions", "paths"] {
        assert_same_members(&ours[part], &golden["v2"][part], part);
    }
}

#[test]
fn discovery_lists_what_the_real_server_lists() {
    let golden = golden();
    let definitions = definitions(&golden);
    let groups: Vec<&String> = object(&golden["groups"]).keys().collect();
    assert_eq!(discovery::groups(&definitions), groups);
    for (name, real) in object(&golden["groups"]) {
        assert_eq!(&discovery::group(name, &definitions).unwrap(), real);
    }
    for (name, real) in object(&golden["resources"]) {
        let (group, version) = name.split_once('/').unwrap();
        assert_eq!(
            Value::Array(discovery::resources(group, version, &definitions)),
            *real,
            "{name}"
        );
    }
    for (name, real) in object(&golden["aggregated"]) {
        assert_eq!(&discovery::aggregated(name, &definitions).unwrap(), real);
    }
    assert!(discovery::group("nowhere.example.com", &definitions).is_none());
    assert!(discovery::aggregated("nowhere.example.com", &definitions).is_none());
    assert!(discovery::resources("openapi.example.com", "v1alpha1", &definitions).is_empty());
}

#[test]
fn a_definition_that_is_not_established_is_not_published() {
    let mut definitions = definitions(&golden());
    for definition in &mut definitions {
        definition.established = false;
    }
    assert!(openapi::names(&definitions).is_empty());
    assert!(discovery::groups(&definitions).is_empty());
    let mut ours = swagger(&NoTypeDocs);
    openapi::add_to_v2(&mut ours, &definitions, &NoTypeDocs);
    assert_eq!(ours, swagger(&NoTypeDocs));
    assert_eq!(discovery::api_service_names(&definitions).len(), 5);
}

#[test]
fn a_definition_that_is_being_deleted_takes_no_new_objects() {
    let mut definitions = definitions(&golden());
    for definition in &mut definitions {
        definition.terminating = true;
    }
    let resources = discovery::resources("fruits.openapi.k8s.io", "v1", &definitions);
    assert_eq!(resources[0]["verbs"], serde_json::json!(discovery::TERMINATING_VERBS));
}

#[test]
fn every_served_version_has_an_api_service() {
    let names = discovery::api_service_names(&definitions(&golden()));
    let expected = [
        "v1.fruits.openapi.k8s.io",
        "v1.openapi.example.com",
        "v1beta1.openapi.example.com",
        "v1foo.sub.openapi.example.com",
        "v2beta3.openapi.example.com",
    ];
    assert_eq!(names, expected);
    let service = discovery::api_service("openapi.example.com", "v1", "2026-01-02T03:04:05Z");
    assert_eq!(service["metadata"]["name"], "v1.openapi.example.com");
    assert_eq!(service["spec"]["groupPriorityMinimum"], 1000);
    assert_eq!(
        service["status"]["conditions"][0]["lastTransitionTime"],
        "2026-01-02T03:04:05Z"
    );
}

/// Any JSON where a schema is expected, made of the words that schemas are made of.
fn any_schema() -> impl Strategy<Value = Value> {
    let keyword = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "nullable",
        "default",
        "anyOf",
        "allOf",
        "not",
        "enum",
        "maximum",
        "externalDocs",
        "example",
        "$ref",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
        "x-kubernetes-list-map-keys",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["", "object", "array", "string", "kind", "\u{1F600}"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keyword.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_schema_is_published_and_its_kind_is_known(schema in any_schema()) {
        static DEFINITION: LazyLock<Definition> = LazyLock::new(|| definitions(&golden()).remove(0));
        let mut definition = DEFINITION.clone();
        let (group, kind) = (definition.group.clone(), definition.requested_kind.clone());
        let version = &mut definition.versions[0];
        version.schema = Some(std::sync::Arc::new(schema));
        let name = schema_name(&group, &version.name, &kind);
        let version = version.name.clone();
        let document = openapi::v3(&group, &version, [&definition], &NoTypeDocs).unwrap();
        let published = &document["components"]["schemas"][&name];
        prop_assert_eq!(&published["x-kubernetes-group-version-kind"][0]["kind"], &Value::from(kind));
        prop_assert!(published["properties"]["metadata"].is_object());
        let mut document = serde_json::json!({"definitions": {}, "paths": {}, "parameters": {}});
        openapi::add_to_v2(&mut document, [&definition], &NoTypeDocs);
        let published = &document["definitions"][&name];
        for lost in ["anyOf", "allOf", "oneOf", "not", "nullable", "default"] {
            prop_assert!(published.get(lost).is_none());
        }
        prop_assert!(!kubewright_schema::openapi::swagger_protobuf(&document).is_empty());
    }
}
