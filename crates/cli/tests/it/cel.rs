//! `kubewright cel` as a user meets it: values, types, costs, verdicts, and what it says about mistakes.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::kubewright;

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  names: {kind: CronTab, plural: crontabs}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: string}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - rule: self.minReplicas <= self.replicas
              messageExpression: \"'not enough'\"
            properties:
              minReplicas: {type: integer}
              replicas: {type: integer}
              names:
                type: array
                maxItems: 10
                items:
                  type: string
                  maxLength: 20
                  x-kubernetes-validations:
                  - rule: self.startsWith('a')
";

const OBJECT: &str = "\
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: nightly}
spec: {minReplicas: 1, replicas: 3, names: [a, ab]}
";

/// A folder with a CRD and an object, and the command run in it.
struct CelFolder {
    folder: TempDir,
}

struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl CelFolder {
    fn new() -> CelFolder {
        let place = CelFolder {
            folder: tempfile::tempdir().unwrap(),
        };
        place.write("crd.yaml", CRD);
        place.write("object.yaml", OBJECT);
        place
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run_with(&self, arguments: &[&str], input: &str) -> Outcome {
        let mut child = kubewright()
            .arg("cel")
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, "")
    }

    /// What a successful command prints.
    fn answer(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        outcome.stdout
    }

    /// What a refused command prints; it answers nothing.
    fn refusal(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let outcome = self.run(arguments);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        (outcome.code, outcome.stderr)
    }
}

#[test]
fn an_expression_needs_no_object() {
    let place = CelFolder::new();
    assert_eq!(
        place.answer(&["eval", "[1, 2, 3].sum()"]),
        "value: 6\ntype: int\ncost: 3\n"
    );
    assert_eq!(
        place.answer(&["eval", "'a' + 'b'"]),
        "value: \"ab\"\ntype: string\ncost: 1\n"
    );
    assert_eq!(
        place.answer(&["eval", "{1: [type(true)]}"]),
        "value: {1: [bool]}\ntype: map(int, list(type(bool)))\ncost: 0\n"
    );
}

#[test]
fn an_object_is_self() {
    let place = CelFolder::new();
    assert_eq!(
        place.answer(&["eval", "self.spec.replicas <= 5", "--object", "object.yaml"]),
        "value: true\ntype: bool\ncost: 4\n"
    );
    assert_eq!(
        place.answer(&["eval", "self.spec.names", "--object", "object.yaml"]),
        "value: [\"a\",\"ab\"]\ntype: list(dyn)\ncost: 3\n"
    );
}

#[test]
fn json_is_read_too_and_standard_input() {
    let place = CelFolder::new();
    place.write("object.json", r#"{"spec": {"replicas": 3}}"#);
    let value = place.answer(&["eval", "self.spec.replicas", "--object", "object.json"]);
    assert_eq!(value, "value: 3\ntype: int\ncost: 3\n");
    let outcome = place.run_with(
        &["eval", "self.spec.replicas", "--object", "-"],
        "{spec: {replicas: 4}}",
    );
    assert_eq!(outcome.stdout, "value: 4\ntype: int\ncost: 3\n");
}

#[test]
fn the_old_object_is_old_self() {
    let place = CelFolder::new();
    place.write("old.yaml", &OBJECT.replace("replicas: 3", "replicas: 2"));
    let expression = "self.spec.replicas - oldSelf.spec.replicas";
    let arguments = ["eval", expression, "--object", "object.yaml", "--old", "old.yaml"];
    assert!(place.answer(&arguments).starts_with("value: 1\n"));
    let typed = [&arguments[..], &["--crd", "crd.yaml"]].concat();
    assert!(place.answer(&typed).starts_with("value: 1\ntype: int\n"));
}

#[test]
fn a_crd_gives_self_its_type_and_the_expression_an_estimate() {
    let place = CelFolder::new();
    let arguments = [
        "eval",
        "self.spec.names[0] == 'a'",
        "--object",
        "object.yaml",
        "--crd",
        "crd.yaml",
    ];
    assert_eq!(
        place.answer(&arguments),
        "value: true\ntype: bool\ncost: 5\nestimated cost: 5 (< 0.01 % of 10 000 000)\n"
    );
    assert!(
        place
            .answer(&["eval", "self.spec", "--object", "object.yaml", "--crd", "crd.yaml"])
            .contains("type: CronTab.spec\n")
    );
}

#[test]
fn the_schema_is_that_of_the_objects_version_or_of_the_stored_one() {
    let place = CelFolder::new();
    place.write(
        "beta.yaml",
        "{apiVersion: stable.example.com/v1beta1, kind: CronTab, spec: {replicas: many}}",
    );
    place.write("fragment.yaml", "spec: {replicas: 1}");
    let ty = |object: &str| {
        let text = place.answer(&["eval", "self.spec.replicas", "--object", object, "--crd", "crd.yaml"]);
        text.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(ty("beta.yaml"), "type: string");
    assert_eq!(ty("object.yaml"), "type: int");
    assert_eq!(ty("fragment.yaml"), "type: int");
    // Without any object the types alone are checked, until a value is needed.
    let (code, text) = place.refusal(&["eval", "self.spec.replicas > 1", "--crd", "crd.yaml"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "error: no such attribute(s): self\n(--object FILE gives self a value)\n"
    );
    assert!(
        place
            .answer(&["eval", "true || self.spec.replicas > 1", "--crd", "crd.yaml"])
            .starts_with("value: true")
    );
}

#[test]
fn variables_are_json() {
    let place = CelFolder::new();
    let arguments = [
        "eval",
        "user.name + word",
        "--var",
        r#"user={"name": "jane"}"#,
        "--var",
        r#"word="!=""#,
    ];
    assert_eq!(place.answer(&arguments), "value: \"jane!=\"\ntype: string\ncost: 4\n");
}

#[test]
fn a_mistake_has_a_caret_under_it_and_a_guess() {
    let place = CelFolder::new();
    let arguments = [
        "eval",
        "self.spec.replica > 1",
        "--object",
        "object.yaml",
        "--crd",
        "crd.yaml",
    ];
    let (code, text) = place.refusal(&arguments);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "ERROR: <input>:1:10: undefined field 'replica'\n | self.spec.replica > 1\n | .........^\n(did you mean 'replicas'?)\n"
    );
    let (code, text) = place.refusal(&["eval", "1 +"]);
    assert_eq!(code, Some(1));
    assert!(
        text.starts_with("ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>'"),
        "{text}"
    );
    assert!(text.ends_with("\n | 1 +\n | ...^\n"), "{text}");
}

#[test]
fn a_missing_variable_names_the_flag_that_declares_it() {
    let place = CelFolder::new();
    let hint = |arguments: &[&str]| place.refusal(arguments).1.lines().last().unwrap().to_owned();
    assert_eq!(
        hint(&["eval", "self.a"]),
        "(--object FILE declares self, --crd FILE gives it a type)"
    );
    assert_eq!(hint(&["eval", "oldSelf.a"]), "(--old FILE declares oldSelf)");
    assert_eq!(
        hint(&["eval", "slef.spec", "--object", "object.yaml"]),
        "(did you mean 'self'?)"
    );
    assert_eq!(hint(&["eval", "usr == 1", "--var", "user=1"]), "(did you mean 'user'?)");
}

#[test]
fn an_expression_without_a_value_fails() {
    let place = CelFolder::new();
    let (code, text) = place.refusal(&["eval", "self.spec.replica", "--object", "object.yaml"]);
    assert_eq!(code, Some(1));
    assert_eq!(text, "error: no such key: replica\n(did you mean 'replicas'?)\n");
    let (code, text) = place.refusal(&["eval", "1 / 0"]);
    assert_eq!((code, text.as_str()), (Some(1), "error: division by zero\n"));
}

#[test]
fn an_expression_stops_at_its_limit() {
    let place = CelFolder::new();
    let numbers = "[0,1,2,3,4,5,6,7,8,9]";
    let loops = |inner: String, name| format!("{numbers}.all({name}, {inner})");
    let (code, text) = place.refusal(&["eval", &('a'..='h').fold("true".to_owned(), loops)]);
    assert_eq!(code, Some(1));
    assert_eq!(text, "error: operation cancelled: actual cost limit exceeded\n");
}

#[test]
fn answers_are_data_when_asked_for() {
    let place = CelFolder::new();
    let arguments = [
        "eval",
        "self.spec.replicas",
        "--object",
        "object.yaml",
        "--crd",
        "crd.yaml",
    ];
    let answer: Value = serde_json::from_str(&place.answer(&[&arguments[..], &["-o", "json"]].concat())).unwrap();
    let expected = json!({
        "expression": "self.spec.replicas",
        "value": 3,
        "type": "int",
        "cost": 3,
        "estimatedCost": {"min": 3, "max": 3},
    });
    assert_eq!(answer, expected);
    assert_eq!(
        place.answer(&["eval", "[1]", "--output", "yaml"]),
        "cost: 0\nexpression: '[1]'\ntype: list(int)\nvalue:\n- 1\n"
    );
    let outcome = place.run(&["eval", "1 + 'a'", "-o", "json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let message = "found no matching overload for '_+_' applied to '(int, string)'";
    assert_eq!(answer["issues"], json!([{"line": 1, "column": 3, "message": message}]));
    assert_eq!(
        answer["error"],
        format!("ERROR: <input>:1:3: {message}\n | 1 + 'a'\n | ..^")
    );
    let outcome = place.run(&["eval", "self.x", "--object", "object.yaml", "-o", "json"]);
    assert_eq!(outcome.code, Some(1));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(answer["error"], "no such key: x");
}

#[test]
fn expressions_are_read_line_by_line() {
    let place = CelFolder::new();
    let outcome = place.run_with(&["eval", "--object", "object.yaml"], "1 + 1\n\n  self.spec.replicas\n");
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.stdout, "2  int, cost 1\n3  int, cost 3\n");
    // One that is wrong does not stop the others, but the command has failed.
    let outcome = place.run_with(&["eval"], "1 +\n2");
    assert_eq!(outcome.code, Some(1));
    assert_eq!(outcome.stdout, "2  int, cost 0\n");
    assert!(outcome.stderr.contains(" | ...^\n"));
    let outcome = place.run_with(&["eval", "-o", "json"], "1\n2\n");
    let lines: Vec<Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&lines[0]["value"], &lines[1]["value"]), (&json!(1), &json!(2)));
    let outcome = place.run_with(&["eval", "-o", "yaml"], "1\n2\n");
    assert_eq!(outcome.stdout.matches("---\n").count(), 1);
    let outcome = place.run_with(
        &["eval", "--crd", "crd.yaml", "--object", "object.yaml"],
        "self.spec.replicas == 3",
    );
    assert_eq!(outcome.stdout, "true  bool, cost 4, estimated 3\n");
}

#[test]
fn bad_input_is_one_sentence_that_names_it() {
    let place = CelFolder::new();
    place.write("broken.yaml", "a: [1,\nb: }");
    place.write("twice.yaml", "a: 1\na: 2\n");
    place.write("empty.yaml", "# nothing\n");
    place.write("two.yaml", "a: 1\n---\na: 2\n");
    place.write("other.yaml", "{apiVersion: v1, kind: ConfigMap}");
    place.write("later.yaml", "{apiVersion: stable.example.com/v2, kind: CronTab}");
    place.write("schemaless.yaml", CRD.split("    schema:").next().unwrap());
    place.write("deep.yaml", &"[".repeat(5000));
    let sentence = |arguments: &[&str]| {
        let (code, text) = place.refusal(&[&["eval", "1"], arguments].concat());
        assert_eq!(
            (code, text.matches('\n').count()),
            (Some(1), 1),
            "{arguments:?}: {text}"
        );
        text.trim_end().to_owned()
    };
    for (arguments, expected) in [
        (
            &["--object", "none.yaml"][..],
            "error: cannot read none.yaml: No such file",
        ),
        (
            &["--object", "broken.yaml"],
            "error: broken.yaml is neither YAML nor JSON: ",
        ),
        (&["--object", "deep.yaml"], "error: deep.yaml "),
        (
            &["--object", "twice.yaml"],
            "error: twice.yaml sets a key twice: line 2: key \"a\" already set in map",
        ),
        (&["--object", "empty.yaml"], "error: empty.yaml is empty"),
        (
            &["--old", "two.yaml"],
            "error: two.yaml holds 2 documents, and one is wanted",
        ),
        (
            &["--object", "-", "--old", "-"],
            "error: only one file can be standard input",
        ),
        (
            &["--crd", "object.yaml"],
            "error: object.yaml: kind is \"CronTab\", and CustomResourceDefinition is wanted",
        ),
        (
            &["--crd", "crd.yaml", "--object", "other.yaml"],
            "error: other.yaml is a ConfigMap of the core group, but crd.yaml defines a CronTab of stable.example.com",
        ),
        (
            &["--crd", "crd.yaml", "--object", "later.yaml"],
            "error: later.yaml is of version \"v2\", but crd.yaml has v1beta1, v1",
        ),
        (
            &["--crd", "crd.yaml", "--object", "object.yaml", "--old", "other.yaml"],
            "error: other.yaml is a ConfigMap of the core group",
        ),
        (
            &["--crd", "schemaless.yaml"],
            "error: schemaless.yaml: version \"v1beta1\" has no schema",
        ),
        (&["--var", "a=1", "--var", "a=2"], "error: --var a is given twice"),
    ] {
        let text = sentence(arguments);
        assert!(text.starts_with(expected), "{text}");
    }
    let (code, text) = place.refusal(&["eval", "--object", "-"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "error: --object is read from standard input, so the expression must be an argument\n"
    );
}

#[test]
fn a_bad_flag_is_a_usage_error() {
    let place = CelFolder::new();
    for (arguments, expected) in [
        (&["eval", "1", "-o", "jsn"][..], "(did you mean 'json'?)"),
        (&["eval", "1", "--objct", "a"], "(did you mean '--object'?)"),
        (&["evl", "1"], "(did you mean 'eval'?)"),
        (&["eval", "1", "--var", "a"], "NAME=JSON is wanted"),
        (&["eval", "1", "--var", "1a=1"], "\"1a\" is no name of a variable"),
        (&["eval", "1", "--var", "a=text"], "a string needs quotes: 'a=\"text\"'"),
        (&["eval", "1", "--var", "self=1"], "--object FILE gives self its value"),
        (
            &["eval", "1", "--var", "oldSelf=1"],
            "--old FILE gives oldSelf its value",
        ),
        (&["check"], "see --help"),
    ] {
        let (code, text) = place.refusal(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert_eq!(text.matches('\n').count(), 1, "{text}");
    }
}

#[test]
fn help_shows_examples_and_says_that_lines_are_read() {
    let place = CelFolder::new();
    let help = place.answer(&["eval", "--help"]);
    for wanted in [
        "Examples:",
        "--object <FILE>",
        "--old <FILE>",
        "--crd <FILE>",
        "--var <NAME=JSON>",
        "Ctrl-D",
    ] {
        assert!(help.contains(wanted), "{wanted} is not in\n{help}");
    }
    assert!(place.answer(&["check", "--help"]).contains("Examples:"));
    assert_eq!(place.run(&[]).code, Some(2));
}

#[test]
fn nothing_is_coloured_that_is_no_terminal() {
    let place = CelFolder::new();
    place.write("bad.yaml", &CRD.replace("self.minReplicas <=", "self.minReplica <="));
    for outcome in [
        place.run(&["eval", "1 +"]),
        place.run_with(&["eval"], "1"),
        place.run(&["check", "bad.yaml"]),
    ] {
        assert!(!outcome.stdout.contains('\u{1b}') && !outcome.stderr.contains('\u{1b}'));
    }
}

#[test]
fn the_rules_of_a_crd_are_shown_with_what_they_cost() {
    let place = CelFolder::new();
    assert_eq!(
        place.answer(&["check", "crd.yaml"]),
        "crd.yaml: crontabs.stable.example.com v1beta1
  0 rules, none refused; together cost 0 (< 0.01 % of 100 000 000)
crd.yaml: crontabs.stable.example.com v1
  ok .spec: self.minReplicas <= self.replicas
     cost 5 (< 0.01 % of 10 000 000)
     messageExpression: cost 0 (< 0.01 % of 10 000 000)
  ok .spec.names[*]: self.startsWith('a')
     cost 20 (< 0.01 % of 10 000 000)
  2 rules, none refused; together cost 25 (< 0.01 % of 100 000 000)
"
    );
}

#[test]
fn a_refused_rule_is_shown_with_its_field_and_a_caret() {
    let place = CelFolder::new();
    place.write("bad.yaml", &CRD.replace("self.minReplicas <=", "self.minReplica <="));
    let outcome = place.run(&["check", "crd.yaml", "bad.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), ""));
    let wanted = "  refused .spec: self.minReplica <= self.replicas
     spec.versions[1].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: \
                  compilation failed: ERROR: <input>:1:5: undefined field 'minReplica'
      | self.minReplica <= self.replicas
      | ....^
     (did you mean 'minReplicas'?)
";
    assert!(outcome.stdout.contains(wanted), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("\n  2 rules, 1 refused; together cost"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_rule_over_budget_is_refused_with_its_share() {
    let place = CelFolder::new();
    let costly = CRD
        .replace("                maxItems: 10\n", "")
        .replace("self.startsWith('a')", "self.contains('abcdefghijk')");
    place.write("costly.yaml", &costly);
    let outcome = place.run(&["check", "costly.yaml", "-o", "json"]);
    assert_eq!(outcome.code, Some(1));
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let version = &answer["crds"][0]["versions"][1];
    let rule = &version["rules"][1];
    assert_eq!(answer["accepted"], false);
    assert_eq!(
        (&version["version"], &version["costLimit"]),
        (&json!("v1"), &json!(100_000_000))
    );
    assert_eq!(
        (&rule["field"], &rule["accepted"]),
        (&json!(".spec.names[*]"), &json!(false))
    );
    assert!(rule["estimatedCost"].as_u64().unwrap() > 10_000_000, "{rule}");
    let detail = rule["issues"][0]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("estimated rule cost exceeds budget by factor of "),
        "{detail}"
    );
    assert_eq!(rule["issues"][0]["error"], "Forbidden");
}

#[test]
fn bundles_lists_and_standard_input_are_searched_for_crds() {
    let place = CelFolder::new();
    place.write("bundle.yaml", &format!("{OBJECT}---\n{CRD}"));
    let text = place.answer(&["check", "bundle.yaml"]);
    assert!(
        text.starts_with("bundle.yaml (document 2): crontabs.stable.example.com v1beta1\n"),
        "{text}"
    );
    let indented = CRD.replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {indented}\n");
    let outcome = place.run_with(&["check", "-", "-o", "yaml"], &list);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("file: standard input (items[0])\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn a_file_that_cannot_be_checked_is_one_sentence() {
    let place = CelFolder::new();
    place.write("old.yaml", &CRD.replace("k8s.io/v1", "k8s.io/v1beta1"));
    place.write("nogroup.yaml", &CRD.replace("  group: stable.example.com\n", ""));
    place.write("noversions.yaml", CRD.split("  versions:").next().unwrap());
    place.write(
        "odd.yaml",
        &CRD.replace(
            "openAPIV3Schema:\n        type: object",
            "openAPIV3Schema: 1\n      odd:\n        type: object",
        ),
    );
    for (file, expected) in [
        (
            "object.yaml",
            "error: object.yaml has no CustomResourceDefinition, no admission policy and no webhook configuration\n",
        ),
        ("none.yaml", "error: cannot read none.yaml: "),
        (
            "old.yaml",
            "error: old.yaml: apiVersion is \"apiextensions.k8s.io/v1beta1\", and apiextensions.k8s.io/v1 is wanted\n",
        ),
        ("nogroup.yaml", "error: nogroup.yaml: spec.group is missing\n"),
        ("noversions.yaml", "error: noversions.yaml: spec.versions is missing\n"),
        (
            "odd.yaml",
            "error: odd.yaml: spec.versions[0].schema.openAPIV3Schema must be an object\n",
        ),
    ] {
        let (code, text) = place.refusal(&["check", "crd.yaml", file]);
        assert_eq!(code, Some(1));
        assert!(text.starts_with(expected), "{text}");
    }
}

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
