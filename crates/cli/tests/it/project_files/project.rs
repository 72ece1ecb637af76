//! A project on disk, without a line of Rust: what its program would say is in a file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::controller::Controller;
use kubewright_runtime::operator::{DefinitionDescription, Description, Operator, Rule};
use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
use kubewright_scaffold::{Project as ProjectFile, config};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const PROJECT: &str = "version: \"3\"\nprojectName: shop\ndomain: example.com\n";

/// An operator with a kind, a controller and webhooks.
pub(crate) fn shop() -> Description {
    let mut operator = Operator::new("shop")
        .controller(Controller::of::<ConfigMap>())
        .rule(Rule::new(["apps"], ["deployments"], ["create", "patch"]))
        .webhook(Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(())))
        .describe();
    operator.definitions.push(kind("Cart", "carts"));
    operator
}

/// A kind with a field.
pub(crate) fn kind(kind: &str, plural: &str) -> DefinitionDescription {
    DefinitionDescription {
        group: "shop.example.com".to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        namespaced: true,
        ty: format!("shop::api::v1::{kind}"),
        definition: json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.shop.example.com") },
            "spec": {
                "group": "shop.example.com",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "scope": "Namespaced",
                "versions": [{ "name": "v1", "served": true, "storage": true }],
            },
        }),
        schema: json!({
            "type": "object",
            "properties": { "spec": {
                "type": "object",
                "properties": { "size": { "type": "integer", "format": "int32" } },
                "required": ["size"],
            }},
        }),
        problem: None,
    }
}

pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    /// A project as `init` leaves it, whose program says this.
    pub(crate) fn new(operator: &Description) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let file = ProjectFile::parse(PROJECT).unwrap();
        let project = Project { folder };
        project.write("PROJECT", PROJECT);
        for file in config::files(&file) {
            project.write(&file.path, &file.content);
        }
        project.script(
            "operator",
            "[ \"$1\" = describe ] || exit 2\ncat \"$(dirname $0)/description.json\"",
        );
        project.says(operator);
        project
    }

    /// What the program says from now on.
    pub(crate) fn says(&self, operator: &Description) {
        self.write("description.json", &serde_json::to_string(operator).unwrap());
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn script(&self, path: &str, script: &str) {
        self.write(path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = crate::support::kubewright();
        command
            .args(arguments)
            .current_dir(self.path("config"))
            .env("KUBEWRIGHT_OPERATOR_BINARY", self.path("operator"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.command(arguments).output().unwrap())
    }

    /// All files below `config/`.
    pub(crate) fn config(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(&self.path("config"), &mut files);
        files.sort();
        files
    }
}

fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    pub(crate) fn of(output: Output) -> Outcome {
        Outcome {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn succeeded(self) -> Outcome {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    pub(crate) fn failed(self) -> Outcome {
        assert_eq!(self.code, Some(1), "{self:?}");
        self
    }
}

pub(crate) fn objects(text: &str) -> Vec<Value> {
    kubewright_manifests::yaml::read(text).unwrap()
}

#[test]
fn outside_of_a_project_the_way_to_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["manifests"][..], &["build-installer"], &["rbac", "check"]] {
        let output = crate::support::kubewright()
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let outcome = Outcome::of(output).failed();
        assert!(outcome.err.contains("kubewright init"), "{}", outcome.err);
    }
}

#[test]
fn a_broken_project_file_is_named() {
    let project = Project::new(&shop());
    project.write("PROJECT", "version: \"2\"\nprojectName: shop\n");
    let outcome = project.run(&["manifests"]).failed();
    assert!(
        outcome.err.contains("PROJECT") && outcome.err.contains("\"3\""),
        "{}",
        outcome.err
    );
}

#[test]
fn the_program_is_built_with_cargo_whose_words_are_passed_on() {
    let project = Project::new(&shop());
    let message = json!({
        "reason": "compiler-artifact", "target": { "kind": ["bin"], "name": "shop" },
        "manifest_path": project.path("Cargo.toml"), "executable": project.path("operator"),
    });
    project.script("bin/cargo", &format!("echo \"Compiling $*\" >&2; echo '{message}'"));
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let build = |project: &Project| {
        let mut command = project.command(&["manifests"]);
        Outcome::of(
            command
                .env_remove("KUBEWRIGHT_OPERATOR_BINARY")
                .env("PATH", &path)
                .output()
                .unwrap(),
        )
    };
    let outcome = build(&project).succeeded();
    assert!(
        outcome
            .err
            .contains("Compiling build --bins --examples --message-format=json\n"),
        "{}",
        outcome.err
    );
    // What cargo says comes as it is, what the compiler says in messages.
    let message = json!({
        "reason": "compiler-message", "message": { "level": "error", "rendered": "error[E0425]: cannot find value" },
    });
    let script = format!("echo 'error: no such crate' >&2; echo '{message}'; exit 101");
    project.script("bin/cargo", &script);
    let outcome = build(&project).failed();
    for words in [
        "error: no such crate",
        "error[E0425]: cannot find value",
        "does not build",
    ] {
        assert!(outcome.err.contains(words), "{}", outcome.err);
    }
    project.script("bin/cargo", "exit 0");
    assert!(build(&project).failed().err.contains("src/main.rs"));
}

#[test]
fn an_operator_of_another_name_is_an_error_that_says_what_to_write() {
    let project = Project::new(&Operator::new("bank").describe());
    let outcome = project.run(&["manifests"]).failed();
    assert!(outcome.err.contains("Operator::new(\"shop\")"), "{}", outcome.err);
}
