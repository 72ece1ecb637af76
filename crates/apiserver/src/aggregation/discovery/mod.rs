//! What another server says that it serves, for the aggregated discovery document: asked for again every minute, and stale while
//! the server does not say it.

mod document;

use std::sync::{Arc, Weak};
use std::time::Duration;

use http::{StatusCode, header};
use serde_json::{Value, json};

use super::availability::aggregator;
use super::backoff::Backoff;
use super::fetch::Fetch;
use super::remote::Remote;
use crate::access::User;
use crate::server::Server;

/// How often a server is asked again.
const REFRESH: Duration = Duration::from_mins(1);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const WITHIN: Duration = Duration::from_secs(5);
/// The largest document that is read. Upstream sets no limit.
const LARGEST: usize = 8 << 20;

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2_BETA_1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A version of a group as discovery shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiscoveredVersion {
    /// The resources, in the form of the aggregated document.
    resources: Vec<Value>,
    /// Whether the server has said so when it was last asked.
    is_current: bool,
}

/// Keeps up to date what is known of a server's resources.
pub(super) async fn keep(server: Weak<Server>, remote: Arc<Remote>) {
    let mut backoff = Backoff::new(FIRST_RETRY, REFRESH);
    // As upstream: nobody asks before the server was first found available, and everybody tries thereafter.
    let mut although_unavailable = false;
    loop {
        let Some(server) = server.upgrade() else { return };
        let wait = {
            let Ok(_turn) = server.aggregation.limits.discovery.acquire().await else {
                return;
            };
            let discovered = discover(&server, &remote, although_unavailable).await;
            let wait = match &discovered {
                Some(_) => {
                    backoff.reset();
                    REFRESH
                }
                None => backoff.next(),
            };
            let discovered = discovered.unwrap_or_default();
            let mut known = remote.known.discovery.lock();
            if *known != discovered {
                *known = discovered;
                drop(known);
                server.aggregation.changed();
            }
            wait
        };
        drop(server);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = remote.wake.discovery.notified() => although_unavailable = true,
        }
    }
}

/// Asks a server; `None` if it does not say what it serves.
async fn discover(server: &Server, remote: &Arc<Remote>, although_unavailable: bool) -> Option<DiscoveredVersion> {
    let fetch = Fetch {
        path: "/apis",
        user: aggregator(),
        headers: &[(header::ACCEPT, format!("{V2},{V2_BETA_1}"))],
        limit: LARGEST,
        within: WITHIN,
        although_unavailable,
    };
    let fetched = fetch.from(server, remote).await;
    if fetched.code == StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    if fetched.code == StatusCode::OK && is_aggregated(fetched.header(header::CONTENT_TYPE)) {
        let resources = document::resources_of(&fetched.body, &remote.group, &remote.version)?;
        return Some(DiscoveredVersion {
            resources,
            is_current: true,
        });
    }
    let path = if remote.group.is_empty() {
        format!("/api/{}", remote.version)
    } else {
        format!("/apis/{}/{}", remote.group, remote.version)
    };
    let fetch = Fetch {
        path: &path,
        user: User {
            name: aggregator().name,
            ..User::default()
        },
        headers: &[(header::ACCEPT, "application/json".to_owned())],
        ..fetch
    };
    let fetched = fetch.from(server, remote).await;
    if fetched.code != StatusCode::OK {
        return None;
    }
    Some(DiscoveredVersion {
        resources: document::from_legacy(&fetched.body)?,
        is_current: true,
    })
}

/// Whether a document is an aggregated one.
fn is_aggregated(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let parts: Vec<&str> = parts.collect();
    media == "application/json"
        && parts.contains(&"g=apidiscovery.k8s.io")
        && parts.contains(&"as=APIGroupDiscoveryList")
        && (parts.contains(&"v=v2") || parts.contains(&"v=v2beta1"))
}

impl Remote {
    /// The version as the aggregated discovery document has it.
    pub(crate) fn discovered(&self) -> Value {
        let known = self.known.discovery.lock();
        let freshness = if known.is_current { "Current" } else { "Stale" };
        let mut version = json!({ "version": self.version, "freshness": freshness });
        if !known.resources.is_empty() {
            version["resources"] = known.resources.clone().into();
        }
        version
    }
}
