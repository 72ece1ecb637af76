//! What an exploration wrote of itself for the command.

use std::path::Path;

use kubewright_cluster::progress::Progress;
use serde::Deserialize;
use serde_json::Value;

use super::ExploreError;

/// One exploration.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    name: String,
    /// Why there is none, if there is none.
    #[serde(default)]
    pub(super) error: Option<String>,
    /// What was found, if something was.
    #[serde(default)]
    pub(super) report: Option<String>,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    page: Option<String>,
    /// All of it.
    #[serde(skip)]
    data: Value,
}

/// The outcomes in a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> Result<Vec<Outcome>, ExploreError> {
    let wrong = |what: String| move |error: Box<dyn std::error::Error>| ExploreError::Outcome(what, error);
    let shown = folder.display().to_string();
    let entries = std::fs::read_dir(folder).map_err(|error| wrong(shown.clone())(error.into()))?;
    let mut outcomes = Vec::new();
    for entry in entries.flatten() {
        let shown = entry.path().display().to_string();
        let text = std::fs::read(entry.path()).map_err(|error| wrong(shown.clone())(error.into()))?;
        let data: Value = serde_json::from_slice(&text).map_err(|error| wrong(shown.clone())(error.into()))?;
        let mut outcome = Outcome::deserialize(&data).map_err(|error| wrong(shown)(error.into()))?;
        outcome.data = data;
        outcomes.push(outcome);
    }
    outcomes.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(outcomes)
}

/// All outcomes as JSON.
pub(super) fn data(outcomes: &[Outcome]) -> String {
    let all: Vec<&Value> = outcomes.iter().map(|outcome| &outcome.data).collect();
    format!("{:#}", serde_json::json!({ "explorations": all }))
}

impl Outcome {
    pub(super) fn tell(&self, progress: &Progress) {
        if let Some(error) = &self.error {
            progress.line(format!("{}: cannot explore: {error}", self.name));
            return;
        }
        match &self.report {
            Some(report) => progress.line(self.for_a_shell(report)),
            None => progress.line(format!("nothing found in {}, {:.1} s", self.summary, self.seconds)),
        }
        if let Some(page) = &self.page {
            progress.note(format!("all that was tried: {page}"));
        }
    }

    /// A report whose plans are repeated by the command, not by a line of Rust.
    fn for_a_shell(&self, report: &str) -> String {
        let plans = self.data["findings"].as_array().into_iter().flatten();
        let plans = plans.filter_map(|finding| finding["plan"].as_str());
        plans.fold(report.to_owned(), |report, plan| {
            let quoted = plan.replace('\'', r"'\''");
            report.replace(
                &format!("again: .replay({plan:?})"),
                &format!("again: kubewright explore --replay '{quoted}'"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_repeated_by_a_line_for_a_shell() {
        let plan = r#"change a/b: /c = "it's" after step x"#;
        let data = serde_json::json!({ "name": "explore", "findings": [{ "plan": plan }] });
        let mut outcome = Outcome::deserialize(&data).unwrap();
        outcome.data = data;
        assert_eq!(
            outcome.for_a_shell(&format!("   again: .replay({plan:?})")),
            r#"   again: kubewright explore --replay 'change a/b: /c = "it'\''s" after step x'"#
        );
    }
}
