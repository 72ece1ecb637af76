//! What the server serves: every kind, and what can be done with it. Servers before 1.30 do not know the form in which one answer has
//! all of it: they are asked version by version.

use std::collections::BTreeSet;

use http::Request;
use kubewright_runtime::object::Kind;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::discovery_by_version::{self, NamedGroup};

/// Groups, versions and resources in one answer, or the names of groups and versions alone.
const AGGREGATED_OR_NAMES: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

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

impl DiscoveryError {
    /// Whether the server was reached, and answered with an error.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.0.downcast_ref(), Some(kube::Error::Api(_)))
    }
}

/// What a server answers: `items` with all, or names, `/api` those of versions and `/apis` those of groups.
#[derive(Deserialize)]
struct Answer {
    items: Option<Vec<Group>>,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    groups: Vec<NamedGroup>,
}

#[derive(Deserialize)]
pub(super) struct Group {
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Version {
    #[serde(rename = "version")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) resources: Vec<Resource>,
    #[serde(default)]
    pub(super) freshness: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    #[serde(rename = "resource")]
    pub(super) plural: String,
    #[serde(default)]
    #[serde(rename = "singularResource")]
    pub(super) singular: String,
    #[serde(default)]
    pub(super) response_kind: Option<ResponseKind>,
    #[serde(default)]
    pub(super) scope: String,
    #[serde(default)]
    pub(super) verbs: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct ResponseKind {
    #[serde(default)]
    pub(super) kind: String,
}

/// What is said of a version whose server does not answer.
pub(super) const STALE: &str = "Stale";

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
        for group in groups(kube, path).await? {
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
const PATHS: [&str; 2] = [CORE, GROUPS];
/// Where the group without a name has its versions.
pub(super) const CORE: &str = "/api";
/// Where all other groups are.
pub(super) const GROUPS: &str = "/apis";

async fn groups(kube: &kube::Client, path: &str) -> Result<Vec<Group>, DiscoveryError> {
    let answer: Answer = get(kube, path, AGGREGATED_OR_NAMES).await?;
    match answer.items {
        Some(groups) => Ok(groups),
        None if path == CORE => discovery_by_version::core(kube, answer.versions).await,
        None => discovery_by_version::groups(kube, answer.groups).await,
    }
}

pub(super) async fn get<T: DeserializeOwned>(
    kube: &kube::Client,
    path: &str,
    accept: &str,
) -> Result<T, DiscoveryError> {
    let request = Request::get(path).header("accept", accept).body(Vec::new());
    let request = request.map_err(|error| DiscoveryError(error.into()))?;
    kube.request(request)
        .await
        .map_err(|error| DiscoveryError(error.into()))
}

/// Asks for all that is served: kinds, each in the first version of its group that serves it.
pub(crate) async fn served(kube: &kube::Client) -> Result<DiscoveredApi, DiscoveryError> {
    let mut served = DiscoveredApi::default();
    for path in PATHS {
        for group in groups(kube, path).await? {
            // Of what another group has nothing is known yet.
            let first = served.kinds.len();
            for version in group.versions {
                let name = format!("{}.{}", version.name, group.metadata.name);
                served.versions.insert(name);
                if version.freshness == STALE {
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

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT, HeaderValue};
    use http::{Response, StatusCode};
    use kube::client::Body;
    use kubewright_apiserver::{ApiServer, Options};

    use super::*;

    /// A server as those before 1.30 are: of what a client takes they know plain JSON alone, and one of its groups is not answered.
    fn old(server: &ApiServer, silent: &'static str) -> kube::Client {
        let through = server.client();
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let through = through.clone();
            async move {
                if request.uri().path() == silent {
                    let mut response = Response::new(Body::empty());
                    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                    return Ok(response);
                }
                let accept = request
                    .headers()
                    .get(ACCEPT)
                    .map_or("", |accept| accept.to_str().unwrap());
                assert!(
                    accept.split(',').any(|form| form == "application/json"),
                    "406: {accept}"
                );
                request
                    .headers_mut()
                    .insert(ACCEPT, HeaderValue::from_static("application/json"));
                through.send(request).await
            }
        });
        kube::Client::new(service, "default")
    }

    #[tokio::test]
    async fn an_old_server_tells_the_same_version_by_version() {
        let server = ApiServer::new(Options::new());
        let new = served(&server.client()).await.unwrap();
        assert!(new.kinds.len() > 50 && new.stale.is_empty());
        let old = old(&server, "");
        assert_eq!(served(&old).await.unwrap(), new);
        assert_eq!(
            resources(&old).await.unwrap(),
            resources(&server.client()).await.unwrap()
        );
    }

    #[tokio::test]
    async fn a_version_that_is_not_answered_is_stale_and_the_others_are_known() {
        let server = ApiServer::new(Options::new());
        let found = served(&old(&server, "/apis/batch/v1")).await.unwrap();
        assert_eq!(found.stale, BTreeSet::from(["batch/v1".to_owned()]));
        let all = served(&server.client()).await.unwrap();
        let others = all.kinds.iter().filter(|kind| kind.kind.group() != "batch");
        assert!(others.eq(found.kinds.iter()));
    }
}
