//! How custom resources show in discovery, one list at a time or aggregated (O1, O2), and the `APIService` objects that
//! come and go with them. Only established definitions are discovered, and only served versions.

mod api_service;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

pub use api_service::{api_service, api_service_names};

use crate::crd::{Definition, Version, compare_versions};

/// The verbs of a custom resource, in discovery's order.
pub const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
/// The verbs that are left when the definition is being deleted (C4).
pub const TERMINATING_VERBS: [&str; 5] = ["delete", "deletecollection", "get", "list", "watch"];
/// The verbs of the status and scale subresources.
pub const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The hash discovery shows for the stored version of a kind.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let hash = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    BASE64_STANDARD.encode(&hash.as_ref()[..8])
}

/// The groups of custom resources, in the order of discovery: they all have the same priority, so by name.
pub fn groups<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Vec<&'d str> {
    let mut groups: Vec<&str> = definitions
        .into_iter()
        .filter(|definition| served(definition).next().is_some())
        .map(|definition| definition.group.as_str())
        .collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// The versions of a group that custom resources are served in, preferred first.
pub fn versions<'d>(group: &str, definitions: impl IntoIterator<Item = &'d Definition>) -> Vec<&'d str> {
    let mut versions: Vec<&str> = definitions
        .into_iter()
        .filter(|definition| definition.group == group)
        .flat_map(served)
        .map(|version| version.name.as_str())
        .collect();
    versions.sort_unstable_by(|left, right| compare_versions(right, left));
    versions.dedup();
    versions
}

/// The entry of a group in `/apis`; `/apis/GROUP` adds `kind: APIGroup` and `apiVersion: v1`.
pub fn group<'d>(group: &str, definitions: impl IntoIterator<Item = &'d Definition>) -> Option<Value> {
    let versions = versions(group, definitions).into_iter();
    let versions: Vec<Value> = versions
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first()?.clone();
    Some(json!({"name": group, "versions": versions, "preferredVersion": preferred}))
}

/// The resources of `/apis/GROUP/VERSION`; none when no definition serves that version.
pub fn resources<'d>(group: &str, version: &str, definitions: impl IntoIterator<Item = &'d Definition>) -> Vec<Value> {
    let mut listed = Vec::new();
    for (definition, served) in serving(group, version, definitions) {
        let names = &definition.names;
        let mut entry = json!({
            "name": names.plural,
            "singularName": names.singular,
            "namespaced": definition.namespaced,
            "kind": names.kind,
            "verbs": verbs(definition),
        });
        put_names(&mut entry, definition);
        // A stored version that is not served has no hash.
        if let Some(stored) = definition.storage_version().filter(|stored| stored.served) {
            let hash = storage_version_hash(&definition.group, &stored.name, &definition.requested_kind);
            entry["storageVersionHash"] = json!(hash);
        }
        listed.push(entry);
        let part = |name: &str, kind: &str| {
            json!({
                "name": format!("{}/{name}", names.plural),
                "singularName": "",
                "namespaced": definition.namespaced,
                "kind": kind,
                "verbs": definition.subresource_verbs(),
            })
        };
        if served.status {
            listed.push(part("status", &names.kind));
        }
        if served.scale.is_some() {
            let mut scale = part("scale", "Scale");
            scale["group"] = json!("autoscaling");
            scale["version"] = json!("v1");
            listed.push(scale);
        }
    }
    listed
}

/// The item of a group in the aggregated document.
pub fn aggregated<'d>(group: &str, definitions: impl IntoIterator<Item = &'d Definition>) -> Option<Value> {
    let definitions: Vec<&Definition> = definitions.into_iter().collect();
    let versions: Vec<Value> = versions(group, definitions.iter().copied())
        .into_iter()
        .map(|version| {
            let resources: Vec<Value> = serving(group, version, definitions.iter().copied())
                .into_iter()
                .map(|(definition, served)| aggregated_resource(definition, served))
                .collect();
            json!({"version": version, "freshness": "Current", "resources": resources})
        })
        .collect();
    (!versions.is_empty()).then(|| json!({"metadata": {"name": group}, "versions": versions}))
}

fn aggregated_resource(definition: &Definition, version: &Version) -> Value {
    let own_kind = json!({"group": definition.group, "version": version.name, "kind": definition.names.kind});
    let mut entry = json!({
        "resource": definition.names.plural,
        "responseKind": own_kind,
        "scope": if definition.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": definition.names.singular,
        "verbs": verbs(definition),
    });
    put_names(&mut entry, definition);
    let part = |name: &str, kind: Value| json!({"subresource": name, "responseKind": kind, "verbs": definition.subresource_verbs()});
    let mut parts = Vec::new();
    if version.status {
        parts.push(part("status", own_kind));
    }
    if version.scale.is_some() {
        let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        parts.push(part("scale", scale));
    }
    if !parts.is_empty() {
        entry["subresources"] = Value::Array(parts);
    }
    entry
}

fn served(definition: &Definition) -> impl Iterator<Item = &Version> {
    definition
        .versions
        .iter()
        .filter(|version| definition.established && version.served)
}

/// The definitions that serve a group-version, ordered by their resources' names.
fn serving<'d>(
    group: &str,
    version: &str,
    definitions: impl IntoIterator<Item = &'d Definition>,
) -> Vec<(&'d Definition, &'d Version)> {
    let mut serving: Vec<_> = definitions
        .into_iter()
        .filter(|definition| definition.group == group)
        .filter_map(|definition| {
            let served = served(definition).find(|served| served.name == version)?;
            Some((definition, served))
        })
        .collect();
    serving.sort_unstable_by(|(left, _), (right, _)| left.names.plural.cmp(&right.names.plural));
    serving
}

fn verbs(definition: &Definition) -> &[&'static str] {
    if definition.terminating {
        &TERMINATING_VERBS
    } else {
        definition.verbs()
    }
}

impl Definition {
    /// The verbs that are served.
    pub fn verbs(&self) -> &[&'static str] {
        self.limited_verbs.as_deref().unwrap_or(&VERBS)
    }

    /// The verbs of status and scale that are served.
    pub fn subresource_verbs(&self) -> &'static [&'static str] {
        if self.verbs().contains(&"update") {
            &SUBRESOURCE_VERBS
        } else {
            &SUBRESOURCE_VERBS[..1]
        }
    }
}

fn put_names(entry: &mut Value, definition: &Definition) {
    let mut put = |field: &str, names: &[String]| {
        if !names.is_empty() {
            entry[field] = json!(names);
        }
    };
    put("shortNames", &definition.names.short_names);
    put("categories", &definition.names.categories);
}
