//! The errors of an operation on one object, and their messages.

use std::error::Error as _;

use kube::core::Status;

use super::reference::Reference;

/// What went wrong with one object.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}", describe_failure(.0))]
    Request(Box<kube::Error>),
    #[error("the cluster has no kind {kind} in {api_version}{hint}")]
    NoKind {
        kind: String,
        api_version: String,
        hint: &'static str,
    },
    #[error("object {0} of those to apply does not say its apiVersion, kind and name")]
    Nameless(usize),
    #[error("it is not established after {0} seconds{1}")]
    NotEstablished(u64, String),
    #[error("it is being deleted, and everything in it will be deleted, too; try again when it is gone")]
    BeingDeleted,
    #[error("it is managed by {tooling}; choose another --namespace, or delete the ConfigMap if that tool is gone")]
    ForeignInventory { tooling: String },
}

impl Error {
    pub(super) fn no_kind(reference: &Reference) -> Self {
        let hint = match reference.group_version().0 {
            "cert-manager.io" => {
                "; install cert-manager, or let the manager make its own certificates: `kubewright edit --cert-manager=false`"
            }
            "monitoring.coreos.com" => {
                "; install the Prometheus operator, or leave its objects out: `kubewright edit --prometheus=false`"
            }
            _ => "",
        };
        Error::NoKind {
            kind: reference.kind.clone(),
            api_version: reference.api_version.clone(),
            hint,
        }
    }
}

/// What the server answered, if it did.
pub fn status(error: &Error) -> Option<&Status> {
    match error {
        Error::Request(error) => match &**error {
            kube::Error::Api(status) => Some(status),
            _ => None,
        },
        _ => None,
    }
}

/// What a request failed by, for people: the server's own words, or what stood in the way of hearing them.
pub fn describe_failure(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        if status.message.is_empty() {
            return format!("the server answers {} {}", status.code, status.reason);
        }
        return status.message.clone();
    }
    // Each layer of the client repeats what the one below says.
    let deepest = std::iter::successors(error.source(), |error| (*error).source()).last();
    deepest.map_or_else(|| error.to_string(), ToString::to_string)
}
