//! The memos' walkthroughs, start to end, with this command: `walkthroughs/` holds them as scripts that anybody can run. And the chapters
//! of the book that begin in an empty folder, followed by a reader who compares what is printed with what is shown.
//! A program of its own, because they compile their projects, which takes minutes: `cargo test --test it` leaves it out.

#![cfg(unix)]

mod reader;
mod terminal;

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use self::reader::Reader;

/// The root of this workspace.
fn workspace() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// The search path, before which a folder of tools stands.
fn path_with(tools: &Path) -> OsString {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::join_paths([tools.to_owned()].into_iter().chain(env::split_paths(&paths))).unwrap()
}

/// Runs a walkthrough; its steps look with kubectl, so it needs one.
fn walk(name: &str) {
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let tools = tempfile::tempdir().unwrap();
    symlink(fs::canonicalize(kubectl).unwrap(), tools.path().join("kubectl")).unwrap();
    symlink(env!("CARGO_BIN_EXE_kubewright"), tools.path().join("kubewright")).unwrap();
    let output = Command::new(workspace().join("walkthroughs").join(name))
        .env("PATH", path_with(tools.path()))
        .env("WALKTHROUGH_WORKSPACE", workspace())
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.ends_with("That was all of it.\n"), "{stdout}\n{stderr}");
}

#[test]
fn markdown_view_from_an_empty_folder_to_its_removal() {
    walk("markdown-view");
}

#[test]
fn bar_controller_from_an_empty_folder_to_its_removal() {
    walk("bar-controller");
}

#[test]
fn markdown_view_deployed_without_a_container_engine() {
    walk("markdown-view-deployed");
}

#[test]
fn the_first_chapter_of_the_book_shows_what_its_reader_sees() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = Reader::new(folder.path());
    reader.follow("getting-started.md");
    assert!(reader.end() >= 10);
}

#[test]
fn the_cronjob_tutorial_of_the_book_from_an_empty_folder_to_the_example() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = Reader::new(folder.path());
    reader.follow("cronjob.md");
    reader.follow("cronjob-versions.md");
    let project = reader.project.clone();
    assert!(reader.end() >= 3);
    let example = workspace().join("examples/cronjob");
    let mut files = Vec::new();
    for part in ["PROJECT", "Makefile", "Dockerfile", "config", "src", "tests"] {
        files_below(&example.join(part), &mut files);
    }
    assert!(files.len() > 40, "{files:?}");
    // The month is no part of the tutorial.
    files.retain(|file| !file.ends_with("tests/month.rs"));
    for file in files {
        let file = file.strip_prefix(&example).unwrap();
        let read = |root: &Path| fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(read(&project) == read(&example), "{} differs", file.display());
    }
}

/// A file, or all files of a folder and those below it.
fn files_below(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        files_below(&entry.unwrap().path(), files);
    }
}
