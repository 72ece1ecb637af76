//! `kubewright policy test` as a user meets it: the table, what failed, and what it says about folders that it cannot use.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::kubewright;

/// The policies that the book and the examples show.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies")
}

fn run(folder: &Path, flags: &[&str]) -> (Option<i32>, String, String) {
    let output = kubewright()
        .args(["policy", "test", "."])
        .args(flags)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const POLICY: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps]}
  validations:
  - expression: object == null || object.data.size() < 2
    message: one key is enough
  - expression: authorizer.group('').resource('secrets').check('get').allowed()
    message: who keeps no secrets keeps no maps
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
";

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn the_cases_of_the_example_pass() {
    let (code, out, err) = run(&examples(), &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert_eq!(
        out,
        "\
FILE                   CASE                                    REQUEST                         EXPECTED   VERDICT   RESULT
replicas.test.yaml     production has its limit                CREATE Deployment web           deny       deny      ok
replicas.test.yaml     elsewhere it is a warning               CREATE Deployment web           allow      allow     ok
replicas.test.yaml     few replicas are fine                   CREATE Deployment web           allow      allow     ok
replicas.test.yaml     a Deployment that is too large may go   DELETE Deployment web           allow      allow     ok
team-label.test.yaml   the team comes from the namespace       CREATE Deployment web           allow      allow     ok
team-label.test.yaml   a team that is given stays              CREATE Deployment web           allow      allow     ok
team-label.test.yaml   a developer cannot give it away         UPDATE Deployment web by jane   deny       deny      ok
team-label.test.yaml   an administrator can                    UPDATE Deployment web           allow      allow     ok

test result: ok. 8 passed; 0 failed
"
    );
}

#[test]
fn a_policy_that_no_binding_is_for_is_warned_of() {
    let tests = "\
cases:
- name: nothing refuses it
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '2'}}
  expect: allow
";
    let policy = POLICY.replace("policyName: few", "policyName: many");
    let folder = folder(&[("policy.yaml", &policy), ("few.test.yaml", tests)]);
    let (code, _, err) = run(folder.path(), &[]);
    let warning = "ValidatingAdmissionPolicy few has no ValidatingAdmissionPolicyBinding in the folder, so it is evaluated for no request";
    assert_eq!(code, Some(0));
    assert_eq!(err, format!("warning: ./policy.yaml: {warning}\n"));
}

#[test]
fn a_case_that_fails_says_what_was_expected_and_what_happened() {
    let tests = "\
cases:
- name: a verdict
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '2'}}
  expect: allow
- name: a message
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '2'}}
  expect: {verdict: deny, message: two keys}
- name: an object
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}
  expect: {verdict: allow, object: {data: {a: '2'}}, warnings: [old], auditAnnotations: {few/a: b}}
- name: no policy
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: A}, data: {a: '1'}}
  expect: deny
- name: fine
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}
  expect: allow
";
    let folder = folder(&[("few.yaml", POLICY), ("few.test.yaml", tests)]);
    let (code, out, err) = run(folder.path(), &[]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    assert_eq!(
        out,
        "\
FILE            CASE        REQUEST              EXPECTED   VERDICT   RESULT
few.test.yaml   a verdict   CREATE ConfigMap a   allow      deny      FAILED
few.test.yaml   a message   CREATE ConfigMap a   deny       deny      FAILED
few.test.yaml   an object   CREATE ConfigMap a   allow      allow     FAILED
few.test.yaml   no policy   CREATE ConfigMap A   deny       error     FAILED
few.test.yaml   fine        CREATE ConfigMap a   allow      allow     ok

few.test.yaml: a verdict
  verdict: expected allow, got deny: configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'few' denied request: one key is enough

few.test.yaml: a message
  message: expected \"two keys\" in it, got: configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'few' denied request: one key is enough

few.test.yaml: an object
  warnings: expected [\"old\"], got []
  auditAnnotations: expected few/a: \"b\", got none
  object: - expected, + stored
  @@ -1,2 +1,2 @@
   data:
  -  a: \"2\"
  +  a: \"1\"

few.test.yaml: no policy
  no policy refused it, but the API server itself: ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')

test result: FAILED. 1 passed; 4 failed
"
    );
    let (code, out, _) = run(folder.path(), &["-o", "json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &answer["passed"], &answer["failed"]),
        (Some(1), &1.into(), &4.into())
    );
    assert_eq!(answer["cases"][3]["verdict"], "error");
    assert_eq!(answer["cases"][4]["passed"], true);
}

/// With roles in the folder users have the rights that these give them, and `authorizer` knows.
#[test]
fn roles_of_the_folder_decide_what_users_may() {
    let roles = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: keeper}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [create, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: keeper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: keeper}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: keepers}]
";
    let tests = "\
cases:
- name: a keeper has no secrets
  user: jane
  groups: [keepers]
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}
  expect: {verdict: deny, message: who keeps no secrets}
- name: others may nothing
  user: joe
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}
  expect: deny
";
    let folder = folder(&[("few.yaml", POLICY), ("roles.yaml", roles), ("few.test.yaml", tests)]);
    let (code, out, _) = run(folder.path(), &["-o", "json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["cases"][0]["passed"]), (Some(1), &true.into()), "{out}");
    let why = answer["cases"][1]["failures"][0].as_str().unwrap();
    assert!(
        why.starts_with("no policy refused it, but the API server itself: configmaps is forbidden: User \"joe\""),
        "{why}"
    );
}

/// What is there in a case is there before the policies, so that these refuse nothing but its request.
#[test]
fn old_objects_statuses_definitions_and_params_are_there_before_the_policies() {
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: doors.example.com}
spec:
  group: example.com
  names: {kind: Door, plural: doors}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let policy = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: doors}
spec:
  paramKind: {apiVersion: example.com/v1, kind: Door}
  matchConstraints:
    resourceRules:
    - {apiGroups: [example.com], apiVersions: [v1], operations: ['*'], resources: [doors, doors/status]}
  validations:
  - expression: oldObject != null && oldObject.status.open == params.spec.may
    messageExpression: \"'door is ' + (oldObject == null ? 'new' : string(oldObject.status.open)) + ' ' + request.operation\"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: doors}
spec:
  policyName: doors
  validationActions: [Deny]
  paramRef: {name: rule, parameterNotFoundAction: Deny}
";
    let tests = "\
cases:
- name: a new door
  namespace: house
  params: [&rule {apiVersion: example.com/v1, kind: Door, metadata: {name: rule}, spec: {may: true}}]
  object: {apiVersion: example.com/v1, kind: Door, metadata: {name: front}}
  expect: {verdict: deny, message: door is new CREATE}
- name: an open door
  namespace: house
  params: [*rule]
  oldObject: &open {apiVersion: example.com/v1, kind: Door, metadata: {name: front}, status: {open: true}}
  object: {apiVersion: example.com/v1, kind: Door, metadata: {name: front}, spec: {colour: red}}
  expect: {verdict: allow, object: {spec: {colour: red}, status: {open: true}}}
- name: a closed door
  namespace: house
  subresource: status
  params: [*rule]
  oldObject: {apiVersion: example.com/v1, kind: Door, metadata: {name: front}, status: {open: false}}
  object: *open
  expect: {verdict: deny, message: door is false UPDATE}
- name: a door that goes
  namespace: house
  operation: DELETE
  params: [*rule]
  oldObject: *open
  expect: allow
- name: without the rule
  namespace: house
  object: {apiVersion: example.com/v1, kind: Door, metadata: {name: front}}
  expect: {verdict: deny, message: no params found}
";
    let folder = folder(&[("crd.yaml", crd), ("doors.yaml", policy), ("doors.test.yaml", tests)]);
    let (code, out, err) = run(folder.path(), &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.ends_with("\ntest result: ok. 5 passed; 0 failed\n"), "{out}");
}

#[test]
fn what_cannot_be_used_is_named_with_file_document_and_field() {
    let fine = "cases: [{name: a, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, expect: allow}]\n";
    let wrong = POLICY.replace("object.data.size()", "objct.data.size()");
    for (files, expected) in [
        (
            &[("few.yaml", POLICY)][..],
            "error: . has no file of tests: name one as in replicas.test.yaml (see --help)\n",
        ),
        (
            &[("few.test.yaml", fine)],
            "error: . has no ValidatingAdmissionPolicy and no MutatingAdmissionPolicy\n",
        ),
        (
            &[("few.yaml", &wrong), ("few.test.yaml", fine)],
            "error: the API server refuses ./few.yaml (document 1):\nspec.validations[0].expression: Invalid value: ",
        ),
        (
            &[("few.yaml", POLICY), ("few.test.yaml", "cases: [{nme: a}]")],
            "error: ./few.test.yaml: cases[0]: unknown field \"nme\"; known are name, object, ",
        ),
        (
            &[("few.yaml", POLICY), ("few.test.yaml", "{}")],
            "error: ./few.test.yaml: document: cases is missing\n",
        ),
        (
            &[("few.yaml", POLICY), ("few.test.yaml", &fine.replace("allow", "alow"))],
            "error: ./few.test.yaml: cases[0].expect: \"alow\" is not allow or deny\n",
        ),
        (
            &[
                ("few.yaml", POLICY),
                ("few.test.yaml", &fine.replace("kind: ConfigMap, ", "")),
            ],
            "error: ./few.test.yaml: cases[0].object: kind is missing\n",
        ),
        (
            &[
                ("few.yaml", POLICY),
                ("few.test.yaml", "cases: [{name: a, object: none.yaml}]"),
            ],
            "error: cannot read ./none.yaml: ",
        ),
    ] {
        let folder = folder(files);
        let (code, out, err) = run(folder.path(), &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.starts_with(expected), "{err}");
    }
}
