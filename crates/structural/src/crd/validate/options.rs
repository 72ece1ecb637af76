//! How strict a validation is: a new definition meets every rule, a changed one may keep what was wrong with the old one.

use std::collections::HashSet;

use serde_json::Value;

use super::internal::Spec;
use super::props::Props;
use super::{ca_bundle, conversion, defaults, lists, structural};
use crate::crd::access::{at, flag, list, text, texts};
use crate::crd::conditions;

/// How many fields of a version may be selectable (C14).
pub(super) const MAX_SELECTABLE_FIELDS: usize = 8;

/// The types an `OpenAPI` v3 schema may name.
pub(super) const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Which rules a validation enforces.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each rule is let off for itself")]
pub(super) struct Options {
    /// A webhook's review versions must hold one that this server speaks.
    pub(super) recognized_review_version: bool,
    /// Kind and scope stay as they are.
    pub(super) immutable_names: bool,
    /// Every version has a schema.
    pub(super) schema: bool,
    /// Types are types of `OpenAPI` v3.
    pub(super) valid_types: bool,
    /// Schemas are structural.
    pub(super) structural: bool,
    /// Defaults have no unknown fields.
    pub(super) pruned_defaults: bool,
    /// Items of sets are atomic.
    pub(super) atomic_sets: bool,
    /// Keys of list maps are required or have a default, and nothing in sets and maps is null.
    pub(super) list_keys: bool,
    /// Versions whose schema did not change: their rules may be as expensive as they were.
    pub(super) unchanged: HashSet<String>,
    /// The bundle of a webhook holds certificates.
    pub(super) valid_ca_bundle: bool,
    /// The versions that keep too many selectable fields; the empty name means all of them together.
    pub(super) too_many_selectable_fields: HashSet<String>,
}

impl Options {
    /// A new definition meets every rule but that of the bundle: it is not served before the bundle is valid.
    pub(super) fn for_create() -> Options {
        Options {
            recognized_review_version: true,
            immutable_names: false,
            schema: true,
            valid_types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            list_keys: true,
            unchanged: HashSet::new(),
            valid_ca_bundle: false,
            too_many_selectable_fields: HashSet::new(),
        }
    }

    /// A changed definition need not meet the rules that the old one did not meet.
    pub(super) fn for_update(object: &Value, old_object: &Value) -> Options {
        let (new, old) = (Spec::of(object), Spec::of(old_object));
        let established = conditions::is_true(old_object, conditions::ESTABLISHED);
        let every = |predicate: &mut dyn FnMut(Props<'_>) -> bool| {
            !old.schemas()
                .any(|schema| Props(schema).any(&mut |node| !predicate(node)))
        };
        let reviews = texts(old.sent, &["conversion", "webhook", "conversionReviewVersions"]);
        Options {
            recognized_review_version: reviews.is_empty()
                || reviews.iter().any(|version| conversion::is_known(version)),
            immutable_names: established,
            schema: old
                .versions
                .iter()
                .all(|version| at(version, &["schema", "openAPIV3Schema"]).is_some()),
            valid_types: every(&mut |node| node.kind().is_empty() || TYPES.contains(&node.kind())),
            structural: old.schemas().all(structural::is_structural),
            pruned_defaults: !old.schemas().any(defaults::has_unpruned),
            atomic_sets: every(&mut |node| lists::non_atomic_item(node).is_none()),
            list_keys: every(&mut |node| lists::keys_are_sound(node)),
            unchanged: new
                .versions
                .iter()
                .map(|version| text(version, &["name"]))
                .filter(|name| new.has_same_schema(&old, name))
                .map(str::to_owned)
                .collect(),
            valid_ca_bundle: established && !has_invalid_bundle(old.sent),
            too_many_selectable_fields: too_many_selectable_fields(&new, &old),
        }
    }
}

fn has_invalid_bundle(spec: &Value) -> bool {
    ca_bundle::is_invalid(text(spec, &["conversion", "webhook", "clientConfig", "caBundle"]))
}

fn too_many_selectable_fields(new: &Spec<'_>, old: &Spec<'_>) -> HashSet<String> {
    let kept = |new: Option<&Value>, old: Option<&Value>| {
        new == old
            && old
                .and_then(Value::as_array)
                .is_some_and(|fields| fields.len() > MAX_SELECTABLE_FIELDS)
    };
    let mut names = HashSet::new();
    if kept(new.top("selectableFields"), old.top("selectableFields")) {
        names.insert(String::new());
    }
    for version in new.versions {
        let name = text(version, &["name"]);
        let before = old.versions.iter().rfind(|version| text(version, &["name"]) == name);
        if let Some(before) = before
            && kept(
                new.own(version, "selectableFields"),
                old.own(before, "selectableFields"),
            )
        {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Whether any schema of a spec has defaults, and whether any uses an extension of Kubernetes: both need structure.
pub(super) fn needs_structure(spec: &Spec<'_>) -> (bool, bool) {
    let any = |predicate: &mut dyn FnMut(Props<'_>) -> bool| spec.schemas().any(|schema| Props(schema).any(predicate));
    let defaults = any(&mut |node| node.has("default"));
    let extensions = any(&mut |node| {
        node.is_embedded_resource()
            || node.has("x-kubernetes-preserve-unknown-fields")
            || node.is_int_or_string()
            || !list(node.0, &["x-kubernetes-list-map-keys"]).is_empty()
            || node.has("x-kubernetes-list-type")
            || !node.rules().is_empty()
    });
    (defaults, extensions)
}

/// Whether unknown fields are kept everywhere.
pub(super) fn preserves_unknown_fields(spec: &Value) -> bool {
    flag(spec, &["preserveUnknownFields"])
}
