//! Reads of a store as one Rust type.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::index::{DeclaredIndex, QueryOf};
use super::store::{Store, UnknownIndex};
use crate::object::{DecodeError, ObjectKey, View};

/// Why a cached read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An object does not fit the type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// There is no such index.
    #[error(transparent)]
    UnknownIndex(#[from] UnknownIndex),
}

/// A store read as `K`: a type of the kind, `DynamicObject`, or `PartialObjectMeta`. Reads are immediate and never wait.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{Indexes, Lister, Query, Store};
/// use kubewright_runtime::object::{Kind, ObjectKey, Record};
///
/// let kind = Kind::of::<ConfigMap>();
/// let store = Store::new(kind.clone(), Indexes::default());
/// let json = br#"{"metadata":{"name":"a","namespace":"shop"},"data":{"k":"v"}}"#;
/// store.writer(None).changed(Record::parse(json, &kind).unwrap());
///
/// let config_maps = Lister::<ConfigMap>::new(store);
/// let found = config_maps.get(&ObjectKey::namespaced("shop", "a")).unwrap().unwrap();
/// assert_eq!(found.data.as_ref().unwrap()["k"], "v");
/// assert_eq!(config_maps.list(&Query::all()).unwrap().len(), 1);
/// assert_eq!(config_maps.store().len(), 1);
/// ```
pub struct Lister<K> {
    store: Store,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned + Send + Sync + 'static> Lister<K> {
    /// Reads of a store.
    pub fn new(store: Store) -> Self {
        Lister {
            store,
            kind: PhantomData,
        }
    }

    /// The store behind it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<View<K>>, ReadError> {
        let record = self.store.get(key.as_str());
        Ok(record.map(|record| self.store.view(&record)).transpose()?)
    }

    /// An index that the store was made with, to read by it.
    #[track_caller]
    pub fn index(&self, name: impl Into<Arc<str>>) -> Result<DeclaredIndex<K>, UnknownIndex> {
        let name = name.into();
        self.store.check_index(&name, Location::caller())?;
        Ok(DeclaredIndex::new(name))
    }

    /// The objects a query asks for.
    pub fn list(&self, query: &impl QueryOf<K>) -> Result<Vec<View<K>>, ReadError> {
        let records = self.store.list(query.query())?;
        Ok(self.store.views(&records)?)
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Lister {
            store: self.store.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lister").field(&self.store).finish()
    }
}
