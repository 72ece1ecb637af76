//! Deliberate differences from the real server, read from `differences.yaml`, where each has a reason.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use thiserror::Error;

use crate::corpus::home;
use crate::diff::Difference;

/// A place of a case where our response is different on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The case's id, variant included.
    pub case: String,
    /// The step, counted from one.
    pub step: usize,
    /// The JSON pointer into the step. The decision covers everything below it.
    pub at: String,
    /// If set, the decision covers only those pointers below `at` that end in this.
    #[serde(default)]
    pub ending: String,
    /// The reason.
    pub reason: String,
}

/// The reason why the decisions cannot be read.
#[derive(Debug, Error)]
#[error("{} cannot be read: {problem}", .path.display())]
pub struct DecisionsError {
    path: PathBuf,
    problem: String,
}

/// The decisions about cases, from `differences.yaml`.
pub fn load() -> Result<Vec<Decision>, DecisionsError> {
    let (_, cases) = all()?.into_iter().partition(Decision::is_about_kubectl);
    Ok(cases)
}

/// The decisions about scripts of kubectl, from the same file: `case` is `kubectl/<script>`, `step` the command.
pub fn about_kubectl() -> Result<Vec<Decision>, DecisionsError> {
    let (scripts, _) = all()?.into_iter().partition(Decision::is_about_kubectl);
    Ok(scripts)
}

fn all() -> Result<Vec<Decision>, DecisionsError> {
    let path = home().join("differences.yaml");
    let read = || -> Result<Vec<Decision>, String> {
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        yaml_serde::from_str(&text).map_err(|error| error.to_string())
    };
    read().map_err(|problem| DecisionsError {
        path: path.clone(),
        problem,
    })
}

impl Decision {
    fn is_about_kubectl(&self) -> bool {
        self.case.starts_with("kubectl/")
    }

    /// Whether the decision covers a difference.
    pub fn explains(&self, case: &str, difference: &Difference) -> bool {
        self.case == case
            && self.step == difference.step
            && difference
                .at
                .strip_prefix(&self.at)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && difference.at.ends_with(&self.ending)
    }
}
