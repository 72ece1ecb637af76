//! `kubewright doctor`: what a project needs on this machine and in its cluster, whether it is there, and how to get it.

mod cluster;
mod program;
mod project;
mod tools;

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use kubewright_cluster::ClusterFlags;
use serde_json::{Value, json};

use crate::output;
use project::ProjectFolder;

/// Check what a project needs: toolchain, tools, cluster and permissions
///
/// Each line says whether something is there, and how to get it. Only what no project can do without is a failure, and makes the
/// command end with 1; the rest is needed for some commands, which the line names.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kubewright doctor
  kubewright doctor --context staging
  kubewright doctor --json")]
pub(crate) struct Arguments {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    choice: ClusterFlags,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Check {
    /// What was looked at.
    name: &'static str,
    status: CheckStatus,
    /// What was found.
    found: String,
    /// What to do about it.
    hint: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckStatus {
    /// It is there.
    Ok,
    /// Some commands will not work.
    Warn,
    /// Nothing will work.
    Fail,
}

impl CheckStatus {
    fn word(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Warn => "warn",
            CheckStatus::Fail => "fail",
        }
    }
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Check {
            name,
            status: CheckStatus::Ok,
            found: found.into(),
            hint: None,
        }
    }

    fn warn(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Check {
            status: CheckStatus::Warn,
            hint: Some(hint.into()),
            ..Check::ok(name, found)
        }
    }

    fn fail(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Check {
            status: CheckStatus::Fail,
            ..Check::warn(name, found, hint)
        }
    }

    fn json(&self) -> Value {
        let mut value = json!({ "name": self.name, "status": self.status.word(), "message": self.found });
        if let Some(hint) = &self.hint {
            value["hint"] = hint.as_str().into();
        }
        value
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = kubewright_cluster::runtime()?;
    let checks = runtime.block_on(all(&arguments.choice));
    // A program that does not answer is not waited for.
    runtime.shutdown_background();
    let is_broken = checks.iter().any(|check| check.status == CheckStatus::Fail);
    let text = if arguments.json {
        let checks: Vec<Value> = checks.iter().map(Check::json).collect();
        format!("{:#}\n", json!({ "ok": !is_broken, "checks": checks }))
    } else {
        text(&checks)
    };
    output::write(&text)?;
    // What is broken has its own hint.
    if !arguments.json && !is_broken {
        crate::next::suggest_here();
    }
    Ok(ExitCode::from(u8::from(is_broken)))
}

/// Runs all checks at the same time and returns them in this order.
async fn all(choice: &ClusterFlags) -> Vec<Check> {
    let project = ProjectFolder::find();
    let (rust, kubectl, engine, local, cluster) = tokio::join!(
        tools::toolchain(&project),
        tools::kubectl(),
        tools::container_engine(),
        tools::local_cluster(),
        cluster::checks(choice),
    );
    let mut checks = vec![rust, kubectl, engine, local];
    checks.extend(cluster);
    checks.extend(project.checks());
    checks
}

/// A line for each check and one for what to do, then how many there are of each.
fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for check in checks {
        let (word, name) = (check.status.word(), check.name);
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{word:4}  {name:width$}  {}", check.found);
        if let Some(hint) = &check.hint {
            let _ = writeln!(text, "{:1$}-> {hint}", "", width + 8);
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let summary = match (count(CheckStatus::Fail), count(CheckStatus::Warn)) {
        (0, 0) => "Everything is there.".to_owned(),
        (0, warnings) => format!("Nothing that is needed is missing; {warnings} to look at."),
        (failures, _) => format!("{failures} to mend."),
    };
    let _ = writeln!(text, "\n{summary}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_lines_with_what_to_do_below_them() {
        let checks = [
            Check::ok("rust", "rustc 1.95.0"),
            Check::warn("kubectl", "not found", "install it"),
        ];
        assert_eq!(
            text(&checks),
            "ok    rust     rustc 1.95.0\nwarn  kubectl  not found\n               -> install it\n\n\
             Nothing that is needed is missing; 1 to look at.\n"
        );
        let checks = [Check::fail("rust", "not found", "install it")];
        assert!(text(&checks).ends_with("\n1 to mend.\n"));
    }
}
