//! What the server serves: every kind, and what can be done with it.

use std::collections::BTreeSet;

use http::Request;
use kubewright_runtime::object::Kind;
use serde::Deserialize;

/// Groups, versions and resources in one answer.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A kind in its preferred version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiscoveredKind {
    pub(crate) kind: Kind,
    pub(crate) verbs: Vec<String>,
}

impl DiscoveredKind {
    /// Whether all of this can be done with it.
    pub(crate) fn can(&self, verbs: &[&str]) -> bool {
        verbs.iter().all(|verb| self.verbs.iter().any(|own| own == verb))
    }
}

/// All kinds, and the groups and versions they are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiscoveredApi {
    pub(crate) kinds: Vec<DiscoveredKind>,
    /// Each as an `APIService` is called: the version, a dot and the group.
    pub(crate) versions: BTreeSet<String>,
    /// The groups and versions whose server does not say what it serves, as `group/version`.
    pub(crate) stale: BTreeSet<String>,
}

impl DiscoveredApi {
    /// What upstream's client says of an API that is not complete, and of how many groups and versions it says so.
    pub(crate) fn incomplete(&self) -> Option<(usize, String)> {
        let failed: Vec<String> = self
            .stale
            .iter()
            .map(|version| format!("{version}: stale GroupVersion discovery: {version}"))
            .collect();
        (!failed.is_empty()).then(|| {
            let all = failed.join(", ");
            (
                failed.len(),
                format!("unable to retrieve the complete list of server APIs: {all}"),
            )
        })
    }

    /// Whether nothing new is known of the version that a kind is in.
    pub(crate) fn is_stale(&self, kind: &Kind) -> bool {
        self.stale.contains(&format!("{}/{}", kind.group(), kind.version()))
    }
}

/// Why the server could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("what the server serves cannot be found out")]
pub(crate) struct DiscoveryError(#[source] Box<dyn std::error::Error + Send + Sync>);

#[derive(Deserialize)]
struct Groups {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "version")]
    name: String,
    #[serde(default)]
    resources: Vec<Resource>,
    #[serde(default)]
    freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(rename = "resource")]
    plural: String,
    #[serde(default)]
    #[serde(rename = "singularResource")]
    singular: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

/// A resource in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServedResource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
}

/// Asks for all resources in all versions.
pub(crate) async fn resources(kube: &kube::Client) -> Result<Vec<ServedResource>, DiscoveryError> {
    let mut served = Vec::new();
    for path in PATHS {
        for group in groups(kube, path).await?.items {
            for version in group.versions {
                served.extend(version.resources.into_iter().map(|resource| ServedResource {
                    group: group.metadata.name.clone(),
                    version: version.name.clone(),
                    kind: resource.response_kind.map(|kind| kind.kind).unwrap_or_default(),
                    plural: resource.plural,
                    singular: resource.singular,
                }));
            }
        }
    }
    Ok(served)
}

/// Where groups are listed.
const PATHS: [&str; 2] = ["/api", "/apis"];

async fn groups(kube: &kube::Client, path: &str) -> Result<Groups, DiscoveryError> {
    let request = Request::get(path).header("accept", AGGREGATED).body(Vec::new());
    let request = request.map_err(|error| DiscoveryError(error.into()))?;
    kube.request(request)
        .await
        .map_err(|error| DiscoveryError(error.into()))
}

/// Asks for all that is served: kinds, each in the first version of its group that serves it.
pub(crate) async fn served(kube: &kube::Client) -> Result<DiscoveredApi, DiscoveryError> {
    let mut served = DiscoveredApi::default();
    for path in PATHS {
        for group in groups(kube, path).await?.items {
            // Of what another group has nothing is known yet.
            let first = served.kinds.len();
            for version in group.versions {
                let name = format!("{}.{}", version.name, group.metadata.name);
                served.versions.insert(name);
                if version.freshness == "Stale" {
                    let name = format!("{}/{}", group.metadata.name, version.name);
                    served.stale.insert(name);
                    continue;
                }
                for resource in version.resources {
                    let name = resource.response_kind.map(|kind| kind.kind).unwrap_or_default();
                    let namespaced = resource.scope == "Namespaced";
                    let kind = Kind::named(&group.metadata.name, &version.name, &name, &resource.plural, namespaced);
                    let is_known = served.kinds[first..]
                        .iter()
                        .any(|other| other.kind.plural() == kind.plural());
                    if !is_known {
                        served.kinds.push(DiscoveredKind {
                            kind,
                            verbs: resource.verbs,
                        });
                    }
                }
            }
        }
    }
    Ok(served)
}
