//! Files and folders that only their owner may read.

use std::fs::{self, Metadata};
use std::io::{self, Write as _};
use std::path::Path;

/// Makes a folder, and those above it, for its owner alone. One that is there stays as it is.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether only its owner, who is us, may use a folder.
#[cfg(unix)]
pub(super) fn is_private(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path)?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    let of_others = metadata.mode() & 0o077;
    Ok(is_ours && of_others == 0)
}

/// Whether only its owner may use a folder: elsewhere, folders in one's own are.
#[cfg(not(unix))]
pub(super) fn is_private(_: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The file by which a folder is known as one of Pods, to be removed with all in it.
pub(super) const MARKER: &str = ".kubewright-pods";

/// Marks a folder as one for the files of Pods if it is empty, with a text. A folder with contents is not marked, because they may
/// belong to the user.
pub(super) fn mark(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_dir(path)?.next().is_none() {
        write_new(&path.join(MARKER), text.as_bytes(), 0o600)?;
    }
    Ok(())
}

/// The text of a folder's marker, if it is one of Pods.
pub(super) fn marker_of(path: &Path) -> Option<String> {
    is_marked(path)
        .then(|| fs::read_to_string(path.join(MARKER)).ok())
        .flatten()
}

/// Whether a folder is one of Pods.
pub(super) fn is_marked(path: &Path) -> bool {
    fs::symlink_metadata(path.join(MARKER)).is_ok_and(|marker| marker.is_file())
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &Metadata) -> bool {
    true
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Writes a new file that only its owner may read, whatever `mode` gives to others.
pub(super) fn write_new(path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, (mode & 0o700) | 0o600);
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    drop(file);
    set_mode(path, (mode & 0o700) | 0o400)
}

/// Writes a file atomically: readers see the old or the new contents.
pub(super) fn replace(path: &Path, contents: &[u8], mode: u32) -> io::Result<()> {
    let begun = path.with_extension(format!("new.{}", std::process::id()));
    // Left behind by a process with the same id.
    let _ = fs::remove_file(&begun);
    write_new(&begun, contents, mode).and_then(|()| fs::rename(&begun, path))
}

/// A symbolic link.
#[cfg(unix)]
pub(super) fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// A symbolic link, which not everybody may make here.
#[cfg(windows)]
pub(super) fn link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, link)
}

/// Removes a folder with its contents, if it exists.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
