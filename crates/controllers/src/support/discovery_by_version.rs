//! Discovery as it was before one answer had all of it: the groups and their versions, and each version's resources.

use serde::Deserialize;

use super::discovery::{CORE, DiscoveryError, GROUPS, Group, Metadata, Resource, ResponseKind, STALE, Version, get};

#[derive(Deserialize)]
pub(super) struct NamedGroup {
    name: String,
    versions: Vec<NamedVersion>,
}

#[derive(Deserialize)]
struct NamedVersion {
    version: String,
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<ListedResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

/// The group without a name, with the resources of its versions.
pub(super) async fn core(kube: &kube::Client, names: Vec<String>) -> Result<Vec<Group>, DiscoveryError> {
    Ok(vec![Group {
        metadata: Metadata::default(),
        versions: versions(kube, CORE, names).await?,
    }])
}

/// All other groups, with the resources of their versions.
pub(super) async fn groups(kube: &kube::Client, listed: Vec<NamedGroup>) -> Result<Vec<Group>, DiscoveryError> {
    let mut found = Vec::with_capacity(listed.len());
    for group in listed {
        let names = group.versions.into_iter().map(|version| version.version).collect();
        found.push(Group {
            versions: versions(kube, &format!("{GROUPS}/{}", group.name), names).await?,
            metadata: Metadata { name: group.name },
        });
    }
    Ok(found)
}

async fn versions(kube: &kube::Client, path: &str, names: Vec<String>) -> Result<Vec<Version>, DiscoveryError> {
    let mut versions = Vec::with_capacity(names.len());
    for name in names {
        let listed: Result<ResourceList, _> = get(kube, &format!("{path}/{name}"), "application/json").await;
        let (resources, freshness) = match listed {
            Ok(listed) => (listed.resources, ""),
            // As an aggregated API that is down answers, and a group that went while it was asked for.
            Err(error) if error.is_refusal() => (Vec::new(), STALE),
            Err(error) => return Err(error),
        };
        versions.push(Version {
            name,
            // Subresources are listed beside resources.
            resources: resources
                .into_iter()
                .filter(|resource| !resource.name.contains('/'))
                .map(Resource::from)
                .collect(),
            freshness: freshness.to_owned(),
        });
    }
    Ok(versions)
}

impl From<ListedResource> for Resource {
    fn from(listed: ListedResource) -> Self {
        Resource {
            plural: listed.name,
            singular: listed.singular_name,
            response_kind: Some(ResponseKind { kind: listed.kind }),
            scope: if listed.namespaced { "Namespaced" } else { "Cluster" }.to_owned(),
            verbs: listed.verbs,
        }
    }
}
