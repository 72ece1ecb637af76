//! Suggests the next command. Suggestions go to standard error, so that standard output has results only.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use crate::output;
use crate::project::Project;

/// A command to go on with, and why.
type NextCommand = (String, &'static str);

/// Prints the next commands on a terminal; nothing in scripts and pipes.
pub(crate) fn suggest(steps: &[(&str, &'static str)]) {
    if io::stderr().is_terminal() && io::stdout().is_terminal() {
        let steps: Vec<NextCommand> = steps
            .iter()
            .map(|(command, why)| ((*command).to_owned(), *why))
            .collect();
        output::complain(&format!("\n{}", text(&steps)));
    }
}

/// Prints on a terminal what comes next on this machine: in the project of this folder, or where there is none, how to start one.
pub(crate) fn suggest_here() {
    if io::stderr().is_terminal() && io::stdout().is_terminal() {
        output::complain(&format!(
            "\n{}",
            in_project().unwrap_or_else(|| text(&steps_without_project()))
        ));
    }
}

/// What comes next in the project of this folder, for a command line that says nothing; outside of one, its help says where to start.
pub(crate) fn in_project() -> Option<String> {
    let project = Project::find(Path::new(".")).ok()?;
    Some(text(&steps_with_kinds(project.file().kinds().count())))
}

/// The next steps where there is no project.
fn steps_without_project() -> Vec<NextCommand> {
    vec![
        (
            "kubewright init --domain example.com".to_owned(),
            "a project in this folder",
        ),
        ("kubewright demo".to_owned(), "or watch an operator at work first"),
    ]
}

/// The next steps in a project with so many kinds.
fn steps_with_kinds(kinds: usize) -> Vec<NextCommand> {
    let step = |command: &str, why| (command.to_owned(), why);
    if kinds == 0 {
        return vec![step(
            "kubewright create api --group GROUP --version v1 --kind KIND",
            "a kind and its controller",
        )];
    }
    vec![
        step("cargo test", "on an API server in the test's process"),
        step("kubewright run --embedded", "the operator on an API server of its own"),
        step(
            "kubewright install && kubewright run",
            "the operator on your cluster, from this machine",
        ),
    ]
}

/// The steps, one a line.
fn text(steps: &[NextCommand]) -> String {
    let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines = steps
        .iter()
        .map(|(command, why)| format!("\n  {command:width$}   {why}"));
    format!("Next:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_depends_on_the_project() {
        assert!(text(&steps_without_project()).starts_with("Next:\n  kubewright init "));
        assert!(text(&steps_with_kinds(0)).starts_with("Next:\n  kubewright create api "));
        assert!(text(&steps_with_kinds(2)).starts_with("Next:\n  cargo test    "));
    }
}
