//! `config/` of a project on disk, as `init`, `create` and `manifests` leave it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kubewright_manifests::bundle::{Bundle, BundleError};
use kubewright_manifests::install::kustomization::set;
use kubewright_manifests::yaml;
use kubewright_scaffold::config;

use super::operators::Case;

const DEFAULT: &str = "config/default/kustomization.yaml";

/// All files by their paths.
pub(crate) fn tree(case: &Case) -> BTreeMap<String, String> {
    let scaffolded = config::files(&case.project)
        .into_iter()
        .map(|file| (file.path, file.content));
    let mut tree: BTreeMap<String, String> = scaffolded.collect();
    let generated = case.manifests.files.iter();
    tree.extend(generated.map(|file| (file.path.clone(), file.text())));
    let default = set(&tree[DEFAULT], &case.manifests.entries).unwrap();
    tree.insert(DEFAULT.to_owned(), default);
    tree
}

pub(crate) fn write(tree: &BTreeMap<String, String>, folder: &Path) {
    for (path, text) in tree {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// What `deploy` applies, with these files there.
pub(crate) fn bundle_of(case: &Case, tree: &BTreeMap<String, String>) -> Result<Bundle, BundleError> {
    Bundle::of(&case.manifests, &|path| tree.get(path).cloned())
}

#[test]
fn a_generated_file_is_read_as_what_it_was_written_from() {
    for case in super::operators::cases() {
        for file in &case.manifests.files {
            assert_eq!(
                yaml::read(&file.text()).unwrap(),
                file.documents,
                "{}: {}",
                case.name,
                file.path
            );
        }
    }
}

#[test]
fn what_project_says_and_what_the_code_says_list_the_same_folders() {
    // Which namespaces rules name, and which policies there are, only the code knows.
    let known = |case: &Case| !case.name.contains("other-namespaces") && case.name != "policies";
    for case in super::operators::cases().into_iter().filter(known) {
        let scaffolded = config::files(&case.project);
        let default = scaffolded.iter().find(|file| file.path == DEFAULT).unwrap();
        assert_eq!(default.content, tree(&case)[DEFAULT], "{}", case.name);
    }
}

#[test]
fn every_file_of_a_project_is_there_once() {
    for case in super::operators::cases() {
        let paths: Vec<String> = config::files(&case.project).into_iter().map(|file| file.path).collect();
        let mut once = paths.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), paths.len(), "{}", case.name);
        let generated = config::generated(&case.project);
        assert!(
            generated.iter().all(|file| !paths.contains(&file.path)),
            "{}",
            case.name
        );
    }
}
