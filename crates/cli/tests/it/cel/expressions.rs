//! Single expressions: values, types, costs, and what is said about mistakes.

use serde_json::{Value, json};

use super::folder::{CRD, CelFolder, OBJECT};

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
