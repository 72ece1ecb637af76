//! The project's test that explores: written if it is missing, and built.

use std::io::{self, BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kubewright_cluster::progress::Progress;
use serde_json::Value;

use crate::project::Project;

#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    #[error("cannot run cargo: is Rust installed? see https://rustup.rs")]
    NoCargo(#[source] io::Error),
    #[error("tests/{0}.rs does not build; see what cargo says above")]
    Build(String),
    #[error("cargo built no program of tests/{0}.rs")]
    NoProgram(String),
    #[error("cannot write {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

/// Writes the test as `kubewright create api` does, into a project that was made before that.
pub(super) fn write_if_missing(project: &Project, progress: &Progress) -> Result<(), TargetError> {
    let file = kubewright_scaffold::explore_test(project.file());
    let path = project.root().join(&file.path);
    if path.exists() {
        return Ok(());
    }
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    written
        .and_then(|()| std::fs::write(&path, &file.content))
        .map_err(|source| TargetError::Write(path, source))?;
    progress.note(format!(
        "{} was missing and is written: it is yours from now on",
        file.path
    ));
    Ok(())
}

/// Builds a test; where its program is.
pub(super) fn build(project: &Project, test: &str, progress: &Progress) -> Result<PathBuf, TargetError> {
    let step = progress.noisy_step(format!("Building tests/{test}.rs"));
    let built = run_cargo(project, test);
    match &built {
        Ok(_) => step.done(),
        Err(_) => step.failed(),
    }
    built
}

fn run_cargo(project: &Project, test: &str) -> Result<PathBuf, TargetError> {
    let mut child = Command::new("cargo")
        .args([
            "test",
            "--no-run",
            "--test",
            test,
            "--message-format=json-render-diagnostics",
        ])
        .current_dir(project.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(TargetError::NoCargo)?;
    let mut program = None;
    if let Some(stdout) = child.stdout.take() {
        // Build scripts may print what is not JSON, nor even text.
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            program = program_of(&line, test).or(program);
        }
    }
    let status = child.wait().map_err(TargetError::NoCargo)?;
    if !status.success() {
        return Err(TargetError::Build(test.to_owned()));
    }
    program.ok_or_else(|| TargetError::NoProgram(test.to_owned()))
}

/// The program of a test, if a message of cargo is about it.
fn program_of(line: &[u8], test: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let target = &message["target"];
    let is_test = target["kind"].as_array()?.iter().any(|kind| kind == "test");
    if message["reason"] != "compiler-artifact" || !is_test || target["name"] != test {
        return None;
    }
    message["executable"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_the_named_test_is_found() {
        let message = |kind: &str, name: &str| {
            serde_json::json!({
                "reason": "compiler-artifact", "target": { "kind": [kind], "name": name }, "executable": "/target/x",
            })
            .to_string()
        };
        let found = |text: &str| program_of(text.as_bytes(), "explore");
        assert_eq!(found(&message("test", "explore")), Some("/target/x".into()));
        assert_eq!(found(&message("bin", "explore")), None);
        assert_eq!(found(&message("test", "cart")), None);
        assert_eq!(found("warning: hello"), None);
    }
}
