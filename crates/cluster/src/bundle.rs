//! The objects of an installation, and where they go.

use std::ops::Deref;

use kubewright_manifests::bundle;
use kubewright_manifests::install::RenderedManifests;

use crate::Reference;

/// What is rendered, and where it goes.
#[derive(Clone, Debug)]
pub struct Bundle {
    rendered: bundle::Bundle,
    /// What it was made from, and what the files of the project are written from.
    pub manifests: Box<RenderedManifests>,
    /// Where it goes.
    pub namespace: String,
    /// What its names begin with.
    pub prefix: String,
}

impl Deref for Bundle {
    type Target = bundle::Bundle;

    fn deref(&self) -> &Self::Target {
        &self.rendered
    }
}

impl Bundle {
    /// The objects of an installation.
    pub fn of(manifests: RenderedManifests, rendered: bundle::Bundle) -> Self {
        Bundle {
            rendered,
            namespace: manifests.settings.namespace.clone(),
            prefix: manifests.settings.prefix.clone(),
            manifests: Box::new(manifests),
        }
    }
}

/// As whom the manager of an installation runs.
pub fn account(bundle: &Bundle) -> Option<Reference> {
    let deployment = bundle.objects.iter().find(|object| object["kind"] == "Deployment")?;
    let name = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str()?;
    Some(Reference::new("v1", "ServiceAccount", Some(&bundle.namespace), name))
}
