//! Projects as they were looked at and found good. `UPDATE_GOLDEN=1` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::test_project::{self, TestProject};

#[test]
fn markdown_view_is_what_it_was() {
    check("markdown-view", &test_project::markdown_view());
}

#[test]
fn several_groups_with_conversions_and_foreign_kinds_are_what_they_were() {
    check("fleet", &test_project::fleet());
}

#[test]
fn a_ready_made_operator_is_what_it_was() {
    check("cache", &test_project::cache());
}

#[test]
fn kinds_that_the_program_serves_itself_are_what_they_were() {
    check("observatory", &test_project::observatory());
}

/// What is code here; the rest has golden files of its own.
fn is_code(path: &str) -> bool {
    let is_sample = path.starts_with("config/samples/") && !path.ends_with("kustomization.yaml");
    path.starts_with("src/") || path.starts_with("tests/") || ["PROJECT", "Cargo.toml"].contains(&path) || is_sample
}

fn check(name: &str, project: &TestProject) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/code/golden")
        .join(name);
    let code = project.files.iter().filter(|(path, _)| is_code(path));
    // A file of this name would make a package of the folder.
    let code: BTreeMap<String, String> = code
        .map(|(path, text)| (path.replace("Cargo.toml", "Cargo.toml.golden"), text.clone()))
        .collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&folder);
        for (path, text) in &code {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        return;
    }
    let golden = read(&folder);
    assert_eq!(golden.keys().collect::<Vec<_>>(), code.keys().collect::<Vec<_>>());
    for (path, text) in &golden {
        assert_eq!(
            text, &code[path],
            "{name}/{path} differs; UPDATE_GOLDEN=1 writes it anew"
        );
    }
}

fn read(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}
