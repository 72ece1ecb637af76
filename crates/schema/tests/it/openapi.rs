//! The documents of `/openapi/v3` and `/openapi/v2` say what the real server's say, but for the docs: the goldens are kube-apiserver 1.36's
//! documents without their descriptions.

use kubewright_schema::openapi::{self, NoTypeDocs, TypeDocs};
use serde_json::Value;

/// Takes the docs out; a property may be called `description`.
fn without_descriptions(part: &mut Value, is_properties: bool) {
    match part {
        Value::Object(map) => {
            map.retain(|key, value| is_properties || key != "description" || !value.is_string());
            for (key, value) in map {
                without_descriptions(value, key == "properties" && !is_properties);
            }
        }
        Value::Array(items) => {
            for item in items {
                without_descriptions(item, false);
            }
        }
        _ => {}
    }
}

fn assert_same(name: &str, golden: &str) {
    let mut ours = openapi::document(name).unwrap();
    without_descriptions(&mut ours, false);
    let real: Value = serde_json::from_str(golden).unwrap();
    for part in ["paths", "components"] {
        let parts = |document: &Value| document[part].as_object().cloned().unwrap_or_default();
        let (ours, real) = (parts(&ours), parts(&real));
        assert_eq!(
            ours.keys().collect::<Vec<_>>(),
            real.keys().collect::<Vec<_>>(),
            "{part} of {name}"
        );
        for (key, real) in real {
            assert_eq!(ours[&key], real, "{key} in {part} of {name}");
        }
    }
    assert_eq!(ours, real);
}

#[test]
fn the_document_of_a_group_version_is_the_real_one_without_its_prose() {
    assert_same("apis/policy/v1", include_str!("../goldens/openapi-policy-v1.json"));
}

#[test]
fn the_document_of_a_group_is_the_real_one_without_its_prose() {
    assert_same("apis/policy", include_str!("../goldens/openapi-policy.json"));
}

#[test]
fn every_document_refers_only_to_schemas_it_has() {
    fn check(part: &Value, schemas: &Value) {
        match part {
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref") {
                    let name = target.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.get(name).is_some(), "{name}");
                }
                map.values().for_each(|value| check(value, schemas));
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, schemas)),
            _ => {}
        }
    }
    let names = openapi::names();
    assert!(names.len() > 40 && names.contains(&"api/v1".to_owned()));
    for name in names {
        let document = openapi::document(&name).unwrap();
        check(&document, &document["components"]["schemas"]);
    }
    assert!(openapi::document("apis/nowhere").is_none());
    assert!(openapi::document("apis/apps/v2").is_none());
    assert!(openapi::document("").is_none());
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
fn version_2_is_the_real_one_without_the_prose_of_types() {
    let mut ours = openapi::swagger(&NoTypeDocs);
    let real: Value = serde_json::from_str(include_str!("../goldens/openapi-v2.json")).unwrap();
    let parameters = ours["parameters"].clone();
    assert!(parameters.as_object().unwrap().len() > 30);
    resolve(&mut ours["paths"], &parameters);
    let members = |part: &Value| part.as_object().cloned().unwrap();
    for part in ["paths", "definitions"] {
        for (name, real) in members(&real[part]) {
            assert_eq!(ours[part][&name], real, "{name} in {part}");
        }
    }
    let names: Vec<Value> = members(&ours["definitions"])
        .into_iter()
        .map(|(name, _)| Value::String(name))
        .collect();
    assert_eq!(Value::Array(names), real["names"]);
    for part in ["swagger", "info", "security", "securityDefinitions"] {
        assert_eq!(ours[part], real[part], "{part}");
    }
}

/// Describes everything by its own name.
struct Names;

impl TypeDocs for Names {
    fn of_type(&self, _: &str) -> Option<&str> {
        Some("a type")
    }

    fn of_field(&self, _: &str, _: &str) -> Option<&str> {
        Some("a field")
    }
}

#[test]
fn words_are_put_where_clients_look_for_them() {
    let document = openapi::described("api/v1", &Names).unwrap();
    let pod = &document["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    assert_eq!(pod["description"], "a type");
    assert_eq!(pod["properties"]["spec"]["description"], "a field");
    assert_eq!(
        pod["properties"]["spec"]["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.api.core.v1.PodSpec"
    );
    let protocol = &document["components"]["schemas"]["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"];
    assert_eq!(
        protocol["description"],
        "a field\n\nPossible enum values:\n - `\"SCTP\"`\n - `\"TCP\"`\n - `\"UDP\"`"
    );
    let v2 = openapi::swagger(&Names);
    let spec = &v2["definitions"]["io.k8s.api.core.v1.Pod"]["properties"]["spec"];
    assert_eq!(spec["description"], "a field");
    assert_eq!(spec["$ref"], "#/definitions/io.k8s.api.core.v1.PodSpec");
}
