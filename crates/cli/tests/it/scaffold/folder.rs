//! A folder to run the command in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;

use crate::support::kubewright;

/// An empty folder with a name, removed in the end.
pub(crate) struct Folder {
    _parent: TempDir,
    pub(crate) path: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        Self { _parent: parent, path }
    }

    /// A project of this name, whose `kubewright` is a released one.
    pub(crate) fn project(name: &str) -> Self {
        let folder = Self::new(name);
        folder.ok("init --domain ginoh.github.io --kubewright-source 0.1.0");
        folder
    }

    /// Runs the command with words separated by spaces.
    pub(crate) fn run(&self, words: &str) -> Ended {
        run_in(&self.path, words)
    }

    /// Runs the command, which must succeed, and returns what it printed.
    pub(crate) fn ok(&self, words: &str) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
        ended.stdout
    }

    /// Runs the command, which must fail and change nothing, and returns what it said.
    pub(crate) fn refused(&self, words: &str) -> String {
        let before = self.files();
        let ended = self.run(words);
        assert!(matches!(ended.code, Some(1 | 2)), "{words} ended with {ended:?}");
        assert_eq!(self.files(), before, "{words} changed something");
        assert!(!ended.stderr.trim().is_empty(), "{words} said nothing");
        ended.stderr
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Everything below it, folders with a slash at their end.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&self.path).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                    found.insert(format!("{name}/"), String::new());
                } else {
                    found.insert(name, String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
                }
            }
        }
        found
    }
}

/// Runs the command in a folder.
pub(crate) fn run_in(folder: &Path, words: &str) -> Ended {
    let output = kubewright()
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}
