//! The folder for `KUBEBUILDER_ASSETS`: this very program under the names `kube-apiserver` and `etcd`, and a link to kubectl.
//!
//! Several calls at once make the same folder: each file appears whole, by a rename, and what is there already is left alone.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, io};

use super::KUBERNETES;

/// The names under which this program is something else.
pub(super) const PROGRAMS: [&str; 2] = ["kube-apiserver", "etcd"];

/// Folders of other builds of this command that nobody asked for in this time are removed.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// Why there is no folder.
#[derive(Debug, thiserror::Error)]
pub(super) enum AssetsError {
    #[error("cannot find the file of this program")]
    Program(#[source] io::Error),
    #[error("cannot make the programs in {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error("there is no folder for the programs: neither HOME nor XDG_CACHE_HOME is set; name one with --bin-dir")]
    NoFolder,
}

/// The folder with the programs, made where it is missing: in `chosen`, or else in the user's cache, or in a private folder for
/// temporary files if that cannot be written.
pub(super) fn folder(chosen: Option<&Path>) -> Result<PathBuf, AssetsError> {
    let program = env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(AssetsError::Program)?;
    let name = name(&program).map_err(AssetsError::Program)?;
    let parents = match chosen {
        Some(chosen) => vec![std::path::absolute(chosen).unwrap_or_else(|_| chosen.to_owned())],
        None => [cache(), temporary()].into_iter().flatten().collect(),
    };
    let mut first = None;
    for parent in parents {
        let folder = parent.join(&name);
        match fill(&folder, &program) {
            Ok(()) => {
                remove_unused(&parent, &folder);
                return Ok(folder);
            }
            Err(source) => first = first.or(Some(AssetsError::Folder { folder, source })),
        }
    }
    Err(first.unwrap_or(AssetsError::NoFolder))
}

/// A name for exactly this build of the program.
fn name(program: &Path) -> io::Result<String> {
    let metadata = fs::metadata(program)?;
    let mut hasher = DefaultHasher::new();
    (metadata.len(), metadata.modified()?).hash(&mut hasher);
    Ok(format!(
        "{KUBERNETES}-{}-{}-{}-{:016x}",
        env::consts::OS,
        env::consts::ARCH,
        env!("CARGO_PKG_VERSION"),
        hasher.finish()
    ))
}

/// Whether some build of this command on such a machine would have made a folder of this name.
fn is_name(name: &str) -> bool {
    let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('.');
    let machine = format!("-{}-{}-", env::consts::OS, env::consts::ARCH);
    let Some((build, hash)) = name.rsplit_once('-') else {
        return false;
    };
    let is_hash = hash.len() == 16 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let versions = build.split_once(&machine);
    is_hash && versions.is_some_and(|(kubernetes, package)| is_version(kubernetes) && is_version(package))
}

/// Whether a folder holds what [`fill`] makes and nothing else: one program under its names, and perhaps a link to kubectl.
fn is_made_here(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let known = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| {
            let program = name.strip_suffix(env::consts::EXE_SUFFIX);
            // An interrupted call leaves the folder in which it made a file.
            program.is_some_and(|name| PROGRAMS.contains(&name) || name == "kubectl") || name.starts_with(".new-")
        })
    };
    let size = |name: &str| {
        let path = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
        let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(found.len())
    };
    let [first, second] = PROGRAMS.map(size);
    first.is_some() && first == second && entries.flatten().all(|entry| known(&entry))
}

/// Makes the programs that are missing in a folder.
fn fill(folder: &Path, program: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let size = fs::metadata(program)?.len();
    for name in PROGRAMS {
        let path = folder.join(name).with_extension(env::consts::EXE_EXTENSION);
        let is_there = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == size);
        if !is_there {
            // A link costs nothing and stays when the command is replaced; another file system, or a file of another user, takes a copy.
            replace(folder, &path, |new| {
                fs::hard_link(program, new).or_else(|_| fs::copy(program, new).map(drop))
            })?;
        }
    }
    Ok(())
}

/// Makes a file under a name that nobody else uses, and gives it its own name.
pub(super) fn replace(folder: &Path, path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let parts = tempfile::Builder::new().prefix(".new-").tempdir_in(folder)?;
    let new = parts.path().join(path.file_name().unwrap_or(OsStr::new("new")));
    make(&new)?;
    fs::rename(&new, path)
}

/// The user's cache.
fn cache() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| {
        let home = set("HOME")?;
        Some(home.join(if cfg!(target_os = "macos") {
            "Library/Caches"
        } else {
            ".cache"
        }))
    })?;
    Some(cache.join("kubewright").join("envtest"))
}

/// A folder for temporary files that is this user's own: nobody else may put programs into it.
#[cfg(unix)]
fn temporary() -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
    let user = rustix::process::geteuid().as_raw();
    let folder = env::temp_dir().join(format!("kubewright-envtest-{user}"));
    // Its mode is set when it is made; one that is there already is looked at below.
    let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    let found = fs::symlink_metadata(&folder).ok()?;
    let is_private = found.is_dir() && found.uid() == user && found.permissions().mode() & 0o022 == 0;
    is_private.then_some(folder)
}

#[cfg(not(unix))]
fn temporary() -> Option<PathBuf> {
    Some(env::temp_dir().join("kubewright-envtest"))
}

/// Removes folders of other builds that were not asked for in a long time, and marks this one as asked for. Neither is worth an error.
///
/// The parent may be a folder where other tools keep the real programs, which stay.
fn remove_unused(parent: &Path, current: &Path) {
    let now = SystemTime::now();
    let _ = fs::File::open(current).and_then(|folder| folder.set_modified(now));
    let Ok(others) = fs::read_dir(parent) else { return };
    for other in others.flatten() {
        let is_ours = other.file_name().to_str().is_some_and(is_name) && is_made_here(&other.path());
        let age = other
            .metadata()
            .and_then(|found| found.modified())
            .ok()
            .map(|time| now.duration_since(time));
        if is_ours && other.path() != current && age.is_some_and(|age| age.is_ok_and(|age| age > UNUSED)) {
            let _ = fs::remove_dir_all(other.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(folder: &Path) -> PathBuf {
        let path = folder.join("program");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn calls_at_the_same_time_make_one_whole_folder() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let folder = root.path().join("made/here");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| fill(&folder, &program).unwrap());
            }
        });
        assert_eq!(names(&folder), ["etcd", "kube-apiserver"]);
        assert_eq!(fs::read_to_string(folder.join("etcd")).unwrap(), "#!/bin/sh\n");
    }

    #[test]
    fn what_is_broken_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let folder = root.path().join("made");
        fill(&folder, &program).unwrap();
        fs::remove_file(folder.join("etcd")).unwrap();
        fs::remove_file(folder.join("kube-apiserver")).unwrap();
        fs::write(folder.join("kube-apiserver"), "cut").unwrap();
        fill(&folder, &program).unwrap();
        for name in PROGRAMS {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "#!/bin/sh\n", "{name}");
        }
    }

    #[test]
    fn folders_that_nobody_asked_for_in_a_month_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let ours = |hash: u64| {
            let (os, arch) = (env::consts::OS, env::consts::ARCH);
            root.path().join(format!("1.36.3-{os}-{arch}-0.1.0-rc.1-{hash:016x}"))
        };
        let [current, recent, old] = [1, 2, 0xabc].map(ours);
        for folder in [&current, &recent, &old] {
            fill(folder, &program).unwrap();
        }
        let long_ago = SystemTime::now() - UNUSED - Duration::from_hours(1);
        for folder in [&current, &old] {
            fs::File::open(folder).unwrap().set_modified(long_ago).unwrap();
        }
        remove_unused(root.path(), &current);
        assert!(current.is_dir() && recent.is_dir() && !old.exists());
    }

    #[test]
    fn folders_of_other_tools_stay_however_old_they_are() {
        let root = tempfile::tempdir().unwrap();
        let program = program(root.path());
        let (os, arch) = (env::consts::OS, env::consts::ARCH);
        let ours = |hash: u64| format!("1.36.3-{os}-{arch}-0.1.0-{hash:016x}");
        let current = root.path().join(ours(1));
        fill(&current, &program).unwrap();
        // As setup-envtest names them, and names that only look a little like ours.
        let others = [
            format!("1.36.2-{os}-{arch}"),
            "assets".to_owned(),
            format!("1.36.3-{os}-{arch}-0.1.0-12345"),
            format!("1.36.3-{os}-{arch}-0.1.0-NOTHEXADECIMAL!!"),
            "1.36.3-plan9-mips-0.1.0-0000000000000002".to_owned(),
            format!("latest-{os}-{arch}-0.1.0-0000000000000002"),
        ];
        for name in &others {
            fill(&root.path().join(name), &program).unwrap();
        }
        // Names like ours with what we did not make: two programs, and something of somebody's own.
        let [real, with_more] = [2, 3].map(|hash| root.path().join(ours(hash)));
        fill(&real, &program).unwrap();
        // A file of its own: what was there is a link to the program.
        fs::remove_file(real.join("etcd")).unwrap();
        fs::write(real.join("etcd"), "the real one").unwrap();
        fill(&with_more, &program).unwrap();
        fs::write(with_more.join("kube-controller-manager"), "").unwrap();
        let before = names(root.path());
        let long_ago = SystemTime::now() - UNUSED - Duration::from_hours(1);
        for name in before.iter().filter(|name| *name != "program") {
            let folder = fs::File::open(root.path().join(name)).unwrap();
            folder.set_modified(long_ago).unwrap();
        }
        remove_unused(root.path(), &current);
        assert_eq!(names(root.path()), before);
    }
}
