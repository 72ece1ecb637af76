//! How each built-in resource is stored, as data: naming, updating, deleting, selecting, and which fields a write
//! of the object or a subresource cannot change. [`strategy`] has an answer for every resource that kube-apiserver 1.36
//! serves by default.

mod fields;
mod table;

use serde_json::{Map, Value};

use crate::rules::access::{self, at, int_at};
use crate::rules::name_rule::NameRule;

pub use fields::{FieldSource, SelectableField, UnsupportedField};
pub use table::{custom_strategy, strategy};

/// What the registry knows about a resource.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent yes or no of the registry"
)]
pub struct Strategy {
    /// The rule for names (M11).
    pub name: NameRule,
    /// Whether `generateName` itself must follow the rule; the generated name must in any case.
    pub checks_generate_name: bool,
    /// Whether a new object without name and generateName is named by a UUID: limit ranges.
    pub names_itself: bool,
    /// Which rules check the metadata of new objects.
    pub meta: MetaRules,
    /// The checks of metadata an update repeats; see [`crate::meta::validate_update`].
    pub update_meta: &'static [MetaCheck],
    /// Where the errors of the last of these stand; see [`crate::meta::errors_of_last_check`].
    pub last_meta_check: LastMetaCheck,
    /// The checks of metadata a status update repeats.
    pub status_meta: &'static [MetaCheck],
    /// Whether PUT of an object that does not exist creates it (M10).
    pub create_on_update: bool,
    /// Whether PUT without a resourceVersion replaces whatever is stored (M9).
    pub unconditional_update: bool,
    /// Whether a delete answers with the deleted object; otherwise with a Status (D1).
    pub returns_deleted: bool,
    /// Whether deletion has a grace period: pods.
    pub graceful_deletion: bool,
    /// What becomes of dependents when the request does not say.
    pub default_propagation: Propagation,
    /// What `metadata.generation` counts (M7).
    pub generation: Generation,
    /// Whether a create clears the status it was sent.
    pub resets_status: bool,
    /// What of the metadata a status update leaves alone.
    pub status_metadata: StatusMetadata,
    /// The field labels a field selector may name, in upstream's order (R8).
    pub fields: &'static [SelectableField],
    /// How an unknown field label is refused.
    pub unsupported_field: UnsupportedField,
    /// The fields that a write resets, and so does not own under server-side apply (S12).
    pub reset_fields: &'static [ResetFields],
}

/// The rules that check the metadata of new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaRules {
    /// The kind, with the rule that finalizers have a domain.
    Kube,
    /// The kind, without that rule.
    Plain,
    /// Only the server, after the kind's other rules.
    Deferred,
}

/// One of the two checks of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaCheck {
    /// Everything a new object must satisfy.
    Create,
    /// Everything a changed object must satisfy.
    Update,
}

/// Where the errors of the last repeated check of metadata stand among those of the kind's own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastMetaCheck {
    /// Before them, behind those of the other checks.
    BesideTheOthers,
    /// Behind the rules for new objects, with which the rules for updates begin.
    BehindRulesOfNew,
    /// Before the rules for new objects, with which the rules for updates end.
    BeforeRulesOfNew,
    /// Behind them all, and so in updates through subresources.
    BehindAllRules,
}

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them.
    Background,
    /// They are orphaned, for clients older than garbage collection.
    Orphan,
    /// There are none: the garbage collector does not know the resource.
    Unsupported,
}

/// What `metadata.generation` counts.
#[derive(Clone, Copy, Debug)]
pub enum Generation {
    /// The resource has no generation.
    None,
    /// Starts at 1 and counts changes of these fields, each a path.
    Counts(&'static [&'static [&'static str]]),
    /// Starts at 1 and counts changes of these fields, also from nothing to an empty list: where upstream compares exactly.
    CountsExactly(&'static [&'static [&'static str]]),
    /// Starts unset and counts changes of these fields.
    CountsFromZero(&'static [&'static [&'static str]]),
    /// Starts at 1 and counts changes of everything outside metadata, and of labels.
    CountsAllAndLabels,
    /// Starts at 1 and counts changes of everything outside metadata: custom resources.
    CountsAll,
}

impl Generation {
    /// The generation of a new object; `None` where it has none.
    pub fn at_create(self) -> Option<i64> {
        match self {
            Generation::Counts(_)
            | Generation::CountsExactly(_)
            | Generation::CountsAllAndLabels
            | Generation::CountsAll => Some(1),
            Generation::None | Generation::CountsFromZero(_) => None,
        }
    }

    /// Whether replacing `old` by `new` counts. Both are whole objects, after the kind's preparation.
    pub fn counts_change(self, new: &Value, old: &Value) -> bool {
        match self {
            Generation::None => false,
            Generation::Counts(paths) | Generation::CountsFromZero(paths) => {
                paths.iter().any(|path| !access::same(at(new, path), at(old, path)))
            }
            Generation::CountsExactly(paths) => paths.iter().any(|path| at(new, path) != at(old, path)),
            Generation::CountsAllAndLabels => {
                let labels = ["metadata", "labels"];
                !access::same(at(new, &labels), at(old, &labels)) || differs_outside_metadata(new, old, access::same)
            }
            // A custom resource is a map, in which an empty list is not the same as none.
            Generation::CountsAll => differs_outside_metadata(new, old, |new, old| new == old),
        }
    }

    /// The generation `new` gets when it replaces `old`.
    pub fn after_update(self, new: &Value, old: &Value) -> i64 {
        int_at(old, &["metadata", "generation"]) + i64::from(self.counts_change(new, old))
    }
}

fn differs_outside_metadata(new: &Value, old: &Value, same: impl Fn(Option<&Value>, Option<&Value>) -> bool) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return new != old;
    };
    new.keys()
        .chain(old.keys())
        .filter(|key| !matches!(key.as_str(), "metadata" | "apiVersion" | "kind"))
        .any(|key| !same(new.get(key), old.get(key)))
}

/// What of the metadata a status update leaves alone; managedFields always follow the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMetadata {
    /// Nothing: labels, annotations, finalizers and owners may be written through the status too.
    Free,
    /// The labels: Deployments.
    KeepsLabels,
    /// The owners: Pods.
    KeepsOwners,
    /// Labels, annotations, finalizers and owners.
    KeepsUserFields,
    /// Everything.
    KeepsAll,
}

impl StatusMetadata {
    /// Restores in `metadata` what the status update may not change.
    pub fn restore(self, metadata: &mut Map<String, Value>, old: &Value) {
        let kept: &[&str] = match self {
            StatusMetadata::Free => &[],
            StatusMetadata::KeepsLabels => &["labels"],
            StatusMetadata::KeepsOwners => &["ownerReferences"],
            StatusMetadata::KeepsUserFields => &[
                "deletionTimestamp",
                "labels",
                "annotations",
                "finalizers",
                "ownerReferences",
            ],
            StatusMetadata::KeepsAll => {
                let managed = metadata.remove("managedFields");
                *metadata = old.as_object().cloned().unwrap_or_default();
                match managed {
                    Some(managed) => metadata.insert("managedFields".to_owned(), managed),
                    None => metadata.remove("managedFields"),
                };
                return;
            }
        };
        for field in kept {
            match at(old, &[field]) {
                Some(value) => metadata.insert((*field).to_owned(), value.clone()),
                None => metadata.remove(*field),
            };
        }
    }
}

/// The fields that a write of the object or of a subresource resets.
#[derive(Clone, Copy, Debug)]
pub struct ResetFields {
    /// The subresource; empty for the resource itself.
    pub subresource: &'static str,
    /// The paths that are reset, with everything below them.
    pub paths: &'static [&'static [&'static str]],
}

impl Strategy {
    /// The paths a write through `subresource` resets.
    pub fn reset_paths(&self, subresource: Option<&str>) -> &'static [&'static [&'static str]] {
        let wanted = subresource.unwrap_or_default();
        self.reset_fields
            .iter()
            .find(|reset| reset.subresource == wanted)
            .map_or(&[], |reset| reset.paths)
    }

    /// The checks of metadata that a kind repeats on an update through `subresource`.
    pub(crate) fn repeated_meta_checks(&self, subresource: Option<&str>) -> &'static [MetaCheck] {
        match subresource {
            Some("status") => self.status_meta,
            Some("finalize") => &[MetaCheck::Update],
            _ => self.update_meta,
        }
    }

    /// The field that `label` selects by, or the error message.
    pub fn selectable_field(&self, label: &str) -> Result<&'static SelectableField, String> {
        self.fields
            .iter()
            .find(|field| field.label == label)
            .ok_or_else(|| self.unsupported_field.message(label))
    }

    /// The text a field selector compares with: what the object has, or the text of the zero value.
    pub fn field_text(&self, label: &str, object: &Value) -> Result<String, String> {
        self.selectable_field(label).map(|field| field.text(object))
    }
}

#[cfg(test)]
#[path = "strategy_tests.rs"]
mod tests;
