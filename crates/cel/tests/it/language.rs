//! What expressions mean, where the recordings have no example.

use kubewright_cel::{Decl, Env, ErrorKind, Limits, Program, Type, Value};
use serde_json::json;

fn run(text: &str) -> String {
    let env = Env::standard().with_variable("self", Type::Dyn);
    let object = json!({"a": 1, "b": {"c": [1, 2, 3]}, "s": "text"});
    let program = match env.compile(text) {
        Ok(program) => program,
        Err(issues) => return issues.to_string(),
    };
    match program
        .eval(&[("self", Value::from_json(&object))], Limits::default())
        .outcome
    {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn either_side_of_a_logical_operator_absorbs_the_error_of_the_other() {
    assert_eq!(run("1 / 0 > 0 || true"), "Bool(true)");
    assert_eq!(run("true || 1 / 0 > 0"), "Bool(true)");
    assert_eq!(run("1 / 0 > 0 && false"), "Bool(false)");
    assert_eq!(run("1 / 0 > 0 || false"), "division by zero");
    assert_eq!(run("[1, 0].exists(x, 1 / x == 1)"), "Bool(true)");
    assert_eq!(run("[0, 2].all(x, 1 / x == 1)"), "Bool(false)");
}

#[test]
fn bindings_are_names_for_values() {
    assert_eq!(run("cel.bind(x, self.a + 1, x * x)"), "Int(4)");
    assert_eq!(run("cel.bind(x, 1 / 0, true)"), "Bool(true)");
}

#[test]
fn inner_names_hide_outer_ones() {
    assert_eq!(run("[1].map(x, [2].map(x, x)[0] + x)[0]"), "Int(3)");
    assert_eq!(run("[1].map(self, self)[0]"), "Int(1)");
}

#[test]
fn numbers_of_different_kinds_compare_by_value() {
    assert_eq!(
        run("dyn(1) == 1.0 && dyn(1u) == 1 && {1: 'a'}[dyn(1.0)] == 'a'"),
        "Bool(true)"
    );
    assert_eq!(run("1 < 1.5 && 2u > 1 && -1 < 0u"), "Bool(true)");
}

#[test]
fn a_program_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Program>();
}

#[test]
fn the_cost_limit_is_not_absorbed() {
    let program = Env::standard()
        .compile("[1, 2, 3].all(x, x > 0) || true")
        .expect("an expression");
    let error = program
        .eval(
            &[],
            Limits {
                cost: 5,
                interrupted: None,
            },
        )
        .outcome
        .expect_err("too expensive");
    assert_eq!(error.kind(), ErrorKind::CostLimit);
    assert_eq!(error.message(), "operation cancelled: actual cost limit exceeded");
}

#[test]
fn a_mistake_is_shown_with_a_caret_under_it() {
    assert_eq!(
        run("1 +\n  'a'"),
        "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 +\n | ..^"
    );
    assert_eq!(
        run("'é' + 1"),
        "ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n | 'é' + 1\n | .．..^"
    );
}

#[test]
fn items_of_sets_and_map_lists_are_found_whatever_their_order() {
    let schema = json!({"type": "object", "properties": {
        "times": {
            "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "format": "date-time"},
        },
        "spans": {
            "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "format": "duration"},
        },
        "pairs": {
            "type": "array", "x-kubernetes-list-type": "set",
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "integer"}}},
        },
        "named": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "integer"}}},
        },
    }});
    let new = json!({
        "times": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
        "spans": ["1h", "90s"],
        "pairs": [{"a": 1}, {"a": 2}],
        "named": [{"name": "x", "value": 1}, {"name": "y", "value": 2}],
    });
    let old = json!({
        "times": ["2026-01-02T00:00:00Z", "2026-01-01T01:00:00+01:00"],
        "spans": ["1m30s", "60m"],
        "pairs": [{"a": 2}, {"a": 1}],
        "named": [{"name": "y", "value": 2}, {"name": "x", "value": 1}],
    });
    let decl = Decl::from_schema(&schema, false);
    let ty = decl.cel_type("self").expect("a schema that rules can see");
    let env = Env::kubernetes()
        .with_variable("self", ty.clone())
        .with_variable("oldSelf", ty);
    for expression in [
        "self.times == oldSelf.times && size(self.times + oldSelf.times) == 2",
        "self.spans == oldSelf.spans && size(self.spans + oldSelf.spans) == 2",
        "self.pairs == oldSelf.pairs && size(self.pairs + oldSelf.pairs) == 2",
        "self.named == oldSelf.named && size(self.named + oldSelf.named) == 2",
        // Upstream takes what an expression built for no item of a map list.
        "size(self.named + dyn([{'name': 'x'}, {'name': 'x'}])) == 4",
    ] {
        let program = env.compile(expression).expect(expression);
        let value = |json| Value::typed(json, &decl).expect("it fits the schema");
        let variables = [("self", value(&new)), ("oldSelf", value(&old))];
        let outcome = program.eval(&variables, Limits::default()).outcome;
        assert!(matches!(outcome, Ok(Value::Bool(true))), "{expression}: {outcome:?}");
    }
}
