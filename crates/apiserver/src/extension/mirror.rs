//! The table of a kind whose rows live elsewhere: before an answer it is brought in line with the rows, so that everything
//! behind it (selectors, pages, Tables, watches, resource versions) is the same as for objects that the server stores.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use kubewright_apimachinery::names;
use kubewright_store::{Record, RecordDraft};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::order::{Order, Subject};
use super::rows::{RowError, RowSource};
use crate::custom::conversion::{ConversionCache, with_conversions};
use crate::object::{self, meta_text, remove_meta, set_meta};
use crate::registry::{Resource, Verb};
use crate::request::call::Call;
use crate::server::Server;
use crate::wire::status::{Result, Status};

/// How long a watch lets rows rest between two looks at them.
const PAUSE: Duration = Duration::from_millis(100);

/// How long rows may take to answer.
const WITHIN: Duration = Duration::from_secs(30);

type RowResult<T> = std::result::Result<T, RowError>;

/// The rows of a kind, and the order of those who bring the table in line with them.
pub(crate) struct Mirror {
    rows: Arc<dyn RowSource>,
    /// The table never goes back to what was seen before.
    order: Order,
    following: Mutex<Weak<Following>>,
}

/// Follows the rows of a kind for as long as anybody watches it.
pub(crate) struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Mirror {
    pub(crate) fn new(rows: Arc<dyn RowSource>) -> Self {
        Mirror {
            rows,
            order: Order::default(),
            following: Mutex::new(Weak::new()),
        }
    }

    /// Brings what a request is about in line with the rows.
    pub(crate) async fn refresh(&self, call: &Call<'_>, verb: Verb) -> Result<()> {
        let storage = storage(call.server, call.resource())?;
        let (namespace, name) = (call.target.namespace, call.target.name);
        match verb {
            Verb::Create => Ok(()),
            _ if !name.is_empty() => self.refresh_row(call.server, &storage, namespace, name).await,
            // The next page is of the list as it was.
            Verb::List if !call.query.text("continue").is_empty() => Ok(()),
            _ => {
                let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
                self.refresh_rows(call.server, &storage, namespace).await
            }
        }
    }

    async fn refresh_row(&self, server: &Server, storage: &Resource, namespace: &str, name: &str) -> Result<()> {
        let looked = in_time(self.look_at_row(server, storage, namespace, name)).await;
        looked.map_err(|error| error.status(storage, name))
    }

    async fn refresh_rows(&self, server: &Server, storage: &Resource, namespace: Option<&str>) -> Result<()> {
        let looked = in_time(self.look_at_rows(server, storage, namespace)).await;
        looked.map_err(|error| error.status(storage, ""))
    }

    async fn look_at_row(&self, server: &Server, storage: &Resource, namespace: &str, name: &str) -> RowResult<()> {
        let key = object::key(namespace, name);
        let asked = self.order.now();
        let mut turn = self.order.turn(Subject::Row(key.clone())).await;
        if turn.was_looked_at_since(asked) {
            return Ok(());
        }
        let look = self.order.look();
        let row = match self.rows.get(namespace, name).await {
            Ok(Some(row)) => Some(Row::of(storage, row)?),
            Ok(None) | Err(RowError::NotFound) => None,
            Err(error) => return Err(error),
        };
        if let Some(row) = row.as_ref().filter(|row| row.key != key) {
            let why = format!("asked for {key}, the rows answered with {}", row.key);
            return Err(RowError::Internal(why));
        }
        let found = look.found();
        if found.is_newest(namespace, &key) {
            match row {
                Some(row) => drop(put(server, storage, row)),
                None => take_out(server, storage, &key),
            }
            found.note(Subject::Row(key));
        }
        turn.looked(look.began());
        Ok(())
    }

    async fn look_at_rows(&self, server: &Server, storage: &Resource, namespace: Option<&str>) -> RowResult<()> {
        let subject = Subject::Rows(namespace.map(str::to_owned));
        let asked = self.order.now();
        let mut turn = self.order.turn(subject.clone()).await;
        if turn.was_looked_at_since(asked) {
            return Ok(());
        }
        let look = self.order.look();
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for row in self.rows.list(namespace).await? {
            let row = Row::of(storage, row)?;
            if namespace.is_some_and(|namespace| row.namespace() != namespace) {
                continue;
            }
            let key = row.key.clone();
            if rows.insert(key.clone(), row).is_some() {
                return Err(RowError::Internal(format!("two rows are named {key}")));
            }
        }
        let found = look.found();
        let knows = |namespace: &str, key: &str| found.is_newest(namespace, key) && !found.is_being_written(key);
        let snapshot = server.store.snapshot(storage.table);
        for record in snapshot.records(namespace, None) {
            if !rows.contains_key(&*record.key) && knows(record.namespace().unwrap_or_default(), &record.key) {
                take_out(server, storage, &record.key);
            }
        }
        for row in rows.into_values() {
            if knows(row.namespace(), &row.key) {
                put(server, storage, row);
            }
        }
        found.note(subject);
        turn.looked(look.began());
        Ok(())
    }

    /// Makes a row of an object.
    pub(crate) async fn create(&self, server: &Server, resource: &Resource, object: &Value) -> Result<Arc<Record>> {
        let storage = storage(server, resource)?;
        let name = meta_text(object, "name");
        let key = object::key(meta_text(object, "namespace"), name);
        let object = for_storage(server, resource, &storage, object).await?;
        let making = async {
            let _turn = self.order.turn(Subject::Row(key.clone())).await;
            let write = self.order.write(key);
            let row = Row::of(&storage, self.rows.create(object).await?)?;
            let key = row.key.clone();
            Ok(write.ended(&key, || put(server, &storage, row)))
        };
        let made = in_time(making).await.map_err(|error| error.status(resource, name))?;
        made.ok_or_else(|| Status::internal("the row is gone"))
    }

    /// Replaces the row behind a record; `None` when the row has changed meanwhile.
    pub(crate) async fn update(
        &self,
        server: &Server,
        resource: &Resource,
        record: &Record,
        object: &Value,
    ) -> Result<Option<Arc<Record>>> {
        let storage = storage(server, resource)?;
        let object = for_storage(server, resource, &storage, object).await?;
        let replacing = async {
            let _turn = self.order.turn(Subject::Row(record.key.to_string())).await;
            let write = self.order.write(record.key.to_string());
            if !is_current(server, &storage, record) {
                return Ok(None);
            }
            let row = Row::of(&storage, self.rows.update(object).await?)?;
            let key = row.key.clone();
            Ok(write.ended(&key, || put(server, &storage, row)))
        };
        let replaced = in_time(replacing).await;
        replaced.map_err(|error| error.status(resource, record.name()))
    }

    /// Removes the row behind a record; false when the row has changed meanwhile.
    pub(crate) async fn delete(&self, server: &Server, resource: &Resource, record: &Record) -> Result<bool> {
        let storage = storage(server, resource)?;
        let removing = async {
            let _turn = self.order.turn(Subject::Row(record.key.to_string())).await;
            let write = self.order.write(record.key.to_string());
            if !is_current(server, &storage, record) {
                return Ok(false);
            }
            let namespace = record.namespace().unwrap_or_default();
            match self.rows.delete(namespace, record.name()).await {
                Ok(()) | Err(RowError::NotFound) => {}
                Err(error) => return Err(error),
            }
            write.ended(&record.key, || take_out(server, &storage, &record.key));
            Ok(true)
        };
        let removed = in_time(removing).await;
        removed.map_err(|error| error.status(resource, record.name()))
    }

    /// Whether finalizers of rows could be kept: without that, nothing waits for them.
    pub(crate) fn keeps_marks(&self) -> bool {
        self.rows.verbs().update
    }

    /// Follows the rows until what this returns is dropped by everybody.
    pub(crate) fn follow(self: &Arc<Self>, server: &Server, resource: &Resource) -> Result<Arc<Following>> {
        let storage = storage(server, resource)?;
        let mut current = self.following.lock();
        if let Some(following) = current.upgrade() {
            return Ok(following);
        }
        let (mirror, server) = (Arc::clone(self), server.me.clone());
        let task = tokio::spawn(async move {
            let mut failing = false;
            loop {
                // Asked before the look, so that no change between the two is missed.
                let mut changed = pin!(mirror.rows.changed());
                let at_once = poll_fn(|context| Poll::Ready(changed.as_mut().poll(context).is_ready())).await;
                let Some(server) = server.upgrade() else { return };
                // A watch has no way to say it: its clients are told by the next request that reads. Once is enough to say here, since
                // the next look may be a moment later.
                let looked = mirror.refresh_rows(&server, &storage, None).await;
                if let Err(status) = &looked
                    && !failing
                {
                    let (resource, error) = (&storage.plural, &status.message);
                    tracing::warn!(%resource, %error, "rows cannot be read, so watches miss their changes until they can");
                }
                failing = looked.is_err();
                drop(server);
                tokio::time::sleep(PAUSE).await;
                if !at_once {
                    changed.await;
                }
            }
        });
        let following = Arc::new(Following(task.abort_handle()));
        *current = Arc::downgrade(&following);
        Ok(following)
    }
}

impl Server {
    /// The rows behind a resource, if it has any.
    pub(crate) fn mirror_of(&self, resource: &Resource) -> Option<&Arc<Mirror>> {
        let version = resource.custom()?;
        self.mirrors.get()?.get(&version.kind.definition.name)
    }
}

/// What rows answer, within reason, and the wait for those who asked the same before.
async fn in_time<T>(asking: impl Future<Output = RowResult<T>>) -> RowResult<T> {
    let late = |_| RowError::Unavailable(format!("the rows did not answer within {} seconds", WITHIN.as_secs()));
    tokio::time::timeout(WITHIN, asking).await.map_err(late)?
}

/// A row as the table keeps it.
struct Row {
    key: String,
    draft: RecordDraft,
}

impl Row {
    fn of(storage: &Resource, mut row: Value) -> RowResult<Row> {
        let wrong = |why: String| RowError::Internal(format!("a row of {} {why}", storage.plural));
        let Some(version) = storage.custom() else {
            return Err(wrong("is of no defined kind".to_owned()));
        };
        let Some(fields) = row.as_object_mut() else {
            return Err(wrong("is no object".to_owned()));
        };
        fields.insert("kind".into(), (*storage.kind).into());
        fields.insert("apiVersion".into(), storage.api_version.as_str().into());
        let name = meta_text(&row, "name").to_owned();
        if name.is_empty() || !names::path_segment_name(&name).is_empty() {
            return Err(wrong(format!("has the name {name:?}, which no path can have")));
        }
        let namespace = if storage.namespaced {
            meta_text(&row, "namespace").to_owned()
        } else {
            String::new()
        };
        if storage.namespaced && namespace.is_empty() {
            return Err(wrong(format!("has no namespace: {name}")));
        }
        if !storage.namespaced {
            remove_meta(&mut row, "namespace");
        }
        remove_meta(&mut row, "resourceVersion");
        if meta_text(&row, "uid").is_empty() {
            set_meta(&mut row, "uid", uid_of(storage, &namespace, &name));
        }
        version
            .schema()
            .decode(&mut row)
            .map_err(|error| wrong(format!("cannot be read: {name}: {error}")))?;
        version.default(&mut row);
        let draft = object::to_draft(storage, &row, &ConversionCache::default())
            .map_err(|_| wrong(format!("cannot be kept: {name}")))?;
        Ok(Row {
            key: object::key(&namespace, &name),
            draft,
        })
    }

    fn namespace(&self) -> &str {
        self.key.rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }
}

/// The resource in the version that rows are in.
fn storage(server: &Server, resource: &Resource) -> Result<Arc<Resource>> {
    let definitions = server.definitions.served();
    let name = resource
        .custom()
        .map_or("", |version| version.kind.definition.name.as_str());
    let storage = definitions.storage(name).cloned();
    storage.ok_or_else(|| Status::internal("the kind is not served any more"))
}

async fn for_storage(server: &Server, resource: &Resource, storage: &Resource, object: &Value) -> Result<Value> {
    let Some(version) = resource.custom() else {
        return Ok(object.clone());
    };
    let converted = with_conversions(server, resource, |cache| version.for_storage(object, cache)).await?;
    let mut stored = converted.unwrap_or_else(|| object.clone());
    if let Some(fields) = stored.as_object_mut() {
        fields.insert("apiVersion".into(), storage.api_version.as_str().into());
    }
    Ok(stored)
}

fn is_current(server: &Server, storage: &Resource, record: &Record) -> bool {
    let current = server.store.get(storage.table, &record.key);
    current.is_some_and(|current| current.revision == record.revision)
}

/// Puts a row into the table, unless it is there as it is. Whoever calls holds the order, so that nobody else changes the table.
fn put(server: &Server, storage: &Resource, row: Row) -> Option<Arc<Record>> {
    let store = &server.store;
    match store.get(storage.table, &row.key) {
        Some(record) if record.body == row.draft.body && record.fields == row.draft.fields => Some(record),
        Some(record) => store.update(storage.table, &row.key, record.revision, row.draft).ok(),
        None => store.create(storage.table, &row.key, row.draft).ok(),
    }
}

fn take_out(server: &Server, storage: &Resource, key: &str) {
    if let Some(record) = server.store.get(storage.table, key) {
        // Whoever calls has the turn, so that nobody else writes.
        let _ = server.store.delete(storage.table, key, record.revision);
    }
}

/// A uid for a row that has none: always the same for the same row, also after a restart.
fn uid_of(storage: &Resource, namespace: &str, name: &str) -> String {
    let of = format!("{}/{}/{namespace}/{name}", storage.group, storage.plural);
    let digest = digest(&SHA256, of.as_bytes());
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    // A uuid of version 8: made by a rule of its maker.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut uid = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            uid.push('-');
        }
        let _ = write!(uid, "{byte:02x}");
    }
    uid
}
