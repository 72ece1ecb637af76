//! From a version to another and back, and what may go wrong.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::super::convert::{ConvertError, convert};
use super::super::directed::DirectedConversion;
use super::difference::differences;
use crate::object::Object;

/// What became of one value.
pub(super) enum Outcome {
    CameBack,
    Refused,
    Failed(Failure),
}

pub(super) enum Failure {
    /// It came back as something else.
    Differs { middle: Value, normal: Value, back: Value },
    /// It did not come back.
    NoWayBack { middle: Value, error: String },
    /// The conversion panicked.
    Panicked(String),
}

pub(super) struct Checker<X, Y> {
    annotation: Option<String>,
    there: DirectedConversion<'static>,
    back: DirectedConversion<'static>,
    versions: PhantomData<fn(X) -> Y>,
}

impl<X, Y> Checker<X, Y>
where
    X: Object + TryFrom<Y>,
    Y: Object + TryFrom<X>,
    <X as TryFrom<Y>>::Error: fmt::Display,
    <Y as TryFrom<X>>::Error: fmt::Display,
{
    pub(super) fn new(annotation: Option<String>) -> Self {
        Checker {
            annotation,
            there: DirectedConversion {
                from: "start",
                to: "middle",
                forward: convert::<X, Y>,
                back: convert::<Y, X>,
                normal: convert::<X, X>,
            },
            back: DirectedConversion {
                from: "middle",
                to: "start",
                forward: convert::<Y, X>,
                back: convert::<X, Y>,
                normal: convert::<Y, Y>,
            },
            versions: PhantomData,
        }
    }

    pub(super) fn check(&self, object: &Value) -> Outcome {
        let tried = catch_unwind(AssertUnwindSafe(|| self.try_it(object)));
        tried.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Outcome::Failed(Failure::Panicked(text.unwrap_or("no message").to_owned()))
        })
    }

    fn try_it(&self, object: &Value) -> Outcome {
        let Ok(normal) = convert::<X, X>(object) else {
            return Outcome::Refused;
        };
        let Ok(middle) = self.run_conversion(&self.there, &normal) else {
            return Outcome::Refused;
        };
        match self.run_conversion(&self.back, &middle) {
            Ok(back) if back == normal => Outcome::CameBack,
            Ok(back) => Outcome::Failed(Failure::Differs { middle, normal, back }),
            Err(error) => {
                let error = error.to_string();
                Outcome::Failed(Failure::NoWayBack { middle, error })
            }
        }
    }

    fn run_conversion(&self, conversion: &DirectedConversion<'_>, object: &Value) -> Result<Value, ConvertError> {
        match &self.annotation {
            Some(annotation) => conversion.convert_preserving(object.clone(), annotation),
            None => conversion.convert(object),
        }
    }
}

impl Failure {
    /// For people.
    pub(super) fn explain(&self, start: &str, middle: &str, object: &Value) -> String {
        let pretty = |value: &Value| format!("{value:#}");
        let head = format!("{start} → {middle} → {start}");
        match self {
            Failure::Differs {
                middle: between,
                normal,
                back,
            } => format!(
                "{head} does not give back what went in:\n\n{}\nthe smallest object found:\n{}\n\nin {middle}:\n{}\n",
                differences(normal, back),
                pretty(normal),
                pretty(between),
            ),
            Failure::NoWayBack { middle: between, error } => format!(
                "{head} does not come back: {error}\n\nthe smallest object found:\n{}\n\nin {middle}:\n{}\n",
                pretty(object),
                pretty(between),
            ),
            Failure::Panicked(message) => {
                format!("{head} panics: {message}\n\nthe object:\n{}\n", pretty(object))
            }
        }
    }
}
