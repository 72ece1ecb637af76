//! The `OpenAPI` documents of other servers: of v3 the index, whose documents stay where they are; of v2 the part about the
//! `APIService`, which becomes part of this server's document. A server that has v2 alone is in v3 by a translation.

mod swagger;
mod translate;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, header};
use serde_json::Value;
use tokio::sync::Notify;

pub(crate) use swagger::merge as merge_swagger;

use super::backoff::Backoff;
use super::fetch::{Fetch, Fetched};
use super::remote::Remote;
use crate::access::User;
use crate::server::Server;

/// How long after an `APIService` was made, or changed after a failure, its documents are asked for.
const SOON: Duration = Duration::from_secs(1);
/// How often they are asked for again.
const REFRESH: Duration = Duration::from_mins(1);
const LAST_RETRY: Duration = Duration::from_hours(1);
const WITHIN: Duration = Duration::from_mins(1);
/// The largest documents that are read. Upstream sets no limit.
const LARGEST_INDEX: usize = 4 << 20;
const LARGEST_SWAGGER: usize = 16 << 20;

/// What is known of another server's documents.
#[derive(Default)]
pub(super) struct RemoteDocuments {
    /// The paths of v3, by their names, with where each document is.
    index: BTreeMap<String, Value>,
    /// The document of v2 as one of v3, if there is no index.
    translated: Option<Bytes>,
    /// The document of v2, reduced to the paths of the `APIService`.
    swagger: Option<Bytes>,
    swagger_etag: String,
}

/// Keeps what is known up to date.
pub(super) async fn keep(server: Weak<Server>, remote: Arc<Remote>) {
    tokio::join!(keep_index(&server, &remote), keep_swagger(&server, &remote));
}

async fn keep_index(server: &Weak<Server>, remote: &Arc<Remote>) {
    let mut backoff = Backoff::new(REFRESH, LAST_RETRY);
    tokio::time::sleep(SOON).await;
    loop {
        let Some(server) = server.upgrade() else { return };
        let read = {
            let Ok(_turn) = server.aggregation.limits.openapi.acquire().await else {
                return;
            };
            read_index(&server, remote).await
        };
        let wait = match read {
            Some((index, translated)) => {
                backoff.reset();
                let mut known = remote.known.documents.lock();
                if known.index != index || known.translated != translated {
                    known.index = index;
                    known.translated = translated;
                    drop(known);
                    server.aggregation.changed();
                }
                REFRESH
            }
            None => backoff.next(),
        };
        drop(server);
        until_changed_after_failure(&mut backoff, wait, &remote.wake.openapi_index).await;
    }
}

async fn keep_swagger(server: &Weak<Server>, remote: &Arc<Remote>) {
    let mut backoff = Backoff::new(REFRESH, LAST_RETRY);
    let mut wait = SOON;
    loop {
        // As upstream, it is asked again whenever the `APIService` is written.
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = remote.wake.openapi_swagger.notified() => {}
        }
        let Some(server) = server.upgrade() else { return };
        let is_read = {
            let Ok(_turn) = server.aggregation.limits.openapi.acquire().await else {
                return;
            };
            read_swagger(&server, remote).await
        };
        drop(server);
        wait = if is_read {
            backoff.reset();
            REFRESH
        } else {
            backoff.next()
        };
    }
}

/// Waits. Of an `APIService` that changes after a failure it is asked again soon.
async fn until_changed_after_failure(backoff: &mut Backoff, wait: Duration, changed: &Notify) {
    let end = tokio::time::Instant::now() + wait;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end) => return,
            () = changed.notified() => {
                if backoff.has_failed() {
                    backoff.reset();
                    tokio::time::sleep(SOON).await;
                    return;
                }
            }
        }
    }
}

fn fetch<'a>(path: &'a str, limit: usize, headers: &'a [(http::HeaderName, String)]) -> Fetch<'a> {
    Fetch {
        path,
        user: User {
            name: "system:aggregator".into(),
            ..User::default()
        },
        headers,
        limit,
        within: WITHIN,
        although_unavailable: false,
    }
}

/// Asks for the index of v3, or for what a server has in its place. The error is `None`.
async fn read_index(server: &Server, remote: &Arc<Remote>) -> Option<(BTreeMap<String, Value>, Option<Bytes>)> {
    let fetched = fetch("/openapi/v3", LARGEST_INDEX, &[]).from(server, remote).await;
    match fetched.code {
        StatusCode::NOT_FOUND => Some((BTreeMap::new(), translated(server, remote).await?)),
        StatusCode::OK => Some((index(&fetched)?, None)),
        _ => None,
    }
}

/// Asks for the document of v2, and translates it. A server without one has none; the error is `None`.
async fn translated(server: &Server, remote: &Arc<Remote>) -> Option<Option<Bytes>> {
    let headers = [(header::ACCEPT, "application/json".to_owned())];
    let fetched = fetch("/openapi/v2", LARGEST_SWAGGER, &headers);
    let fetched = fetched.from(server, remote).await;
    match fetched.code {
        StatusCode::NOT_FOUND => Some(None),
        StatusCode::OK => {
            let swagger: Value = serde_json::from_slice(&fetched.body).ok()?;
            let document = translate::translated(&swagger)?;
            Some(Some(Bytes::from(document.to_string())))
        }
        _ => None,
    }
}

/// The names of the documents in an index, with where they are. The error is `None`.
fn index(fetched: &Fetched) -> Option<BTreeMap<String, Value>> {
    let index: Value = serde_json::from_slice(&fetched.body).ok()?;
    let paths = match index.get("paths") {
        None | Some(Value::Null) => return Some(BTreeMap::new()),
        Some(paths) => paths.as_object()?,
    };
    let entry = |value: &Value| {
        let url = value
            .get("serverRelativeURL")
            .and_then(Value::as_str)
            .unwrap_or_default();
        serde_json::json!({ "serverRelativeURL": url })
    };
    Some(paths.iter().map(|(name, value)| (name.clone(), entry(value))).collect())
}

/// Asks for the document of v2. Returns whether the server has answered.
async fn read_swagger(server: &Server, remote: &Arc<Remote>) -> bool {
    let mut headers = vec![(header::ACCEPT, "application/json".to_owned())];
    let etag = remote.known.documents.lock().swagger_etag.clone();
    if !etag.is_empty() {
        headers.push((header::IF_NONE_MATCH, etag));
    }
    let fetched = fetch("/openapi/v2", LARGEST_SWAGGER, &headers)
        .from(server, remote)
        .await;
    let swagger = match fetched.code {
        StatusCode::NOT_MODIFIED => return true,
        StatusCode::NOT_FOUND => None,
        StatusCode::OK => match reduced(&fetched, remote) {
            Some(swagger) => Some(swagger),
            None => return false,
        },
        _ => return false,
    };
    let mut known = remote.known.documents.lock();
    fetched.header(header::ETAG).clone_into(&mut known.swagger_etag);
    if known.swagger != swagger {
        known.swagger = swagger;
        drop(known);
        server.aggregation.changed();
    }
    true
}

/// The part of a document that is about the `APIService`.
fn reduced(fetched: &Fetched, remote: &Remote) -> Option<Bytes> {
    let document: Value = serde_json::from_slice(&fetched.body).ok()?;
    let prefix = format!("/apis/{}/{}/", remote.group, remote.version);
    let reduced = swagger::filter(document, |path| path.starts_with(&prefix))?;
    serde_json::to_vec(&reduced).ok().map(Bytes::from)
}

impl Remote {
    /// The names of its documents of v3, with where they are.
    pub(crate) fn openapi_index(&self) -> BTreeMap<String, Value> {
        self.known.documents.lock().index.clone()
    }

    /// Whether it has a document of v3 of this name.
    pub(crate) fn has_openapi(&self, name: &str) -> bool {
        self.known.documents.lock().index.contains_key(name)
    }

    /// Its document of v3 that was translated, and the name of that.
    pub(crate) fn translated_openapi(&self) -> Option<(String, Bytes)> {
        let document = self.known.documents.lock().translated.clone()?;
        Some((format!("apis/{}/{}", self.group, self.version), document))
    }

    /// Its part of the document of v2.
    pub(crate) fn swagger(&self) -> Option<Value> {
        let swagger = self.known.documents.lock().swagger.clone()?;
        serde_json::from_slice(&swagger).ok()
    }
}
