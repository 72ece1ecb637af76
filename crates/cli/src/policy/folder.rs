//! What a folder has: objects to install, and cases.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::case::{Case, CaseError};
use crate::documents::{self, Document, InputError};

/// The objects and the cases of a folder.
pub(super) struct Folder {
    /// Definitions, namespaces, roles and params, in the order in which they can be created.
    pub(super) objects: Vec<Document>,
    /// Policies and bindings.
    pub(super) policies: Vec<Document>,
    pub(super) cases: Vec<Case>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("cannot read the folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Case(#[from] CaseError),
    #[error("{} has no ValidatingAdmissionPolicy and no MutatingAdmissionPolicy", .0.display())]
    NoPolicy(PathBuf),
    #[error("{} has no file of tests: name one as in replicas.test.yaml (see --help)", .0.display())]
    NoTests(PathBuf),
}

const POLICIES: [&str; 2] = ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"];
const BINDINGS: [&str; 2] = ["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"];
const ROLES: [&str; 4] = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

pub(super) fn text<'j>(value: &'j Value, pointer: &str) -> &'j str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Whether the object is one of these kinds of an API group.
fn is_of(object: &Value, group: &str, kinds: &[&str]) -> bool {
    text(object, "/apiVersion").starts_with(group) && kinds.contains(&text(object, "/kind"))
}

/// Whether an object decides who may do what.
pub(super) fn is_role(object: &Value) -> bool {
    is_of(object, "rbac.authorization.k8s.io/", &ROLES)
}

impl Folder {
    /// Warnings about policies that no binding of the folder is for: they are never evaluated, so that every case passes that expects nothing
    /// of them.
    pub(super) fn unbound(&self) -> Vec<String> {
        let is_bound = |policy: &Value| {
            let (kind, name) = (text(policy, "/kind"), text(policy, "/metadata/name"));
            self.policies.iter().any(|document| {
                let binding = &document.value;
                text(binding, "/kind").strip_suffix("Binding") == Some(kind)
                    && text(binding, "/spec/policyName") == name
            })
        };
        let policies = self.policies.iter().map(|document| (document, &document.value));
        let unbound = policies.filter(|(_, value)| POLICIES.contains(&text(value, "/kind")) && !is_bound(value));
        unbound
            .map(|(document, value)| {
                let (kind, name) = (text(value, "/kind"), text(value, "/metadata/name"));
                let file = &document.file;
                format!("{file}: {kind} {name} has no {kind}Binding in the folder, so it is evaluated for no request")
            })
            .collect()
    }

    pub(super) fn read(root: &Path) -> Result<Folder, FolderError> {
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        let (tests, others): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|path| is_test(path));
        if tests.is_empty() {
            return Err(FolderError::NoTests(root.to_owned()));
        }
        let mut cases = Vec::new();
        for path in &tests {
            cases.extend(Case::read_all(root, path)?);
        }
        let samples: BTreeSet<PathBuf> = cases.iter().flat_map(|case| case.files.iter().cloned()).collect();
        let mut documents = Vec::new();
        for path in others.iter().filter(|path| !samples.contains(*path)) {
            match documents::read_all(path) {
                Ok(read) => documents.extend(read),
                Err(InputError::Empty(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let group = "admissionregistration.k8s.io/";
        let (policies, others): (Vec<Document>, Vec<Document>) = documents
            .into_iter()
            .partition(|document| is_of(&document.value, group, &POLICIES) || is_of(&document.value, group, &BINDINGS));
        let is_policy = |document: &&Document| is_of(&document.value, group, &POLICIES);
        if !policies.iter().any(|document| is_policy(&document)) {
            return Err(FolderError::NoPolicy(root.to_owned()));
        }
        let params: BTreeSet<(String, String)> = policies
            .iter()
            .map(|document| {
                let field = |name| text(&document.value, &format!("/spec/paramKind/{name}")).to_owned();
                (field("apiVersion"), field("kind"))
            })
            .collect();
        let mut objects: Vec<(usize, Document)> = others
            .into_iter()
            .filter_map(|document| Some((rank(&document.value, &params)?, document)))
            .collect();
        objects.sort_by_key(|(rank, _)| *rank);
        Ok(Folder {
            objects: objects.into_iter().map(|(_, document)| document).collect(),
            policies,
            cases,
        })
    }
}

/// When an object is installed, among the others; `None` if it is not.
fn rank(object: &Value, params: &BTreeSet<(String, String)>) -> Option<usize> {
    if is_of(object, "apiextensions.k8s.io/", &["CustomResourceDefinition"]) {
        return Some(0);
    }
    if is_of(object, "v1", &["Namespace"]) {
        return Some(1);
    }
    if is_role(object) {
        return Some(2);
    }
    let kind = (text(object, "/apiVersion").to_owned(), text(object, "/kind").to_owned());
    params.contains(&kind).then_some(3)
}

fn extension(path: &Path) -> &str {
    path.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}

fn is_test(path: &Path) -> bool {
    matches!(extension(path), "yaml" | "yml")
        && path
            .file_stem()
            .is_some_and(|stem| extension(Path::new(stem)) == "test")
}

/// All YAML and JSON files of a folder and the folders in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), FolderError> {
    let failed = |error| FolderError::Folder(folder.to_owned(), error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !name.starts_with('.') {
                collect(&path, files)?;
            }
        } else if matches!(extension(&path), "yaml" | "yml" | "json") && !name.starts_with("kustomization.") {
            files.push(path);
        }
    }
    Ok(())
}
