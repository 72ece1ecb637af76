//! The project of the current folder, as far as it can be judged without building it.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_cluster::with_sources;
use kubewright_scaffold::project::TEMPLATES;

use super::Check;
use crate::project::{Error, Project};

const NAME: &str = "project";

/// The folder that the command is run in.
pub(super) enum ProjectFolder {
    /// It is, or is in, a project.
    Is(Box<Project>),
    /// It is not in a project.
    None,
    /// It has a PROJECT that cannot be used, and why.
    Broken(String),
}

impl ProjectFolder {
    pub(super) fn find() -> Self {
        match Project::find(Path::new(".")) {
            Ok(project) => ProjectFolder::Is(Box::new(project)),
            Err(Error::NoProject(_)) => ProjectFolder::None,
            Err(error) => ProjectFolder::Broken(with_sources(&error)),
        }
    }

    pub(super) fn root(&self) -> Option<&Path> {
        match self {
            ProjectFolder::Is(project) => Some(project.root()),
            _ => None,
        }
    }

    /// The oldest compiler that will do: what the project says, but no older than kubewright itself needs.
    pub(super) fn rust_version(&self) -> String {
        let manifest = self.root().map(|root| root.join("Cargo.toml"));
        let text = manifest
            .and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default();
        let said = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "rust-version").then(|| value.trim().trim_matches('"').to_owned())
        });
        said.unwrap_or_else(|| env!("CARGO_PKG_RUST_VERSION").to_owned())
    }

    pub(super) fn checks(&self) -> Vec<Check> {
        match self {
            ProjectFolder::Is(project) => checks(project),
            ProjectFolder::None => vec![Check::ok(
                NAME,
                "this folder is in no project; `kubewright init` starts one",
            )],
            ProjectFolder::Broken(why) => vec![Check::fail(
                NAME,
                why.clone(),
                "mend PROJECT, or take it from the last commit: git checkout PROJECT",
            )],
        }
    }
}

fn checks(project: &Project) -> Vec<Check> {
    let mut checks = vec![files(project)];
    checks.extend(checkout(project.root()));
    checks.extend(conflicts(project.root()));
    checks.push(version(project));
    checks
}

/// The files that every command reads.
fn files(project: &Project) -> Check {
    let is_missing = |path: &&str| !project.root().join(path).is_file();
    let needed: Vec<&str> = ["Cargo.toml", "src/main.rs", "src/lib.rs"]
        .into_iter()
        .filter(is_missing)
        .collect();
    if !needed.is_empty() {
        return Check::fail(
            NAME,
            format!("{} lacks {}", project.name(), needed.join(", ")),
            "take it from the last commit (git checkout), or look at what a fresh `kubewright init` writes",
        );
    }
    let manifest = fs::read_to_string(project.root().join("Cargo.toml")).unwrap_or_default();
    if !manifest.contains("kubewright") {
        return Check::fail(
            NAME,
            "Cargo.toml does not depend on kubewright",
            format!("cargo add kubewright@{} --features v1_36", env!("CARGO_PKG_VERSION")),
        );
    }
    let handy: Vec<&str> = [
        "Makefile",
        "config/default/kustomization.yaml",
        "config/manager/manager.yaml",
    ]
    .into_iter()
    .filter(is_missing)
    .collect();
    if handy.is_empty() {
        let kinds = project.file().kinds().count();
        let kinds = match kinds {
            0 => "no kind yet".to_owned(),
            1 => "one kind".to_owned(),
            kinds => format!("{kinds} kinds"),
        };
        return Check::ok(NAME, format!("{}, {kinds}", project.name()));
    }
    Check::warn(
        NAME,
        format!("{} lacks {}", project.name(), handy.join(", ")),
        "make and `kubewright deploy` read them: take them from the last commit, or from a fresh `kubewright init`",
    )
}

/// The checkout that takes the place of a release, if there is one.
fn checkout(root: &Path) -> Option<Check> {
    const NAME: &str = "checkout";
    let config = fs::read_to_string(root.join(".cargo/config.toml")).ok()?;
    let path = config.lines().find_map(|line| {
        let value = line.trim_start().strip_prefix("kubewright ")?.split_once("path")?.1;
        Some(PathBuf::from(value.split('"').nth(1)?))
    })?;
    let shown = path.display();
    if path.join("Cargo.toml").is_file() {
        return Some(Check::ok(NAME, format!("kubewright comes from {shown}")));
    }
    Some(Check::fail(
        NAME,
        format!(".cargo/config.toml takes kubewright from {shown}, where it is not"),
        "make use-checkout CHECKOUT=../kubewright, or delete .cargo/config.toml to take the release",
    ))
}

/// Files of the project that an upgrade left for its user to decide.
fn conflicts(root: &Path) -> Option<Check> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
        {
            let is_skipped = [".git", "target", "node_modules"]
                .iter()
                .any(|name| path.ends_with(name));
            if path.is_dir() && !path.is_symlink() && !is_skipped {
                folders.push(path);
            } else if path.is_file()
                && fs::read_to_string(&path).is_ok_and(|text| text.lines().any(|line| line == "<<<<<<< yours"))
            {
                let path = path.strip_prefix(root).unwrap_or(&path);
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    (!found.is_empty()).then(|| {
        Check::fail(
            "upgrade",
            format!("{} has lines between <<<<<<< and >>>>>>>", found.join(", ")),
            "keep one side of each, and delete the marks",
        )
    })
}

/// Whether the project is as this command writes it.
fn version(project: &Project) -> Check {
    const NAME: &str = "version";
    let (own, file) = (env!("CARGO_PKG_VERSION"), project.file());
    let theirs = match file.cli_version.as_str() {
        "" => "an unknown version",
        version => version,
    };
    if file.upgrade(own).is_err() {
        return Check::warn(
            NAME,
            format!("the project is at kubewright {theirs}, this command is {own}"),
            format!("install the newer command: cargo install kubewright-cli@{theirs} --locked"),
        );
    }
    if file.cli_version == own && file.templates() == TEMPLATES {
        return Check::ok(NAME, format!("kubewright {own}"));
    }
    let found = if file.cli_version == own {
        format!("the files of the project are those of an earlier kubewright {own}")
    } else {
        format!("the project is at kubewright {theirs}, this command is {own}")
    };
    Check::warn(
        NAME,
        found,
        "kubewright edit --upgrade --dry-run shows what an upgrade changes",
    )
}
