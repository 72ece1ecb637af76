//! An installation as objects for a cluster: what `kubectl kustomize config/default` makes of the same files, without kustomize.
//! A file whose first line no longer says that it is generated is read as the project has it.

mod adjust;
mod edited;
mod error;
mod files;
mod names;
mod patch;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::install::kustomization::Entry;
use crate::install::{MANAGER, RenderedManifests};
use edited::EditedKustomization;
pub use error::BundleError;
use files::Files;

/// The objects of an installation.
///
/// ```
/// use kubewright_description::Description;
/// use kubewright_manifests::bundle::Bundle;
/// use kubewright_manifests::install::{RenderedManifests, Settings};
///
/// let settings = Settings::new("shop", "shop:1.0");
/// let manifests = RenderedManifests::with_definitions(&Description::new("shop"), Vec::new(), &settings);
/// let bundle = Bundle::of(&manifests, &|_| None).unwrap();
/// let kinds: Vec<&str> = bundle.objects.iter().filter_map(|object| object["kind"].as_str()).collect();
/// assert_eq!(kinds.first(), Some(&"Namespace"));
/// assert_eq!(kinds.last(), Some(&"Deployment"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The `CustomResourceDefinition`s.
    pub definitions: Vec<Value>,
    /// Everything else, in the order in which a cluster takes it: the Namespace first, the Deployment last.
    pub objects: Vec<Value>,
    /// One sentence for each part of the project's kustomizations that only kustomize can apply, and that is therefore missing here.
    pub ignored: Vec<String>,
}

impl Bundle {
    /// The objects of an installation. `file` gives the files of the project by their paths; only those that are not generated
    /// count, and the manager's.
    pub fn of(manifests: &RenderedManifests, file: &dyn Fn(&str) -> Option<String>) -> Result<Bundle, BundleError> {
        let settings = &manifests.settings;
        check_prefix(manifests)?;
        let (files, mut sentences) = Files::of(manifests, file)?;
        let edited = EditedKustomization::read(file)?;
        let resource = |entry: &str, wanted: bool| wanted && !edited.leaves_out(&Entry::resource(entry, true));
        let mut definitions = Vec::new();
        if resource("../crd", true) {
            definitions = files.objects_in("config/crd/bases/")?;
            for definition in &mut definitions {
                files.convert(definition)?;
            }
        }
        let mut objects = Vec::new();
        // A project that runs its manager elsewhere takes `../manager` out of its kustomization.
        let has_manager = resource("../manager", true);
        if has_manager {
            objects.extend(files.objects(MANAGER)?);
            if !objects.iter().any(|object| object["kind"] == "Deployment") {
                return Err(BundleError::NoManager);
            }
            let (listed, more) = edited::manager_resources(file)?;
            for (path, text) in &listed {
                objects.extend(files::read(path, text)?);
            }
            sentences.extend(more);
        }
        if resource("metrics_service.yaml", true) {
            objects.extend(files.objects("config/default/metrics_service.yaml")?);
        }
        for (folder, wanted) in [
            ("rbac", true),
            ("webhook", true),
            ("apiservice", true),
            ("policy", true),
            ("certmanager", settings.cert_manager),
            ("prometheus", settings.prometheus),
            ("network-policy", settings.network_policy),
        ] {
            if resource(&format!("../{folder}"), wanted) {
                objects.extend(files.objects_in(&format!("config/{folder}/"))?);
            }
        }
        let (added, mut ignored) = edited.added_files(file);
        for (path, text) in &added {
            objects.extend(files::read(path, text)?);
        }
        files.patch(&mut objects, &edited)?;
        let (patches, more) = edited.added_patches(file);
        for added in &patches {
            patch::apply(added, &mut objects)?;
        }
        ignored.extend(more);
        ignored.extend(edited.ignored_fields());
        if has_manager {
            adjust::set_image(&mut objects, &settings.image)?;
        }
        adjust::set_replicas(&mut objects, settings.replicas);
        let mut all: Vec<&mut Value> = definitions.iter_mut().chain(&mut objects).collect();
        names::apply(&mut all, settings);
        adjust::sort(&mut objects);
        sentences.extend(ignored.iter().map(|ignored| EditedKustomization::sentence(ignored)));
        Ok(Bundle {
            definitions,
            objects,
            ignored: sentences,
        })
    }

    /// All of it, in the order in which a cluster takes it: the Namespace, the definitions, the rest.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        let namespaces = self.objects.iter().take_while(|object| object["kind"] == "Namespace");
        let others = self.objects.iter().skip_while(|object| object["kind"] == "Namespace");
        namespaces.chain(&self.definitions).chain(others)
    }
}

/// A manager that makes its own certificates looks for its webhook configurations under the operator's name.
fn check_prefix(manifests: &RenderedManifests) -> Result<(), BundleError> {
    let settings = &manifests.settings;
    let wanted = format!("{}-", manifests.operator);
    if (manifests.has_webhooks || manifests.has_extension) && !settings.cert_manager && settings.prefix != wanted {
        return Err(BundleError::Prefix {
            prefix: settings.prefix.clone(),
            wanted,
        });
    }
    Ok(())
}
