//! The files that wait beside their places while a plan is written. A command that is killed leaves them; the next one clears them.

use std::fs;
use std::path::{Path, PathBuf};

/// A unique name for a temporary file beside a file.
pub(super) fn beside(target: &Path, what: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    target.with_file_name(format!(".{name}.kubewright-{}-{what}", std::process::id()))
}

/// Removes the temporary files of commands that do not run any more. Failures are ignored.
pub(super) fn clear(root: &Path) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && may_hold_files_of_ours(name) => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && owner(name).is_some_and(is_gone) => drop(fs::remove_file(entry.path())),
                _ => {}
            }
        }
    }
}

/// Not what cargo and git keep, which is large.
fn may_hold_files_of_ours(folder: &str) -> bool {
    folder != "target" && (!folder.starts_with('.') || folder == ".github")
}

/// The process that made a file, if it is one that waits.
fn owner(name: &str) -> Option<u32> {
    let (_, rest) = name.strip_prefix('.')?.rsplit_once(".kubewright-")?;
    rest.strip_suffix("-new")
        .or_else(|| rest.strip_suffix("-old"))?
        .parse()
        .ok()
}

/// Whether no process with this id runs, as far as the system reports it.
fn is_gone(process: u32) -> bool {
    process == std::process::id() || !Path::new("/proc").join(process.to_string()).exists()
}
