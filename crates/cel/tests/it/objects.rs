//! What policies build and ask: objects, patches, the authorizer, and messages every environment knows.

use std::sync::{Arc, Mutex};

use kubewright_cel::authorizer::{AuthorizationCheck, Authorize, Decision, ResourceCheck, Target};
use kubewright_cel::{Env, Limits, Signature, Type, Value};
use serde_json::json;

fn refused(env: &Env, text: &str) -> String {
    env.check(text).expect_err(text).to_string()
}

/// The value as JSON, or what went wrong.
fn run(env: &Env, text: &str) -> String {
    let program = match env.compile(text) {
        Ok(program) => program,
        Err(issues) => return issues.to_string(),
    };
    if let Some(defect) = program.defect() {
        return defect.to_string();
    }
    match program.eval(&[], Limits::default()).outcome {
        Ok(value) => value.to_json().expect("it has JSON").to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_mutation_builds_objects_of_every_field() {
    let env = Env::kubernetes().with_mutation();
    let text = "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{replicas: 1 + 1, \
                containers: [Object.spec.containers{name: 'c'}], ?paused: optional.none()}}";
    let built = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"replicas": 2, "containers": [{"name": "c"}]},
    });
    assert_eq!(run(&env, text), built.to_string());
    assert_eq!(
        run(&env, "Object{spec: Object.spec{}} == Object{spec: Object.spec{}}"),
        "true"
    );
    assert_eq!(run(&env, "Object{a: 1} == Object{a: 2}"), "false");
    assert_eq!(run(&env, "Object{a: 1}.a"), "no such key: a");
}

#[test]
fn objects_are_named_after_the_fields_that_lead_to_them() {
    let env = Env::kubernetes().with_mutation();
    let program = env
        .compile("Object{spec: Object.spec{a: [Object.spec.b{}]}}")
        .expect("an expression");
    let outcome = program.eval(&[], Limits::default()).outcome;
    let Ok(Value::Object(object)) = outcome else {
        panic!("an object")
    };
    assert_eq!(
        object.misnamed(),
        [
            "unexpected type name \"Object.spec.b\", expected \"Object.spec.a\", which matches field name path from root Object type"
        ]
    );
}

#[test]
fn a_patch_is_a_list_of_operations() {
    let env = Env::kubernetes().with_mutation();
    let text = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k8s.io/my~label'), value: 'x'}]";
    assert_eq!(
        run(&env, text),
        json!([{"op": "add", "path": "/metadata/labels/k8s.io~1my~0label", "value": "x"}]).to_string()
    );
    assert_eq!(run(&env, "JSONPatch{op: 'add'}.op + JSONPatch{}.path"), "\"add\"");
    assert_eq!(
        run(&env, "JSONPatch{op: dyn(1)}"),
        "unexpected type int64 for JSONPatchType 'op' field"
    );
    assert!(
        refused(&env, "JSONPatch{op: 1}")
            .contains("expected type of field 'op' is 'string' but provided type is 'int'")
    );
    assert!(
        refused(&env, "JSONPatch{nope: 1}").contains("expected type of field 'nope' is '' but provided type is 'int'")
    );
}

#[test]
fn rules_of_a_crd_have_neither_mutations_nor_an_authorizer() {
    let env = Env::kubernetes();
    for (text, name) in [
        ("Object{}", "Object"),
        ("JSONPatch{}", "JSONPatch"),
        ("jsonpatch.escapeKey('a')", "jsonpatch"),
        ("authorizer", "authorizer"),
        ("cel.block([1], cel.index(0))", "cel"),
    ] {
        let said = format!("undeclared reference to '{name}' (in container '')");
        assert!(refused(&env, text).contains(&said), "{text}");
    }
}

#[test]
fn messages_of_protobuf_are_the_values_they_hold() {
    let env = Env::kubernetes();
    for (text, value) in [
        ("google.protobuf.Int32Value{value: 1} == 1", "true"),
        ("google.protobuf.BoolValue{}", "false"),
        ("google.protobuf.FloatValue{value: 1.333} == 1.333", "false"),
        ("google.protobuf.Struct{fields: {'a': 1}}", "{\"a\":1.0}"),
        ("google.protobuf.ListValue{values: [duration('1s')]}", "[\"1s\"]"),
        ("google.protobuf.Value{}", "null"),
        (
            "google.protobuf.Value{null_value: google.protobuf.NullValue.NULL_VALUE}",
            "null",
        ),
        (
            "google.protobuf.Duration{seconds: 1, nanos: 5} > duration('1s')",
            "true",
        ),
        ("google.protobuf.Timestamp{seconds: 1} == timestamp(1)", "true"),
        ("type(google.protobuf.Int32Value{value: 1}) == int", "true"),
        (
            "google.protobuf.Int32Value{value: 5000000000}",
            "field type conversion error for google.protobuf.Int32Value.value value type: integer overflow",
        ),
        (
            "google.protobuf.Int32Value{value: dyn('a')}",
            "field type conversion error for google.protobuf.Int32Value.value value type: unsupported native conversion \
             from string to 'int32'",
        ),
        (
            "google.protobuf.Int32Value == int",
            "reference to undefined type: google.protobuf.Int32Value",
        ),
        ("dyn({'a': 1})[null]", "invalid qualifier type: types.Null"),
    ] {
        assert_eq!(run(&env, text), value, "{text}");
    }
    assert!(
        refused(&env, "google.protobuf.Int32Value{}.value")
            .contains("type 'wrapper(int)' does not support field selection")
    );
    assert!(refused(&env, "google.protobuf.Empty{}.a").contains("undefined field 'a'"));
}

#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<AuthorizationCheck>>);

impl Authorize for Recorder {
    fn authorize(&self, check: &AuthorizationCheck) -> Decision {
        if let Ok(mut checks) = self.0.lock() {
            checks.push(check.clone());
        }
        Decision {
            allowed: check.verb == "get",
            reason: "because".to_owned(),
            error: None,
        }
    }
}

#[test]
fn the_authorizer_is_asked_what_the_expression_says() {
    let recorder = Arc::new(Recorder::default());
    let env = Env::kubernetes().with_authorizer();
    let variables = [
        ("authorizer", Value::authorizer(recorder.clone())),
        (
            "authorizer.requestResource",
            Value::resource_check(
                recorder.clone(),
                ResourceCheck {
                    resource: "pods".to_owned(),
                    ..ResourceCheck::default()
                },
            ),
        ),
    ];
    let ask = |text: &str| {
        let program = env.compile(text).expect(text);
        let evaluation = program.eval(&variables, Limits::default());
        let shown = match evaluation.outcome {
            Ok(value) => value.to_json().expect("JSON").to_string(),
            Err(error) => error.to_string(),
        };
        (shown, evaluation.cost)
    };
    let text = "authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments').subresource('scale').\
                namespace('n').name('x').labelSelector('a=b').check('get').allowed()";
    assert_eq!(ask(text).0, "true");
    assert!(ask(text).1 > 350_000);
    assert_eq!(
        ask("authorizer.path('/healthz').check('post').reason()").0,
        "\"because\""
    );
    assert_eq!(
        ask("authorizer.path(' ').check('post').allowed()").0,
        "path must not be empty"
    );
    assert_eq!(
        ask("authorizer.group('').resource('').check('get').allowed()").0,
        "resource must not be empty"
    );
    assert_eq!(
        ask("authorizer.serviceAccount('a.b', 'c').path('/').check('get').allowed()").0,
        "Invalid service account namespace"
    );
    assert_eq!(ask("authorizer.requestResource.check('delete').errored()").0, "false");
    let checks = recorder.0.lock().expect("not poisoned");
    assert_eq!(
        checks.first(),
        Some(&AuthorizationCheck {
            service_account: Some(("ns".to_owned(), "sa".to_owned())),
            verb: "get".to_owned(),
            target: Target::Resource(ResourceCheck {
                group: "apps".to_owned(),
                resource: "deployments".to_owned(),
                subresource: "scale".to_owned(),
                namespace: "n".to_owned(),
                name: "x".to_owned(),
                label_selector: "a=b".to_owned(),
                ..ResourceCheck::default()
            }),
        })
    );
    assert_eq!(checks.last().map(|check| check.verb.as_str()), Some("delete"));
}

#[test]
fn an_environment_may_have_functions_and_a_namespace_of_its_own() {
    let twice = Signature {
        member: false,
        params: vec![Type::Int],
        result: Type::Int,
    };
    let env = Env::kubernetes()
        .with_container("my.space")
        .with_variable("my.space.x", Type::Int)
        .with_function(
            "my.twice",
            twice,
            Some(|args| match args {
                [Value::Int(value)] => Ok(Value::Int(value.saturating_mul(2))),
                _ => Ok(Value::Null),
            }),
        );
    let program = env.compile("twice(x) + x").expect("an expression");
    let outcome = program
        .eval(&[("my.space.x", Value::Int(2))], Limits::default())
        .outcome;
    assert!(matches!(outcome, Ok(Value::Int(6))));
    assert!(refused(&env, "y").contains("undeclared reference to 'y' (in container 'my.space')"));
}
