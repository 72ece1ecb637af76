//! Deliberate differences: the one file where each has a name and a reason.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use thiserror::Error;

use crate::corpus::home;
use crate::diff::Difference;

/// One place of one case where we answer differently on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The case's id, variant included.
    pub case: String,
    /// The step, counted from one.
    pub step: usize,
    /// The JSON pointer into the step; everything below it counts as decided too.
    pub at: String,
    /// How the pointers end that are meant, where not everything below `at` is.
    #[serde(default)]
    pub ending: String,
    /// Why.
    pub reason: String,
}

/// Why the decisions cannot be read.
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

    /// Whether a difference is the decided one.
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
