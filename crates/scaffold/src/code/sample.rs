//! The sample of a kind, which its test applies too.

use crate::{Project, Resource};

/// An object of the kind, as its types accept it.
pub(super) fn sample(project: &Project, resource: &Resource) -> String {
    let spec = match project.image_of(resource) {
        Some(image) => {
            let port = image.port.map(|port| format!("  containerPort: {port}\n"));
            format!(
                "spec:\n  # How many pods run the image.\n  size: 1\n{}",
                port.unwrap_or_default()
            )
        }
        None => "spec:\n  # What your users write goes here.\n  foo: bar\n".to_owned(),
    };
    let Resource { kind, .. } = resource;
    format!(
        "apiVersion: {}\nkind: {kind}\nmetadata:\n  labels:\n    app.kubernetes.io/name: {}\n    \
         app.kubernetes.io/managed-by: kustomize\n  name: {}\n{spec}",
        resource.api_version(),
        project.name,
        resource.sample_name(),
    )
}
