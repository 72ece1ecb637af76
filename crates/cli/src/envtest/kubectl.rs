//! kubectl beside the programs, for `KubeCtl()` of Go's envtest: a link to the one that this machine has.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::assets;

/// What a user is told whose machine has no kubectl.
pub(super) const MISSING: &str = "\
note: no kubectl is in PATH, so that KubeCtl() of envtest will not find one; nothing else needs it
  to get it: https://kubernetes.io/docs/tasks/tools, or set KUBECTL to its path, and ask again";

/// Links the kubectl of this machine into a folder, unless it is linked there already. Whether the folder has one.
pub(super) fn link(folder: &Path) -> bool {
    let path = folder.join(format!("kubectl{}", env::consts::EXE_SUFFIX));
    let Some(found) = find(folder) else {
        return path.is_file();
    };
    if fs::read_link(&path).is_ok_and(|target| target == found) {
        return true;
    }
    // A folder that cannot be written may have one from before.
    assets::replace(folder, &path, |new| symlink(&found, new)).is_ok() || path.is_file()
}

/// The kubectl that `$KUBECTL` names, or else the first in `$PATH`; not the link itself.
fn find(folder: &Path) -> Option<PathBuf> {
    let named = env::var_os("KUBECTL")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let path = env::var_os("PATH").unwrap_or_default();
    let name = format!("kubectl{}", env::consts::EXE_SUFFIX);
    let in_path = env::split_paths(&path)
        .filter(|place| place.is_absolute() && place != folder)
        .map(|place| place.join(&name));
    named.into_iter().chain(in_path).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    fs::copy(target, link).map(drop)
}
