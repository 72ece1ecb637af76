//! What a command says at its end: the files it wrote, and what to do next.

use kubewright_scaffold::plan::Change;

use crate::output::{self, OutputError};

/// What to say beside the files.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What there is where nothing had to be done.
    pub(crate) unchanged: String,
    /// Things to know.
    pub(crate) notes: Vec<String>,
    /// Commands to go on with, and why.
    pub(crate) next: Vec<(String, String)>,
    /// Nothing was written yet.
    pub(crate) is_planned: bool,
}

impl Report {
    pub(crate) fn print(&self, changes: &[Change]) -> Result<(), OutputError> {
        output::write(&self.text(changes))
    }

    fn text(&self, changes: &[Change]) -> String {
        let would = if self.is_planned { "would be " } else { "" };
        let mut lines: Vec<String> = changes
            .iter()
            .map(|change| format!("{would}{}", line(change)))
            .collect();
        if changes.is_empty() {
            lines.push(format!("nothing to do: {}", self.unchanged));
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        if !changes.is_empty() && !self.next.is_empty() && !self.is_planned {
            lines.extend([String::new(), "Next:".to_owned()]);
            let width = self
                .next
                .iter()
                .map(|(command, _)| command.len())
                .max()
                .unwrap_or_default();
            let next = self
                .next
                .iter()
                .map(|(command, why)| format!("  {command:width$}   {why}"));
            lines.extend(next.map(|line| line.trim_end().to_owned()));
        }
        lines.join("\n") + "\n"
    }
}

fn line(change: &Change) -> String {
    let done = match change {
        Change::Create(_) => "created",
        Change::Update(_) => "updated",
        Change::Remove(_) => "removed",
    };
    format!("{done}  {}", change.path())
}
