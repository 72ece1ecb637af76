//! How long a connection to a Pod may last: as long as the Pod does, and the client's token.

use std::sync::Arc;
use std::time::Duration;

use kubewright_store::{EventKind, Record, Store, Watcher};
use tokio::time::Instant;

use crate::object;
use crate::registry::BuiltInId;
use crate::request::call::Call;
use crate::server::Server;
use crate::wire::status::{Result, Status};

/// How long a connection may last.
pub(super) struct ConnectionLife {
    store: Store,
    watcher: Watcher,
    namespace: String,
    /// Where the Pod is stored.
    key: String,
    uid: String,
    /// When the client's token expires.
    expires: Option<Instant>,
}

impl ConnectionLife {
    /// The Pod in the path of a request, and how long a connection to it may last.
    pub(super) fn of_pod(call: &Call<'_>) -> Result<(Arc<Record>, ConnectionLife)> {
        let (namespace, name) = (call.target.namespace, call.target.name);
        // A Pod that a Service leads to is not in the path, but has the same life.
        ConnectionLife::of(call, namespace, name).ok_or_else(|| Status::not_found(call.resource().about(), name))
    }

    /// A Pod, and how long a connection to it may last; `None` if it is not there.
    pub(super) fn of(call: &Call<'_>, namespace: &str, name: &str) -> Option<(Arc<Record>, ConnectionLife)> {
        let pods = BuiltInId::Pods.resource();
        let key = object::key(namespace, name);
        // The watcher begins before the Pod is read, so that its end is not missed.
        let (_, watcher) = call.server.store.snapshot_and_watch(pods.table, Some(namespace));
        let record = call.server.store.get(pods.table, &key)?;
        let life = ConnectionLife {
            store: call.server.store.clone(),
            watcher,
            namespace: namespace.to_owned(),
            key,
            uid: record.uid.to_string(),
            expires: call.expires.and_then(|expires| instant(call.server, expires)),
        };
        Some((record, life))
    }

    /// Waits for the end, and says why.
    pub(super) async fn end(mut self) -> &'static str {
        let expires = self.expires;
        let token_end = async {
            match expires {
                Some(expires) => tokio::time::sleep_until(expires).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.pod_end() => "the Pod is gone",
            () = token_end => "the token of the client has expired",
        }
    }

    async fn pod_end(&mut self) {
        loop {
            self.watcher.ready().await;
            let Ok(batch) = self.watcher.try_next(256) else {
                // What happened meanwhile is no longer in the history: what counts is whether the Pod is there.
                let pods = BuiltInId::Pods.resource();
                let (snapshot, watcher) = self.store.snapshot_and_watch(pods.table, Some(&self.namespace));
                if snapshot.get(&self.key).is_none_or(|record| *record.uid != *self.uid) {
                    return;
                }
                self.watcher = watcher;
                continue;
            };
            let mut own = batch.events.iter().filter(|event| event.key() == self.key);
            if own.any(|event| event.kind == EventKind::Deleted || *event.record.uid != *self.uid) {
                return;
            }
        }
    }
}

/// When the server's clock shows a time; `None` if that is too far away to wait for.
fn instant(server: &Server, time: jiff::Timestamp) -> Option<Instant> {
    let left = Duration::try_from(time.duration_since(server.clock.now())).unwrap_or_default();
    Instant::now().checked_add(left)
}
