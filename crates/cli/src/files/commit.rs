//! Writes a plan: everything beside its place first, then over what is there, PROJECT last, and back again if any step fails.
//! At any moment each file is whole, the old one or the new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_scaffold::plan::Change;

use super::{Disk, leftovers};

/// What the next command begins from: once it is written, all else is.
const LAST: &str = "PROJECT";

/// A file could not be written. What had been written is as it was before.
#[derive(Debug, thiserror::Error)]
#[error("nothing was written, since {path} could not be {done}")]
pub(crate) struct CommitError {
    path: PathBuf,
    done: &'static str,
    #[source]
    source: io::Error,
}

/// Carries out all changes, or none.
pub(crate) fn commit(disk: &Disk, changes: &[Change]) -> Result<(), CommitError> {
    leftovers::clear(disk.root());
    let mut work = Work::default();
    let done = in_order(changes)
        .try_for_each(|change| work.prepare(disk, change))
        .and_then(|()| work.put_in_place());
    if let Err(error) = done {
        work.undo();
        return Err(error);
    }
    work.finish(disk.root());
    Ok(())
}

/// PROJECT behind all others: a command that is killed before it can be run again.
fn in_order(changes: &[Change]) -> impl Iterator<Item = &Change> {
    let (last, others): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| change.path() == LAST);
    others.into_iter().chain(last)
}

/// One file: where its new text waits, and where its old one is kept until all is done.
struct FileReplacement {
    target: PathBuf,
    new: Option<PathBuf>,
    kept: Option<PathBuf>,
    is_done: bool,
}

#[derive(Default)]
struct Work {
    steps: Vec<FileReplacement>,
    /// Folders that were made, outermost first.
    folders: Vec<PathBuf>,
}

impl Work {
    fn prepare(&mut self, disk: &Disk, change: &Change) -> Result<(), CommitError> {
        let path = disk.path(change.path());
        // A link stays a link: what it points to is changed.
        let target = fs::canonicalize(&path).unwrap_or(path);
        let step = self.steps.len();
        self.steps.push(FileReplacement {
            target: target.clone(),
            new: None,
            kept: None,
            is_done: false,
        });
        let (Change::Create(file) | Change::Update(file)) = change else {
            return Ok(());
        };
        let folder = target.parent().unwrap_or(disk.root());
        self.make_folder(folder)?;
        let new = leftovers::beside(&target, "new");
        let failed = |source| CommitError {
            path: target.clone(),
            done: "written",
            source,
        };
        self.steps[step].new = Some(new.clone());
        fs::write(&new, &file.content).map_err(failed)?;
        if let Ok(old) = fs::metadata(&target) {
            fs::set_permissions(&new, old.permissions()).map_err(failed)?;
        }
        Ok(())
    }

    fn make_folder(&mut self, folder: &Path) -> Result<(), CommitError> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(|source| CommitError {
                path: folder.to_owned(),
                done: "created",
                source,
            })?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn put_in_place(&mut self) -> Result<(), CommitError> {
        for step in &mut self.steps {
            let failed = |done| {
                let path = step.target.clone();
                move |source| CommitError { path, done, source }
            };
            if step.target.exists() {
                let kept = leftovers::beside(&step.target, "old");
                step.kept = Some(kept.clone());
                // A second name for what is there; not every disk has those.
                fs::hard_link(&step.target, &kept)
                    .or_else(|_| fs::copy(&step.target, &kept).map(drop))
                    .map_err(failed("kept"))?;
            }
            match &step.new {
                Some(new) => fs::rename(new, &step.target).map_err(failed("written"))?,
                None if step.kept.is_some() => fs::remove_file(&step.target).map_err(failed("removed"))?,
                None => {}
            }
            step.is_done = true;
        }
        Ok(())
    }

    /// Restores the former files. A failure is ignored, because the first error is reported.
    fn undo(&self) {
        for step in self.steps.iter().rev() {
            match (&step.kept, &step.new) {
                (Some(kept), _) if step.is_done => drop(fs::rename(kept, &step.target)),
                (None, Some(_)) if step.is_done => drop(fs::remove_file(&step.target)),
                (kept, new) => kept.iter().chain(new).for_each(|beside| drop(fs::remove_file(beside))),
            }
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }

    /// Drops what was kept, and folders that nothing is left in.
    fn finish(self, root: &Path) {
        for step in self.steps {
            if let Some(kept) = step.kept {
                let _ = fs::remove_file(kept);
            }
            if step.new.is_none() {
                let folders = step.target.ancestors().skip(1).take_while(|folder| *folder != root);
                // The first folder that is not empty ends it.
                let _ = folders.map(fs::remove_dir).find(Result::is_err);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kubewright_scaffold::File;

    use super::*;

    fn files(root: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).unwrap_or_default());
            }
        }
        found
    }

    #[test]
    fn a_plan_is_carried_out_and_empty_folders_go() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("old")).unwrap();
        fs::write(folder.path().join("old/a"), "a").unwrap();
        fs::write(folder.path().join("b"), "b").unwrap();
        let changes = [
            Change::Create(File::new("new/deep/c", "c")),
            Change::Remove("old/a".to_owned()),
            Change::Update(File::new("b", "B")),
        ];
        commit(&Disk::new(folder.path()), &changes).unwrap();
        let names = [("b", "B"), ("new", ""), ("new/deep", ""), ("new/deep/c", "c")];
        assert_eq!(
            files(folder.path()),
            names.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
        );
    }

    #[test]
    fn project_is_written_last_and_is_there_at_any_moment() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        fs::write(folder.path().join(LAST), "old").unwrap();
        let mut work = Work::default();
        let changes = [
            Change::Update(File::new(LAST, "new")),
            Change::Remove("gone".to_owned()),
            Change::Create(File::new("src/a", "a")),
        ];
        let paths: Vec<&str> = in_order(&changes).map(Change::path).collect();
        assert_eq!(paths, ["gone", "src/a", LAST]);
        for change in in_order(&changes) {
            work.prepare(&disk, change).unwrap();
        }
        // Everything waits, and nothing is gone: a command that is killed here leaves the old project.
        assert_eq!(files(folder.path())[LAST], "old");
        work.put_in_place().unwrap();
        let there = files(folder.path());
        assert_eq!((there[LAST].as_str(), there["src/a"].as_str()), ("new", "a"));
        // The old text is kept until the end, for a step that fails.
        assert!(there.iter().any(|(name, text)| name.ends_with("-old") && text == "old"));
        work.undo();
        assert_eq!(files(folder.path()), [(LAST.to_owned(), "old".to_owned())].into());
        // With a failure before it, PROJECT is not touched.
        fs::write(folder.path().join("file"), "no folder").unwrap();
        let changes = [
            Change::Update(File::new(LAST, "new")),
            Change::Create(File::new("file/c", "c")),
        ];
        commit(&disk, &changes).unwrap_err();
        assert_eq!(files(folder.path())[LAST], "old");
    }

    #[test]
    fn what_a_killed_command_left_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/api")).unwrap();
        // No process has such a number.
        for left in [
            "src/api/.a.rs.kubewright-4294967295-new",
            ".PROJECT.kubewright-4294967295-old",
        ] {
            fs::write(folder.path().join(left), "left").unwrap();
        }
        let kept = [
            "src/.kubewright-new",
            ".a.kubewright-1x-new",
            "a.kubewright-4294967295-new",
        ];
        for kept in kept {
            fs::write(folder.path().join(kept), "theirs").unwrap();
        }
        commit(&Disk::new(folder.path()), &[Change::Create(File::new("b", "b"))]).unwrap();
        let there = files(folder.path());
        let names: Vec<&str> = there.keys().map(String::as_str).collect();
        let mut expected = vec!["b", "src", "src/api"];
        expected.extend(kept);
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_failure_leaves_everything_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        fs::write(folder.path().join("file"), "no folder").unwrap();
        let before = files(folder.path());
        let changes = [
            Change::Update(File::new("a", "A")),
            Change::Create(File::new("new/b", "b")),
            Change::Create(File::new("file/c", "c")),
        ];
        let error = commit(&Disk::new(folder.path()), &changes).unwrap_err();
        assert!(error.to_string().starts_with("nothing was written"), "{error}");
        assert_eq!(files(folder.path()), before);
    }

    #[test]
    fn a_failure_on_the_way_into_place_puts_everything_back() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        fs::create_dir_all(folder.path().join("taken/in")).unwrap();
        let before = files(folder.path());
        let mut work = Work::default();
        let disk = Disk::new(folder.path());
        for change in [Change::Update(File::new("a", "A")), Change::Create(File::new("b", "b"))] {
            work.prepare(&disk, &change).unwrap();
        }
        // Another process removes the temporary file.
        fs::remove_file(work.steps[1].new.as_ref().unwrap()).unwrap();
        assert!(work.put_in_place().is_err());
        work.undo();
        assert_eq!(files(folder.path()), before);
    }
}
