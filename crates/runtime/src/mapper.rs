//! From names to kinds: which resources a server has, asked when they are needed and asked again when one is missing.

use std::collections::BTreeMap;
use std::fmt;

use http::Request;
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::object::Kind;

/// Why a kind was not found.
#[derive(Debug, thiserror::Error)]
pub enum MapperError {
    /// The server does not have it, also after asking again.
    #[error("the server has no {0}")]
    NoMatch(String),
    /// The server could not be asked.
    #[error("cannot ask the server for its resources")]
    Discovery(#[source] Box<kube::Error>),
}

/// Knows the kinds of a server: from kind to resource and scope, and back. Lazy: each group version is asked for once, and again
/// when something in it is missing, so that a CRD that was just installed is found.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let client = server.client();
/// use kubewright_runtime::mapper::RestMapper;
///
/// let mapper = RestMapper::new(client);
/// let deployments = mapper.kind("apps", "v1", "Deployment").await.unwrap();
/// assert_eq!((deployments.plural(), deployments.is_namespaced()), ("deployments", true));
/// let nodes = mapper.resource("", "v1", "nodes").await.unwrap();
/// assert_eq!((nodes.kind(), nodes.is_namespaced()), ("Node", false));
/// // Where the version does not matter, the server's preferred one is taken.
/// assert_eq!(mapper.preferred("apps", "Deployment").await.unwrap().version(), "v1");
/// assert_eq!(mapper.preferred_resource("apps", "deployments").await.unwrap(), deployments);
/// assert!(mapper.kind("apps", "v1", "Nothing").await.is_err());
/// # }
/// ```
pub struct RestMapper {
    client: kube::Client,
    known: Mutex<BTreeMap<(String, String), Vec<Kind>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceList {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    name: String,
    namespaced: bool,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Deserialize)]
struct GroupVersion {
    version: String,
}

impl RestMapper {
    /// A mapper that has asked nothing yet.
    pub fn new(client: kube::Client) -> Self {
        RestMapper {
            client,
            known: Mutex::default(),
        }
    }

    /// The kind of a name in a group version.
    pub async fn kind(&self, group: &str, version: &str, kind: &str) -> Result<Kind, MapperError> {
        let found = self.find(group, version, |known| known.kind() == kind).await?;
        found.ok_or_else(|| MapperError::NoMatch(format!("kind {kind} in {}", group_version(group, version))))
    }

    /// The kind of a resource, as `deployments`, in a group version.
    pub async fn resource(&self, group: &str, version: &str, plural: &str) -> Result<Kind, MapperError> {
        let found = self.find(group, version, |known| known.plural() == plural).await?;
        found.ok_or_else(|| MapperError::NoMatch(format!("resource {plural} in {}", group_version(group, version))))
    }

    /// The kind of a name in the version that the server prefers, or in another if that has none.
    pub async fn preferred(&self, group: &str, kind: &str) -> Result<Kind, MapperError> {
        let found = self.find_preferred(group, |known| known.kind() == kind).await?;
        found.ok_or_else(|| MapperError::NoMatch(format!("kind {kind} in group {group:?}")))
    }

    /// The kind of a resource, as `deployments`, in the version that the server prefers, or in another if that has none.
    pub async fn preferred_resource(&self, group: &str, plural: &str) -> Result<Kind, MapperError> {
        let found = self.find_preferred(group, |known| known.plural() == plural).await?;
        found.ok_or_else(|| MapperError::NoMatch(format!("resource {plural} in group {group:?}")))
    }

    async fn find_preferred(
        &self,
        group: &str,
        is_wanted: impl Fn(&Kind) -> bool,
    ) -> Result<Option<Kind>, MapperError> {
        let versions = if group.is_empty() {
            vec!["v1".to_owned()]
        } else {
            let Some(group) = self.ask::<Group>(&format!("/apis/{group}")).await? else {
                return Ok(None);
            };
            let rest = group.versions.into_iter();
            group
                .preferred_version
                .into_iter()
                .chain(rest)
                .map(|version| version.version)
                .collect()
        };
        for version in versions {
            if let Some(found) = self.find(group, &version, &is_wanted).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Looks into what is known, and asks the server if it is not there.
    async fn find(
        &self,
        group: &str,
        version: &str,
        is_wanted: impl Fn(&Kind) -> bool,
    ) -> Result<Option<Kind>, MapperError> {
        let key = (group.to_owned(), version.to_owned());
        let known = self
            .known
            .lock()
            .get(&key)
            .and_then(|kinds| kinds.iter().find(|kind| is_wanted(kind)).cloned());
        if known.is_some() {
            return Ok(known);
        }
        let root = if group.is_empty() { "api" } else { "apis" };
        let path = format!("/{root}/{}", group_version(group, version));
        let resources = self
            .ask::<ResourceList>(&path)
            .await?
            .map_or_else(Vec::new, |list| list.resources);
        let kinds: Vec<Kind> = resources
            .into_iter()
            // What has a slash is a part of another resource.
            .filter(|resource| !resource.name.contains('/'))
            .map(|resource| Kind::named(group, version, &resource.kind, &resource.name, resource.namespaced))
            .collect();
        let found = kinds.iter().find(|kind| is_wanted(kind)).cloned();
        self.known.lock().insert(key, kinds);
        Ok(found)
    }

    /// What the server says at a path; `None` if there is nothing.
    async fn ask<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, MapperError> {
        let request = Request::get(path).body(Vec::new());
        let request = request.map_err(|error| MapperError::Discovery(Box::new(kube::Error::HttpError(error))))?;
        match self.client.request::<T>(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(MapperError::Discovery(Box::new(error))),
        }
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RestMapper").field(&self.known.lock().keys()).finish()
    }
}
