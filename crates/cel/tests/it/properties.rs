//! What holds for any text and any object: no panic, a bounded cost, the same answer every time.

use kubewright_cel::{Decl, Env, ErrorKind, Limits, ParseOptions, Type, Value, parse};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

/// Pieces of expressions, so that random texts are often almost right.
const PIECES: &[&str] = &[
    "self",
    ".",
    "a",
    "b",
    "l",
    "m",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "in",
    "1",
    "2u",
    "0.5",
    "'x'",
    "b'y'",
    "true",
    "false",
    "null",
    "has",
    "all",
    "exists",
    "map",
    "filter",
    "size",
    "x",
    " ",
    "\n",
    "//",
    "'",
    "\"",
    "\\",
    "`",
    "@",
    "é",
    "optional.of",
    "matches",
    "'['",
    "self.l.map(x, x)",
    "self.m.all(k, v, k != v)",
    "quantity('1')",
    "ip('::1')",
    "dyn(",
    "string(",
    "duration('1h')",
    "self.l.sortBy(x, x)",
    "'%s'.format([1])",
    "timestamp('2020-01-01T00:00:00Z')",
    ".?",
    "[?",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(PIECES), 0..24).prop_map(|pieces| pieces.concat()),
        proptest::collection::vec(any::<char>(), 0..40).prop_map(|chars| chars.into_iter().collect()),
    ]
}

fn object() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-z]{0,6}".prop_map(Json::from),
    ];
    let any_json = scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::btree_map("[abklmx]{1,2}", inner, 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map("[ablm]", any_json, 0..4)
        .prop_map(|fields| Json::Object(fields.into_iter().collect()))
}

fn decl() -> std::sync::Arc<Decl> {
    Decl::from_schema(
        &json!({"type": "object", "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        }}),
        false,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_text_makes_the_compiler_panic(text in text()) {
        let decl = decl();
        let env = Env::kubernetes().with_variable("self", decl.cel_type("self").expect("visible"));
        match env.check(&text) {
            Ok(checked) => { env.estimate(&checked, Some(&decl)); }
            Err(issues) => prop_assert!(issues.to_string().starts_with("ERROR: <input>:")),
        }
    }

    #[test]
    fn every_evaluation_ends_within_its_limit(text in text(), object in object(), limit in 0u64..2_000) {
        let env = Env::standard().with_variable("self", Type::Dyn);
        if let Ok(program) = env.compile(&text) {
            let limits = Limits { cost: limit, interrupted: None };
            let first = program.eval(&[("self", Value::from_json(&object))], limits);
            let again = program.eval(&[("self", Value::from_json(&object))], limits);
            prop_assert_eq!(first.cost, again.cost);
            if first.cost > limit {
                prop_assert_eq!(first.outcome.as_ref().map_err(kubewright_cel::EvalError::kind).err(), Some(ErrorKind::CostLimit));
            }
        }
    }

    #[test]
    fn data_that_does_not_fit_its_schema_is_an_error_not_a_panic(text in text(), object in object()) {
        let decl = decl();
        let env = Env::kubernetes().with_variable("self", decl.cel_type("self").expect("visible"));
        if let (Ok(program), Ok(value)) = (env.compile(&text), Value::typed(&object, &decl)) {
            let _ = program.eval(&[("self", value)], Limits::default());
        }
    }
}

#[test]
fn nesting_is_limited_before_the_stack_is() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nested(240), ParseOptions::KUBERNETES).is_ok());
    let issues = parse(&nested(100_000 / 2 - 1), ParseOptions::KUBERNETES).expect_err("too deep");
    assert_eq!(
        issues.to_string(),
        "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    );
    for chain in ["1+", "self.", "[", "-", "!", "{1:", "a?b:", "1==", "a[", "f("] {
        let _ = parse(&chain.repeat(5_000), ParseOptions::KUBERNETES);
    }
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let issues = parse(&"1".repeat(100_001), ParseOptions::KUBERNETES).expect_err("too long");
    assert_eq!(
        issues.to_string(),
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    );
}

#[test]
fn deep_expressions_run_on_a_small_stack() {
    let env = Env::standard().with_variable("self", Type::Dyn);
    let sum = vec!["1"; 140].join(" + ");
    let nested = format!("{}{sum}{}", "(".repeat(100), ")".repeat(100));
    let program = env.compile(&nested).expect("an expression");
    assert!(matches!(
        program.eval(&[], Limits::default()).outcome,
        Ok(Value::Int(140))
    ));
}

#[test]
fn an_interrupt_stops_a_long_loop() {
    let env = Env::standard();
    let program = env
        .compile("lists.range(100000).all(x, lists.range(100).all(y, x + y >= 0))")
        .expect("an expression");
    let stop = || true;
    let limits = Limits {
        cost: u64::MAX,
        interrupted: Some(&stop),
    };
    let error = program.eval(&[], limits).outcome.expect_err("interrupted");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[test]
fn macros_that_copy_do_not_grow_without_end() {
    let chain = format!("optional.of(1){}", ".optMap(x, x)".repeat(60));
    let issues = parse(&chain, ParseOptions::KUBERNETES).expect_err("too large");
    assert!(
        issues
            .to_string()
            .contains("expression is too large once its macros are expanded")
    );
    let short = format!("optional.of(1){}", ".optMap(x, x)".repeat(5));
    assert!(parse(&short, ParseOptions::KUBERNETES).is_ok());
}
