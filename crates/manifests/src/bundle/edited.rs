//! What users changed in kustomizations: entries they took out, files and patches they added, and fields that only kustomize
//! itself can apply.

use serde_json::Value;

use super::BundleError;
use crate::install::kustomization::{Entry, is_commented, lists};

/// The kustomization that `kubectl kustomize config/default` starts with.
const DEFAULT: &str = "config/default/kustomization.yaml";

/// The kustomization that names the manager's image.
const MANAGER: &str = "config/manager/kustomization.yaml";

/// Entries that every project has until its user takes them out.
const DEFAULT_ENTRIES: [&str; 4] = [
    "../rbac",
    "../manager",
    "metrics_service.yaml",
    "manager_metrics_patch.yaml",
];

/// Entries that depend on the code and on the switches in PROJECT.
const OPTIONAL_ENTRIES: [&str; 11] = [
    "../crd",
    "../webhook",
    "../apiservice",
    "../policy",
    "../certmanager",
    "../prometheus",
    "../network-policy",
    "manager_webhook_patch.yaml",
    "manager_extension_patch.yaml",
    "cert_metrics_manager_patch.yaml",
    "manager_role_namespaces.yaml",
];

/// Fields that a bundle applies.
const SUPPORTED_FIELDS: [&str; 7] = [
    "apiVersion",
    "kind",
    "namespace",
    "namePrefix",
    "resources",
    "patches",
    "replacements",
];

/// The path and the text of a file that a user added.
type AddedFile = (String, String);

/// A patch that a user added.
pub(super) struct AddedPatch {
    pub(super) path: String,
    pub(super) operations: Value,
    pub(super) kind: String,
    pub(super) name: Option<String>,
}

/// The kustomization of a project, if it has one.
pub(super) struct EditedKustomization {
    text: String,
    value: Value,
    exists: bool,
}

impl EditedKustomization {
    pub(super) fn read(file: &dyn Fn(&str) -> Option<String>) -> Result<EditedKustomization, BundleError> {
        let text = file(DEFAULT);
        let value = text.as_deref().map(|text| decode(DEFAULT, text)).transpose()?;
        Ok(EditedKustomization {
            exists: value.is_some(),
            text: text.unwrap_or_default(),
            value: value.unwrap_or_default(),
        })
    }

    /// Whether the user took an entry out or commented it out.
    pub(super) fn leaves_out(&self, entry: &Entry) -> bool {
        let is_gone = DEFAULT_ENTRIES.contains(&entry.name()) && !lists(&self.text, entry);
        self.exists && (is_gone || is_commented(&self.text, entry))
    }

    fn entries(&self, list: &str) -> impl Iterator<Item = &Value> {
        self.value[list].as_array().into_iter().flatten()
    }

    /// The files that the user added, and the entries that only kustomize can apply.
    pub(super) fn added_files(&self, file: &dyn Fn(&str) -> Option<String>) -> (Vec<AddedFile>, Vec<String>) {
        let (mut files, mut ignored) = (Vec::new(), Vec::new());
        for entry in self
            .entries("resources")
            .filter_map(Value::as_str)
            .filter(|entry| is_added(entry))
        {
            let path = from_folder("config/default", entry);
            match path.as_deref().and_then(file) {
                Some(text) => files.push((path.unwrap_or_default(), text)),
                None => ignored.push(format!("its resource {entry}, which is no file of the project")),
            }
        }
        (files, ignored)
    }

    /// The patches that the user added, and the entries that only kustomize can apply.
    pub(super) fn added_patches(&self, file: &dyn Fn(&str) -> Option<String>) -> (Vec<AddedPatch>, Vec<String>) {
        let (mut patches, mut ignored) = (Vec::new(), Vec::new());
        let named = |entry: &&Value| entry["path"].as_str().is_none_or(is_added);
        for entry in self.entries("patches").filter(named) {
            let path = entry["path"].as_str();
            let text = match path {
                Some(path) => from_folder("config/default", path).and_then(|path| file(&path)),
                None => entry["patch"].as_str().map(str::to_owned),
            };
            let decoded = text.and_then(|text| kubewright_codec::yaml::decode(text.as_bytes()).ok());
            let operations = decoded.map(|decoded| decoded.value).filter(Value::is_array);
            let (kind, name) = (entry["target"]["kind"].as_str(), entry["target"]["name"].as_str());
            let shown = path.unwrap_or("in its text");
            match (operations, kind) {
                (Some(operations), Some(kind)) => patches.push(AddedPatch {
                    path: shown.to_owned(),
                    operations,
                    kind: kind.to_owned(),
                    name: name.map(str::to_owned),
                }),
                _ => ignored.push(format!(
                    "its patch {shown}, which is no JSON patch with a target's kind"
                )),
            }
        }
        (patches, ignored)
    }

    /// Fields that only kustomize applies.
    pub(super) fn ignored_fields(&self) -> Vec<String> {
        let fields = self.value.as_object().into_iter().flatten().map(|(field, _)| field);
        let unknown = fields.filter(|field| !SUPPORTED_FIELDS.contains(&field.as_str()));
        let mut ignored: Vec<String> = unknown.map(|field| format!("its `{field}`")).collect();
        let added = |entry: &&Value| entry["path"].as_str().is_none_or(is_added);
        if self.entries("replacements").any(|entry| added(&entry)) {
            ignored.push("its `replacements`".to_owned());
        }
        ignored
    }

    /// The sentence about something of `config/default/kustomization.yaml` that is ignored.
    pub(super) fn sentence(ignored: &str) -> String {
        left_to_kustomize(DEFAULT, ignored)
    }
}

fn is_added(entry: &str) -> bool {
    !DEFAULT_ENTRIES.contains(&entry) && !OPTIONAL_ENTRIES.contains(&entry)
}

/// The content of a kustomization.
pub(super) fn decode(path: &str, text: &str) -> Result<Value, BundleError> {
    let decoded = kubewright_codec::yaml::decode(text.as_bytes()).map_err(|source| BundleError::Yaml {
        path: path.to_owned(),
        source,
    })?;
    if decoded.value.is_object() || decoded.value.is_null() {
        Ok(decoded.value)
    } else {
        Err(BundleError::NoKustomization { path: path.to_owned() })
    }
}

/// The sentence about something of a kustomization that is ignored.
pub(super) fn left_to_kustomize(path: &str, ignored: &str) -> String {
    format!(
        "{path}: {ignored} is left to kustomize; `kubectl apply -k config/default` follows it, this command does not"
    )
}

/// The files that the user listed beside the manager's, and a sentence for each entry that only kustomize can apply.
pub(super) fn manager_resources(
    file: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<AddedFile>, Vec<String>), BundleError> {
    let Some(text) = file(MANAGER) else {
        return Ok((Vec::new(), Vec::new()));
    };
    let value = decode(MANAGER, &text)?;
    let list = |name: &str| value[name].as_array().into_iter().flatten();
    let (mut files, mut ignored) = (Vec::new(), Vec::new());
    for entry in list("resources").filter_map(Value::as_str) {
        let path = from_folder("config/manager", entry);
        if path.as_deref() == Some(crate::install::MANAGER) {
            continue;
        }
        match path.as_deref().and_then(file) {
            Some(text) => files.push((path.unwrap_or_default(), text)),
            None => ignored.push(format!("its resource {entry}, which is no file of the project")),
        }
    }
    let images = list("images").filter_map(|image| image["name"].as_str());
    ignored.extend(
        images
            .filter(|name| *name != "controller")
            .map(|name| format!("its image {name}")),
    );
    let fields = value.as_object().into_iter().flatten().map(|(field, _)| field.as_str());
    let unknown = fields.filter(|field| !["apiVersion", "kind", "resources", "images"].contains(field));
    ignored.extend(unknown.map(|field| format!("its `{field}`")));
    let ignored = ignored.iter().map(|ignored| left_to_kustomize(MANAGER, ignored));
    Ok((files, ignored.collect()))
}

/// A path from the root of the project; `None` if it leads outside of the project.
fn from_folder(folder: &str, path: &str) -> Option<String> {
    let mut folders: Vec<&str> = folder.split('/').collect();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(folders.pop()?),
            step => folders.push(step),
        }
    }
    Some(folders.join("/"))
}
