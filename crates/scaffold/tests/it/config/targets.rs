//! The Makefile does what its targets say. Needs `make`; without it nothing is tested, and the tests say so.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Once;

use kubewright_scaffold::{Source, checkout_files, config};
use tempfile::TempDir;

use super::operators::cases;

/// A project with programs that only say what they were told.
struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Option<Project> {
        static SAID: Once = Once::new();
        if Command::new("make").arg("--version").output().is_err() {
            SAID.call_once(|| {
                drop(writeln!(
                    std::io::stderr(),
                    "make is not installed: the Makefile is not tested"
                ));
            });
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let case = cases().into_iter().find(|case| case.name == "plain").unwrap();
        for file in config::files(&case.project) {
            let path = folder.path().join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.content).unwrap();
        }
        fs::write(
            folder.path().join("Cargo.toml"),
            "[dependencies]\nkubewright = \"0.1\"\n",
        )
        .unwrap();
        let project = Project { folder };
        for program in [
            "cargo",
            "docker",
            "podman",
            "sudo",
            "kubewright",
            "minikube",
            "kind",
            "ctr",
        ] {
            project.program(program, "echo \"$(basename $0) $*\"");
        }
        project.program("kubectl", "echo kind-harbour");
        Some(project)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn program(&self, name: &str, script: &str) {
        let bin = self.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn make(&self, arguments: &[&str]) -> Output {
        Command::new("make")
            .args(arguments)
            .arg("--no-print-directory")
            .current_dir(self.path())
            // Nothing of the machine's own but the shell's tools.
            .env("PATH", format!("{}/bin:/usr/bin:/bin", self.path().display()))
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap()
    }

    /// What the programs were told; commands that make prints do not count.
    fn does(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.make(&[arguments, &["-s"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text.lines().map(str::to_owned).collect()
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.make(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn help_lists_every_target_that_kubebuilder_users_know() {
    let Some(project) = Project::new() else { return };
    let help = project.does(&["help"]).join("\n");
    for target in [
        "help",
        "manifests",
        "generate",
        "fmt",
        "vet",
        "lint",
        "lint-fix",
        "test",
        "run",
        "build",
        "docker-build",
        "docker-push",
        "docker-buildx",
        "image-load",
        "install",
        "uninstall",
        "deploy",
        "undeploy",
        "build-installer",
    ] {
        assert!(
            help.lines().any(|line| line.split_whitespace().next() == Some(target)),
            "{target}: {help}"
        );
    }
}

#[test]
fn each_target_runs_its_commands() {
    let Some(project) = Project::new() else { return };
    for (arguments, commands) in [
        (&["manifests"][..], &["kubewright manifests"][..]),
        (&["install"], &["kubewright install"]),
        (
            &["deploy", "IMG=shop:2"],
            &["kubewright manifests", "kubewright deploy --image shop:2"],
        ),
        (
            &["deploy"],
            &["kubewright manifests", "kubewright deploy --image controller:latest"],
        ),
        (&["undeploy"], &["kubewright undeploy"]),
        (
            &["undeploy", "FORCE=true", "ignore-not-found=true"],
            &["kubewright undeploy --force"],
        ),
        (&["uninstall", "FORCE=true"], &["kubewright uninstall --force"]),
        (
            &["deploy", "DEPLOY_FLAGS=--no-wait"],
            &[
                "kubewright manifests",
                "kubewright deploy --image controller:latest --no-wait",
            ],
        ),
        (&["run", "ARGS=--embedded"], &["kubewright run --embedded"]),
        (
            &["build-installer", "IMG=shop:2"],
            &["kubewright manifests", "kubewright build-installer --image shop:2"],
        ),
        (
            &["lint"],
            &["cargo fmt --check", "cargo clippy --all-targets -- -D warnings"],
        ),
        (&["docker-push", "IMG=shop:2"], &["docker push shop:2"]),
        (
            &["docker-build", "IMG=shop:2", "CONTAINER_TOOL=sudo docker"],
            &["sudo docker build -t shop:2 --build-arg KUBEWRIGHT_SOURCE= ."],
        ),
        (
            &["docker-build", "CONTAINER_TOOL=podman"],
            &["podman build -t controller:latest --build-arg KUBEWRIGHT_SOURCE= ."],
        ),
    ] {
        assert_eq!(project.does(arguments), commands, "{arguments:?}");
    }
}

#[test]
fn tests_run_with_coverage_if_the_tool_is_there_and_say_how_to_get_it_else() {
    let Some(project) = Project::new() else { return };
    assert_eq!(project.does(&["test"]).last().unwrap(), "cargo llvm-cov --all-targets");
    project.program(
        "cargo",
        "case \"$1\" in llvm-cov) exit 101 ;; *) echo \"cargo $*\" ;; esac",
    );
    let told = project.does(&["test"]);
    assert_eq!(
        told[told.len() - 2..],
        ["cargo test", "For the coverage: cargo install cargo-llvm-cov"]
    );
    project.program("cargo", "case \"$1\" in fmt) exit 0 ;; *) exit 101 ;; esac");
    project.fails(&["test"]);
}

#[test]
fn an_image_is_loaded_into_each_sort_of_cluster() {
    let Some(project) = Project::new() else { return };
    let loads = |arguments: &[&str]| project.does(&[&["image-load"], arguments].concat()).pop().unwrap();
    assert_eq!(loads(&[]), "kind load image-archive dist/image.tar --name harbour");
    assert_eq!(
        loads(&["CLUSTER=minikube", "MINIKUBE_PROFILE=sandbox"]),
        "minikube -p sandbox image load --overwrite dist/image.tar"
    );
    assert_eq!(
        loads(&["CLUSTER=containerd"]),
        "sudo ctr -n k8s.io images import dist/image.tar"
    );
    let error = project.fails(&["image-load", "CLUSTER=moon"]);
    assert!(error.contains("CLUSTER=minikube"), "{error}");
}

#[test]
fn an_engine_that_is_missing_or_does_not_answer_is_told_with_its_fix() {
    let Some(project) = Project::new() else { return };
    let error = project.fails(&["docker-build", "CONTAINER_TOOL=nerdctl-of-nobody"]);
    assert!(error.contains("nerdctl-of-nobody is not installed"), "{error}");
    project.program("docker", "exit 1");
    let error = project.fails(&["docker-build"]);
    assert!(
        error.contains("CONTAINER_TOOL=\"sudo docker\"") && error.contains("systemctl start docker"),
        "{error}"
    );
    let error = project.fails(&["deploy", "KUBEWRIGHT=kubewright-of-nobody"]);
    assert!(
        error.contains("make install-kubewright") && error.contains("'cargo install kubewright-cli@0.1.0 --locked'"),
        "{error}"
    );
}

#[test]
fn a_checkout_named_by_its_path_goes_into_the_image_that_builds() {
    let Some(project) = Project::new() else { return };
    let checkout = tempfile::tempdir().unwrap();
    fs::create_dir_all(checkout.path().join("crates/kubewright")).unwrap();
    fs::create_dir_all(checkout.path().join("target")).unwrap();
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::write(checkout.path().join(file), "").unwrap();
    }
    let source = checkout.path().display().to_string();
    let installed = project.does(&["install-kubewright"]);
    assert_eq!(installed, ["cargo install kubewright-cli@0.1.0 --locked"]);
    fs::write(checkout.path().join("crates/kubewright/Cargo.toml"), "").unwrap();
    project.does(&["use-checkout", &format!("CHECKOUT={source}")]);
    let ours = checkout_files(&Source::Path(format!("{source}/crates/kubewright")), None);
    for file in ours {
        let written = fs::read_to_string(project.path().join(&file.path)).unwrap();
        assert_eq!(
            written, file.content,
            "the Makefile writes what `kubewright init` writes"
        );
    }
    let installed = project.does(&["install-kubewright"]);
    assert_eq!(
        installed,
        [format!("cargo install --path {source}/crates/cli --locked")]
    );
    let told = project.does(&["docker-build"]);
    assert_eq!(
        told,
        [format!(
            "docker build -t controller:latest --build-arg KUBEWRIGHT_SOURCE={source} ."
        )]
    );
    assert!(project.path().join(".kubewright/crates/kubewright").is_dir());
    assert!(!project.path().join(".kubewright/target").exists());
}
