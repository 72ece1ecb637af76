//! `cel check` of admission policies, and of the conditions of webhooks.

use serde_json::{Value, json};

use super::folder::CelFolder;

const POLICIES: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  matchConditions:
  - {name: named, expression: \"request.name != 'any'\"}
  variables:
  - {name: most, expression: int(params.data.most)}
  validations:
  - expression: object.spec.replicas <= variables.most
    messageExpression: \"'at most ' + string(variables.most) + ' replicas'\"
  - expression: |
      object.spec.template.spec.containers.all(container,
        container.image.startsWith('example.com/'))
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: colour}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [stable.example.com], apiVersions: [v1], operations: [CREATE], resources: [crontabs]}
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: \"[JSONPatch{op: 'add', path: '/spec/names', value: ['a']}]\"}
";

#[test]
fn the_expressions_of_policies_are_shown_with_what_they_cost() {
    let place = CelFolder::new();
    place.write("policies.yaml", POLICIES);
    let text = place.answer(&["check", "policies.yaml", "crd.yaml"]);
    let (_, text) = text.split_once("100 000 000)\npolicies").unwrap();
    assert_eq!(
        text,
        ".yaml (document 1): ValidatingAdmissionPolicy replicas
  ok spec.matchConditions[0].expression: request.name != 'any'
     cost 3 (< 0.01 % of 1 000 000)
  ok spec.variables[0].expression: int(params.data.most)
     cost 2 (< 0.01 % of 1 000 000)
  ok spec.validations[0].expression: object.spec.replicas <= variables.most
     cost 4 (< 0.01 % of 1 000 000)
  ok spec.validations[0].messageExpression: 'at most ' + string(variables.most) + ' replicas'
     cost depends on the object: from 6 to what is allowed, 1 000 000
  ok spec.validations[1].expression: object.spec.template.spec.containers.all(container, …
     cost depends on the object: from 2 to what is allowed, 1 000 000
  5 expressions, accepted
policies.yaml (document 2): MutatingAdmissionPolicy colour
  ok spec.mutations[0].jsonPatch.expression: [JSONPatch{op: 'add', path: '/spec/names', value: ['a']}]
     cost 60 (< 0.01 % of 1 000 000)
  1 expression, accepted
"
    );
}

#[test]
fn a_mistake_in_a_policy_has_a_caret_under_it_in_the_yaml() {
    let place = CelFolder::new();
    let bad = POLICIES
        .replace("object.spec.replicas", "objct.spec.replicas")
        .replace("string(variables.most)", "string(variables.mst)")
        .replace("startsWith(", "startsWit(")
        .replace("resources: [deployments]", "resources: [deployment]")
        .replace("kind: ConfigMap", "kind: Limits")
        .replace("reinvocationPolicy: Never", "reinvocationPolicy: Always");
    place.write("bad.yaml", &bad);
    let outcome = place.run(&["check", "bad.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let wanted = "  refused spec.validations[0].expression: objct.spec.replicas <= variables.most
     compilation failed: ERROR: <input>:1:1: undeclared reference to 'objct' (in container '')
       --> bad.yaml:14:17
     14 |   - expression: objct.spec.replicas <= variables.most
        |                 ^
     (did you mean 'object'?)
  refused spec.validations[0].messageExpression: 'at most ' + string(variables.mst) + ' replicas'
     compilation failed: ERROR: <input>:1:30: undefined field 'mst'
       --> bad.yaml:15:54
     15 |     messageExpression: \"'at most ' + string(variables.mst) + ' replicas'\"
        |                                                      ^
     (did you mean 'most'?)
  refused spec.validations[1].expression: object.spec.template.spec.containers.all(container, …
     compilation failed: ERROR: <input>:2:28: undeclared reference to 'startsWit' (in container '')
       --> bad.yaml:18:34
     18 |         container.image.startsWit('example.com/'))
        |                                  ^
  note: spec.matchConstraints.resourceRules[0]: there is no resource \"deployment\" in apps/v1 here; if a \
                  CustomResourceDefinition defines it, name its file, too
  note: spec.paramKind: there is no v1 Limits here; if a CustomResourceDefinition defines it, name its file, too
  5 expressions, 3 with mistakes
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    let wanted =
        "     spec.reinvocationPolicy: Unsupported value: \"Always\": supported values: \"IfNeeded\", \"Never\"\n";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    // The definition of crontabs is not among the files.
    assert!(
        outcome
            .stdout
            .contains("no resource \"crontabs\" in stable.example.com/v1")
    );
}

#[test]
fn a_field_that_a_kind_does_not_have_is_found_with_its_caret_and_with_what_was_meant() {
    let place = CelFolder::new();
    let bad = POLICIES
        .replace("object.spec.replicas", "object.spec.replica")
        .replace("int(params.data.most)", "int(params.dat.most)");
    place.write("bad.yaml", &bad);
    let outcome = place.run(&["check", "bad.yaml", "crd.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let wanted = "  refused spec.variables[0].expression: int(params.dat.most)
     cost 2 (< 0.01 % of 1 000 000)
     apps/v1, Kind=Deployment: ERROR: <input>:1:11: undefined field 'dat'
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    let wanted = "     apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'
       --> bad.yaml:14:28
     14 |   - expression: object.spec.replica <= variables.most
        |                            ^
     (did you mean 'replicas'?)
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("  5 expressions, 2 with mistakes\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_field_that_a_mutation_reads_or_sets_and_that_the_kind_does_not_have_is_found() {
    let place = CelFolder::new();
    let policy = "\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: \"Object{spec: Object.spec{replicaz: 1}}\"}
  - patchType: JSONPatch
    jsonPatch: {expression: \"[JSONPatch{op: 'add', path: '/spec/replicas', value: object.spec.replicaz}]\"}
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{replicas: 1}}\"}
";
    place.write("policy.yaml", policy);
    let outcome = place.run(&["check", "policy.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let wanted = "     apps/v1, Kind=Deployment: ERROR: <input>:1:34: undefined field 'replicaz'
       --> policy.yaml:11:72
     11 |     applyConfiguration: {expression: \"Object{spec: Object.spec{replicaz: 1}}\"}
        |                                                                        ^
     (did you mean 'replicas'?)
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    assert!(
        outcome
            .stdout
            .contains("apps/v1, Kind=Deployment: ERROR: <input>:1:65: undefined field 'replicaz'"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("  3 expressions, 2 with mistakes\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn an_expression_that_fits_some_of_the_kinds_is_warned_of_and_no_mistake() {
    let place = CelFolder::new();
    let both = POLICIES.replace(
        "resources: [deployments]",
        "resources: [deployments, controllerrevisions]",
    );
    place.write("both.yaml", &both);
    let outcome = place.run(&["check", "both.yaml", "crd.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let wanted = "  warning spec.validations[0].expression: object.spec.replicas <= variables.most
     cost 4 (< 0.01 % of 1 000 000)
     apps/v1, Kind=ControllerRevision: ERROR: <input>:1:7: undefined field 'spec'
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("  5 expressions, accepted\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn conditions_of_webhooks_and_bindings_are_checked_too_and_all_is_data_when_asked_for() {
    let place = CelFolder::new();
    let webhook = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop}
webhooks:
- name: vpod.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: https://localhost:9443/validate}
  matchConditions:
  - {name: a, expression: request.dryRun && objct == null}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: shop}
spec: {policyName: shop, validationActions: [Refuse]}
";
    place.write("webhook.yaml", webhook);
    let outcome = place.run(&["check", "webhook.yaml", "-o", "json"]);
    assert_eq!(outcome.code, Some(1));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(answer["crds"], json!([]));
    let condition = &answer["admission"][0]["expressions"][0];
    assert_eq!(condition["field"], "webhooks[0].matchConditions[0].expression");
    assert_eq!(
        (&condition["accepted"], &condition["hint"]),
        (&json!(false), &json!("did you mean 'object'?"))
    );
    let issue = &answer["admission"][1]["issues"][0];
    assert_eq!(issue["field"], "spec.validationActions[0]");
    assert_eq!(answer["admission"][1]["accepted"], false);
}
