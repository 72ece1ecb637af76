//! What expressions mean, where the recordings have no example.

use kubewright_cel::{Env, ErrorKind, Limits, Program, Type, Value};
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
