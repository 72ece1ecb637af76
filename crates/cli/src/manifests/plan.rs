//! What has to change below `config/`, and changing it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_description::Description;
use kubewright_manifests::install::kustomization::{self, KustomizationError};
use kubewright_manifests::install::{self, FOLDERS, RenderedManifests, is_generated};
use kubewright_scaffold::File;
use kubewright_scaffold::plan;

use crate::files::{self, CommitError, Disk};
use crate::project::Project;

/// Where the entries of other folders are listed.
const DEFAULT: &str = "config/default/kustomization.yaml";

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Its path from the root of the project.
    pub(super) path: String,
    /// What is in it; `None` if it is not there.
    pub(super) before: Option<String>,
    /// What will be in it; `None` if it goes.
    pub(super) after: Option<String>,
}

impl Change {
    pub(super) fn summary(&self) -> String {
        let what = match (&self.before, &self.after) {
            (_, None) => "removed",
            (None, _) => "created",
            _ => "changed",
        };
        format!("{what} {}", self.path)
    }

    fn to_write(&self) -> plan::Change {
        match (&self.before, &self.after) {
            (_, None) => plan::Change::Remove(self.path.clone()),
            (None, Some(text)) => plan::Change::Create(File::new(&self.path, text)),
            (Some(_), Some(text)) => plan::Change::Update(File::new(&self.path, text)),
        }
    }
}

/// What has to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

/// Why `config/` cannot be brought into line.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Write(#[from] CommitError),
    #[error("cannot edit {DEFAULT}")]
    Kustomization(#[from] KustomizationError),
}

impl Plan {
    /// Compares the files of a project with what follows from its code.
    pub(super) fn make(
        project: &Project,
        operator: &Description,
        manifests: &RenderedManifests,
    ) -> Result<Plan, PlanError> {
        let mut plan = Plan::default();
        for file in &manifests.files {
            match read(project.root(), &file.path)? {
                Some(text) if !is_generated(&text) => plan.notes.push(format!(
                    "{} is yours (its first line does not say that it is generated) and stays as it is",
                    file.path
                )),
                before => plan.add(&file.path, before, Some(file.text())),
            }
        }
        let before = read(project.root(), DEFAULT)?;
        let after = match &before {
            Some(text) => kustomization::set(text, &manifests.entries)?,
            None => install::default_kustomization(&manifests.settings, &manifests.entries),
        };
        plan.add(DEFAULT, before, Some(after));
        let wanted = manifests.files.iter().map(|file| file.path.as_str()).collect();
        plan.remove_gone(project.root(), &wanted)?;
        if project.file().namespaced
            && !read(project.root(), install::MANAGER)?
                .unwrap_or_default()
                .contains("WATCH_NAMESPACE")
        {
            plan.notes.push(format!(
                "the operator has a Role only, and {} does not set WATCH_NAMESPACE: it will try to watch all namespaces",
                install::MANAGER
            ));
        }
        plan.notes.extend(unknown_kinds(project, operator));
        plan.changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(plan)
    }

    fn add(&mut self, path: &str, before: Option<String>, after: Option<String>) {
        // An editor or git may have changed line endings, which does not count as a change.
        let is_same = match (&before, &after) {
            (Some(before), Some(after)) => before.replace("\r\n", "\n") == *after,
            (before, after) => before == after,
        };
        if !is_same {
            self.changes.push(Change {
                path: path.to_owned(),
                before,
                after,
            });
        }
    }

    /// Generated files whose source is no longer in the code.
    fn remove_gone(&mut self, root: &Path, wanted: &BTreeSet<&str>) -> Result<(), PlanError> {
        for folder in FOLDERS {
            let path = root.join(folder);
            let entries = match fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(PlanError::Read { path, source }),
            };
            for entry in entries {
                let entry = entry.map_err(|source| PlanError::Read {
                    path: path.clone(),
                    source,
                })?;
                let Some(file) = entry.file_name().to_str().map(|file| format!("{folder}/{file}")) else {
                    continue;
                };
                if entry.path().extension().is_none_or(|extension| extension != "yaml")
                    || wanted.contains(file.as_str())
                {
                    continue;
                }
                match read(root, &file) {
                    Ok(Some(text)) if is_generated(&text) => self.add(&file, Some(text), None),
                    // What cannot be read as a text is nothing we wrote.
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Writes what changes: all of it, or nothing.
    pub(super) fn carry_out(&self, root: &Path) -> Result<(), PlanError> {
        let changes: Vec<_> = self.changes.iter().map(Change::to_write).collect();
        Ok(files::commit(&Disk::new(root), &changes)?)
    }
}

/// Kinds of PROJECT that the code does not bring.
fn unknown_kinds(project: &Project, operator: &Description) -> Vec<String> {
    let missing = project.file().kinds().filter(|kind| {
        let mut known = operator.definitions.iter();
        !known.any(|known| known.kind == kind.kind && known.version == kind.version && known.group == kind.api_group())
    });
    let note = |kind: &kubewright_scaffold::Resource| {
        format!(
            "PROJECT lists {} {}, and operator() in src/lib.rs has no `.resource::<…>()` for it: there is no definition of it",
            kind.api_version(),
            kind.kind
        )
    };
    missing.map(note).collect()
}

fn read(root: &Path, path: &str) -> Result<Option<String>, PlanError> {
    let path = root.join(path);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PlanError::Read { path, source }),
    }
}
