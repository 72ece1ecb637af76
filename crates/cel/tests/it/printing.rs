//! Parse, print, parse: the same tree, and the text cel-go prints.

use kubewright_cel::ast::{Ast, Entry, Expr, ExprKind, Literal};
use kubewright_cel::{ParseOptions, PrintError, parse, print};
use proptest::prelude::*;

const OPTIONS: ParseOptions = ParseOptions {
    keep_macro_calls: true,
    ..ParseOptions::ALL
};

fn printed(text: &str) -> String {
    print(&parse(text, OPTIONS).expect("an expression")).expect("it was kept")
}

#[test]
fn a_text_is_printed_as_cel_go_prints_it() {
    for (text, expected) in [
        ("a+b*c", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("a && (b && c)", "a && b && c"),
        ("(a || b) && c", "(a || b) && c"),
        ("a ? b : (c ? d : e)", "a ? b : (c ? d : e)"),
        ("x > 1 ? f(a,b) : c", "(x > 1) ? (f(a, b)) : c"),
        ("!(a==b)", "!(a == b)"),
        ("-(a*b)", "-(a * b)"),
        ("(a+b).size()", "(a + b).size()"),
        ("[1,?a.?b, 2u]", "[1, ?a.?b, 2u]"),
        ("{'a':1, ?b:c}", "{\"a\": 1, ?b: c}"),
        ("Type.Name{field:1, ?b: c}", "Type.Name{field: 1, ?b: c}"),
        ("a[?1][2]", "a[?1][2]"),
        ("a.`b-c`.`in`", "a.`b-c`.`in`"),
        ("b'a\\377'", "b\"\\141\\377\""),
        ("'é\\n\\u200b\\\"'", "\"é\\n\\u200b\\\"\""),
        ("1.0 + 1e-7 + 2.5", "1.0 + 1e-07 + 2.5"),
        (
            "has(a.b) && l.exists_one(x, x > 0)",
            "has(a.b) && l.exists_one(x, x > 0)",
        ),
        (
            "l.map(x, x > 0, x*2).filter(y, has(y.z))",
            "l.map(x, x > 0, x * 2).filter(y, has(y.z))",
        ),
        ("m.transformMap(k, v, v+1)", "m.transformMap(k, v, v + 1)"),
        ("cel.bind(x, a, x+x)", "cel.bind(x, a, x + x)"),
        ("a.?b.optMap(v, v.size())", "a.?b.optMap(v, v.size())"),
        (".a.b(.c)", ".a.b(.c)"),
    ] {
        assert_eq!(printed(text), expected);
    }
}

#[test]
fn long_conditions_are_broken_after_an_operator() {
    let name = "a_name_that_is_rather_long_for_a_variable";
    assert_eq!(
        printed(&format!("{name} && {name} && {name}")),
        format!("{name} && {name} &&\n{name}")
    );
}

#[test]
fn signs_before_signs_and_numbers_survive() {
    for text in [
        "-(-a)", "!(!a)", "-(1)", "-(-1)", "-(1.5)", "(-a).b", "(-a)[0]", "(!a).f()", "1e300", "a - -1",
    ] {
        let once = printed(text);
        assert_eq!(printed(&once), once);
        let (first, second) = (parse(text, OPTIONS), parse(&once, OPTIONS));
        assert_eq!(
            shape(&first.expect(text).root),
            shape(&second.expect(&once).root),
            "{once}"
        );
    }
}

#[test]
fn a_macro_that_was_not_kept_cannot_be_printed() {
    let ast = parse("l.all(x, x)", ParseOptions::ALL).expect("an expression");
    assert!(matches!(print(&ast), Err(PrintError::Macro { .. })));
}

/// A tree without its numbers; chains of logic are flat, since printing may regroup them.
fn shape(expr: &Expr) -> String {
    let list = |parts: &[Expr]| parts.iter().map(shape).collect::<Vec<_>>().join(",");
    let entries = |entries: &[Entry]| {
        let entry = |entry: &Entry| format!("{}{}:{}", entry.optional, shape(&entry.key), shape(&entry.value));
        entries.iter().map(entry).collect::<Vec<_>>().join(",")
    };
    match &expr.kind {
        ExprKind::Literal(literal) => format!("{literal:?}"),
        ExprKind::Ident(name) => name.clone(),
        ExprKind::Select {
            operand,
            field,
            test_only,
        } => format!("({}).{field}{test_only}", shape(operand)),
        ExprKind::Call { function, .. } if matches!(function.as_str(), "_&&_" | "_||_") => {
            let mut terms = Vec::new();
            flatten(expr, function, &mut terms);
            format!("{function}({})", terms.join(","))
        }
        ExprKind::Call { target, function, args } => {
            let target = target.as_deref().map(shape).unwrap_or_default();
            format!("({target}).{function}({})", list(args))
        }
        ExprKind::List { elements, optionals } => format!("{optionals:?}[{}]", list(elements)),
        ExprKind::Map(fields) => format!("{{{}}}", entries(fields)),
        ExprKind::Struct { name, fields } => format!("{name}{{{}}}", entries(fields)),
        ExprKind::Comprehension(fold) => format!(
            "fold {} {:?} {} in {} from {} while {} do {} give {}",
            fold.var,
            fold.var2,
            fold.accu,
            shape(&fold.range),
            shape(&fold.init),
            shape(&fold.condition),
            shape(&fold.step),
            shape(&fold.result)
        ),
    }
}

fn flatten(expr: &Expr, operator: &str, terms: &mut Vec<String>) {
    match &expr.kind {
        ExprKind::Call { function, args, .. } if function == operator => {
            for arg in args {
                flatten(arg, operator, terms);
            }
        }
        _ => terms.push(shape(expr)),
    }
}

fn node(kind: ExprKind) -> Expr {
    Expr { id: 0, kind }
}

fn call(target: Option<Expr>, function: &str, args: Vec<Expr>) -> Expr {
    node(ExprKind::Call {
        target: target.map(Box::new),
        function: function.to_owned(),
        args,
    })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Bool),
        any::<i64>().prop_map(Literal::Int),
        any::<u64>().prop_map(Literal::Uint),
        any::<f64>()
            .prop_filter("a literal is finite", |value| value.is_finite())
            .prop_map(Literal::Double),
        any::<String>().prop_map(Literal::String),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(Literal::Bytes),
    ]
}

const OPERATORS: &[&str] = &[
    "_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "@in", "_&&_", "_||_", "_[_]",
    "_[?_]",
];

/// Trees as parsers make them, except for macros.
fn tree() -> impl Strategy<Value = Expr> {
    let name = "[a-d]_?";
    let leaf = prop_oneof![
        literal().prop_map(|literal| node(ExprKind::Literal(literal))),
        name.prop_map(|name| node(ExprKind::Ident(name))),
        name.prop_map(|name| node(ExprKind::Ident(format!(".{name}")))),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let many = || proptest::collection::vec(inner.clone(), 0..4);
        let field = prop_oneof!["[a-d]", "[a-d]-[a-d]", Just("in".to_owned()), Just("if".to_owned())];
        let entry = (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(key, value, optional)| Entry {
            id: 0,
            key,
            value,
            optional,
        });
        let member = (field.clone(), inner.clone(), any::<bool>()).prop_map(|(field, value, optional)| Entry {
            id: 0,
            key: node(ExprKind::Literal(Literal::String(field))),
            value,
            optional,
        });
        prop_oneof![
            (proptest::sample::select(OPERATORS), inner.clone(), inner.clone()).prop_map(|(name, left, right)| call(
                None,
                name,
                vec![left, right]
            )),
            (proptest::sample::select(&["!_", "-_"][..]), inner.clone()).prop_map(|(name, arg)| call(
                None,
                name,
                vec![arg]
            )),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(condition, then, otherwise)| call(
                None,
                "_?_:_",
                vec![condition, then, otherwise]
            )),
            ("f[0-9]", many()).prop_map(|(name, args)| call(None, &name, args)),
            (inner.clone(), "f[0-9]", many()).prop_map(|(target, name, args)| call(Some(target), &name, args)),
            (inner.clone(), field.clone()).prop_map(|(operand, field)| node(ExprKind::Select {
                operand: Box::new(operand),
                field,
                test_only: false
            })),
            (inner.clone(), field.clone()).prop_map(|(operand, field)| {
                let field = node(ExprKind::Literal(Literal::String(field)));
                call(None, "_?._", vec![operand, field])
            }),
            (inner.clone(), field).prop_map(|(operand, field)| node(ExprKind::Select {
                operand: Box::new(operand),
                field,
                test_only: true
            })),
            (many(), any::<bool>()).prop_map(|(elements, optional)| {
                let optionals = if optional {
                    (0..elements.len()).collect()
                } else {
                    Vec::new()
                };
                node(ExprKind::List { elements, optionals })
            }),
            proptest::collection::vec(entry, 0..3).prop_map(|entries| node(ExprKind::Map(entries))),
            ("[A-Z][a-z]?(\\.[A-Z])?", proptest::collection::vec(member, 0..3))
                .prop_map(|(name, fields)| node(ExprKind::Struct { name, fields })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_tree_that_was_printed_is_parsed_to_the_same_tree(tree in tree()) {
        let wanted = shape(&tree);
        let text = print(&Ast::from(tree)).expect("no macros");
        let parsed = parse(&text, OPTIONS).map_err(|issues| TestCaseError::fail(format!("{text}\n{issues}")))?;
        prop_assert_eq!(shape(&parsed.root), wanted, "{}", text);
        prop_assert_eq!(print(&parsed).expect("kept"), text);
    }
}
