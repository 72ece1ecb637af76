//! Why a text is not YAML, in the words of Go's `yaml`.

use super::scan::Problem;

/// A text that cannot be read as YAML, or that has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    message: String,
}

impl YamlError {
    /// A failure of Go's `yaml`, which puts its name before it.
    pub(super) fn yaml(problem: impl std::fmt::Display) -> Self {
        Self {
            message: format!("yaml: {problem}"),
        }
    }

    /// A failure of the conversion to JSON.
    pub(super) fn conversion(message: String) -> Self {
        Self { message }
    }
}

/// Go's `yaml` counts lines from nought and adds one only where its scanner, not its parser, complains; the first line is not worth mentioning to it.
impl From<Problem> for YamlError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Reader(problem) | Problem::Scanner(problem, 0) | Problem::Parser(problem, 0) => {
                Self::yaml(problem)
            }
            Problem::Scanner(problem, line) => Self::yaml(format_args!("line {}: {problem}", line + 1)),
            Problem::Parser(problem, line) => Self::yaml(format_args!("line {line}: {problem}")),
        }
    }
}
