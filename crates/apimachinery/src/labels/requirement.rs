//! One requirement of a selector.

use std::fmt;

use super::SelectorError;
use crate::field::{BadValue, Errors, FieldError, Path, aggregate};
use crate::names;

/// How a requirement compares a label with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// `key=value`
    Equals,
    /// `key==value`
    DoubleEquals,
    /// `key!=value`, which an object without the label meets
    NotEquals,
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`, which an object without the label meets
    NotIn,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

impl Operator {
    /// The operator that `matchExpressions` call so. Only node selectors have `Gt` and `Lt`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            "Gt" => Operator::GreaterThan,
            "Lt" => Operator::LessThan,
            _ => return None,
        })
    }

    /// Whether a label, or its absence, meets a requirement with these values.
    pub fn holds<'v>(self, label: Option<&str>, values: impl IntoIterator<Item = &'v str>) -> bool {
        let mut values = values.into_iter();
        match self {
            Operator::Equals | Operator::DoubleEquals | Operator::In => {
                label.is_some_and(|label| values.any(|value| value == label))
            }
            Operator::NotEquals | Operator::NotIn => label.is_none_or(|label| values.all(|value| value != label)),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let number = |text: &str| text.parse::<i64>().ok();
                let (Some(label), Some(limit)) = (label.and_then(number), values.next().and_then(number)) else {
                    return false;
                };
                if self == Operator::GreaterThan {
                    label > limit
                } else {
                    label < limit
                }
            }
        }
    }
}

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl Requirement {
    /// A requirement with a key and values that labels can have, and as many values as the operator takes.
    pub fn new(key: impl Into<String>, operator: Operator, values: Vec<String>) -> Result<Self, SelectorError> {
        let requirement = Self::unchecked(key, operator, values);
        match aggregate(&requirement.problems()) {
            None => Ok(requirement),
            Some(problems) => Err(SelectorError(problems)),
        }
    }

    /// A requirement of which nothing is checked: what labels cannot have selects nothing, and the server refuses it.
    pub fn unchecked(key: impl Into<String>, operator: Operator, mut values: Vec<String>) -> Self {
        values.sort_unstable();
        Requirement {
            key: key.into(),
            operator,
            values,
        }
    }

    /// The key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label is compared.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What the label is compared with, in alphabetical order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether a label, or its absence, meets the requirement.
    pub fn matches(&self, label: Option<&str>) -> bool {
        self.operator.holds(label, self.values.iter().map(String::as_str))
    }

    fn problems(&self) -> Errors {
        let mut errors = Errors::new();
        let wrong = names::qualified_name(&self.key);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid("key", &self.key, wrong.join("; ")));
        }
        let path = Path::new("values");
        let misfit = match (self.operator, self.values.len()) {
            (Operator::In | Operator::NotIn, 0) => Some("for 'in', 'notin' operators, values set can't be empty"),
            (Operator::Equals | Operator::DoubleEquals | Operator::NotEquals, 0 | 2..) => {
                Some("exact-match compatibility requires one single value")
            }
            (Operator::Exists | Operator::DoesNotExist, 1..) => {
                Some("values set must be empty for exists and does not exist")
            }
            (Operator::GreaterThan | Operator::LessThan, 0 | 2..) => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(detail) = misfit {
            errors.push(FieldError::invalid(&path, BadValue::json(&self.values), detail));
        }
        let is_comparison = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
        for (at, value) in self.values.iter().enumerate() {
            if is_comparison && value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid(&path.index(at), value, detail));
            }
        }
        for (at, value) in self.values.iter().enumerate() {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(
                    &path.index(at).key(&self.key),
                    value,
                    wrong.join("; "),
                ));
            }
        }
        errors
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}
