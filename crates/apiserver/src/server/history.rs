//! What was written, in order: the logs of all resources as one sequence.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_store::{EventKind, Revision};
use serde_json::Value;

use crate::object;
use crate::registry::{Registry, Resource};
use crate::server::ApiServer;

/// How many events are read under one hold of the store's lock.
const BATCH: usize = 256;

/// One write to the store, as [`ApiServer::history`] tells it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredChange {
    /// The revision of the write.
    pub revision: u64,
    /// The API group of the resource, empty for the core group.
    pub group: String,
    /// The resource: `configmaps`.
    pub resource: String,
    /// The object after the write; its last state if it was deleted.
    pub object: Value,
    /// Whether the write deleted it.
    pub deleted: bool,
}

impl ApiServer {
    /// Every write after a revision, in the order of their revisions, as far as the history goes back. Resources that `wanted`
    /// (asked with group and resource) does not want are left out, and cost nothing.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// let before = server.revision();
    /// let made = http::Request::post("/api/v1/namespaces").body(r#"{"metadata":{"name":"shop"}}"#.into()).unwrap();
    /// server.handle(made).await;
    /// let history = server.history(before, |_, resource| resource == "namespaces");
    /// assert_eq!(history[0].object["metadata"]["name"], "shop");
    /// assert!(!history[0].deleted);
    /// # }
    /// ```
    pub fn history(&self, after: u64, wanted: impl Fn(&str, &str) -> bool) -> Vec<StoredChange> {
        let store = &self.server.store;
        let after = Revision(after).max(store.compacted());
        let mut seen = BTreeSet::new();
        let mut changes = Vec::new();
        for resource in self.stored_resources() {
            if !seen.insert(resource.table.0) || !wanted(&resource.group, &resource.plural) {
                continue;
            }
            let Ok(mut watcher) = store.watch(resource.table, None, after) else {
                continue;
            };
            while let Ok(batch) = watcher.try_next(BATCH) {
                changes.extend(batch.events.iter().map(|event| StoredChange {
                    revision: event.revision.0,
                    group: resource.group.to_string(),
                    resource: resource.plural.to_string(),
                    object: object::to_value(&resource, &event.record, event.record.revision),
                    deleted: event.kind == EventKind::Deleted,
                }));
                if batch.caught_up {
                    break;
                }
            }
        }
        changes.sort_by_key(|change| change.revision);
        changes
    }

    /// The resources that have a table, those of definitions in their storage versions.
    fn stored_resources(&self) -> Vec<Arc<Resource>> {
        let served = self.server.definitions.served();
        let custom = served
            .definitions()
            .filter_map(|definition| served.storage(&definition.name));
        let built_in = Registry::builtin().iter().filter(|resource| resource.is_stored());
        built_in.chain(custom).cloned().collect()
    }
}
