//! What was written, in order: the logs of all resources as one sequence.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use kubewright_store::{Event, EventKind, Record, ResourceId, Revision};
use serde_json::Value;

use super::past;
use crate::custom::Definitions;
use crate::object;
use crate::registry::{BuiltInId, Registry, Resource};
use crate::server::ApiServer;

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
    pub object: StoredObject,
    /// Whether the write deleted it.
    pub deleted: bool,
    /// When it was written, by the server's clock. Later writes do not have earlier times.
    pub time: Timestamp,
}

/// An object as it is stored. It dereferences to the object's value, which is made when it is first looked at; clones share it.
#[derive(Clone)]
pub struct StoredObject(Arc<Stored>);

struct Stored {
    resource: Arc<Resource>,
    record: Arc<Record>,
    value: OnceLock<Value>,
}

impl StoredObject {
    fn new(resource: &Arc<Resource>, record: &Arc<Record>) -> Self {
        StoredObject(Arc::new(Stored {
            resource: Arc::clone(resource),
            record: Arc::clone(record),
            value: OnceLock::new(),
        }))
    }

    /// The kind of the object.
    pub fn kind(&self) -> &str {
        &self.0.resource.kind
    }

    /// The namespace, if the resource has namespaces.
    pub fn namespace(&self) -> Option<&str> {
        self.0.record.namespace()
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.record.name()
    }

    /// Whether both are the same state of the same object, and not only equal.
    pub fn is_same(&self, other: &StoredObject) -> bool {
        Arc::ptr_eq(&self.0.record, &other.0.record)
    }

    /// The value, for whoever keeps it.
    pub fn into_value(self) -> Value {
        Value::clone(&self)
    }
}

impl Deref for StoredObject {
    type Target = Value;

    fn deref(&self) -> &Value {
        let Stored {
            resource,
            record,
            value,
        } = &*self.0;
        value.get_or_init(|| object::to_value(resource, record, record.revision))
    }
}

impl PartialEq for StoredObject {
    fn eq(&self, other: &StoredObject) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl fmt::Debug for StoredObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.0.record.key)
    }
}

impl ApiServer {
    /// Every write after a revision, in the order of their revisions, as far as the history goes back
    /// ([`oldest_revision`](Self::oldest_revision)). Resources that `wanted` (asked with group and resource) does not want are left out,
    /// and cost nothing. Nothing is missing up to the last one: who goes on from there, or from the [revision](Self::revision) before the
    /// call if that is more, and [waits](Self::written_after) in between, sees every write.
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
        // Kinds that are defined meanwhile are not among the resources, but what is written to them comes later, too.
        let newest = self.server.store.revision();
        let mut resources = self.stored_resources();
        // What was written to a kind whose definition is gone was written all the same.
        let definitions = BuiltInId::CustomResourceDefinitions.resource().table;
        for (_, event) in self.events_after(after, |table| table == definitions) {
            if event.kind == EventKind::Deleted
                && let Some(resource) = Definitions::former(&event.record)
            {
                resources.entry(resource.table).or_insert(resource);
            }
        }
        resources.retain(|_, resource| wanted(&resource.group, &resource.plural));
        let mut events = self.events_after(after, |table| resources.contains_key(&table));
        events.retain(|(_, event)| event.revision <= newest);
        let changes = events.iter().filter_map(|(table, event)| {
            let resource = resources.get(table)?;
            Some(StoredChange {
                revision: event.revision.0,
                group: resource.group.to_string(),
                resource: resource.plural.to_string(),
                object: StoredObject::new(resource, &event.record),
                deleted: event.kind == EventKind::Deleted,
                time: past::timestamp(event.time),
            })
        });
        changes.collect()
    }

    fn events_after(&self, after: u64, wanted: impl Fn(ResourceId) -> bool) -> Vec<(ResourceId, Event)> {
        let store = &self.server.store;
        loop {
            // What is forgotten in between is not part of the history any more.
            if let Ok(history) = store.history(Revision(after).max(store.compacted()), &wanted) {
                return history.events;
            }
        }
    }

    /// The resources that have a table, those of definitions in their storage versions.
    fn stored_resources(&self) -> BTreeMap<ResourceId, Arc<Resource>> {
        let served = self.server.definitions.served();
        let custom = served
            .definitions()
            .filter_map(|definition| served.storage(&definition.name));
        let built_in = Registry::builtin().iter().filter(|resource| resource.is_stored());
        let mut resources = BTreeMap::new();
        for resource in built_in.chain(custom) {
            resources.entry(resource.table).or_insert_with(|| Arc::clone(resource));
        }
        resources
    }
}
