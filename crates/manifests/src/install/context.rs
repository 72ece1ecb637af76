//! What all objects of an installation have in common: labels, names, namespace.

use kubewright_description::Description;
use serde_json::{Value, json};

use super::Settings;

/// The namespace in files, which kustomize and [`crate::bundle`] replace.
pub(crate) const NAMESPACE: &str = "system";

/// The annotation that names the namespace of an object that does not belong into the operator's.
pub(crate) const NAMESPACE_ANNOTATION: &str = "manifests.kubewright.dev/namespace";

/// An operator and the settings it is rendered with.
pub(super) struct RenderContext<'a> {
    pub(super) operator: &'a Description,
    pub(super) settings: &'a Settings,
}

impl RenderContext<'_> {
    /// A name with its prefix (`shop-webhook-service`), for fields in which kustomize does not add it.
    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.settings.prefix)
    }

    fn labels(&self) -> Value {
        json!({
            "app.kubernetes.io/managed-by": "kubewright",
            "app.kubernetes.io/name": self.operator.name,
        })
    }

    /// The labels that select the manager's Pods.
    pub(super) fn selector(&self) -> Value {
        json!({
            "app.kubernetes.io/name": self.operator.name,
            "control-plane": "controller-manager",
        })
    }

    /// A cluster-scoped object.
    pub(super) fn object(&self, api_version: &str, kind: &str, name: &str) -> Value {
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": name, "labels": self.labels() },
        })
    }

    /// An object in the operator's namespace.
    pub(super) fn namespaced(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let mut object = self.object(api_version, kind, name);
        object["metadata"]["namespace"] = NAMESPACE.into();
        object
    }

    /// Whether file names need the group beside the kind.
    pub(super) fn has_several_groups(&self) -> bool {
        let kinds = self.operator.definitions.iter().chain(&self.operator.aggregated);
        let mut groups = kinds.map(|definition| &definition.group);
        let first = groups.next();
        self.settings.multigroup || groups.any(|group| Some(group) != first)
    }

    /// A group without the project's domain.
    pub(super) fn short_group<'g>(&self, group: &'g str) -> &'g str {
        let short = group.strip_suffix(self.settings.domain.as_str());
        let short = short
            .and_then(|group| group.strip_suffix('.'))
            .filter(|group| !group.is_empty());
        short.unwrap_or(group)
    }

    /// Whether the manager serves an aggregated API.
    pub(super) fn has_extension(&self) -> bool {
        !self.operator.aggregated.is_empty()
    }

    pub(super) fn has_webhooks(&self) -> bool {
        !self.operator.webhooks.is_empty() || !self.operator.conversions.is_empty()
    }
}
