//! Reading and writing PROJECT: unknown keys are kept, and the same project is always the same text.

use serde::{Deserialize, Deserializer};

use super::Project;
use crate::names;

/// What stands above the keys of a PROJECT file.
const HEADER: &str = "\
# Written by kubewright: what was scaffolded, so that later commands know. Change it with `kubewright edit` and `create`.
";

/// Why a PROJECT file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It is not YAML.
    #[error("PROJECT is not YAML")]
    Yaml(#[source] kubewright_codec::yaml::YamlError),
    /// A key has a value of the wrong type, or is missing.
    #[error("PROJECT cannot be read")]
    Shape(#[source] serde_json::Error),
    /// It is of another format.
    #[error("PROJECT has version {0:?}, and this kubewright reads version \"3\" only")]
    Version(String),
    /// A key has an invalid value.
    #[error("PROJECT has a bad {key}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong with it.
        #[source]
        source: crate::names::NameError,
    },
}

impl Project {
    /// Reads a PROJECT file.
    pub fn parse(text: &str) -> Result<Self, ProjectError> {
        let decoded = kubewright_codec::yaml::decode(text.as_bytes()).map_err(ProjectError::Yaml)?;
        let project: Self = serde_json::from_value(decoded.value).map_err(ProjectError::Shape)?;
        if project.version != "3" {
            return Err(ProjectError::Version(project.version));
        }
        project.check()?;
        Ok(project)
    }

    /// Checks the names that paths and objects are made of.
    fn check(&self) -> Result<(), ProjectError> {
        let bad = |key: String| move |source| ProjectError::Value { key, source };
        names::check_project(&self.name).map_err(bad("projectName".to_owned()))?;
        if !self.domain.is_empty() {
            names::check_domain(&self.domain).map_err(bad("domain".to_owned()))?;
        }
        for (index, resource) in self.resources.iter().enumerate() {
            let key = |name: &str| bad(format!("resources[{index}].{name}"));
            if !resource.core {
                names::check_group(&resource.group, &resource.domain).map_err(key("group"))?;
            }
            names::check_version(&resource.version).map_err(key("version"))?;
            names::check_kind(&resource.kind).map_err(key("kind"))?;
            if !resource.plural.is_empty() {
                names::check_plural(&resource.plural).map_err(key("plural"))?;
            }
            for spoke in resource.spokes() {
                names::check_version(spoke).map_err(key("webhooks.spoke"))?;
            }
        }
        Ok(())
    }

    /// Writes a PROJECT file: the same text for the same project, keys sorted.
    pub fn render(&self) -> String {
        // Every field of a project has a JSON form.
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{HEADER}{}", kubewright_codec::yaml::encode(&value))
    }
}

/// Accepts a list, or one string in its place as old files have it.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

/// Reads a number of bytes; the error for anything else names the key.
pub(super) fn description_length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let length = value.as_u64().and_then(|length| u32::try_from(length).ok());
    if length.is_none() && !value.is_null() {
        let wrong = format!(
            "maxDescriptionLength {value} is no number of bytes: write 0 for no descriptions, or as many as each may have"
        );
        return Err(serde::de::Error::custom(wrong));
    }
    Ok(length)
}
