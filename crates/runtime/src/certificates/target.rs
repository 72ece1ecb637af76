//! What holds a caBundle: the objects through which the API server finds the webhooks.

use std::fmt;

/// A kind of object that says where webhooks are and whom to trust there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// A `MutatingWebhookConfiguration`.
    Mutating,
    /// A `ValidatingWebhookConfiguration`.
    Validating,
    /// A `CustomResourceDefinition` that converts through a webhook.
    Conversion,
    /// An `APIService` of an aggregated API.
    ApiService,
}

impl TargetKind {
    /// Its API group.
    pub(crate) fn group(self) -> &'static str {
        match self {
            TargetKind::Mutating | TargetKind::Validating => "admissionregistration.k8s.io",
            TargetKind::Conversion => "apiextensions.k8s.io",
            TargetKind::ApiService => "apiregistration.k8s.io",
        }
    }

    /// Its resource, as in a path or a rule.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            TargetKind::Mutating => "mutatingwebhookconfigurations",
            TargetKind::Validating => "validatingwebhookconfigurations",
            TargetKind::Conversion => "customresourcedefinitions",
            TargetKind::ApiService => "apiservices",
        }
    }

    /// Its kind.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            TargetKind::Mutating => "MutatingWebhookConfiguration",
            TargetKind::Validating => "ValidatingWebhookConfiguration",
            TargetKind::Conversion => "CustomResourceDefinition",
            TargetKind::ApiService => "APIService",
        }
    }
}

/// One object with a caBundle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// Its name.
    pub name: String,
}

impl Target {
    /// A `MutatingWebhookConfiguration`.
    pub fn mutating(name: impl Into<String>) -> Self {
        Target {
            kind: TargetKind::Mutating,
            name: name.into(),
        }
    }

    /// A `ValidatingWebhookConfiguration`.
    pub fn validating(name: impl Into<String>) -> Self {
        Target {
            kind: TargetKind::Validating,
            name: name.into(),
        }
    }

    /// A `CustomResourceDefinition` that converts through a webhook.
    pub fn conversion(name: impl Into<String>) -> Self {
        Target {
            kind: TargetKind::Conversion,
            name: name.into(),
        }
    }

    /// The `APIService` of a version of an aggregated API.
    pub fn api_service(group: &str, version: &str) -> Self {
        Target {
            kind: TargetKind::ApiService,
            name: format!("{version}.{group}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.kind(), self.name)
    }
}
