//! The published packages: each has the metadata that a registry wants, and none reads files that are not in the package.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A package of the workspace, as Cargo has read it.
struct Package {
    name: String,
    folder: PathBuf,
    metadata: Value,
}

impl Package {
    fn is_published(&self) -> bool {
        self.metadata["publish"].is_null()
    }

    /// The packages of the workspace that it depends on: their name, how, and which version it asks for.
    fn own_dependencies(&self) -> impl Iterator<Item = (&str, Option<&str>, &str)> {
        let dependencies = self.metadata["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|dependency| dependency["path"].is_string())
            .map(|dependency| {
                let text = |key: &str| dependency[key].as_str();
                (text("name").unwrap(), text("kind"), text("req").unwrap())
            })
    }
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter().map(|package| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let package = Package {
            name: package["name"].as_str().unwrap().to_owned(),
            folder: manifest.parent().unwrap().to_owned(),
            metadata: package.clone(),
        };
        (package.name.clone(), package)
    });
    packages.collect()
}

#[test]
fn everything_that_the_command_and_the_crate_are_built_of_is_published() {
    let packages = packages();
    let mut next = vec!["kubewright", "kubewright-cli"];
    let mut needed = BTreeSet::new();
    while let Some(name) = next.pop() {
        let package = &packages[name];
        assert!(
            package.is_published(),
            "{name} has `publish = false`, and users need it"
        );
        if needed.insert(name) {
            let dependencies = package.own_dependencies().filter(|(_, kind, _)| kind.is_none());
            next.extend(dependencies.map(|(name, ..)| name));
        }
    }
    let useless: Vec<&String> = packages
        .values()
        .filter(|package| package.is_published() && !needed.contains(package.name.as_str()))
        .map(|package| &package.name)
        .collect();
    assert!(useless.is_empty(), "nobody needs {useless:?}: `publish = false`");
}

#[test]
fn a_published_package_says_what_it_is() {
    for package in packages().values().filter(|package| package.is_published()) {
        let name = &package.name;
        for key in ["description", "license", "repository", "rust_version", "readme"] {
            assert!(
                package.metadata[key].as_str().is_some_and(|text| !text.is_empty()),
                "{name} lacks {key}"
            );
        }
        for key in ["keywords", "categories"] {
            let words = package.metadata[key].as_array().unwrap().len();
            assert!((1..=5).contains(&words), "{name} has {words} {key}");
        }
        for file in ["README.md", "LICENSE"] {
            assert!(package.folder.join(file).is_file(), "{name} has no {file}");
        }
    }
}

#[test]
fn versions_are_asked_for_where_packages_need_them_and_nowhere_else() {
    let packages = packages();
    for package in packages.values().filter(|package| package.is_published()) {
        for (dependency, kind, asked) in package.own_dependencies() {
            let name = &package.name;
            if kind == Some("dev") {
                assert_eq!(
                    asked, "*",
                    "{name}: a dev-dependency on {dependency} has a path and no version"
                );
            } else {
                let version = packages[dependency].metadata["version"].as_str().unwrap();
                assert_eq!(asked, format!("^{version}"), "{name} asks for {dependency} {asked}");
            }
        }
    }
}

#[test]
fn no_source_of_a_package_includes_a_file_outside_of_it() {
    for package in packages().values().filter(|package| package.is_published()) {
        let mut folders = vec![package.folder.join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    check_includes(package, &path);
                }
            }
        }
    }
}

fn check_includes(package: &Package, path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    for begin in ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""] {
        for rest in text.split(begin).skip(1) {
            let included = rest.split('"').next().unwrap();
            let file = fs::canonicalize(path.parent().unwrap().join(included));
            let folder = fs::canonicalize(&package.folder).unwrap();
            // Cargo takes a folder with a Cargo.toml for another package.
            let is_packed = |file: PathBuf| {
                let mut folders = file.ancestors().skip(1).take_while(|at| *at != folder);
                file.starts_with(&folder) && !folders.any(|at| at.join("Cargo.toml").exists())
            };
            assert!(
                file.is_ok_and(is_packed),
                "{} includes {included}, which is not in the package {}",
                path.display(),
                package.name
            );
        }
    }
}
