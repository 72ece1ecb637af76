//! What an exploration wrote of itself for the command.

use std::error::Error;
use std::path::Path;

use kubewright_cluster::progress::Progress;
use serde_json::Value;

use super::ExploreError;

/// One exploration, as data.
#[derive(Debug)]
pub(super) struct Outcome(Value);

/// The outcomes in a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> Result<Vec<Outcome>, ExploreError> {
    let wrong = |path: &Path, error: Box<dyn Error>| ExploreError::Outcome(path.display().to_string(), error);
    let entries = std::fs::read_dir(folder).map_err(|error| wrong(folder, error.into()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let outcomes = files.iter().map(|file| {
        let text = std::fs::read(file).map_err(|error| wrong(file, error.into()))?;
        let data = serde_json::from_slice(&text).map_err(|error| wrong(file, error.into()))?;
        Ok(Outcome(data))
    });
    outcomes.collect()
}

/// All outcomes as JSON.
pub(super) fn data(outcomes: &[Outcome]) -> String {
    let all: Vec<&Value> = outcomes.iter().map(|outcome| &outcome.0).collect();
    format!("{:#}", serde_json::json!({ "explorations": all }))
}

impl Outcome {
    /// Why there is none, if there is none.
    pub(super) fn error(&self) -> Option<&str> {
        self.0["error"].as_str()
    }

    /// What was found, if something was.
    pub(super) fn report(&self) -> Option<&str> {
        self.0["report"].as_str()
    }

    pub(super) fn tell(&self, progress: &Progress) {
        let text = |field: &str| self.0[field].as_str().unwrap_or_default();
        if let Some(error) = self.error() {
            progress.line(format!("{}: cannot explore: {error}", text("name")));
            return;
        }
        if let Some(report) = self.report() {
            progress.line(self.for_a_shell(report));
        } else {
            let seconds = self.0["seconds"].as_f64().unwrap_or_default();
            progress.line(format!("nothing found in {}, {seconds:.1} s", text("summary")));
        }
        if let Some(page) = self.0["page"].as_str() {
            progress.note(format!("all that was tried: {page}"));
        }
    }

    /// A report whose plans are repeated by the command, not by a line of Rust.
    fn for_a_shell(&self, report: &str) -> String {
        let plans = self.0["findings"].as_array().into_iter().flatten();
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
        let outcome = Outcome(serde_json::json!({ "findings": [{ "plan": plan }] }));
        assert_eq!(
            outcome.for_a_shell(&format!("   again: .replay({plan:?})")),
            r#"   again: kubewright explore --replay 'change a/b: /c = "it'\''s" after step x'"#
        );
    }
}
