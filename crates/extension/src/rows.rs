//! Objects that live elsewhere, as Rust types: one small trait for each thing that can be done to them.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kubewright_apiserver::{RowError, RowSource, RowVerbs};
use kubewright_runtime::object::Object;
use serde_json::Value;

/// Where the objects of a kind are: `get` and `list`.
///
/// The server asks before every answer, so what this returns need not be kept anywhere. Each object needs a name, and a namespace
/// if its kind has namespaces. One without a uid gets one that stays the same. Fields that the schema does not know are dropped,
/// and its defaults are filled in.
///
/// Calls go on beside each other, but for those about the same row, or the same list: these wait for one another, and reads that wait
/// together are answered by one call. After 30 seconds without an answer a client is told that there is none.
pub trait Rows<K: Object>: Send + Sync + 'static {
    /// The objects of a namespace, or all of them.
    fn list(&self, namespace: Option<&str>) -> impl Future<Output = Result<Vec<K>, RowError>> + Send;

    /// One object. Unless you know a faster way, it is looked for in the list.
    fn get(&self, namespace: Option<&str>, name: &str) -> impl Future<Output = Result<Option<K>, RowError>> + Send {
        async move {
            let rows = self.list(namespace).await?;
            Ok(rows.into_iter().find(|row| {
                let meta = row.meta();
                meta.name.as_deref() == Some(name) && (namespace.is_none() || meta.namespace.as_deref() == namespace)
            }))
        }
    }
}

/// Rows that notice when they change: `watch`.
pub trait WatchRows<K: Object>: Rows<K> {
    /// Ends when rows may have changed since it was called. The server then lists them, and tells whoever watches what is
    /// different.
    fn changed(&self) -> impl Future<Output = ()> + Send;
}

/// Rows that can be made: `create`, and apply of what is not there.
pub trait CreateRows<K: Object>: Rows<K> {
    /// Makes a row, and returns it as it is then. One that exists is [`RowError::Exists`].
    fn create(&self, object: K) -> impl Future<Output = Result<K, RowError>> + Send;
}

/// Rows that can be changed: `update`, `patch` and apply.
pub trait UpdateRows<K: Object>: Rows<K> {
    /// Replaces a row, and returns it as it is then.
    fn update(&self, object: K) -> impl Future<Output = Result<K, RowError>> + Send;
}

/// Rows that can be removed: `delete` and `deletecollection`.
pub trait DeleteRows<K: Object>: Rows<K> {
    /// Removes a row.
    fn delete(&self, namespace: Option<&str>, name: &str) -> impl Future<Output = Result<(), RowError>> + Send;
}

type Changed = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;
type Write = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, RowError>> + Send + Sync>;
type Delete = Arc<dyn Fn(String, String) -> BoxFuture<'static, Result<(), RowError>> + Send + Sync>;

/// Rows with what can be done to them. Discovery says that and no more, and everything else is answered with 405.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_extension::{RowError, RowStore, Rows};
/// use std::time::Duration;
///
/// struct Settings;
///
/// impl Rows<ConfigMap> for Settings {
///     async fn list(&self, _namespace: Option<&str>) -> Result<Vec<ConfigMap>, RowError> {
///         Ok(Vec::new())
///     }
/// }
///
/// let store = RowStore::<ConfigMap, _>::new(Settings).watch_every(Duration::from_secs(5));
/// # drop(store);
/// ```
pub struct RowStore<K, R> {
    rows: Arc<R>,
    changed: Option<Changed>,
    create: Option<Write>,
    update: Option<Write>,
    delete: Option<Delete>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object, R: Rows<K>> RowStore<K, R> {
    /// Rows that can be read.
    pub fn new(rows: R) -> Self {
        RowStore {
            rows: Arc::new(rows),
            changed: None,
            create: None,
            update: None,
            delete: None,
            kind: PhantomData,
        }
    }

    /// Lets clients watch: while any does, the rows are listed this often.
    pub fn watch_every(mut self, interval: Duration) -> Self {
        self.changed = Some(Arc::new(move || Box::pin(tokio::time::sleep(interval))));
        self
    }

    /// Lets clients watch: while any does, the rows are listed whenever they say that they have changed.
    pub fn watch(mut self) -> Self
    where
        R: WatchRows<K>,
    {
        let rows = Arc::clone(&self.rows);
        self.changed = Some(Arc::new(move || {
            let rows = Arc::clone(&rows);
            Box::pin(async move { rows.changed().await })
        }));
        self
    }

    /// Lets clients create.
    pub fn create(mut self) -> Self
    where
        R: CreateRows<K>,
    {
        let rows = Arc::clone(&self.rows);
        self.create = Some(Arc::new(move |object| {
            let rows = Arc::clone(&rows);
            Box::pin(async move { to_value(&rows.create(from_value(object)?).await?) })
        }));
        self
    }

    /// Lets clients update and patch.
    pub fn update(mut self) -> Self
    where
        R: UpdateRows<K>,
    {
        let rows = Arc::clone(&self.rows);
        self.update = Some(Arc::new(move |object| {
            let rows = Arc::clone(&rows);
            Box::pin(async move { to_value(&rows.update(from_value(object)?).await?) })
        }));
        self
    }

    /// Lets clients delete.
    pub fn delete(mut self) -> Self
    where
        R: DeleteRows<K>,
    {
        let rows = Arc::clone(&self.rows);
        self.delete = Some(Arc::new(move |namespace, name| {
            let rows = Arc::clone(&rows);
            Box::pin(async move { rows.delete(some(&namespace), &name).await })
        }));
        self
    }
}

impl<K, R> std::fmt::Debug for RowStore<K, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStore")
            .field("watch", &self.changed.is_some())
            .field("create", &self.create.is_some())
            .field("update", &self.update.is_some())
            .field("delete", &self.delete.is_some())
            .finish_non_exhaustive()
    }
}

impl<K: Object, R: Rows<K>> RowSource for RowStore<K, R> {
    fn verbs(&self) -> RowVerbs {
        RowVerbs {
            watch: self.changed.is_some(),
            create: self.create.is_some(),
            update: self.update.is_some(),
            delete: self.delete.is_some(),
        }
    }

    fn get<'a>(&'a self, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, RowError>> {
        Box::pin(async move {
            let row = self.rows.get(some(namespace), name).await?;
            row.as_ref().map(to_value).transpose()
        })
    }

    fn list<'a>(&'a self, namespace: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Value>, RowError>> {
        Box::pin(async move { self.rows.list(namespace).await?.iter().map(to_value).collect() })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        match &self.changed {
            Some(changed) => changed(),
            None => Box::pin(std::future::pending()),
        }
    }

    fn create(&self, object: Value) -> BoxFuture<'_, Result<Value, RowError>> {
        write(self.create.as_ref(), object)
    }

    fn update(&self, object: Value) -> BoxFuture<'_, Result<Value, RowError>> {
        write(self.update.as_ref(), object)
    }

    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), RowError>> {
        match &self.delete {
            Some(delete) => delete(namespace.to_owned(), name.to_owned()),
            None => Box::pin(std::future::ready(Err(unsupported()))),
        }
    }
}

fn write(write: Option<&Write>, object: Value) -> BoxFuture<'static, Result<Value, RowError>> {
    match write {
        Some(write) => write(object),
        None => Box::pin(std::future::ready(Err(unsupported()))),
    }
}

/// The server calls only what was advertised.
fn unsupported() -> RowError {
    RowError::Forbidden("these rows cannot be changed that way".to_owned())
}

fn some(namespace: &str) -> Option<&str> {
    Some(namespace).filter(|namespace| !namespace.is_empty())
}

fn to_value<K: Object>(object: &K) -> Result<Value, RowError> {
    serde_json::to_value(object).map_err(|error| RowError::Internal(format!("a row cannot be written: {error}")))
}

fn from_value<K: Object>(object: Value) -> Result<K, RowError> {
    serde_json::from_value(object).map_err(|error| RowError::Invalid(format!("the object cannot be read: {error}")))
}
