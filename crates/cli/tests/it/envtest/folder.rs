//! The folder for `KUBEBUILDER_ASSETS`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::kubewright;

/// A folder with the programs, removed when dropped.
pub(super) struct MadeFolder {
    path: PathBuf,
    _parent: TempDir,
}

impl MadeFolder {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

pub(super) fn made_folder() -> MadeFolder {
    let parent = tempfile::tempdir().unwrap();
    let path = path_of(&run(kubewright()
        .args(["envtest", "path", "--bin-dir"])
        .arg(parent.path())));
    MadeFolder { path, _parent: parent }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn path_of(output: &Output) -> PathBuf {
    String::from_utf8(output.stdout.clone()).unwrap().trim_end().into()
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o100 != 0)
}

#[test]
fn calls_at_the_same_time_print_one_folder_with_both_programs() {
    let parent = tempfile::tempdir().unwrap();
    let folders: Vec<PathBuf> = std::thread::scope(|scope| {
        let call = || {
            path_of(&run(kubewright()
                .args(["envtest", "path", "--bin-dir"])
                .arg(parent.path())))
        };
        let calls: Vec<_> = (0..6).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(folders.iter().all(|folder| *folder == folders[0]));
    assert!(folders[0].is_absolute() && folders[0].starts_with(parent.path()));
    for program in ["kube-apiserver", "etcd"] {
        assert!(is_program(&folders[0].join(program)), "{program}");
    }
    let leftovers = fs::read_dir(&folders[0]).unwrap().flatten();
    let leftovers = leftovers.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn a_version_that_is_not_here_is_refused_by_name() {
    let parent = tempfile::tempdir().unwrap();
    let call = |version: &str| {
        let mut command = kubewright();
        command
            .args(["envtest", "path", "--bin-dir"])
            .arg(parent.path())
            .args(["--", version]);
        command.output().unwrap()
    };
    for version in ["1.36", "1.36.3", "1.36.x!", "~1.36.0", ">=1.35", "latest"] {
        assert!(call(version).status.success(), "{version}");
    }
    let refused = call("1.33.x");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "error: Kubernetes 1.33.x is not here: this command has 1.36.3; ask for that, or leave the version out\n"
    );
    let refused = call("newest");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("\"newest\" is no version")
    );
}

#[test]
fn a_kubectl_is_linked_and_a_missing_one_is_told() {
    let parent = tempfile::tempdir().unwrap();
    let tools = parent.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let call = || {
        let mut command = kubewright();
        command.args(["envtest", "path", "--bin-dir"]).arg(parent.path());
        command.env("PATH", &tools).env_remove("KUBECTL").output().unwrap()
    };
    let without = call();
    let said = String::from_utf8(without.stderr.clone()).unwrap();
    assert!(
        without.status.success() && said.contains("https://kubernetes.io/docs/tasks/tools"),
        "{said}"
    );
    let kubectl = tools.join("kubectl");
    fs::write(&kubectl, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    let with = call();
    assert!(with.stderr.is_empty());
    assert_eq!(fs::read_link(path_of(&with).join("kubectl")).unwrap(), kubectl);
    assert_eq!(path_of(&with), path_of(&without));
}

#[test]
fn a_cache_that_cannot_be_written_gives_way_to_a_private_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = kubewright();
    // Nothing can be made below a file, whoever asks.
    command
        .args(["envtest", "path"])
        .env("XDG_CACHE_HOME", "/dev/null/cache")
        .env("TMPDIR", temporary.path());
    let folder = path_of(&run(&mut command));
    assert!(folder.starts_with(temporary.path()), "{}", folder.display());
    let private = folder.parent().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(private & 0o777, 0o700);
    assert!(is_program(&folder.join("etcd")));
}

#[test]
fn a_folder_that_others_may_write_is_not_trusted() {
    let temporary = tempfile::tempdir().unwrap();
    let user = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
    let open = temporary.path().join(format!("kubewright-envtest-{}", user.trim()));
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = kubewright();
    command
        .args(["envtest", "path"])
        .env("XDG_CACHE_HOME", "/dev/null/cache")
        .env("TMPDIR", temporary.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .starts_with("error: cannot make the programs in /dev/null/cache")
    );
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}

#[test]
fn a_shell_that_reads_it_has_the_variable() {
    let parent = tempfile::Builder::new().prefix("a 'b' ").tempdir().unwrap();
    let mut command = kubewright();
    command
        .args(["envtest", "env", "1.36.x", "--bin-dir"])
        .arg(parent.path());
    let line = String::from_utf8(run(&mut command).stdout).unwrap();
    let script = format!("{line}printf %s \"$KUBEBUILDER_ASSETS\"");
    let shown = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
    assert!(
        Path::new(&String::from_utf8(shown).unwrap())
            .join("kube-apiserver")
            .is_file()
    );
    let mut command = kubewright();
    command
        .args(["envtest", "env", "--format", "github", "--bin-dir"])
        .arg(parent.path());
    let line = String::from_utf8(run(&mut command).stdout).unwrap();
    assert!(line.starts_with("KUBEBUILDER_ASSETS=/"));
}
