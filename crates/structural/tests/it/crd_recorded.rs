//! Definitions that were sent to kube-apiserver 1.36.3, and what it answered: every cause, every warning. Upstream walks
//! maps in random order, so causes are compared sorted.

use kubewright_apimachinery::field::Errors;
use kubewright_kinds::{meta, strategy::strategy};
use kubewright_schema::{Types, decode};
use kubewright_structural::crd;
use serde_json::{Value, json};

/// The definition as the server has it after decoding and defaulting.
fn decoded(object: &Value) -> Value {
    let ty = Types::builtin()
        .kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        .expect("the table knows definitions");
    let mut object = decode(ty, object.clone(), None).expect("it decodes").value;
    kubewright_schema::default(ty, &mut object);
    crd::default(&mut object);
    object
}

fn causes(errors: &Errors) -> Vec<Value> {
    let mut causes: Vec<Value> = errors
        .iter()
        .map(|error| json!({"field": error.field, "reason": error.kind.reason(), "message": error.body()}))
        .collect();
    causes.sort_by_key(sorted_by);
    causes
}

fn sorted_by(cause: &Value) -> (String, String) {
    let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    (text("field"), text("message"))
}

fn expected(case: &Value) -> Vec<Value> {
    let mut causes = case["causes"].as_array().cloned().unwrap_or_default();
    causes.sort_by_key(sorted_by);
    causes
}

fn warnings(case: &Value) -> Vec<String> {
    let warnings = case["warnings"].as_array().into_iter().flatten();
    warnings.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("recorded cases are a list")
}

#[test]
fn new_definitions_are_refused_as_upstream_refuses_them() {
    let strategy = strategy("apiextensions.k8s.io", "customresourcedefinitions");
    let cases = cases(include_str!("../crd_recorded/creates.json"));
    assert!(cases.len() >= 200, "only {} cases", cases.len());
    for case in cases {
        let mut object = decoded(&case["object"]);
        crd::prepare_create(&mut object);
        let mut errors = Errors::new();
        meta::validate_create(&object["metadata"], false, strategy, &mut errors);
        errors.extend(crd::validate_create(&object));
        assert_eq!(causes(&errors), expected(&case), "{}", case["name"]);
        assert_eq!(crd::warnings_on_create(&object), warnings(&case), "{}", case["name"]);
    }
}

#[test]
fn changed_definitions_are_refused_as_upstream_refuses_them() {
    let strategy = strategy("apiextensions.k8s.io", "customresourcedefinitions");
    let cases = cases(include_str!("../crd_recorded/updates.json"));
    assert!(cases.len() >= 20, "only {} cases", cases.len());
    for case in cases {
        let (mut object, old) = (decoded(&case["object"]), decoded(&case["old"]));
        let subresource = case["status"].as_bool().map(|_| "status");
        let mut errors = Errors::new();
        if subresource.is_some() {
            crd::prepare_status_update(&mut object, &old);
        } else {
            crd::prepare_update(&mut object, &old);
            assert_eq!(
                crd::warnings_on_update(&object, &old),
                warnings(&case),
                "{}",
                case["name"]
            );
        }
        let (new_meta, old_meta) = (&object["metadata"], &old["metadata"]);
        meta::validate_update(new_meta, old_meta, false, strategy, subresource, &mut errors);
        errors.extend(match subresource {
            Some(_) => crd::validate_status_update(&object),
            None => crd::validate_update(&object, &old),
        });
        assert_eq!(causes(&errors), expected(&case), "{}", case["name"]);
        if errors.is_empty() {
            assert_eq!(object["metadata"]["generation"], case["generation"], "{}", case["name"]);
            assert_eq!(
                object["status"]["storedVersions"], case["storedVersions"],
                "{}",
                case["name"]
            );
        }
    }
}
