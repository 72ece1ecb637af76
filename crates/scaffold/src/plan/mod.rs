//! From one state of a project to another: which files to write and which to remove, given the existing ones.
//! A file that a user edited is changed only where the change applies; otherwise nothing at all is written.

pub(crate) mod calls;
mod features;
mod listing;
pub(crate) mod modules;
mod owned_files;
mod shared;
mod upgrade;

use std::collections::BTreeMap;
use std::fmt;

use crate::code::{BOILERPLATE, ProjectFiles, identity};
use crate::merge::ConflictMarks;
use crate::{File, Project, Resource};

pub use upgrade::{Upgrade, upgrade};

/// The files of a project as they are now.
pub trait Files {
    /// The text of a file; `None` if it does not exist.
    fn read(&self, path: &str) -> Result<Option<String>, ReadError>;
}

impl Files for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<Option<String>, ReadError> {
        Ok(self.get(path).cloned())
    }
}

/// A file exists and cannot be read as text.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be read")]
pub struct ReadError {
    /// Which file.
    pub path: String,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// What to do with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Write a file that does not exist.
    Create(File),
    /// Overwrite a file.
    Update(File),
    /// Remove a file.
    Remove(String),
}

impl Change {
    /// The file that changes.
    pub fn path(&self) -> &str {
        match self {
            Change::Create(file) | Change::Update(file) => &file.path,
            Change::Remove(path) => path,
        }
    }
}

/// Why a plan cannot be made. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Files were edited, and the change does not apply to them.
    #[error("nothing was written, since {}", list(.0))]
    Obstacles(Vec<Obstacle>),
}

fn list(obstacles: &[Obstacle]) -> String {
    match obstacles {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(ToString::to_string).collect();
            format!("\n  {}", lines.join("\n  "))
        }
    }
}

/// One file to which a change does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It exists already with other content.
    Exists(String),
    /// It was edited and would be removed.
    Edited(String),
    /// It was edited where it has to change: it should get these lines.
    Conflict(String, Vec<String>),
    /// It lacks the marker these lines go before.
    NoMarker(String, Vec<String>),
    /// It lacks a line that would have to go.
    Missing(String, String),
    /// It lists files in a way that cannot be edited: why, and the files it should list.
    List(String, String, Vec<String>),
    /// It is not there, and should get these lines.
    Gone(String, Vec<String>),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |lines: &[String]| format!("\n    {}", lines.join("\n").replace('\n', "\n    "));
        match self {
            Obstacle::Exists(path) => {
                write!(
                    f,
                    "{path} is there already and differs from what would be written (--force overwrites it)"
                )
            }
            Obstacle::Edited(path) => write!(f, "{path} was edited (--force removes it all the same)"),
            Obstacle::Conflict(path, wanted) if wanted.is_empty() => {
                write!(f, "{path} was edited where lines have to go (--force writes it anew)")
            }
            Obstacle::Conflict(path, wanted) => write!(
                f,
                "{path} was edited where these lines have to go; add them by hand, or --force writes it anew:{}",
                lines(wanted)
            ),
            Obstacle::NoMarker(path, wanted) => write!(
                f,
                "{path} has no line `{}`; put it back at the end of `operator()`, or add these lines there:{}",
                calls::MARKER,
                lines(wanted)
            ),
            Obstacle::Missing(path, line) => {
                write!(
                    f,
                    "{path} does not have `{line}` once; take out by hand what stands for it, then put that line there"
                )
            }
            Obstacle::List(path, why, wanted) => {
                write!(f, "{path} cannot be edited ({why}; --force writes it anew)")?;
                match wanted.as_slice() {
                    [] => Ok(()),
                    wanted => write!(f, "; it has to list:{}", lines(wanted)),
                }
            }
            Obstacle::Gone(path, wanted) => {
                write!(f, "{path} is gone; write it anew with these lines:{}", lines(wanted))
            }
        }
    }
}

/// How a plan treats edited files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Edited files are overwritten and removed.
    pub force: bool,
    /// With `force`, the files of this kind are written anew even where nothing about them changes.
    pub anew: Option<Resource>,
}

/// The changes on disk from one state of a project to another; empty if there is nothing to do.
///
/// ```
/// use std::collections::BTreeMap;
/// use kubewright_scaffold::{Project, plan};
///
/// let project = Project::new("markdown-view", "ginoh.github.io", "0.1.0");
/// let changes = plan::plan(None, &project, Vec::new(), &BTreeMap::new(), &plan::Options::default())?;
/// assert!(changes.iter().any(|change| change.path() == "PROJECT"));
/// # Ok::<(), plan::PlanError>(())
/// ```
pub fn plan(
    before: Option<&Project>,
    after: &Project,
    extra: Vec<File>,
    files: &impl Files,
    options: &Options,
) -> Result<Vec<Change>, PlanError> {
    planned(before, after, extra, files, options, None).map(|planned| planned.changes)
}

/// The same; with marks, what a user changed is no obstacle but stays.
fn planned(
    before: Option<&Project>,
    after: &Project,
    extra: Vec<File>,
    files: &impl Files,
    options: &Options,
    marks: Option<ConflictMarks>,
) -> Result<Upgrade, PlanError> {
    let boilerplate = files.read(BOILERPLATE)?;
    let with_boilerplate = |project: &Project| Project {
        boilerplate: boilerplate.clone(),
        ..project.clone()
    };
    let old = before.map(|project| ProjectFiles::of(&with_boilerplate(project)));
    let old = old.unwrap_or_default();
    let mut new = ProjectFiles::of(&with_boilerplate(after));
    new.add(extra);
    let mut planner = Planner {
        files,
        force: options.force,
        anew: options
            .anew
            .as_ref()
            .map(|resource| format!(" of {}", identity(resource))),
        marks,
        changes: BTreeMap::new(),
        obstacles: Vec::new(),
        conflicts: Vec::new(),
        kept: Vec::new(),
    };
    planner.owned_files(&old, &new)?;
    planner.modules(&old, &new)?;
    planner.library(&old, &new)?;
    planner.extension_feature(before, after)?;
    planner.write(File::new("PROJECT", after.render()).regenerated())?;
    if planner.obstacles.is_empty() {
        Ok(Upgrade {
            changes: planner.changes.into_values().collect(),
            conflicts: planner.conflicts,
            kept: planner.kept,
        })
    } else {
        Err(PlanError::Obstacles(planner.obstacles))
    }
}

/// Collects the changes of a plan, and the obstacles.
struct Planner<'a, F> {
    files: &'a F,
    force: bool,
    /// How the keys of files end that are written anew.
    anew: Option<String>,
    /// An upgrade: conflicting lines are both written, between marks, and what a user removed or wrote instead stays so.
    marks: Option<ConflictMarks>,
    changes: BTreeMap<String, Change>,
    obstacles: Vec<Obstacle>,
    /// Files with marks in them.
    conflicts: Vec<String>,
    /// Files that stay although their template changed, and why.
    kept: Vec<(String, String)>,
}

impl<F: Files> Planner<'_, F> {
    /// The text of a file as the plan leaves it.
    fn read(&self, path: &str) -> Result<Option<String>, ReadError> {
        match self.changes.get(path) {
            Some(Change::Create(file) | Change::Update(file)) => Ok(Some(file.content.clone())),
            Some(Change::Remove(_)) => Ok(None),
            None => self.files.read(path),
        }
    }

    fn write(&mut self, file: File) -> Result<(), ReadError> {
        let path = file.path.clone();
        match self.files.read(&path)? {
            Some(there) if there == file.content => self.changes.remove(&path),
            Some(_) => self.changes.insert(path, Change::Update(file)),
            None => self.changes.insert(path, Change::Create(file)),
        };
        Ok(())
    }

    /// Leaves a file as the user has it, with a note that says why.
    fn keep(&mut self, path: &str, why: &str) {
        self.kept.push((path.to_owned(), why.to_owned()));
    }

    fn remove(&mut self, path: &str) -> Result<(), ReadError> {
        if self.files.read(path)?.is_some() {
            self.changes.insert(path.to_owned(), Change::Remove(path.to_owned()));
        } else {
            self.changes.remove(path);
        }
        Ok(())
    }
}
