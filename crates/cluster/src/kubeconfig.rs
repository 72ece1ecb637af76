//! Writes a kubeconfig: readable for its owner alone, because it holds a key, and atomically.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

/// Writes `text` to `path`, mode 0600, replacing what was there in one step.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Temporary files are made with mode 0600.
    let mut file = NamedTempFile::new_in(folder).map_err(|error| plain(&error, folder))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A temporary folder for kubeconfigs that only its owner may read.
pub fn temporary_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("kubewright-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir()
}

/// The error without the name of the temporary file, which the user has never heard of.
fn plain(error: &io::Error, folder: &Path) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::NotFound => {
            io::Error::new(kind, format!("the folder {} does not exist", folder.display()))
        }
        kind => io::Error::from(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_replaces_what_was_there_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "something longer than what comes").unwrap();
        write(&path, "kind: Config").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kind: Config");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_kubeconfig_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, "kind: Config").unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let folder = temporary_folder().unwrap();
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
