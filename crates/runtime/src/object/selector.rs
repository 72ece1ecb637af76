//! Label selectors: read and written as the server reads them, matched without decoding an object.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Why a text or a `LabelSelector` is not a selector.
///
/// ```
/// use kubewright_runtime::object::{Selector, SelectorError};
///
/// let error = "app in web".parse::<Selector>().unwrap_err();
/// assert!(matches!(error, SelectorError::Requirement(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A requirement that cannot be read.
    #[error(
        "cannot read the requirement {0:?}: expected key, !key, key=value, key!=value, key in (a,b) or key notin (a,b)"
    )]
    Requirement(String),
    /// An operator that does not exist.
    #[error("{0:?} is not an operator: expected In, NotIn, Exists or DoesNotExist")]
    Operator(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

/// A label selector: all of its requirements must hold.
///
/// ```
/// use kubewright_runtime::object::Selector;
///
/// let selector: Selector = "app in (web,api), tier!=cache, !legacy".parse().unwrap();
/// assert_eq!(selector.to_string(), "app in (api,web),tier!=cache,!legacy");
/// assert!(selector.matches(&[("app", "web")]));
/// assert!(!selector.matches(&[("app", "web"), ("legacy", "")]));
///
/// let built = Selector::everything().equals("app", "web").exists("tier");
/// assert_eq!(built.to_string(), "app=web,tier");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    requirements: Vec<(String, Test)>,
}

impl Selector {
    /// The selector that everything satisfies.
    pub fn everything() -> Self {
        Selector::default()
    }

    /// Whether there is no requirement.
    ///
    /// ```
    /// use kubewright_runtime::object::Selector;
    ///
    /// assert!(Selector::everything().is_everything());
    /// ```
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The label must have this value.
    pub fn equals(self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(label, Test::In(vec![value.into()]))
    }

    /// The label must not have this value; an object without the label satisfies it.
    ///
    /// ```
    /// use kubewright_runtime::object::Selector;
    ///
    /// assert_eq!(Selector::everything().not_equals("tier", "test").to_string(), "tier!=test");
    /// ```
    pub fn not_equals(self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(label, Test::NotIn(vec![value.into()]))
    }

    /// The label must have one of these values.
    ///
    /// ```
    /// use kubewright_runtime::object::Selector;
    ///
    /// assert_eq!(Selector::everything().any_of("tier", ["web", "api"]).to_string(), "tier in (api,web)");
    /// ```
    pub fn any_of(self, label: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(label, Test::In(sorted(values)))
    }

    /// The label must have none of these values; an object without the label satisfies it.
    ///
    /// ```
    /// use kubewright_runtime::object::Selector;
    ///
    /// assert_eq!(Selector::everything().none_of("tier", ["test", "dev"]).to_string(), "tier notin (dev,test)");
    /// ```
    pub fn none_of(self, label: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(label, Test::NotIn(sorted(values)))
    }

    /// The label must be there.
    pub fn exists(self, label: impl Into<String>) -> Self {
        self.with(label, Test::Exists)
    }

    /// The label must not be there.
    ///
    /// ```
    /// use kubewright_runtime::object::Selector;
    ///
    /// assert_eq!(Selector::everything().absent("legacy").to_string(), "!legacy");
    /// ```
    pub fn absent(self, label: impl Into<String>) -> Self {
        self.with(label, Test::Absent)
    }

    fn with(mut self, label: impl Into<String>, test: Test) -> Self {
        self.requirements.push((label.into(), test));
        self
    }

    /// Whether some labels satisfy all requirements.
    pub fn matches<K: AsRef<str>, V: AsRef<str>>(&self, labels: &[(K, V)]) -> bool {
        self.requirements.iter().all(|(label, test)| {
            let value = labels
                .iter()
                .find(|(key, _)| key.as_ref() == label)
                .map(|(_, value)| value.as_ref());
            test.holds(value)
        })
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|wanted| wanted == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|unwanted| unwanted != value)),
            Test::Greater(limit) => number().is_some_and(|number| number > *limit),
            Test::Less(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

fn sorted(values: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
    values.sort_unstable();
    values.dedup();
    values
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (label, test)) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match test {
                Test::Exists => f.write_str(label)?,
                Test::Absent => write!(f, "!{label}")?,
                Test::In(values) if values.len() == 1 => write!(f, "{label}={}", values[0])?,
                Test::NotIn(values) if values.len() == 1 => write!(f, "{label}!={}", values[0])?,
                Test::In(values) => write!(f, "{label} in ({})", values.join(","))?,
                Test::NotIn(values) => write!(f, "{label} notin ({})", values.join(","))?,
                Test::Greater(limit) => write!(f, "{label}>{limit}")?,
                Test::Less(limit) => write!(f, "{label}<{limit}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut selector = Selector::everything();
        if text.trim().is_empty() {
            return Ok(selector);
        }
        for requirement in split(text).into_iter().map(str::trim) {
            let (label, demand) =
                read(requirement).ok_or_else(|| SelectorError::Requirement(requirement.to_owned()))?;
            selector = selector.with(label, demand);
        }
        Ok(selector)
    }
}

/// Splits at the commas that stand outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(move |c| {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        c == ',' && !inside
    })
    .collect()
}

fn read(text: &str) -> Option<(&str, Test)> {
    if let Some(label) = text.strip_prefix('!') {
        return Some((word(label)?, Test::Absent));
    }
    if let Some(rest) = text.strip_suffix(')') {
        let (head, values) = rest.split_once('(')?;
        let mut words = head.split_whitespace();
        let (label, operator) = (word(words.next()?)?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        let values = values
            .split(',')
            .map(|item| value(item.trim()))
            .collect::<Option<Vec<_>>>()?;
        return match operator {
            "in" => Some((label, Test::In(sorted(values)))),
            "notin" => Some((label, Test::NotIn(sorted(values)))),
            _ => None,
        };
    }
    if let Some((label, unwanted)) = text.split_once("!=") {
        return Some((word(label)?, Test::NotIn(vec![value(unwanted.trim())?.to_owned()])));
    }
    if let Some((label, wanted)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return Some((word(label)?, Test::In(vec![value(wanted.trim())?.to_owned()])));
    }
    if let Some((label, limit)) = text.split_once('>') {
        return Some((word(label)?, Test::Greater(limit.trim().parse().ok()?)));
    }
    if let Some((label, limit)) = text.split_once('<') {
        return Some((word(label)?, Test::Less(limit.trim().parse().ok()?)));
    }
    Some((word(text)?, Test::Exists))
}

/// A label's name: one word of the characters that names are made of.
fn word(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text.chars().all(is_name_character)).then_some(text)
}

/// A label's value, which may be empty.
fn value(text: &str) -> Option<&str> {
    text.chars().all(|c| is_name_character(c) && c != '/').then_some(text)
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/')
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let mut read = Selector::everything();
        for (label, value) in selector.match_labels.iter().flatten() {
            read = read.equals(label, value);
        }
        for expression in selector.match_expressions.iter().flatten() {
            let (label, values) = (&expression.key, expression.values.clone().unwrap_or_default());
            read = match expression.operator.as_str() {
                "In" => read.any_of(label, values),
                "NotIn" => read.none_of(label, values),
                "Exists" => read.exists(label),
                "DoesNotExist" => read.absent(label),
                other => return Err(SelectorError::Operator(other.to_owned())),
            };
        }
        Ok(read)
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

    fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
        selector.parse::<Selector>().unwrap().matches(labels)
    }

    #[test]
    fn every_operator_means_what_the_server_means() {
        let labels = [("app", "web"), ("weight", "7"), ("empty", "")];
        for holds in [
            "",
            "app",
            "app=web",
            "app==web",
            "app != api",
            "app in (web, api)",
            "app notin (api)",
            "!tier",
            "tier!=x",
            "tier notin (x)",
            "weight>6",
            "weight<8",
            "empty=",
            "app,weight",
        ] {
            assert!(matches(holds, &labels), "{holds:?}");
        }
        for fails in [
            "tier",
            "app=api",
            "app!=web",
            "app in (api)",
            "tier in (x)",
            "!app",
            "weight>7",
            "app>1",
            "app,tier",
        ] {
            assert!(!matches(fails, &labels), "{fails:?}");
        }
    }

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
