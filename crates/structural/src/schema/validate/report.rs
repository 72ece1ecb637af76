//! Where a check reports problems: as a list of field errors, or only that there is one.

use std::collections::HashSet;

use kubewright_apimachinery::field::{ErrorType, Errors, FieldError};
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::value::Alternatives;
use crate::schema::path::ObjectPath;

/// What is wrong with a value, before it is put into words.
pub(super) enum Problem<'p> {
    /// The type is not the expected one.
    Type { expected: &'p str, found: &'p str },
    /// A required field is missing; the path is the field's.
    Missing,
    /// None of the enumerated values.
    NotOneOf { value: &'p Value, supported: &'p [String] },
    /// More characters than allowed.
    TooLong { max: i64 },
    /// More items or properties than allowed.
    TooMany { actual: usize, max: i64 },
    /// Anything else that shows the value; the message follows the path.
    Value { value: Value, message: String },
    /// A message that is written from the path and contains it; the error names no field.
    Plain { message: Box<dyn Fn(&str) -> String + 'p> },
    /// The same, for an error that names the field and shows a value.
    Whole {
        value: Value,
        message: Box<dyn Fn(&str) -> String + 'p>,
    },
}

/// Receives problems.
pub(super) trait Sink: Alternatives {
    /// Reports a problem at a path.
    fn report<'p>(&mut self, at: &ObjectPath<'_>, problem: impl FnOnce() -> Problem<'p>);
    /// Whether further problems make no difference.
    fn is_settled(&self) -> bool;
    /// The number of problems so far, for [`Self::rewind`].
    fn mark(&self) -> usize;
    /// Drops the problems that were reported since `mark`.
    fn rewind(&mut self, mark: usize);
}

/// Notes only whether there is a problem.
#[derive(Debug, Default)]
pub(super) struct AnyProblem {
    pub(super) found: bool,
}

impl Sink for AnyProblem {
    fn report<'p>(&mut self, _: &ObjectPath<'_>, _: impl FnOnce() -> Problem<'p>) {
        self.found = true;
    }

    fn is_settled(&self) -> bool {
        self.found
    }

    fn mark(&self) -> usize {
        usize::from(self.found)
    }

    fn rewind(&mut self, mark: usize) {
        self.found = mark > 0;
    }
}

/// Collects all problems as field errors.
#[derive(Debug, Default)]
pub(super) struct Collect {
    pub(super) errors: Errors,
    /// The part of the object that is validated, if it is not the whole.
    part: Option<&'static str>,
    /// Set while collecting the errors of alternatives that are known to fail.
    pub(super) thorough: bool,
}

impl Collect {
    pub(super) fn whole() -> Self {
        Self::default()
    }

    pub(super) fn below(part: &'static str) -> Self {
        Collect {
            part: Some(part),
            ..Self::default()
        }
    }

    /// Appends the errors to `errors`, equal ones once, as upstream does.
    pub(super) fn finish(mut self, errors: &mut Errors) {
        if self.errors.len() > 1 {
            let mut seen = HashSet::new();
            let unique: Vec<bool> = self
                .errors
                .iter()
                .map(|error| seen.insert((error.kind.reason(), &*error.field, &*error.detail)))
                .collect();
            let mut unique = unique.into_iter();
            self.errors.retain(|_| unique.next().unwrap_or(true));
        }
        errors.append(&mut self.errors);
    }

    fn field(&self, path: &str) -> String {
        let path = path.strip_prefix('.').unwrap_or(path);
        match (self.part, path) {
            (None, "") => "<nil>".to_owned(),
            (None, path) => path.to_owned(),
            (Some(part), "") => part.to_owned(),
            (Some(part), path) => format!("{part}.{path}"),
        }
    }
}

impl Sink for Collect {
    fn report<'p>(&mut self, at: &ObjectPath<'_>, problem: impl FnOnce() -> Problem<'p>) {
        let path = at.in_body();
        let error = |kind, value, detail| FieldError {
            kind,
            field: self.field(&path),
            value,
            detail,
        };
        let error = match problem() {
            Problem::Type { expected, found } => error(
                ErrorType::TypeInvalid,
                Some(found.into()),
                format!("{path} in body must be of type {expected}: {}", quote(found)),
            ),
            Problem::Missing => error(ErrorType::Required, None, String::new()),
            Problem::NotOneOf { value, supported } => {
                let supported: Vec<String> = supported.iter().map(|value| quote(value)).collect();
                error(
                    ErrorType::NotSupported,
                    Some(value.into()),
                    format!("supported values: {}", supported.join(", ")),
                )
            }
            Problem::TooLong { max } => {
                let plural = if max == 1 { "" } else { "s" };
                error(
                    ErrorType::TooLong,
                    None,
                    format!("may not be more than {max} byte{plural}"),
                )
            }
            Problem::TooMany { actual, max } => {
                let plural = if max == 1 { "" } else { "s" };
                error(
                    ErrorType::TooMany,
                    Some(actual.into()),
                    format!("must have at most {max} item{plural}"),
                )
            }
            Problem::Value { value, message } => error(
                ErrorType::Invalid,
                Some(value.into()),
                format!("{path} in body {message}"),
            ),
            Problem::Whole { value, message } => error(ErrorType::Invalid, Some(value.into()), message(&path)),
            Problem::Plain { message } => FieldError {
                kind: ErrorType::Invalid,
                field: self.part.unwrap_or("<nil>").to_owned(),
                value: Some("".into()),
                detail: message(&path),
            },
        };
        self.errors.push(error);
    }

    fn is_settled(&self) -> bool {
        false
    }

    fn mark(&self) -> usize {
        self.errors.len()
    }

    fn rewind(&mut self, mark: usize) {
        self.errors.truncate(mark);
    }
}
