//! The files of a project on disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kubewright_scaffold::plan::{Files, ReadError};

/// The files below a folder.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    root: PathBuf,
}

impl Disk {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where a file of the project is.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Option<String>, ReadError> {
        match std::fs::read_to_string(self.path(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ReadError {
                path: path.to_owned(),
                source,
            }),
        }
    }
}
