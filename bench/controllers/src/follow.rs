//! Waits by watching. Polling would be part of the measured cost.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kubewright_apiserver::ApiServer;

use crate::Failure;

/// A cluster is quiet when nothing was written for this long.
const QUIET: Duration = Duration::from_millis(300);

/// Waits until this many Deployments have all their Pods available, with their current template.
pub(crate) async fn available(api: &Api<Deployment>, count: usize) -> Result<(), Failure> {
    let listed = api.list(&ListParams::default()).await?;
    let mut version = listed.metadata.resource_version.unwrap_or_default();
    let mut done = HashSet::new();
    for deployment in listed.items {
        note(&mut done, deployment);
    }
    while done.len() < count {
        let mut events = Box::pin(api.watch(&WatchParams::default(), &version).await?);
        while done.len() < count
            && let Some(event) = events.try_next().await?
        {
            match event {
                WatchEvent::Added(deployment) | WatchEvent::Modified(deployment) => {
                    if let Some(own) = &deployment.metadata.resource_version {
                        version.clone_from(own);
                    }
                    note(&mut done, deployment);
                }
                WatchEvent::Error(status) => return Err(format!("the watch ended: {}", status.message).into()),
                WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            }
        }
    }
    Ok(())
}

fn note(done: &mut HashSet<String>, deployment: Deployment) {
    let is_done = is_done(&deployment);
    let name = deployment.metadata.name.unwrap_or_default();
    if is_done {
        done.insert(name);
    } else {
        done.remove(&name);
    }
}

fn is_done(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let Some(status) = &deployment.status else {
        return false;
    };
    status.observed_generation == deployment.metadata.generation
        && status.available_replicas == wanted
        && status.updated_replicas == wanted
        && status.replicas == wanted
}

/// Waits until no writes follow, and returns the time of the last one.
pub(crate) async fn quiet(server: &ApiServer) -> Instant {
    let mut revision = server.revision();
    let mut since = Instant::now();
    while since.elapsed() < QUIET {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let now = server.revision();
        if now != revision {
            revision = now;
            since = Instant::now();
        }
    }
    since
}

/// Waits until there is no object of a kind.
pub(crate) async fn gone<K>(api: &Api<K>) -> Result<(), Failure>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    while !api
        .list_metadata(&ListParams::default().limit(1))
        .await?
        .items
        .is_empty()
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
