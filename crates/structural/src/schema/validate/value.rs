//! Checks one value against one node of the schema, keyword by keyword.

use kubewright_apimachinery::field::Errors;
use kubewright_apimachinery::go::quote;
use serde_json::{Map, Value};

use super::number;
use super::report::{AnyProblem, Collect, Problem, Sink};
use crate::schema::{
    checks::{FormatKind, Quantors, StringChecks},
    correlate::{OldItems, unchanged},
    go,
    node::{Additional, Node, Types},
    path::ObjectPath,
};

/// Checks a value and tolerates what is wrong with one that did not change (C18). Returns how many checks passed:
/// upstream shows the errors of the alternative for which most did.
pub(super) fn check<S: Sink>(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    at: &ObjectPath<'_>,
    sink: &mut S,
) -> usize {
    let mark = sink.mark();
    let passed = keywords(node, value, old, at, sink);
    if let Some(old) = old
        && sink.mark() > mark
        && unchanged(node, value, old)
    {
        sink.rewind(mark);
    }
    passed
}

fn keywords<S: Sink>(node: &Node, value: &Value, old: Option<&Value>, at: &ObjectPath<'_>, sink: &mut S) -> usize {
    if value.is_null() {
        return null(node, value, at, sink);
    }
    let checks = &node.checks;
    let mut passed = 0;
    if !node.types.is_empty() || checks.format.is_some() {
        passed += 1 + typed(node, value, at, sink);
    }
    passed += 2;
    if let Some(quantors) = &checks.quantors {
        passed += S::quantors(sink, quantors, value, at);
    }
    if sink.is_settled() {
        return passed;
    }
    match value {
        Value::String(text) => {
            string(&checks.string, text, at, sink);
            passed += 1;
            if let Some(format) = &checks.format
                && let FormatKind::Text(kind) = format.kind
            {
                if !kind.matches(text) {
                    sink.report(at, || Problem::Type {
                        expected: &format.name,
                        found: text,
                    });
                }
                passed += 1;
            }
        }
        Value::Number(number) => {
            number::check(node, go::Number::of(number), at, sink);
            passed += 2;
        }
        Value::Array(items) => passed += 2 + list(node, items, old, at, sink),
        _ => {}
    }
    if let Some(allowed) = &checks.allowed
        && !allowed.allows(value)
    {
        sink.report(at, || Problem::NotOneOf {
            value,
            supported: &allowed.shown,
        });
    }
    passed += 1;
    if let Value::Object(fields) = value {
        passed += 1 + object(node, fields, old, at, sink);
    }
    passed + 1
}

/// Of a null only type and enum are looked at; it equals no enumerated value.
fn null<S: Sink>(node: &Node, value: &Value, at: &ObjectPath<'_>, sink: &mut S) -> usize {
    let mut passed = 1;
    if !node.types.is_empty() && !node.nullable {
        sink.report(at, || Problem::Type {
            expected: node.types.text(),
            found: "null",
        });
        passed = 0;
    }
    if let Some(allowed) = &node.checks.allowed {
        sink.report(at, || Problem::NotOneOf {
            value,
            supported: &allowed.shown,
        });
    }
    passed
}

/// The type, in upstream's way: a format answers for strings and lists, nearly whole floats are integers, integers are
/// numbers.
fn typed<S: Sink>(node: &Node, value: &Value, at: &ObjectPath<'_>, sink: &mut S) -> usize {
    let (found, name, format) = match value {
        Value::Bool(_) | Value::Null => (Types::BOOLEAN, "boolean", ""),
        Value::String(_) => (Types::STRING, "string", ""),
        Value::Array(_) => (Types::ARRAY, "array", ""),
        Value::Object(_) => (Types::OBJECT, "object", ""),
        Value::Number(number) => match go::Number::of(number) {
            go::Number::Int(_) => (Types::INTEGER, "integer", "int64"),
            go::Number::Float(_) => (Types::NUMBER, "number", "float64"),
        },
    };
    let converts = match value {
        Value::Number(number) => match go::Number::of(number) {
            go::Number::Int(_) => node.types.has(Types::NUMBER),
            go::Number::Float(float) => node.types.has(Types::INTEGER) && go::is_integral(float),
        },
        _ => false,
    };
    let fits = node.types.has(found) || converts;
    if fits {
        return 1;
    }
    if let Some(expected) = &node.checks.format {
        if !matches!(value, Value::String(_) | Value::Array(_)) {
            sink.report(at, || Problem::Type {
                expected: &expected.name,
                found: format,
            });
            return 0;
        }
        if !node.types.has(Types::NUMBER) && !node.types.has(Types::INTEGER) {
            return 1;
        }
    }
    sink.report(at, || Problem::Type {
        expected: node.types.text(),
        found: name,
    });
    0
}

fn string<S: Sink>(checks: &StringChecks, text: &str, at: &ObjectPath<'_>, sink: &mut S) {
    let problem = |message: String| Problem::Value {
        value: text.into(),
        message,
    };
    if let Some(max) = checks.length.max
        // A text has at most as many characters as bytes.
        && text.len() as i64 > max
        && text.chars().count() as i64 > max
    {
        return sink.report(at, || Problem::TooLong { max });
    }
    if let Some(min) = checks.length.min
        && (text.chars().count() as i64) < min
    {
        return sink.report(at, || problem(format!("should be at least {min} chars long")));
    }
    if let Some(pattern) = &checks.pattern {
        let source = &pattern.source;
        match &pattern.regex {
            Ok(regex) if regex.is_match(text) => {}
            Ok(_) => sink.report(at, || problem(format!("should match '{source}'"))),
            Err(why) => sink.report(at, || {
                problem(format!("should match '{source}, but pattern is invalid: {why}'"))
            }),
        }
    }
}

fn list<S: Sink>(node: &Node, items: &[Value], old: Option<&Value>, at: &ObjectPath<'_>, sink: &mut S) -> usize {
    let mut passed = 0;
    if let Some(of) = &node.items {
        let old_items = OldItems::of(node, old);
        for (index, item) in items.iter().enumerate() {
            let old_item = old_items.as_ref().and_then(|old| old.find(item));
            passed += check(of, item, old_item, &at.index(index), sink);
            if sink.is_settled() {
                return passed;
            }
        }
    }
    let bounds = node.checks.items;
    if let Some(min) = bounds.min
        && (items.len() as i64) < min
    {
        sink.report(at, || Problem::Value {
            value: items.len().into(),
            message: format!("should have at least {min} items"),
        });
    }
    if let Some(max) = bounds.max
        && items.len() as i64 > max
    {
        sink.report(at, || Problem::TooMany {
            actual: items.len(),
            max,
        });
    }
    passed
}

fn object<S: Sink>(
    node: &Node,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    at: &ObjectPath<'_>,
    sink: &mut S,
) -> usize {
    let bounds = node.checks.properties;
    if let Some(min) = bounds.min
        && (fields.len() as i64) < min
    {
        sink.report(at, || Problem::Value {
            value: fields.len().into(),
            message: format!("should have at least {min} properties"),
        });
    }
    if let Some(max) = bounds.max
        && fields.len() as i64 > max
    {
        sink.report(at, || Problem::TooMany {
            actual: fields.len(),
            max,
        });
    }
    let old = old.and_then(Value::as_object);
    let mut passed = 0;
    for (name, value) in fields {
        if sink.is_settled() {
            return passed;
        }
        // The version of the object is converted before it is compared, so its change is not visible.
        let compares = !(at.is_root() && matches!(name.as_str(), "apiVersion" | "kind"));
        let old = old.filter(|_| compares).and_then(|old| old.get(name));
        if let Some(property) = node.property(name) {
            passed += check(property, value, old, &at.field(name), sink);
        } else if let Some(values) = node.additional.schema() {
            passed += check(values, value, old, &at.key(name), sink);
        } else if matches!(node.additional, Additional::Nothing) {
            sink.report(at, || Problem::Whole {
                value: name.as_str().into(),
                message: Box::new(move |path| format!("{path}.{name} in body is a forbidden property")),
            });
        }
    }
    for name in &node.checks.required {
        if !fields.contains_key(&**name) {
            sink.report(&at.key(name), || Problem::Missing);
        }
    }
    passed
}

/// How a sink checks `allOf`, `anyOf`, `oneOf` and `not`: [`AnyProblem`] stops at the first problem; [`Collect`] first
/// checks whether they hold, and walks them again for the errors if they do not.
pub(super) trait Alternatives: Sized {
    fn quantors(sink: &mut Self, quantors: &Quantors, value: &Value, at: &ObjectPath<'_>) -> usize;
}

impl Alternatives for AnyProblem {
    fn quantors(sink: &mut Self, quantors: &Quantors, value: &Value, at: &ObjectPath<'_>) -> usize {
        sink.found |= !hold(quantors, value, at);
        0
    }
}

impl Alternatives for Collect {
    fn quantors(sink: &mut Self, quantors: &Quantors, value: &Value, at: &ObjectPath<'_>) -> usize {
        if sink.thorough {
            return reasons(quantors, value, at, sink);
        }
        if hold(quantors, value, at) {
            return 0;
        }
        sink.thorough = true;
        let passed = reasons(quantors, value, at, sink);
        sink.thorough = false;
        passed
    }
}

fn is_valid(node: &Node, value: &Value, at: &ObjectPath<'_>) -> bool {
    let mut problem = AnyProblem::default();
    keywords(node, value, None, at, &mut problem);
    !problem.found
}

fn hold(quantors: &Quantors, value: &Value, at: &ObjectPath<'_>) -> bool {
    let valid = |node: &Node| is_valid(node, value, at);
    (quantors.any_of.is_empty() || quantors.any_of.iter().any(valid))
        && quantors.all_of.iter().all(valid)
        && (quantors.one_of.is_empty() || quantors.one_of.iter().filter(|node| valid(node)).take(2).count() == 1)
        && quantors.not.as_deref().is_none_or(|node| !valid(node))
}

/// One alternative's outcome: how many checks passed, and what was wrong.
fn outcome(node: &Node, value: &Value, at: &ObjectPath<'_>, sink: &mut Collect) -> (usize, Errors) {
    let mark = sink.mark();
    let passed = keywords(node, value, None, at, sink);
    (passed, sink.errors.split_off(mark))
}

fn reasons(quantors: &Quantors, value: &Value, at: &ObjectPath<'_>, sink: &mut Collect) -> usize {
    let mut passed = 0;
    if !quantors.any_of.is_empty() {
        let mut best: Option<(usize, Errors)> = None;
        for node in &quantors.any_of {
            let outcome = outcome(node, value, at, sink);
            if outcome.1.is_empty() {
                best = Some(outcome);
                break;
            }
            if best.as_ref().is_none_or(|best| outcome.0 > best.0) {
                best = Some(outcome);
            }
        }
        if let Some((count, mut errors)) = best {
            if !errors.is_empty() {
                plain(at, sink, " must validate at least one schema (anyOf)");
            }
            passed += count;
            sink.errors.append(&mut errors);
        }
    }
    if !quantors.one_of.is_empty() {
        let mut valid: Vec<usize> = Vec::new();
        let mut best: Option<(usize, Errors)> = None;
        for node in &quantors.one_of {
            let outcome = outcome(node, value, at, sink);
            if outcome.1.is_empty() {
                valid.push(outcome.0);
            } else if best.as_ref().is_none_or(|best| outcome.0 > best.0) {
                best = Some(outcome);
            }
        }
        match (valid.as_slice(), best) {
            ([count], _) => passed += count,
            ([], best) => {
                plain(
                    at,
                    sink,
                    " must validate one and only one schema (oneOf). Found none valid",
                );
                if let Some((count, mut errors)) = best {
                    passed += count;
                    sink.errors.append(&mut errors);
                }
            }
            (several, _) => {
                let found = several.len();
                let message =
                    format!(" must validate one and only one schema (oneOf). Found {found} valid alternatives");
                plain(at, sink, &message);
            }
        }
    }
    if !quantors.all_of.is_empty() {
        let mut valid = 0;
        for node in &quantors.all_of {
            let mark = sink.mark();
            passed += keywords(node, value, None, at, sink);
            valid += usize::from(sink.mark() == mark);
        }
        if valid != quantors.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            plain(at, sink, &format!(" must validate all the schemas (allOf){none}"));
        }
    }
    if let Some(node) = &quantors.not
        && is_valid(node, value, at)
    {
        plain(at, sink, " must not validate the schema (not)");
    }
    passed
}

fn plain(at: &ObjectPath<'_>, sink: &mut Collect, message: &str) {
    sink.report(at, || Problem::Plain {
        message: Box::new(|path| format!("{}{message}", quote(path))),
    });
}
