//! What the real server answered to creates and updates of custom resources, and what we answer (C6–C9, C16, C18, W2).
//! The order of causes is random upstream, so they are compared sorted.

use kubewright_apimachinery::field::Errors;
use kubewright_structural::Schema;
use serde_json::{Value, json};

/// Numbers as JSON documents compare: `1.0` is `1`.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.as_i64().is_none() && float.fract() == 0.0 && float.abs() < 1e15 => {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        other => other.clone(),
    }
}

fn causes(errors: &Errors) -> Value {
    let mut causes: Vec<[String; 3]> = errors
        .iter()
        .map(|error| [error.kind.reason().to_owned(), error.field.clone(), error.body()])
        .collect();
    causes.sort_unstable();
    json!(causes)
}

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("../schema_recorded.json")).unwrap()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn object(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec})
}

#[test]
fn every_create_is_answered_as_the_real_server_answered_it() {
    let mut compared = 0;
    for group in recorded() {
        let schema = Schema::compile(&group["schema"], false);
        assert_eq!(schema.defects(), []);
        for case in list(&group, "creates") {
            compared += 1;
            let mut object = object(&case["spec"]);
            let unknown = match schema.decode(&mut object) {
                Ok(unknown) => unknown,
                Err(refused) => {
                    assert_eq!(Value::from(refused.to_string()), case["refused"], "{case}");
                    continue;
                }
            };
            assert_eq!(
                json!(unknown),
                case.get("unknown").cloned().unwrap_or(json!([])),
                "{case}"
            );
            schema.default(&mut object);
            let mut errors = Errors::new();
            schema.validate(&object, None, &mut errors);
            assert_eq!(
                causes(&errors),
                case.get("causes").cloned().unwrap_or(json!([])),
                "{case}"
            );
            if errors.is_empty() {
                let stored = case.get("stored").unwrap_or(&case["spec"]);
                assert_eq!(plain(&object["spec"]), plain(stored), "{case}");
            }
        }
    }
    assert!(compared > 100);
}

#[test]
fn every_update_is_tolerated_where_the_real_server_tolerated_it() {
    let mut compared = 0;
    for group in recorded() {
        let schema = Schema::compile(&group["schema"], false);
        let mut old = object(&group["old"]["spec"]);
        old["status"] = group["old"]["status"].clone();
        schema.read(&mut old);
        for case in list(&group, "updates").iter().chain(list(&group, "status_updates")) {
            compared += 1;
            let mut errors = Errors::new();
            let mut new = old.clone();
            let mut warnings = if let Some(status) = case.get("status") {
                new["status"] = status.clone();
                schema.decode(&mut new).unwrap();
                schema.validate_status(&new, &old, None, &mut errors)
            } else {
                new["spec"] = case["spec"].clone();
                schema.decode(&mut new).unwrap();
                schema.validate_update(&new, &old, None, &mut errors)
            };
            warnings.sort_unstable();
            assert_eq!(
                causes(&errors),
                case.get("causes").cloned().unwrap_or(json!([])),
                "{case}"
            );
            assert_eq!(
                json!(warnings),
                case.get("warnings").cloned().unwrap_or(json!([])),
                "{case}"
            );
        }
    }
    assert!(compared > 15);
}
