//! All case files under `cases/`, in a stable order.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::case::{CaseError, CaseFile, Variant};

/// The case files.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The files, ordered by id.
    pub files: Vec<Arc<CaseFile>>,
}

impl Corpus {
    /// The corpus of this repository.
    pub fn load() -> Result<Self, CaseError> {
        Self::load_from(&home().join("cases"))
    }

    /// Every `.yaml` file of a folder and the folders in it.
    pub fn load_from(root: &Path) -> Result<Self, CaseError> {
        let mut paths = Vec::new();
        collect(root, &mut paths)?;
        paths.sort();
        let files = paths
            .iter()
            .map(|path| CaseFile::load(root, path).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// Keeps the files whose id contains the filter or that cover the id it names.
    pub fn filtered(mut self, filter: Option<&str>) -> Self {
        if let Some(filter) = filter {
            self.files
                .retain(|file| file.id.contains(filter) || file.covers.iter().any(|id| id == filter));
        }
        self
    }

    /// The files that call webhooks, and the others.
    pub fn split(&self) -> (Self, Self) {
        let (calling, quiet) = self.files.iter().cloned().partition(|file| file.calls_webhooks());
        (Self { files: calling }, Self { files: quiet })
    }

    /// The files for a server with every plugin, or the others.
    pub fn with_every_plugin(mut self, every: bool) -> Self {
        self.files.retain(|file| file.every_plugin == every);
        self
    }

    /// The files in as many parts, dealt like cards: neighbours are often alike, and as long as each other.
    pub fn dealt(&self, parts: usize) -> Vec<Self> {
        let part = |first| self.files.iter().skip(first).step_by(parts).cloned().collect();
        (0..parts).map(|first| Self { files: part(first) }).collect()
    }

    /// Every case of every file.
    pub fn expanded(&self) -> impl Iterator<Item = (Arc<CaseFile>, Variant)> + '_ {
        self.files
            .iter()
            .flat_map(|file| file.variants.iter().map(|variant| (Arc::clone(file), variant.clone())))
    }

    /// How many cases the files expand to.
    pub fn cases(&self) -> usize {
        self.files.iter().map(|file| file.variants.len()).sum()
    }
}

/// The folder of this package, which has cases, recordings and decisions.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), CaseError> {
    let unreadable = |error| CaseError::Read(folder.to_owned(), error);
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            paths.push(path);
        }
    }
    Ok(())
}
