//! The documents of `/openapi/v3` say what the real server's say, but for the prose: the goldens are kube-apiserver 1.36's
//! documents without their descriptions.

use kubewright_schema::openapi;
use serde_json::Value;

/// Takes the prose out; a property may be called `description`.
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
    assert_same("apis/policy/v1", include_str!("goldens/openapi-policy-v1.json"));
}

#[test]
fn the_document_of_a_group_is_the_real_one_without_its_prose() {
    assert_same("apis/policy", include_str!("goldens/openapi-policy.json"));
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
