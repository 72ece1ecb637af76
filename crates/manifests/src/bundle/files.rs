//! The files of an installation by their paths: generated ones as they were rendered, those of the project as they are there.

use std::collections::BTreeMap;

use serde_json::Value;

use super::edited::{self, AddedPatch, EditedKustomization};
use super::{BundleError, patch};
use crate::install::kustomization::Entry;
use crate::install::{self, MANAGER, RenderedManifests, is_generated};
use crate::yaml;

/// The files of an installation by their paths.
pub(super) struct Files<'i>(BTreeMap<String, Content<'i>>);

/// What is in a file.
enum Content<'i> {
    /// It follows from the code.
    Generated(&'i [Value]),
    /// It is the user's.
    Text(String),
}

impl<'i> Files<'i> {
    /// The files of an installation, and a sentence for each entry that only kustomize can apply.
    pub(super) fn of(
        manifests: &'i RenderedManifests,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Files<'i>, Vec<String>), BundleError> {
        let (mut files, mut lists, mut ignored) = (BTreeMap::new(), Vec::new(), Vec::new());
        for generated in &manifests.files {
            let taken_over = file(&generated.path).filter(|text| !is_generated(text));
            if let (Some(text), Some(folder)) = (&taken_over, generated.path.strip_suffix("kustomization.yaml")) {
                lists.push((folder.to_owned(), text.clone()));
            }
            let content = taken_over.map_or(Content::Generated(&generated.documents), Content::Text);
            files.insert(generated.path.clone(), content);
        }
        for (folder, text) in lists {
            ignored.extend(keep_listed(&mut files, &folder, &text, file)?);
        }
        let settings = &manifests.settings;
        let manager = file(MANAGER).unwrap_or_else(|| install::manager_yaml(&manifests.operator, settings.namespaced));
        files.insert(MANAGER.to_owned(), Content::Text(manager));
        Ok((Files(files), ignored))
    }

    /// The objects of one file.
    pub(super) fn objects(&self, path: &str) -> Result<Vec<Value>, BundleError> {
        self.0
            .get(path)
            .map_or(Ok(Vec::new()), |content| content.documents(path))
    }

    /// The objects of a folder, without kustomizations and patches.
    pub(super) fn objects_in(&self, folder: &str) -> Result<Vec<Value>, BundleError> {
        let mut objects = Vec::new();
        for (path, content) in self.0.range(folder.to_owned()..) {
            let Some(file) = path.strip_prefix(folder) else { break };
            if !file.contains('/') && !file.starts_with("kustomiz") && !file.ends_with("_patch.yaml") {
                objects.extend(content.documents(path)?);
            }
        }
        Ok(objects)
    }

    /// Adds the conversion webhook to a definition that has one.
    pub(super) fn convert(&self, definition: &mut Value) -> Result<(), BundleError> {
        for patch in self.objects_in("config/crd/patches/")? {
            if patch["metadata"]["name"] == definition["metadata"]["name"] {
                patch::merge(definition, &patch);
            }
        }
        Ok(())
    }

    /// Applies the generated patches of the manager and of the `ServiceMonitor`.
    pub(super) fn patch(&self, objects: &mut [Value], edited: &EditedKustomization) -> Result<(), BundleError> {
        for (folder, file, kind) in [
            ("default", "manager_metrics_patch.yaml", "Deployment"),
            ("default", "manager_webhook_patch.yaml", "Deployment"),
            ("default", "manager_extension_patch.yaml", "Deployment"),
            ("default", "cert_metrics_manager_patch.yaml", "Deployment"),
            ("prometheus", "monitor_tls_patch.yaml", "ServiceMonitor"),
        ] {
            let path = format!("config/{folder}/{file}");
            let Some(content) = self.0.get(&path) else { continue };
            if folder == "default" && edited.leaves_out(&Entry::patch(file, true)) {
                continue;
            }
            let [operations] = content
                .documents(&path)?
                .try_into()
                .unwrap_or([Value::Array(Vec::new())]);
            let known = AddedPatch {
                path,
                operations,
                kind: kind.to_owned(),
                name: None,
            };
            patch::apply(&known, objects)?;
        }
        Ok(())
    }
}

impl Content<'_> {
    fn documents(&self, path: &str) -> Result<Vec<Value>, BundleError> {
        match self {
            Content::Generated(documents) => Ok(documents.to_vec()),
            Content::Text(text) => read(path, text),
        }
    }
}

/// The documents of a text.
pub(super) fn read(path: &str, text: &str) -> Result<Vec<Value>, BundleError> {
    yaml::read(text).map_err(|source| BundleError::Yaml {
        path: path.to_owned(),
        source,
    })
}

/// Keeps the files that an edited kustomization of a folder lists, and no others. Returns a sentence for each entry that only
/// kustomize can apply.
fn keep_listed(
    files: &mut BTreeMap<String, Content<'_>>,
    folder: &str,
    kustomization: &str,
    file: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, BundleError> {
    let list = format!("{folder}kustomization.yaml");
    let value = edited::decode(&list, kustomization)?;
    let entries = value["resources"].as_array().into_iter().flatten();
    let listed: Vec<String> = entries
        .filter_map(Value::as_str)
        .map(|entry| format!("{folder}{entry}"))
        .collect();
    let is_resource = |path: &str| {
        let name = path.strip_prefix(folder).unwrap_or_default();
        let helps = name.starts_with("kustomiz") || name.starts_with("patches/") || name.ends_with("_patch.yaml");
        !name.is_empty() && !helps
    };
    files.retain(|path, _| !is_resource(path) || listed.contains(path));
    let mut ignored = Vec::new();
    for path in listed {
        if files.contains_key(&path) {
            continue;
        }
        let entry = path.strip_prefix(folder).unwrap_or_default();
        let is_direct = !entry.contains('/') || folder == "config/crd/" && entry.starts_with("bases/");
        match file(&path).filter(|_| is_direct) {
            Some(text) => drop(files.insert(path, Content::Text(text))),
            None => ignored.push(edited::left_to_kustomize(
                &list,
                &format!("its resource {entry}, which is no file of that folder"),
            )),
        }
    }
    Ok(ignored)
}
