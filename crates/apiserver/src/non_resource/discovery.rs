//! Discovery documents: what the server serves, one list at a time or aggregated (O1, O2).

use kubewright_schema::{self as schema, GroupVersion, Resource, Subresource};
use kubewright_structural::discovery as custom;
use serde_json::{Map, Value, json};

use crate::custom::ServedResources;
use crate::registry::api_version;

/// `/api`
pub(crate) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// `/apis`
pub(crate) fn groups(served: &ServedResources) -> Value {
    let groups: Vec<Value> = group_names(served)
        .into_iter()
        .map(|name| describe_group(served, name))
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/GROUP`
pub(crate) fn group(served: &ServedResources, name: &str) -> Option<Value> {
    if name.is_empty() || !group_names(served).contains(&name) {
        return None;
    }
    let mut group = describe_group(served, name);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

/// By priority: the built-ins first, then what was defined, by name.
pub(crate) fn group_names(served: &ServedResources) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let built_in = schema::resources().group_versions().map(|served| served.group);
    for name in built_in.chain(custom::groups(served.definitions())) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The versions of a group, preferred first.
pub(crate) fn versions<'s>(served: &'s ServedResources, group: &'s str) -> Vec<&'s str> {
    let mut versions: Vec<&str> = schema::resources().group(group).map(|served| served.version).collect();
    for version in custom::versions(group, served.definitions()) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

fn describe_group(served: &ServedResources, name: &str) -> Value {
    let versions: Vec<Value> = versions(served, name)
        .into_iter()
        .map(|version| json!({ "groupVersion": api_version(name, version), "version": version }))
        .collect();
    json!({ "name": name, "versions": versions, "preferredVersion": versions.first() })
}

/// `/api/v1` or `/apis/GROUP/VERSION`
pub(crate) fn resources(served: &ServedResources, group: &str, version: &str) -> Option<Value> {
    if !versions(served, group).contains(&version) {
        return None;
    }
    let mut listed = Vec::new();
    for resource in built_in(group, version) {
        listed.push(describe_resource(resource));
        listed.extend(
            resource
                .subresources
                .iter()
                .map(|part| describe_subresource(resource, part)),
        );
    }
    listed.extend(custom::resources(group, version, served.definitions()));
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version(group, version),
        "resources": listed,
    });
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn built_in<'g>(group: &'g str, version: &'g str) -> impl Iterator<Item = &'static Resource> + use<'g> {
    schema::resources()
        .group_versions()
        .filter(move |gv| (gv.group, gv.version) == (group, version))
        .flat_map(|gv| &gv.resources)
}

fn describe_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    put_names(&mut entry, resource);
    if let Some(hash) = resource.storage_version_hash {
        entry["storageVersionHash"] = hash.into();
    }
    entry
}

fn describe_subresource(resource: &Resource, part: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, part.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": part.kind,
        "verbs": part.verbs,
    });
    if part.names_group_version {
        entry["group"] = part.group.into();
        entry["version"] = part.version.into();
    }
    entry
}

fn put_names(entry: &mut Value, resource: &Resource) {
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
}

/// `/api` or `/apis` as one document with everything in it.
pub(crate) fn aggregated(served: &ServedResources, core: bool) -> Value {
    let names = if core { vec![""] } else { group_names(served) };
    let items: Vec<Value> = names
        .into_iter()
        .map(|name| {
            let mut metadata = Map::new();
            if !name.is_empty() {
                metadata.insert("name".into(), name.into());
            }
            let mut versions: Vec<Value> = schema::resources().group(name).map(aggregate_version).collect();
            let custom = custom::aggregated(name, served.definitions());
            if let Some(Value::Array(custom)) = custom.map(|mut group| group["versions"].take()) {
                versions.extend(custom);
            }
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn aggregate_version(served: &GroupVersion) -> Value {
    let resources: Vec<Value> = served.resources.iter().map(aggregate_resource).collect();
    json!({ "version": served.version, "freshness": "Current", "resources": resources })
}

fn aggregate_resource(resource: &Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": { "group": "", "version": "", "kind": resource.kind },
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    put_names(&mut entry, resource);
    if !resource.subresources.is_empty() {
        let parts = resource.subresources.iter().map(|part| {
            let (group, version) = if part.names_group_version {
                (part.group, part.version)
            } else {
                ("", "")
            };
            json!({
                "subresource": part.name,
                "responseKind": { "group": group, "version": version, "kind": part.kind },
                "verbs": part.verbs,
            })
        });
        entry["subresources"] = parts.collect();
    }
    entry
}
