//! The files of a volume, replaced all at once: links into a folder of the present version, as nodes keep them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path};

use super::files;

/// The link to the present version.
const DATA: &str = "..data";

/// The files of a volume: path, contents, mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload(pub(super) BTreeMap<String, (Vec<u8>, u32)>);

impl Payload {
    /// Adds a file; the error says what is wrong with its path.
    pub(super) fn add(&mut self, path: &str, contents: impl Into<Vec<u8>>, mode: u32) -> Result<(), String> {
        let parts = || Path::new(path).components();
        let is_inside = parts().all(|part| matches!(part, Component::Normal(_))) && parts().next().is_some();
        if !is_inside || path.starts_with("..") {
            return Err(format!("path {path:?} leads out of the volume"));
        }
        self.0.insert(path.to_owned(), (contents.into(), mode));
        Ok(())
    }
}

/// Writes the files of a version into a volume and switches to it; the version before is removed.
pub(super) fn write(volume: &Path, payload: &Payload, version: u64) -> io::Result<()> {
    let name = format!("..{version}");
    let folder = volume.join(&name);
    files::remove_folder(&folder)?;
    files::private_folder(&folder)?;
    for (path, (contents, mode)) in &payload.0 {
        let file = folder.join(path);
        if let Some(above) = file.parent() {
            files::private_folder(above)?;
        }
        files::write_new(&file, contents, *mode)?;
    }
    let data = volume.join(DATA);
    let before = fs::read_link(&data).ok();
    let next = volume.join("..data_tmp");
    let _ = fs::remove_file(&next);
    files::link(Path::new(&name), &next)?;
    fs::rename(&next, &data)?;
    let wanted: BTreeSet<&str> = payload.0.keys().filter_map(|path| path.split('/').next()).collect();
    for entry in fs::read_dir(volume)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        // What a process has put there itself is its own.
        let is_ours = fs::read_link(volume.join(&*name)).is_ok_and(|target| target == Path::new(DATA).join(&*name));
        if is_ours && !wanted.contains(&*name) {
            fs::remove_file(volume.join(&*name))?;
        }
    }
    for name in wanted {
        let link = volume.join(name);
        if fs::symlink_metadata(&link).is_err() {
            files::link(&Path::new(DATA).join(name), &link)?;
        }
    }
    match before {
        Some(before) if before != Path::new(&name) => files::remove_folder(&volume.join(before)),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn payload(files: &[(&str, &str)]) -> Payload {
        let mut payload = Payload::default();
        for (path, contents) in files {
            payload.add(path, *contents, 0o644).unwrap();
        }
        payload
    }

    #[test]
    fn a_version_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path();
        write(volume, &payload(&[("a", "1"), ("deep/b", "1")]), 1).unwrap();
        assert_eq!(fs::read(volume.join("deep/b")).unwrap(), b"1");
        write(volume, &payload(&[("a", "2"), ("c", "2")]), 2).unwrap();
        assert_eq!(fs::read(volume.join("a")).unwrap(), b"2");
        assert_eq!(fs::read(volume.join("c")).unwrap(), b"2");
        assert!(!volume.join("deep").exists() && !volume.join("..1").exists());
        let mode = fs::metadata(volume.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_a_process_has_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path();
        write(volume, &payload(&[("a", "1")]), 1).unwrap();
        fs::create_dir(volume.join("own")).unwrap();
        fs::write(volume.join("own.txt"), "").unwrap();
        files::link(Path::new("own.txt"), &volume.join("link")).unwrap();
        write(volume, &payload(&[("b", "2")]), 2).unwrap();
        assert!(!volume.join("a").exists() && volume.join("b").exists());
        for own in ["own", "own.txt", "link"] {
            assert!(volume.join(own).exists(), "{own}");
        }
    }

    #[test]
    fn a_file_stays_in_its_volume() {
        for wrong in ["", "/etc/passwd", "../up", "a/../../up", "..data", "."] {
            assert!(Payload::default().add(wrong, "", 0).is_err(), "{wrong}");
        }
    }
}
