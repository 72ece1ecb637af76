//! The kustomize tree as it follows from PROJECT.

use kubewright_description::Description;
use kubewright_manifests::definitions::{DefinitionOptions, Descriptions};
use kubewright_manifests::install::kustomization::Entry;
use kubewright_manifests::install::{self, MANAGER, RenderedManifests, Settings};

use crate::{File, Project};

/// How a project is installed, as its PROJECT says.
pub fn settings(project: &Project) -> Settings {
    let switches = project.settings();
    Settings {
        namespace: project.namespace(),
        prefix: project.prefix(),
        cert_manager: switches.cert_manager,
        prometheus: switches.prometheus,
        alerts: switches.grafana,
        network_policy: switches.network_policy,
        namespaced: project.namespaced,
        multigroup: project.multigroup,
        domain: project.domain.clone(),
        ..Settings::new(&project.name, "controller:latest")
    }
}

/// How the definitions of a project are written, as its PROJECT says.
pub fn definition_options(project: &Project) -> DefinitionOptions {
    let descriptions = match project.settings().max_description_length {
        None => Descriptions::Whole,
        Some(0) => Descriptions::Dropped,
        Some(length) => Descriptions::UpTo(usize::try_from(length).unwrap_or(usize::MAX)),
    };
    DefinitionOptions {
        descriptions,
        ..DefinitionOptions::default()
    }
}

/// The files that users may edit.
pub(super) fn files(project: &Project) -> Vec<File> {
    let mut files = vec![
        File::new(
            "config/default/kustomization.yaml",
            install::default_kustomization(&settings(project), &entries(project)),
        ),
        File::new(MANAGER, install::manager_yaml(&project.name, project.namespaced)),
        File::new(
            "config/manager/kustomization.yaml",
            include_str!("templates/manager_kustomization.yaml"),
        ),
    ];
    files.extend(samples(project));
    files
}

/// The entries of `config/default` that `kubewright manifests` will want once the code is written.
fn entries(project: &Project) -> Vec<Entry> {
    let webhooks = project.has_webhooks();
    // All possible entries; PROJECT tells which of them the code will need.
    let mut entries = without_code(project).entries;
    for entry in &mut entries {
        match entry.name() {
            "../crd" => entry.wanted = project.defined_kinds().next().is_some(),
            "../apiservice" | "manager_extension_patch.yaml" => entry.wanted = project.has_extension(),
            "manager_role_namespaces.yaml" if project.has_extension() => entry.wanted = true,
            "../webhook" | "manager_webhook_patch.yaml" => entry.wanted = webhooks,
            _ => {}
        }
    }
    entries
}

/// `config/samples/kustomization.yaml`, once there are samples.
fn samples(project: &Project) -> Option<File> {
    let listed: Vec<String> = project
        .defined_kinds()
        .map(|kind| format!("- {}\n", kind.sample_file()))
        .collect();
    (!listed.is_empty()).then(|| {
        let text = format!(
            "# `kubectl apply -k config/samples` makes one of each.\nresources:\n{}",
            listed.concat()
        );
        File::new("config/samples/kustomization.yaml", text)
    })
}

/// What follows from the code that the scaffold writes. The first templates had only what follows from no code at all.
pub(super) fn generated(project: &Project) -> Vec<File> {
    let manifests = if project.templates() == 1 {
        without_code(project)
    } else {
        let operator = super::description::describe(project);
        let settings = settings(project);
        // The types of the scaffold have no problems; one that they had would be told by `kubewright manifests`.
        RenderedManifests::render(&operator, &definition_options(project), &settings)
            .unwrap_or_else(|_| without_code(project))
    };
    manifests
        .files
        .iter()
        .map(|file| File::new(&file.path, file.text()).regenerated())
        .collect()
}

fn without_code(project: &Project) -> RenderedManifests {
    RenderedManifests::with_definitions(&Description::new(&project.name), Vec::new(), &settings(project))
}
