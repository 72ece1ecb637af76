//! What does not fit its type, field by field, in upstream's words.

use std::fmt;

use crate::managed::PathElement;

/// What does not fit its type. Empty when all is well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Problems(Vec<Problem>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    message: String,
}

impl Problems {
    pub(super) fn add(&mut self, message: String) {
        self.0.push(Problem {
            path: String::new(),
            message,
        });
    }

    /// Takes over what was found one step down.
    pub(super) fn add_below(&mut self, step: impl FnOnce() -> PathElement, below: Self) {
        if below.is_empty() {
            return;
        }
        let step = step();
        for problem in below.0 {
            self.0.push(Problem {
                path: format!("{step}{}", problem.path),
                message: problem.message,
            });
        }
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => only.fmt(f),
            all => {
                f.write_str("errors:")?;
                all.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}
