//! The memos' walkthroughs, start to end, with this command: `walkthroughs/` holds them as scripts that anybody can run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The root of this workspace.
fn workspace() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// Runs a walkthrough; its steps look with kubectl, so it needs one.
fn walk(name: &str) {
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let tools = tempfile::tempdir().unwrap();
    let link = |name: &str, path: &Path| std::os::unix::fs::symlink(path, tools.path().join(name)).unwrap();
    link("kubectl", &fs::canonicalize(kubectl).unwrap());
    link("kubewright", Path::new(env!("CARGO_BIN_EXE_kubewright")));
    let paths = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let paths = env::join_paths([tools.path().to_owned()].into_iter().chain(paths)).unwrap();
    let output = Command::new(workspace().join("walkthroughs").join(name))
        .env("PATH", paths)
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
