//! A definition as serving reads it: parsed once when it changes, cheap to look at in every request.

use std::sync::Arc;

use serde_json::Value;

use super::access::{at, flag, list, text};
use super::conditions;
use super::priority::compare_versions;
use crate::schema::Scale;

/// What a served `CustomResourceDefinition` says.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the definition"
)]
pub struct Definition {
    /// The name of the definition itself: `<plural>.<group>`.
    pub name: String,
    /// Its uid: a definition that was deleted and created again is another one.
    pub uid: String,
    /// The API group of the kind.
    pub group: String,
    /// The names that were accepted (`status.acceptedNames`): those serve.
    pub names: Names,
    /// The kind as requested (`spec.names.kind`), which deprecation warnings and storage version hashes name.
    pub requested_kind: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Every version, preferred first (C11), served or not.
    pub versions: Vec<Version>,
    /// How an object of one version becomes one of another.
    pub conversion: Conversion,
    /// Whether unknown fields are kept everywhere (only definitions older than v1 have this).
    pub preserve_unknown_fields: bool,
    /// Whether the definition is established: only then discovery lists it.
    pub established: bool,
    /// Whether the definition is being deleted: objects can no longer be created (C4).
    pub terminating: bool,
    /// The verbs that are served, where those are not all: no definition says so, but who serves the kind may.
    pub limited_verbs: Option<Vec<&'static str>>,
}

/// The names of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// As in the path of a request.
    pub plural: String,
    /// What one is called.
    pub singular: String,
    /// Abbreviations.
    pub short_names: Vec<String>,
    /// The kind of an object.
    pub kind: String,
    /// The kind of a list of them.
    pub list_kind: String,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<String>,
}

/// One version of a kind.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its name.
    pub name: String,
    /// Whether requests may use it.
    pub served: bool,
    /// Whether objects are stored in it; exactly one is.
    pub storage: bool,
    /// What every answer in this version warns of, if it is deprecated.
    pub deprecation_warning: Option<String>,
    /// Its `openAPIV3Schema`; only definitions older than v1 lack one.
    pub schema: Option<Arc<Value>>,
    /// Whether the status is a subresource.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<Scale>,
    /// The columns it declares; a kind without any is printed with its age.
    pub columns: Vec<Column>,
    /// The simple JSON paths that field selectors may name.
    pub selectable_fields: Vec<String>,
}

/// One printed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub kind: String,
    /// A format of `OpenAPI`, or empty.
    pub format: String,
    /// What it shows, or empty.
    pub description: String,
    /// Columns above 0 are printed only in wide tables.
    pub priority: i64,
    /// The simple JSON path of its value.
    pub json_path: String,
}

/// How an object of one version becomes one of another.
#[derive(Clone, Debug)]
pub enum Conversion {
    /// Only its `apiVersion` changes.
    None,
    /// A webhook converts it; this is the `spec.conversion.webhook` stanza.
    Webhook(Arc<Value>),
}

impl Definition {
    /// The view of a stored definition; `None` while it is not served (neither names accepted nor established).
    pub fn of(object: &Value) -> Option<Definition> {
        let established = conditions::is_true(object, conditions::ESTABLISHED);
        if !established && !conditions::is_true(object, conditions::NAMES_ACCEPTED) {
            return None;
        }
        let spec = object.get("spec")?;
        let group = text(spec, &["group"]).to_owned();
        let requested_kind = text(spec, &["names", "kind"]).to_owned();
        let declared = list(spec, &["versions"]);
        let mut versions: Vec<Version> = declared
            .iter()
            .map(|version| Version::of(version, deprecation_warning(&group, &requested_kind, version, declared)))
            .collect();
        versions.sort_by(|left, right| compare_versions(&right.name, &left.name));
        Some(Definition {
            name: text(object, &["metadata", "name"]).to_owned(),
            uid: text(object, &["metadata", "uid"]).to_owned(),
            group,
            names: Names::of(at(object, &["status", "acceptedNames"]).unwrap_or(&Value::Null)),
            requested_kind,
            namespaced: text(spec, &["scope"]) == "Namespaced",
            versions,
            conversion: match (
                text(spec, &["conversion", "strategy"]),
                at(spec, &["conversion", "webhook"]),
            ) {
                ("Webhook", Some(webhook)) => Conversion::Webhook(Arc::new(webhook.clone())),
                _ => Conversion::None,
            },
            preserve_unknown_fields: flag(spec, &["preserveUnknownFields"]),
            established,
            terminating: conditions::is_true(object, conditions::TERMINATING),
            limited_verbs: None,
        })
    }

    /// The version of this name, served or not.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version objects are stored in.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

impl Names {
    /// The names in a `spec.names` or `status.acceptedNames`.
    pub fn of(names: &Value) -> Names {
        let owned = |field: &str| text(names, &[field]).to_owned();
        Names {
            plural: owned("plural"),
            singular: owned("singular"),
            short_names: strings(names, "shortNames"),
            kind: owned("kind"),
            list_kind: owned("listKind"),
            categories: strings(names, "categories"),
        }
    }
}

impl Version {
    fn of(version: &Value, deprecation_warning: Option<String>) -> Version {
        let subresources = version.get("subresources").unwrap_or(&Value::Null);
        Version {
            name: text(version, &["name"]).to_owned(),
            served: flag(version, &["served"]),
            storage: flag(version, &["storage"]),
            deprecation_warning,
            schema: at(version, &["schema", "openAPIV3Schema"]).cloned().map(Arc::new),
            status: at(subresources, &["status"]).is_some(),
            scale: at(subresources, &["scale"]).map(Scale::from_json),
            columns: list(version, &["additionalPrinterColumns"])
                .iter()
                .map(Column::of)
                .collect(),
            selectable_fields: list(version, &["selectableFields"])
                .iter()
                .map(|field| text(field, &["jsonPath"]).to_owned())
                .collect(),
        }
    }
}

impl Column {
    fn of(column: &Value) -> Column {
        let owned = |field: &str| text(column, &[field]).to_owned();
        Column {
            name: owned("name"),
            kind: owned("type"),
            format: owned("format"),
            description: owned("description"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            json_path: owned("jsonPath"),
        }
    }
}

fn strings(object: &Value, field: &str) -> Vec<String> {
    list(object, &[field])
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// What answers in a deprecated version warn of: its own words, or which newer version to use (C11).
fn deprecation_warning(group: &str, kind: &str, version: &Value, versions: &[Value]) -> Option<String> {
    if !flag(version, &["deprecated"]) {
        return None;
    }
    if let Some(words) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(words.to_owned());
    }
    let name = text(version, &["name"]);
    let newer = versions
        .iter()
        .filter(|other| flag(other, &["served"]) && !flag(other, &["deprecated"]))
        .map(|other| text(other, &["name"]))
        .filter(|other| compare_versions(name, other).is_lt())
        .max_by(|left, right| compare_versions(left, right));
    let warning = format!("{group}/{name} {kind} is deprecated");
    Some(match newer {
        Some(newer) => format!("{warning}; use {group}/{newer} {kind}"),
        None => warning,
    })
}
