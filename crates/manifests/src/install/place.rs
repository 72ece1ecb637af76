//! An operator and where it goes: what all its objects have in common.

use kubewright_description::Description;
use serde_json::{Value, json};

use super::Settings;

/// What stands for the namespace until kustomize, or [`crate::bundle`], puts the real one in.
pub(crate) const NAMESPACE: &str = "system";

/// The annotation of an object that belongs into another namespace than the operator's: which one.
pub(crate) const ELSEWHERE: &str = "manifests.kubewright.dev/namespace";

/// An operator and where it goes.
pub(super) struct Place<'a> {
    pub(super) operator: &'a Description,
    pub(super) settings: &'a Settings,
}

impl Place<'_> {
    /// `shop-webhook-service`: a name as it will be, where nothing puts the prefix before it.
    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.settings.prefix)
    }

    fn labels(&self) -> Value {
        json!({
            "app.kubernetes.io/managed-by": "kubewright",
            "app.kubernetes.io/name": self.operator.name,
        })
    }

    /// What tells the manager's Pods from all others.
    pub(super) fn selector(&self) -> Value {
        json!({
            "app.kubernetes.io/name": self.operator.name,
            "control-plane": "controller-manager",
        })
    }

    /// An object of the whole cluster.
    pub(super) fn object(&self, api_version: &str, kind: &str, name: &str) -> Value {
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": name, "labels": self.labels() },
        })
    }

    /// An object of the operator's namespace.
    pub(super) fn namespaced(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let mut object = self.object(api_version, kind, name);
        object["metadata"]["namespace"] = NAMESPACE.into();
        object
    }

    /// Whether a kind's name alone does not tell which kind it is.
    pub(super) fn has_several_groups(&self) -> bool {
        let mut groups = self.operator.definitions.iter().map(|definition| &definition.group);
        let first = groups.next();
        self.settings.multigroup || groups.any(|group| Some(group) != first)
    }

    /// A group as the project names it: without the domain they all end in.
    pub(super) fn short_group<'g>(&self, group: &'g str) -> &'g str {
        let short = group.strip_suffix(self.settings.domain.as_str());
        let short = short
            .and_then(|group| group.strip_suffix('.'))
            .filter(|group| !group.is_empty());
        short.unwrap_or(group)
    }

    pub(super) fn has_webhooks(&self) -> bool {
        !self.operator.webhooks.is_empty() || !self.operator.conversions.is_empty()
    }
}
