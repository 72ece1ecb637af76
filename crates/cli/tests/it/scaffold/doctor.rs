//! `kubewright doctor` on machines that have and lack what a project needs: the programs are scripts in a folder of their own.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::folder::Folder;

/// A machine: the programs in its PATH, and a home without a kubeconfig.
struct Machine {
    root: TempDir,
}

impl Machine {
    /// One that has everything but a cluster.
    fn complete() -> Self {
        let machine = Machine {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.bin()).unwrap();
        for (name, says) in [
            ("cargo", "cargo 1.95.0"),
            ("rustc", "rustc 1.95.0 (abc 2026-01-01)"),
            ("kubectl", "Client Version: v1.36.3"),
            ("docker", "Docker version 29.0.0"),
            ("kind", "kind v0.31.0 go1.26"),
        ] {
            machine.program(name, &format!("echo '{says}'"));
        }
        machine
    }

    fn bin(&self) -> PathBuf {
        self.root.path().join("bin")
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.bin().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn without(&self, name: &str) -> &Self {
        fs::remove_file(self.bin().join(name)).unwrap();
        self
    }

    /// Runs the command in a folder; its code and what it printed.
    fn doctor(&self, folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("doctor")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", self.root.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// What the command says on a terminal.
    fn doctor_on_a_terminal(&self, folder: &Path) -> String {
        let (mut terminal, end_of_doctor) = pty_process::blocking::open().unwrap();
        let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("doctor")
            .current_dir(folder)
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", self.root.path());
        let mut child = command.spawn(end_of_doctor).unwrap();
        let (mut said, mut part) = (Vec::new(), [0; 1024]);
        // A terminal whose program is gone ends with an error.
        while let Ok(read @ 1..) = terminal.read(&mut part) {
            said.extend_from_slice(&part[..read]);
        }
        assert!(child.wait().unwrap().success());
        String::from_utf8(said).unwrap().replace("\r\n", "\n")
    }

    /// The checks by their names: the status and the message.
    fn checks(&self, folder: &Path) -> (Option<i32>, Value) {
        let (code, text) = self.doctor(folder, &["--json"]);
        (
            code,
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")),
        )
    }
}

fn check<'a>(checks: &'a Value, name: &str) -> &'a Value {
    let found = checks["checks"].as_array().unwrap().iter();
    found
        .into_iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no check {name}: {checks:#}"))
}

#[test]
fn a_project_on_a_complete_machine_is_well() {
    let folder = Folder::project("shop");
    let (code, text) = Machine::complete().doctor(&folder.path, &[]);
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "ok    rust              rustc 1.95.0 (abc 2026-01-01) (at least 1.95)\n",
        "ok    kubectl           Client Version: v1.36.3\n",
        "ok    container engine  Docker version 29.0.0\n",
        "ok    local cluster     kind v0.31.0 go1.26\n",
        "warn  cluster           no cluster is configured",
        "ok    project           shop, no kind yet\n",
        "\nNothing that is needed is missing; 1 to look at.\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_healthy_machine_is_told_how_to_go_on() {
    let machine = Machine::complete();
    let outside = machine.doctor_on_a_terminal(&Folder::new("nothing").path);
    assert!(outside.contains("\n\nNext:\n  kubewright init "), "{outside}");
    let inside = machine.doctor_on_a_terminal(&Folder::project("shop").path);
    assert!(inside.contains("\n\nNext:\n  kubewright create api "), "{inside}");
    // A pipe gets results only.
    let (_, piped) = machine.doctor(&Folder::project("shop").path, &[]);
    assert!(!piped.contains("Next:"), "{piped}");
}

#[test]
fn what_is_missing_is_told_with_how_to_get_it_and_only_what_is_needed_fails() {
    let folder = Folder::new("nothing");
    let machine = Machine::complete();
    machine.without("kubectl").without("docker").without("kind");
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!((code, &checks["ok"]), (Some(0), &Value::Bool(true)), "{checks:#}");
    for (name, hint) in [
        ("kubectl", "kubernetes.io"),
        ("container engine", "podman"),
        ("local cluster", "kind.sigs.k8s.io"),
        ("cluster", "kubewright apiserver"),
    ] {
        let check = check(&checks, name);
        assert_eq!(check["status"], "warn", "{check}");
        let told = format!("{} {}", check["message"], check["hint"]);
        assert!(told.contains(hint), "{told}");
    }
    assert!(
        check(&checks, "project")["message"]
            .as_str()
            .unwrap()
            .contains("kubewright init")
    );

    machine.without("rustc");
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!((code, &checks["ok"]), (Some(1), &Value::Bool(false)));
    let rust = check(&checks, "rust");
    assert_eq!(
        (&rust["status"], &rust["message"]),
        (&"fail".into(), &"rustc is not installed".into())
    );
    assert!(rust["hint"].as_str().unwrap().contains("rustup.rs"), "{rust}");
}

#[test]
fn a_compiler_that_is_older_than_the_project_asks_for_is_a_failure() {
    let folder = Folder::project("shop");
    let machine = Machine::complete();
    machine.program("rustc", "echo 'rustc 1.94.2 (abc 2025-01-01)'");
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!((code, &check(&checks, "rust")["status"]), (Some(1), &"fail".into()));
    machine.program("rustc", "echo 'rustc 1.95.0'");
    let manifest = folder.read("Cargo.toml");
    folder.write(
        "Cargo.toml",
        &manifest.replace("edition = ", "rust-version = \"1.99\"\nedition = "),
    );
    let (_, checks) = machine.checks(&folder.path);
    let message = check(&checks, "rust")["message"].as_str().unwrap();
    assert_eq!(message, "rustc 1.95.0 is older than 1.99");
}

#[test]
fn a_program_that_never_answers_is_not_waited_for() {
    let folder = Folder::new("nothing");
    let machine = Machine::complete();
    machine.program("docker", "exec /bin/sleep 600");
    machine.without("kind").program("minikube", "exec /bin/sleep 600");
    let began = Instant::now();
    let (code, checks) = machine.checks(&folder.path);
    assert!(began.elapsed() < Duration::from_mins(2), "{:?}", began.elapsed());
    assert_eq!(code, Some(0));
    let engine = check(&checks, "container engine");
    assert_eq!(
        (&engine["status"], &engine["message"]),
        (&"warn".into(), &"docker info does not answer".into())
    );
}

#[test]
fn a_project_that_cannot_work_is_a_failure_that_names_the_file() {
    let machine = Machine::complete();
    let folder = Folder::project("shop");
    folder.write("Makefile", "<<<<<<< yours\na\n=======\nb\n>>>>>>> kubewright 0.1.0\n");
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!(code, Some(1));
    assert!(
        check(&checks, "upgrade")["message"]
            .as_str()
            .unwrap()
            .starts_with("Makefile has lines")
    );

    fs::remove_file(folder.path.join("src/lib.rs")).unwrap();
    let (_, checks) = machine.checks(&folder.path);
    assert_eq!(check(&checks, "project")["message"], "shop lacks src/lib.rs");

    folder.write("PROJECT", "version: \"2\"\n");
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!((code, &check(&checks, "project")["status"]), (Some(1), &"fail".into()));
}

#[test]
fn a_checkout_that_is_gone_and_an_old_project_are_told() {
    let machine = Machine::complete();
    let folder = Folder::new("shop");
    folder.ok("init");
    let (_, checks) = machine.checks(&folder.path);
    assert_eq!(check(&checks, "checkout")["status"], "ok", "{checks:#}");
    folder.write(
        ".cargo/config.toml",
        "[patch.crates-io]\nkubewright = { path = \"/nowhere/crates/kubewright\" }\n",
    );
    let project = folder.read("PROJECT");
    folder.write("PROJECT", &project.replace("cliVersion: ", "cliVersion: 0.0."));
    let (code, checks) = machine.checks(&folder.path);
    assert_eq!((code, &check(&checks, "checkout")["status"]), (Some(1), &"fail".into()));
    let version = check(&checks, "version");
    assert_eq!(version["status"], "warn", "{version}");
    assert!(
        version["hint"].as_str().unwrap().contains("edit --upgrade"),
        "{version}"
    );
}
