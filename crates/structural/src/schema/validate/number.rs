//! Numbers against `format`, `multipleOf`, `minimum` and `maximum`, with upstream's conversions between the kinds of
//! numbers that Go has.

use serde_json::Value;

use super::report::{Problem, Sink};
use crate::schema::{
    checks::{FormatKind, Limit},
    compile::misfit,
    go::{self, Number},
    node::{Node, Types},
    path::ObjectPath,
};

/// Checks a number.
pub(super) fn check<S: Sink>(node: &Node, number: Number, at: &ObjectPath<'_>, sink: &mut S) {
    let format = node.checks.format.as_ref().map(|format| format.kind);
    if misfit(number, node.types, format) {
        out_of_range("Checked", node.types, format, at, sink);
    }
    let Some(checks) = &node.checks.number else { return };
    if let Some(limit) = checks.multiple_of {
        if limit.misfit {
            out_of_range("MultipleOf", node.types, format, at, sink);
        }
        multiple_of(seen(number, limit), limit, at, sink);
    }
    if let Some(limit) = checks.minimum {
        if limit.misfit {
            out_of_range("Minimum boundary", node.types, format, at, sink);
        }
        let words = if limit.exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        bounded(
            seen(number, limit),
            limit,
            words,
            |number, limit| number < limit,
            at,
            sink,
        );
    }
    if let Some(limit) = checks.maximum {
        if limit.misfit {
            out_of_range("Maximum boundary", node.types, format, at, sink);
        }
        let words = if limit.exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        bounded(
            seen(number, limit),
            limit,
            words,
            |number, limit| number > limit,
            at,
            sink,
        );
    }
}

/// A limit that does not fit the type is compared as a float.
fn seen(number: Number, limit: Limit) -> Number {
    if limit.misfit {
        Number::Float(number.as_float())
    } else {
        number
    }
}

fn out_of_range<S: Sink>(
    what: &'static str,
    types: Types,
    format: Option<FormatKind>,
    at: &ObjectPath<'_>,
    sink: &mut S,
) {
    let format = match format {
        Some(FormatKind::Int32) => " with format int32",
        Some(FormatKind::Int64) => " with format int64",
        Some(FormatKind::Float) => " with format float",
        Some(FormatKind::Double) => " with format double",
        _ => " (default format)",
    };
    let ty = types.text();
    sink.report(at, || Problem::Plain {
        message: Box::new(move |path| format!("{what} value must be of type {ty}{format} in {path}")),
    });
}

fn bounded<S: Sink>(
    number: Number,
    limit: Limit,
    words: &str,
    beyond: impl Fn(f64, f64) -> bool + Copy,
    at: &ObjectPath<'_>,
    sink: &mut S,
) {
    let (fails, shown) = match number {
        Number::Int(int) => {
            let bound = go::to_int(limit.value);
            // Integers are compared as integers: a float would not tell large ones apart.
            let fails = match int.cmp(&bound) {
                std::cmp::Ordering::Equal => limit.exclusive,
                std::cmp::Ordering::Less => beyond(-1.0, 0.0),
                std::cmp::Ordering::Greater => beyond(1.0, 0.0),
            };
            (fails, bound.to_string())
        }
        Number::Float(float) => {
            #[expect(clippy::float_cmp, reason = "exactly the bound is what `exclusive` is about")]
            let at_bound = float == limit.value;
            (
                beyond(float, limit.value) || (limit.exclusive && at_bound),
                go::float(limit.value),
            )
        }
    };
    if fails {
        sink.report(at, || Problem::Value {
            value: shown_value(number),
            message: format!("should be {words} {shown}"),
        });
    }
}

fn multiple_of<S: Sink>(number: Number, limit: Limit, at: &ObjectPath<'_>, sink: &mut S) {
    let (factor, holds) = match number {
        Number::Int(int) => {
            let factor = go::to_int(limit.value);
            (Number::Int(factor), factor > 0 && int % factor == 0)
        }
        Number::Float(float) => {
            let factor = limit.value;
            let quotient = if factor < 1.0 {
                1.0 / factor * float
            } else {
                float / factor
            };
            (Number::Float(factor), factor > 0.0 && go::is_integral(quotient))
        }
    };
    if holds {
        return;
    }
    let shown = match factor {
        Number::Int(int) => int.to_string(),
        Number::Float(float) => go::float(float),
    };
    if factor.as_float() <= 0.0 {
        sink.report(at, || Problem::Whole {
            value: shown_value(factor),
            message: Box::new(move |path| format!("factor MultipleOf declared for {path} must be positive: {shown}")),
        });
    } else {
        sink.report(at, || Problem::Value {
            value: shown_value(number),
            message: format!("should be a multiple of {shown}"),
        });
    }
}

fn shown_value(number: Number) -> Value {
    match number {
        Number::Int(int) => int.into(),
        Number::Float(float) => float.into(),
    }
}
