//! Writes a kubeconfig: readable for its owner alone, because it holds a key, and atomically; in a temporary folder, if nobody says where.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

/// How the names of temporary folders begin.
const PREFIX: &str = "kubewright-";
/// The file of a temporary folder that is locked as long as its owner lives. The system unlocks it, however a process ends.
const LOCK: &str = ".in-use";

/// A temporary folder. Dropped, it is removed; the folder of a program that was killed is removed by the next that makes one.
#[derive(Debug)]
pub struct TemporaryFolder {
    // Unlocked first: not every system removes a file that is locked.
    _lock: File,
    folder: TempDir,
}

impl TemporaryFolder {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

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
pub fn temporary_folder() -> io::Result<TemporaryFolder> {
    temporary_folder_in(&std::env::temp_dir())
}

/// An empty temporary folder that only its owner may read, and that somebody else removes if this program is killed.
pub fn guarded_folder() -> io::Result<TempDir> {
    private_folder(&std::env::temp_dir())
}

fn private_folder(place: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(place)
}

fn temporary_folder_in(place: &Path) -> io::Result<TemporaryFolder> {
    let folder = private_folder(place)?;
    // Locked before it has its name, so that nobody finds it unlocked.
    let locked = NamedTempFile::new_in(folder.path())?;
    locked.as_file().lock()?;
    let lock = locked.persist(folder.path().join(LOCK)).map_err(|error| error.error)?;
    remove_left(place, &folder.path().symlink_metadata()?);
    Ok(TemporaryFolder { _lock: lock, folder })
}

/// Removes folders that programs of this user left when they were killed. What cannot be removed stays: it hinders nobody.
fn remove_left(place: &Path, own: &Metadata) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // Not through links: they may lead anywhere.
        let is_ours = entry.metadata().is_ok_and(|found| is_as(&found, own));
        if !is_named || !is_ours {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            drop(lock);
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a file is a folder of the same user and as private as another.
fn is_as(found: &Metadata, own: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        found.is_dir() && found.uid() == own.uid() && found.mode() == own.mode()
    }
    #[cfg(not(unix))]
    {
        found.is_dir() && own.is_dir()
    }
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

    #[test]
    fn folders_of_who_is_gone_are_removed_and_no_others() {
        let place = tempfile::tempdir().unwrap();
        let held = temporary_folder_in(place.path()).unwrap();
        write(&held.path().join("kubeconfig"), "kind: Config").unwrap();
        // As a program leaves it that is killed: not removed, and not locked any more.
        let TemporaryFolder { _lock: lock, folder } = temporary_folder_in(place.path()).unwrap();
        let left = folder.keep();
        write(&left.join("kubeconfig"), "kind: Config").unwrap();
        drop(lock);
        // Somebody else's, which has no lock, and one that is not of that name.
        let other = place.path().join("kubewright-notes");
        fs::create_dir(&other).unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join(LOCK), "").unwrap();
        let next = temporary_folder_in(place.path()).unwrap();
        assert!(!left.exists());
        assert!(held.path().join("kubeconfig").exists() && next.path().exists());
        assert!(other.exists() && elsewhere.exists());
        let gone = held.path().to_owned();
        drop(held);
        assert!(!gone.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_with_the_name_of_a_folder_leads_nowhere() {
        let (place, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(private.path().join(LOCK), "").unwrap();
        std::os::unix::fs::symlink(private.path(), place.path().join("kubewright-link")).unwrap();
        let _folder = temporary_folder_in(place.path()).unwrap();
        assert!(private.path().join(LOCK).exists());
    }
}
