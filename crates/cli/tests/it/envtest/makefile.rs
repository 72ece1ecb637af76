//! What the book and the help say for Makefiles, given to `make`. Needs `make`; without it nothing is tested, and the tests say so.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use kubewright_test_support::{book, skip};
use tempfile::TempDir;

use crate::support::kubewright;

/// A folder with a Makefile and a `go` that prints what it finds in the variable.
struct Project {
    folder: TempDir,
}

impl Project {
    /// With this Makefile, and the targets that a scaffolded one has beside; `None` if there is no `make`.
    fn new(makefile: &str) -> Option<Project> {
        if Command::new("make").arg("--version").output().is_err() {
            skip("make is not installed");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let others = "\nmanifests generate fmt vet:\n\t@echo $@\n";
        fs::write(folder.path().join("Makefile"), makefile.to_owned() + others).unwrap();
        let project = Project { folder };
        let program = env!("CARGO_BIN_EXE_kubewright");
        project.program("kubewright", &format!("exec '{program}' \"$@\""));
        // `go list` is asked for the packages to test.
        project.program("go", "[ \"$1\" = list ] || echo \"go $* with $KUBEBUILDER_ASSETS\"");
        Some(project)
    }

    fn program(&self, name: &str, script: &str) {
        let bin = self.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Whoever runs the tests may have the variable set, or be a `make`.
    fn make(&self, target: &str) -> Output {
        Command::new("make")
            .args(["-s", "--no-print-directory", target])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}/bin:/usr/bin:/bin", self.folder.path().display()))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env_remove("KUBEBUILDER_ASSETS")
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    }

    /// What `go test` found in the variable.
    fn assets(&self, target: &str) -> String {
        let output = self.make(target);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let line = printed.lines().find_map(|line| line.strip_prefix("go test "));
        let (_, assets) = line.and_then(|line| line.split_once(" with ")).expect(&printed);
        assets.to_owned()
    }
}

fn has_programs(folder: &str) -> bool {
    ["kube-apiserver", "etcd"]
        .iter()
        .all(|name| Path::new(folder).join(name).is_file())
}

/// The Makefile of the chapter's block that has this target.
fn documented(target: &str) -> String {
    let chapters = book::chapters();
    let chapter = chapters.iter().find(|chapter| chapter.name == "envtest.md").unwrap();
    let mut blocks = chapter.blocks().filter(|block| block.language() == "make");
    let rule = format!("{target}:");
    let block = blocks.find(|block| block.lines.iter().any(|line| line.starts_with(&rule)));
    block.expect("the chapter has the target").text()
}

#[test]
fn the_target_of_the_book_tests_with_the_folder_and_ends_if_there_is_none() {
    let Some(project) = Project::new(&documented("test")) else {
        return;
    };
    let assets = project.assets("test");
    assert!(has_programs(&assets), "{assets:?}");
    project.program("kubewright", "echo 'error: no folder' >&2; exit 1");
    let failed = project.make("test");
    assert!(!failed.status.success());
    assert!(!String::from_utf8_lossy(&failed.stdout).contains("go test"));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("error: no folder"));
}

#[test]
fn the_line_for_all_recipes_exports_the_folder_and_ends_make_if_there_is_none() {
    let Some(project) = Project::new(&documented("unit")) else {
        return;
    };
    let assets = project.assets("unit");
    assert!(has_programs(&assets), "{assets:?}");
    project.program("kubewright", "exit 1");
    let failed = project.make("unit");
    assert!(!failed.status.success());
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(
        said.contains("kubewright made no folder for KUBEBUILDER_ASSETS"),
        "{said}"
    );
}

#[test]
fn the_recipe_of_the_help_tests_with_the_folder() {
    let help = kubewright().args(["envtest", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut lines = help.lines().skip_while(|line| !line.contains("Makefile"));
    let recipe = lines.nth(1).expect("a line below the comment");
    let Some(project) = Project::new(&format!("test:\n\t{}\n", recipe.trim())) else {
        return;
    };
    let assets = project.assets("test");
    assert!(has_programs(&assets), "{assets:?}");
}
