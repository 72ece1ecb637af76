//! A child process that does not outlive its test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;

/// How many lines of its log the error of a failed process shows.
const LAST_LINES: usize = 5;

/// A process whose output goes to a file. Dropping it kills it: nothing it keeps is worth a graceful end.
pub(super) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    pub(super) fn start(program: &Path, arguments: &[String], folder: &Path) -> Result<Self, Error> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = folder.join(format!("{name}.log"));
        let failed = |why: std::io::Error| Error::ControlPlane(format!("{}: {why}", program.display()));
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        Ok(Process { name, child, log })
    }

    /// Fails with the end of its log if it has ended.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Error::ControlPlane(format!(
                "{} ended: {status}\n{}",
                self.name,
                self.log_tail()
            ))),
            Err(error) => Err(Error::ControlPlane(format!("{}: {error}", self.name))),
        }
    }

    /// The end of its log.
    pub(super) fn log_tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
