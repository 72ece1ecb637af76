//! Label selectors, as `k8s.io/apimachinery/pkg/labels` reads, matches and prints them.
//!
//! A [`Selector`] comes from a text (`app=web,tier in (front,back),!legacy`), from a `LabelSelector` object, or is built
//! requirement by requirement. It matches whatever finds a label by its key ([`Labels`]) and allocates nothing while it does.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use kubewright_apimachinery::labels::Selector;
//! use serde_json::json;
//!
//! let selector: Selector = "tier in (front,back), app=web, !legacy".parse().unwrap();
//! assert_eq!(selector.to_string(), "app=web,!legacy,tier in (back,front)");
//! let labels = BTreeMap::from([("app".to_owned(), "web".to_owned()), ("tier".to_owned(), "front".to_owned())]);
//! assert!(selector.matches(&labels));
//!
//! let object = json!({ "matchExpressions": [{ "key": "app", "operator": "Near" }] });
//! let error = Selector::from_label_selector(&object).unwrap_err();
//! assert_eq!(error.to_string(), r#""Near" is not a valid label selector operator"#);
//! ```

mod object;
mod parse;
mod requirement;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

pub use self::object::selects;
pub use self::requirement::{Operator, Requirement};

/// Requirements that must all hold, in the order of their keys. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Whether there is no requirement, so that everything is selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The requirements, in the order of their keys.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// Adds a requirement.
    pub fn with(mut self, requirement: Requirement) -> Self {
        // Behind those of the same key: the order in which they were added is the order in which they print.
        let at = self.0.partition_point(|other| other.key() <= requirement.key());
        self.0.insert(at, requirement);
        self
    }

    /// Whether these labels meet all requirements.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(labels.label(requirement.key())))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements: Vec<Requirement> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Selector(requirements)
    }
}

/// Why a text or an object is not a selector, in the words of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(String);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}

/// Labels, as far as a selector needs them.
pub trait Labels {
    /// The value of a label, if there is one.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Labels for Map<String, Value> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
}

impl Labels for BTreeMap<String, String> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl<K: AsRef<str>, V: AsRef<str>> Labels for [(K, V)] {
    fn label(&self, key: &str) -> Option<&str> {
        let found = self.iter().find(|(name, _)| name.as_ref() == key);
        found.map(|(_, value)| value.as_ref())
    }
}

impl<L: Labels + ?Sized> Labels for Option<&L> {
    fn label(&self, key: &str) -> Option<&str> {
        self.and_then(|labels| labels.label(key))
    }
}

#[cfg(test)]
mod tests;
