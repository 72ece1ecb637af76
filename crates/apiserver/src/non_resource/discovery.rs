//! Discovery documents: what the server serves, one list at a time or aggregated (O1, O2).

use kubewright_schema::{self as schema, GroupVersion, Resource, Subresource};
use kubewright_structural::discovery as custom;
use serde_json::{Map, Value, json};

use crate::aggregation::{ApiService, ApiServiceSet};
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

/// The group that no `APIService` is about, and which comes first.
const REGISTRATION: &str = "apiregistration.k8s.io";
const REGISTRATION_PRIORITY: i64 = 20_001;

/// `/apis`
pub(crate) fn groups(served: &ServedResources, services: &ApiServiceSet) -> Value {
    let groups: Vec<Value> = if services.is_empty() {
        let names = group_names(served).into_iter();
        names.map(|name| describe_group(served, name)).collect()
    } else {
        let first = describe_group(served, REGISTRATION);
        let others = services.groups().filter(|group| !group[0].group.is_empty());
        std::iter::once(first).chain(others.map(describe_services)).collect()
    };
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/GROUP`
pub(crate) fn group(served: &ServedResources, services: &ApiServiceSet, name: &str) -> Option<Value> {
    let mut group = match services.group(name) {
        _ if name.is_empty() => return None,
        Some(group) => describe_services(group),
        None if group_names(served).contains(&name) => describe_group(served, name),
        None => return None,
    };
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

/// By priority: the built-ins first, then what was defined, by name.
pub(crate) fn group_names(served: &ServedResources) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let built_in = group_versions(served).map(|served| served.group);
    for name in built_in.chain(custom::groups(served.definitions())) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The versions of a group, preferred first.
pub(crate) fn versions<'s>(served: &'s ServedResources, group: &'s str) -> Vec<&'s str> {
    let mut versions: Vec<&str> = group_versions(served)
        .filter(|served| served.group == group)
        .map(|served| served.version)
        .collect();
    for version in custom::versions(group, served.definitions()) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    versions
}

fn describe_group(served: &ServedResources, name: &str) -> Value {
    describe_versions(name, versions(served, name))
}

/// A group as its `APIServices` say.
fn describe_services(group: &[ApiService]) -> Value {
    describe_versions(
        &group[0].group,
        group.iter().map(|service| service.version.as_str()).collect(),
    )
}

fn describe_versions(name: &str, versions: Vec<&str>) -> Value {
    let versions: Vec<Value> = versions
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
    let built_in = group_versions(served)
        .filter(|served| (served.group, served.version) == (group, version))
        .flat_map(|served| &served.resources);
    for resource in built_in {
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

/// The group-versions of Kubernetes itself, where the server has them.
fn group_versions(served: &ServedResources) -> impl Iterator<Item = &'static GroupVersion> + use<> {
    let has_them = !served.without_built_ins;
    schema::resources().group_versions().filter(move |_| has_them)
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
pub(crate) fn aggregated(served: &ServedResources, services: &ApiServiceSet, core: bool) -> Value {
    let items: Vec<Value> = if core || services.is_empty() {
        let names = if core { vec![""] } else { group_names(served) };
        let names = names.into_iter();
        names
            .map(|name| aggregated_group(name, &aggregated_versions(served, name)))
            .collect()
    } else {
        aggregated_with(served, services)
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn aggregated_group(name: &str, versions: &[Value]) -> Value {
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert("name".into(), name.into());
    }
    json!({ "metadata": metadata, "versions": versions })
}

/// The versions of a group that this server answers for.
fn aggregated_versions(served: &ServedResources, name: &str) -> Vec<Value> {
    let mut versions: Vec<Value> = group_versions(served)
        .filter(|served| served.group == name)
        .map(aggregate_version)
        .collect();
    let custom = custom::aggregated(name, served.definitions());
    if let Some(Value::Array(custom)) = custom.map(|mut group| group["versions"].take()) {
        versions.extend(custom);
    }
    versions
}

/// Everything, in the order of the priorities of the `APIServices`.
fn aggregated_with(served: &ServedResources, services: &ApiServiceSet) -> Vec<Value> {
    let first = aggregated_group(REGISTRATION, &aggregated_versions(served, REGISTRATION));
    let mut groups = vec![(REGISTRATION_PRIORITY, REGISTRATION, first)];
    for group in services.groups().filter(|group| !group[0].group.is_empty()) {
        let name = group[0].group.as_str();
        let own = aggregated_versions(served, name);
        let mut priority = 0;
        let mut versions = Vec::new();
        for service in group {
            let version = match &service.remote {
                Some(remote) => Some(remote.discovered()),
                None => own
                    .iter()
                    .find(|own| own["version"] == service.version.as_str())
                    .cloned(),
            };
            if let Some(version) = version {
                priority = priority.max(service.group_priority);
                versions.push(version);
            }
        }
        if !versions.is_empty() {
            groups.push((priority, name, aggregated_group(name, &versions)));
        }
    }
    groups.sort_by(|(one, a, _), (other, b, _)| other.cmp(one).then_with(|| a.cmp(b)));
    groups.into_iter().map(|(_, _, group)| group).collect()
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
