//! What an operator may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an operator may do: a rule of a role.
///
/// ```
/// use kubewright_description::Rule;
///
/// let rule = Rule::new(["apps"], ["deployments"], ["create", "patch"]);
/// assert_eq!(rule.to_string(), r#"Rule::new(["apps"], ["deployments"], ["create", "patch"])"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The API groups; the core group is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The resources in them, as `deployments` or `deployments/status`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Only objects of these names; all, if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths that are no resources, as `/metrics`.
    #[serde(default, rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// The verbs.
    pub verbs: Vec<String>,
    /// Only in this namespace, by a `Role` there; everywhere, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl Rule {
    /// A rule for these resources of these groups.
    pub fn new<S: Into<String>>(
        groups: impl IntoIterator<Item = S>,
        resources: impl IntoIterator<Item = S>,
        verbs: impl IntoIterator<Item = S>,
    ) -> Self {
        Rule {
            api_groups: groups.into_iter().map(Into::into).collect(),
            resources: resources.into_iter().map(Into::into).collect(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            ..Rule::default()
        }
    }

    /// Only for objects of these names.
    pub fn named(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.resource_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Only in this namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// A rule for paths that are no resources.
    pub fn urls<S: Into<String>>(paths: impl IntoIterator<Item = S>, verbs: impl IntoIterator<Item = S>) -> Self {
        Rule {
            non_resource_urls: paths.into_iter().map(Into::into).collect(),
            verbs: verbs.into_iter().map(Into::into).collect(),
            ..Rule::default()
        }
    }
}

/// As it is written in a Rust program.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.non_resource_urls.is_empty() {
            let [groups, resources, verbs] = [&self.api_groups, &self.resources, &self.verbs].map(|list| array(list));
            write!(f, "Rule::new({groups}, {resources}, {verbs})")?;
        } else {
            write!(
                f,
                "Rule::urls({}, {})",
                array(&self.non_resource_urls),
                array(&self.verbs)
            )?;
        }
        if !self.resource_names.is_empty() {
            write!(f, ".named({})", array(&self.resource_names))?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, ".in_namespace({})", literal(namespace)),
            None => Ok(()),
        }
    }
}

/// An array of string literals.
fn array(texts: &[String]) -> String {
    let literals: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    format!("[{}]", literals.join(", "))
}

/// A string literal of Rust.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
