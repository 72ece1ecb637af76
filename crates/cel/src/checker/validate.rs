//! What Kubernetes refuses although the types fit: literals that can never work.

use std::sync::Arc;

use kubewright_re2::Regex;

use crate::ast::{Expr, ExprKind, Literal};
use crate::checker::{CheckedAst, format_calls};
use crate::env::Env;
use crate::library::{regex, time};
use crate::source::{Issue, Source};
use crate::types::Type;

/// The patterns found, by the numbers of their literals.
type Patterns = Vec<(u32, Arc<Regex>)>;

/// A function and whether it can ever work with a literal, which has this number, as its first argument.
type Check = (&'static str, fn(u32, &Literal, &mut Patterns) -> bool);

const CHECKS: &[Check] = &[
    ("duration", |_, literal, _| match literal {
        Literal::String(text) => kubewright_apimachinery::duration::parse(text).is_ok(),
        _ => true,
    }),
    ("timestamp", |_, literal, _| match literal {
        Literal::String(text) => time::parse_timestamp(text).is_some(),
        Literal::Int(seconds) => time::Timestamp::new(*seconds, 0).is_some(),
        _ => true,
    }),
    ("matches", |id, literal, patterns| match literal {
        Literal::String(text) => regex::compile(text).map(|regex| patterns.push((id, regex))).is_ok(),
        _ => true,
    }),
];

/// The mistakes in literals, in the order upstream's validators run. Compiled patterns are kept for the program.
pub(super) fn validate(source: &Source, checked: &mut CheckedAst, env: &Env) -> Vec<Issue> {
    if env.mixed_aggregates() {
        return Vec::new();
    }
    let mut patterns = Patterns::new();
    let issues = mistakes(source, checked, &mut patterns);
    checked.patterns = patterns;
    issues
}

fn mistakes(source: &Source, checked: &CheckedAst, patterns: &mut Patterns) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut report = |id: u32, message: String| {
        let position = Some(source.position(checked.ast.offset(id)));
        issues.push(Issue { position, message });
    };
    for (function, valid) in CHECKS {
        visit(&checked.ast.root, false, &mut |expr, _| {
            if let ExprKind::Call {
                function: name, args, ..
            } = &expr.kind
                && name == function
                && let Some(arg) = args.first()
                && let ExprKind::Literal(literal) = &arg.kind
                && !valid(arg.id, literal, patterns)
            {
                report(arg.id, format!("invalid {function} argument"));
            }
        });
    }
    visit(&checked.ast.root, false, &mut |expr, exempt| {
        if let Some((id, message)) = format_calls::mistake(checked, expr) {
            report(id, message);
        }
        if !exempt {
            homogeneous(checked, expr, &mut report);
        }
    });
    issues
}

/// Calls `each` for every node, and whether the node is within a function that takes lists of mixed types.
fn visit(expr: &Expr, exempt: bool, each: &mut impl FnMut(&Expr, bool)) {
    each(expr, exempt);
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Ident(_) => {}
        ExprKind::Select { operand, .. } => visit(operand, exempt, each),
        ExprKind::Call { target, function, args } => {
            let exempt = exempt || function == "format";
            if let Some(target) = target {
                visit(target, exempt, each);
            }
            for arg in args {
                visit(arg, exempt, each);
            }
        }
        ExprKind::List { elements, .. } => {
            for element in elements {
                visit(element, exempt, each);
            }
        }
        ExprKind::Map(entries) | ExprKind::Struct { fields: entries, .. } => {
            for entry in entries {
                visit(&entry.key, exempt, each);
                visit(&entry.value, exempt, each);
            }
        }
        ExprKind::Comprehension(fold) => {
            for part in [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result] {
                visit(part, exempt, each);
            }
        }
    }
}

fn homogeneous(checked: &CheckedAst, expr: &Expr, report: &mut impl FnMut(u32, String)) {
    let value_type = |expr: &Expr, optional: bool| {
        let ty = checked.type_of(expr.id);
        if optional {
            ty.unwrap_optional().unwrap_or(ty).clone()
        } else {
            ty.clone()
        }
    };
    let message = |expected: &Type, found: &Type| format!("expected type '{expected}' but found '{found}'");
    match &expr.kind {
        ExprKind::List { elements, optionals } => {
            let mut types = elements
                .iter()
                .enumerate()
                .map(|(at, element)| (element.id, value_type(element, optionals.contains(&at))));
            let Some((_, first)) = types.next() else { return };
            if let Some((id, found)) = types.find(|(_, ty)| !equivalent(&first, ty)) {
                report(id, message(&first, &found));
            }
        }
        ExprKind::Map(entries) => {
            let mut types = entries.iter().map(|entry| {
                (
                    entry,
                    value_type(&entry.key, false),
                    value_type(&entry.value, entry.optional),
                )
            });
            let Some((_, key, value)) = types.next() else { return };
            for (entry, next_key, next_value) in types {
                if !equivalent(&key, &next_key) {
                    report(entry.key.id, message(&key, &next_key));
                }
                if !equivalent(&value, &next_value) {
                    report(entry.value.id, message(&value, &next_value));
                }
            }
        }
        _ => {}
    }
}

/// Equal up to type parameters.
fn equivalent(first: &Type, second: &Type) -> bool {
    match (first.unwrapped(), second.unwrapped()) {
        (Type::List(first), Type::List(second)) => equivalent(first, second),
        (Type::Map(first), Type::Map(second)) => equivalent(&first.0, &second.0) && equivalent(&first.1, &second.1),
        (first, second) => first == second,
    }
}
