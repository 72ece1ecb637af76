//! Label selectors: read and written as the server reads them, matched without decoding an object.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_apimachinery::labels::{self, Operator, Requirement};

/// Why a text or a `LabelSelector` is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A requirement that cannot be read, in the words of Kubernetes.
    #[error("{0}")]
    Requirement(String),
    /// An operator that does not exist.
    #[error("{0:?} is not an operator: expected In, NotIn, Exists or DoesNotExist")]
    Operator(String),
}

/// A label selector: all of its requirements must hold. It prints as Kubernetes prints it, in the order of the keys.
///
/// ```
/// use kubewright_runtime::object::Selector;
///
/// let selector: Selector = "app in (web,api), tier!=cache, !legacy".parse().unwrap();
/// assert_eq!(selector.to_string(), "app in (api,web),!legacy,tier!=cache");
/// assert!(selector.matches(&[("app", "web")]));
/// assert!(!selector.matches(&[("app", "web"), ("legacy", "")]));
///
/// let built = Selector::everything().equals("app", "web").any_of("tier", ["web", "api"]).absent("legacy");
/// assert_eq!(built.to_string(), "app=web,!legacy,tier in (api,web)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector(labels::Selector);

impl Selector {
    /// The selector that everything satisfies.
    pub fn everything() -> Self {
        Selector::default()
    }

    /// Whether the selector has no requirement.
    pub fn is_everything(&self) -> bool {
        self.0.is_everything()
    }

    /// The label must have this value.
    pub fn equals(self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(label, Operator::Equals, [value])
    }

    /// The label must not have this value; an object without the label satisfies it.
    pub fn not_equals(self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(label, Operator::NotEquals, [value])
    }

    /// The label must have one of these values.
    pub fn any_of(self, label: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(label, Operator::In, values)
    }

    /// The label must have none of these values; an object without the label satisfies it.
    pub fn none_of(self, label: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(label, Operator::NotIn, values)
    }

    /// The label must be there.
    pub fn exists(self, label: impl Into<String>) -> Self {
        self.with(label, Operator::Exists, NONE)
    }

    /// The label must not be there.
    pub fn absent(self, label: impl Into<String>) -> Self {
        self.with(label, Operator::DoesNotExist, NONE)
    }

    fn with(
        self,
        label: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        Selector(self.0.with(Requirement::unchecked(label, operator, values)))
    }

    /// Whether some labels satisfy all requirements.
    pub fn matches<K: AsRef<str>, V: AsRef<str>>(&self, labels: &[(K, V)]) -> bool {
        self.0.matches(labels)
    }
}

/// The values of an operator that takes none.
const NONE: [&str; 0] = [];

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let selector = text.parse::<labels::Selector>();
        let selector = selector.map_err(|error| SelectorError::Requirement(error.to_string()))?;
        Ok(Selector(selector))
    }
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let labels = selector.match_labels.iter().flatten();
        let equal = labels.map(|(label, value)| Ok((label, Operator::Equals, vec![value.clone()])));
        let expressions = selector.match_expressions.iter().flatten().map(|expression| {
            let operator = match expression.operator.as_str() {
                name @ ("In" | "NotIn" | "Exists" | "DoesNotExist") => Operator::named(name),
                _ => None,
            };
            let operator = operator.ok_or_else(|| SelectorError::Operator(expression.operator.clone()))?;
            Ok((&expression.key, operator, expression.values.clone().unwrap_or_default()))
        });
        let requirements = equal.chain(expressions).map(|requirement| {
            let (label, operator, values) = requirement?;
            Requirement::new(label, operator, values).map_err(|error| SelectorError::Requirement(error.to_string()))
        });
        requirements.collect::<Result<labels::Selector, _>>().map(Selector)
    }
}

impl<'a> From<&'a Selector> for Cow<'a, Selector> {
    fn from(selector: &'a Selector) -> Self {
        Cow::Borrowed(selector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_selector_is_refused_by_its_requirement() {
        for bad in [
            "a b",
            "=x",
            "a in b",
            "a in (b",
            "a within (b)",
            "a=b/c",
            "a,,b",
            "a>x",
            "!",
        ] {
            assert!(
                matches!(bad.parse::<Selector>(), Err(SelectorError::Requirement(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_label_selector_becomes_the_same_requirements() {
        let selector: LabelSelector = serde_json::from_value(serde_json::json!({
            "matchLabels": { "app": "web" },
            "matchExpressions": [{ "key": "tier", "operator": "NotIn", "values": ["b", "a"] }, { "key": "x", "operator": "Exists" }],
        }))
        .unwrap();
        assert_eq!(
            Selector::try_from(&selector).unwrap().to_string(),
            "app=web,tier notin (a,b),x"
        );
    }
}
