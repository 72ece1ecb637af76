//! Conflicts between managers, in the words of the API server (S3).

use std::fmt::Write as _;

use kubewright_apimachinery::go::quote;

use crate::managed::{FieldSet, ManagerId, Operation, Path};

/// One conflict as a cause of the 409's details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictCause {
    /// Always `FieldManagerConflict`.
    pub reason: &'static str,
    /// `conflict with "kubectl" using v1`.
    pub message: String,
    /// The field (`.spec.replicas`).
    pub field: String,
}

/// All conflicts of one apply, by manager.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Conflicts {
    conflicts: Vec<(ManagerId, Path)>,
}

impl Conflicts {
    /// The fields that other managers own. Upstream lists managers in the order of a Go map; here they are sorted, as in
    /// its message.
    pub(super) fn new(mut owners: Vec<(ManagerId, FieldSet)>) -> Self {
        owners.sort_by_cached_key(|(owner, _)| owner.sort_key());
        let conflicts = owners
            .into_iter()
            .flat_map(|(owner, set)| set.paths().into_iter().map(move |path| (owner.clone(), path)))
            .collect();
        Self { conflicts }
    }

    /// The message of the 409.
    pub fn message(&self) -> String {
        if let [(owner, path)] = self.conflicts.as_slice() {
            return format!(
                "Apply failed with 1 conflict: conflict with {}: {path}",
                describe(owner)
            );
        }
        let mut message = format!("Apply failed with {} conflicts: ", self.conflicts.len());
        for (index, same) in self.conflicts.chunk_by(|left, right| left.0 == right.0).enumerate() {
            let line = if index > 0 { "\n" } else { "" };
            _ = write!(message, "{line}conflicts with {}:", describe(&same[0].0));
            for (_, path) in same {
                _ = write!(message, "\n- {path}");
            }
        }
        message
    }

    /// One cause per field.
    pub fn causes(&self) -> Vec<ConflictCause> {
        let cause = |(owner, path): &(ManagerId, Path)| ConflictCause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", describe(owner)),
            field: path.to_string(),
        };
        self.conflicts.iter().map(cause).collect()
    }

    /// The conflicts on fields outside of a set.
    pub(super) fn outside(&self, set: &FieldSet) -> Self {
        let outside = self.conflicts.iter().filter(|(_, path)| !set.contains(&path.0));
        Self {
            conflicts: outside.cloned().collect(),
        }
    }

    /// Whether there is no conflict.
    pub fn is_empty(&self) -> bool {
        self.conflicts.is_empty()
    }
}

/// A manager, as messages describe it.
fn describe(owner: &ManagerId) -> String {
    let mut text = quote(&owner.manager);
    if !owner.subresource.is_empty() {
        _ = write!(text, " with subresource {}", quote(&owner.subresource));
    }
    if owner.operation == Operation::Update {
        _ = write!(text, " using {}", owner.api_version);
    }
    text
}
