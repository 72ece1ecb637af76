//! Why an evaluation has no value.

use std::fmt;
use std::sync::Arc;

/// Why an evaluation has no value. Cheap to copy, since `&&`, `||` and loops carry errors along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    kind: ErrorKind,
    message: ErrorText,
}

#[derive(Clone, Debug)]
enum ErrorText {
    Fixed(&'static str),
    Computed(Arc<str>),
}

impl PartialEq for ErrorText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ErrorText {}

impl ErrorText {
    fn as_str(&self) -> &str {
        match self {
            ErrorText::Fixed(text) => text,
            ErrorText::Computed(text) => text,
        }
    }
}

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The expression has no value for this input; `&&` and `||` may absorb it.
    Value,
    /// The cost limit was reached.
    CostLimit,
    /// The caller asked to stop.
    Interrupted,
    /// Upstream's evaluator itself fails here; nothing absorbs it.
    Internal,
}

impl EvalError {
    /// An error of the expression.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            kind: ErrorKind::Value,
            message: ErrorText::Computed(message.into()),
        }
    }

    pub(crate) const fn fixed(message: &'static str) -> Self {
        Self {
            kind: ErrorKind::Value,
            message: ErrorText::Fixed(message),
        }
    }

    pub(crate) const fn no_such_overload() -> Self {
        Self::fixed("no such overload")
    }

    pub(crate) const fn cost_limit() -> Self {
        Self {
            kind: ErrorKind::CostLimit,
            message: ErrorText::Fixed("operation cancelled: actual cost limit exceeded"),
        }
    }

    pub(crate) const fn unpriced_list() -> Self {
        let message = "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add";
        Self {
            kind: ErrorKind::Internal,
            message: ErrorText::Fixed(message),
        }
    }

    pub(crate) const fn interrupted() -> Self {
        Self {
            kind: ErrorKind::Interrupted,
            message: ErrorText::Fixed("operation interrupted"),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether nothing may absorb it.
    pub(crate) fn is_fatal(&self) -> bool {
        self.kind != ErrorKind::Value
    }

    /// The message, as cel-go words it.
    pub fn message(&self) -> &str {
        self.message.as_str()
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for EvalError {}
