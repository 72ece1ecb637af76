//! From a plan to files: what `init`, `create`, `delete` and `edit` share. All of a plan is written, or nothing.

mod report;

use std::error::Error;
use std::process::ExitCode;

use kubewright_scaffold::plan::{self, Options};
use kubewright_scaffold::{File, Project, Resource};

use crate::files::{Disk, commit};

pub(crate) use report::Report;

/// A project that is there, and its files.
pub(crate) struct OpenedProject {
    pub(crate) project: Project,
    pub(crate) disk: Disk,
}

/// The project of the current folder.
pub(crate) fn open() -> Result<OpenedProject, Box<dyn Error>> {
    let found = crate::project::Project::find(&std::env::current_dir()?)?;
    Ok(OpenedProject {
        project: found.file().clone(),
        disk: Disk::new(found.root()),
    })
}

/// What to bring about.
pub(crate) struct DesiredProject<'a> {
    /// The project as it should be.
    pub(crate) project: &'a Project,
    /// Files beside those that follow from it.
    pub(crate) extra: Vec<File>,
    /// Edited files are overwritten.
    pub(crate) force: bool,
    /// With `force`, whose files are written anew.
    pub(crate) anew: Option<&'a Resource>,
}

impl<'a> DesiredProject<'a> {
    pub(crate) fn new(project: &'a Project) -> Self {
        Self {
            project,
            extra: Vec::new(),
            force: false,
            anew: None,
        }
    }
}

/// Plans and writes, and says what was written.
pub(crate) fn bring_about(
    before: Option<&Project>,
    wanted: DesiredProject<'_>,
    disk: &Disk,
    report: &Report,
) -> Result<ExitCode, Box<dyn Error>> {
    let options = Options {
        force: wanted.force,
        anew: wanted.anew.cloned(),
    };
    let changes = plan::plan(before, wanted.project, wanted.extra, disk, &options)?;
    commit(disk, &changes)?;
    report.print(&changes)?;
    Ok(ExitCode::SUCCESS)
}
