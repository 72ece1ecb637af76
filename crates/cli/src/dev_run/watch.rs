//! Which files make a new operator, and when one of them has changed. Looking at them again and again works on every file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use tokio::time::sleep;

const LOOK: Duration = Duration::from_millis(250);
/// Editors write in several steps: a change counts when nothing has changed for that long.
const SETTLED: Duration = Duration::from_millis(150);
/// Folders deeper than this are not watched.
const DEEPEST: usize = 32;

/// The state of all files at a moment.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Folders of other languages' tools, in which nobody writes.
const MADE: [&str; 8] = [
    "target",
    "node_modules",
    "vendor",
    "__pycache__",
    "venv",
    "build",
    "dist",
    "bin",
];

/// Tells of changes since it was last asked.
pub(super) struct Changes {
    root: PathBuf,
    /// Whether everything in the folder counts, and not only what a project of ours has.
    is_foreign: bool,
    /// The program, beside which cargo lists what it is made of.
    binary: Option<PathBuf>,
    known: Snapshot,
}

impl Changes {
    /// Changes from now on.
    pub(super) fn of(root: &Path) -> Self {
        Self::begin(root, false)
    }

    /// Changes from now on of anything in a folder, but for what tools make.
    pub(super) fn of_anything(root: &Path) -> Self {
        Self::begin(root, true)
    }

    fn begin(root: &Path, is_foreign: bool) -> Self {
        let mut changes = Changes {
            root: root.to_owned(),
            is_foreign,
            binary: None,
            known: Snapshot::new(),
        };
        changes.known = changes.look();
        changes
    }

    /// The program that was built last. What it is made of is looked at from now on; what changed while it was built counts.
    pub(super) fn built(&mut self, binary: &Path) {
        self.binary = Some(binary.to_owned());
        for (path, state) in self.look() {
            self.known.entry(path).or_insert(state);
        }
    }

    /// The files that have changed, once something has and has settled; and when the last of them was saved, or when this was called if that was
    /// before.
    pub(super) async fn next(&mut self) -> (Vec<PathBuf>, Instant) {
        let called = Instant::now();
        loop {
            let mut now = self.look();
            if now == self.known {
                sleep(LOOK).await;
                continue;
            }
            let noticed = Instant::now();
            loop {
                sleep(SETTLED).await;
                let later = self.look();
                if later == now {
                    break;
                }
                now = later;
            }
            let changed = difference(&self.known, &now);
            let saved = changed.iter().filter_map(|path| now.get(path)?.0).max();
            self.known = now;
            if !changed.is_empty() {
                // A file that is gone does not say when.
                let age = saved.and_then(|saved| saved.elapsed().ok());
                let saved = age.and_then(|age| Instant::now().checked_sub(age));
                return (changed, saved.unwrap_or(noticed).max(called));
            }
        }
    }

    fn look(&self) -> Snapshot {
        let mut paths = BTreeSet::new();
        if self.is_foreign {
            collect(&self.root, DEEPEST, &MADE, &mut paths);
        } else {
            for folder in ["src", "config"] {
                collect(&self.root.join(folder), DEEPEST, &[], &mut paths);
            }
        }
        for file in ["Cargo.toml", "build.rs", "PROJECT"] {
            paths.insert(self.root.join(file));
        }
        if let Some(binary) = &self.binary {
            paths.extend(made_of(binary));
        }
        let states = paths.into_iter().filter_map(|path| {
            let state = fs::metadata(&path).ok()?;
            Some((path, (state.modified().ok(), state.len())))
        });
        states.collect()
    }
}

/// The files of a folder and of those in it that are not left out. Hidden ones and those of editors do not count.
fn collect(folder: &Path, depth: usize, left_out: &[&str], found: &mut BTreeSet<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || name.ends_with('~') || name.starts_with('#') || name == "4913" {
            continue;
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if !left_out.contains(&&*name) {
                    collect(&path, depth, left_out, found);
                }
            }
            Ok(_) => {
                found.insert(path);
            }
            Err(_) => {}
        }
    }
}

/// The sources of a program that cargo built, in whatever folder they are: `<program>.d` lists them.
fn made_of(binary: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(binary.with_extension("d")).unwrap_or_default();
    let Some((_, list)) = text.split_once(": ") else {
        return Vec::new();
    };
    let list = list.lines().next().unwrap_or_default();
    // A space in a path is written behind a backslash.
    let list = list.replace("\\ ", "\0");
    list.split(' ')
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(path.replace('\0', " ")))
        .collect()
}

fn difference(before: &Snapshot, now: &Snapshot) -> Vec<PathBuf> {
    let changed = now.iter().filter(|(path, state)| before.get(*path) != Some(state));
    let gone = before.iter().filter(|(path, _)| !now.contains_key(*path));
    changed.chain(gone).map(|(path, _)| path.clone()).collect()
}

/// Whether two moments' states of one file are the same file.
pub(super) fn stamp(path: &Path) -> Option<(Option<SystemTime>, u64)> {
    let state = fs::metadata(path).ok()?;
    Some((state.modified().ok(), state.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/api")).unwrap();
        fs::write(folder.path().join("src/api/v1.rs"), "a").unwrap();
        fs::write(folder.path().join("Cargo.toml"), "a").unwrap();
        folder
    }

    #[tokio::test]
    async fn what_is_written_made_and_removed_is_told_of() {
        let folder = project();
        let path = |name: &str| folder.path().join(name);
        let mut changes = Changes::of(folder.path());
        fs::write(path("src/api/v1.rs"), "longer").unwrap();
        fs::write(path("src/new.rs"), "").unwrap();
        fs::write(path("src/.new.rs.swp"), "").unwrap();
        fs::remove_file(path("Cargo.toml")).unwrap();
        assert_eq!(
            changes.next().await.0,
            [path("src/api/v1.rs"), path("src/new.rs"), path("Cargo.toml")]
        );
    }

    #[tokio::test]
    async fn the_time_of_a_change_is_when_it_was_saved_and_not_when_it_was_noticed() {
        let folder = project();
        let mut changes = Changes::of(folder.path());
        let called = Instant::now();
        let save = async {
            // After the first look, which finds nothing.
            tokio::task::yield_now().await;
            fs::write(folder.path().join("src/api/v1.rs"), "longer").unwrap();
            Instant::now()
        };
        let ((_, since), saved) = tokio::join!(changes.next(), save);
        // Two clocks are read one after the other.
        assert!(called <= since && since <= saved + Duration::from_millis(20));
    }

    #[tokio::test]
    async fn the_sources_of_a_program_count_wherever_they_are() {
        let (folder, elsewhere) = (project(), tempfile::tempdir().unwrap());
        let source = elsewhere.path().join("other crate.rs");
        fs::write(&source, "a").unwrap();
        let binary = folder.path().join("shop");
        let list = format!(
            "{}: {}\n",
            binary.display(),
            source.display().to_string().replace(' ', "\\ ")
        );
        fs::write(folder.path().join("shop.d"), list).unwrap();
        let mut changes = Changes::of(folder.path());
        changes.built(&binary);
        fs::write(&source, "longer").unwrap();
        assert_eq!(changes.next().await.0, [source]);
    }
}
