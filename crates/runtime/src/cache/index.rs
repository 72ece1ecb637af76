//! Field indexes: functions from an object to values, run once when the object changes.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::state::Query;
use crate::object::{ObjectKey, Record};

type Function = dyn Fn(&Arc<Record>) -> Vec<String> + Send + Sync;

/// A named function from an object to the values it can be found by.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_runtime::cache::Index;
///
/// let by_node = Index::of::<Pod>("spec.nodeName", |pod| {
///     pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect()
/// });
/// assert_eq!(by_node.name(), "spec.nodeName");
/// ```
#[derive(Clone)]
pub struct Index {
    name: Arc<str>,
    values: Arc<Function>,
    /// The type of the function, by which two declarations of one index are told from two indexes of one name.
    function: TypeId,
}

impl Index {
    /// An index of decoded objects. Objects that do not decode are not indexed.
    pub fn of<K: DeserializeOwned + Send + Sync + 'static>(
        name: impl Into<Arc<str>>,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        let function = type_id_of(&values);
        Self::of_records(name, function, move |record| match record.view::<K>() {
            Ok(view) => values(&view),
            Err(error) => {
                tracing::warn!(%error, "an object is not indexed");
                Vec::new()
            }
        })
    }

    /// An index that reads records without decoding them.
    fn of_records(
        name: impl Into<Arc<str>>,
        function: TypeId,
        values: impl Fn(&Arc<Record>) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Index {
            name: name.into(),
            values: Arc::new(values),
            function,
        }
    }

    /// The name readers use.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn type_id_of<F: 'static>(_: &F) -> TypeId {
    TypeId::of::<F>()
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.name).finish()
    }
}

/// An index that is declared, to make queries by it. [`Context::index`](crate::controller::Context::index) gives it to a reconciler.
pub struct DeclaredIndex<K> {
    name: Arc<str>,
    kind: PhantomData<fn() -> K>,
}

impl<K> DeclaredIndex<K> {
    pub(crate) fn new(name: Arc<str>) -> Self {
        DeclaredIndex {
            name,
            kind: PhantomData,
        }
    }

    /// The objects that the index finds under a value, of all namespaces unless the query is narrowed with
    /// [`Query::in_namespace`].
    #[track_caller]
    pub fn query(&self, value: impl Into<String>) -> Query {
        Query::all().indexed(&*self.name, value)
    }
}

impl<K> Clone for DeclaredIndex<K> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.name))
    }
}

impl<K> fmt::Debug for DeclaredIndex<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeclaredIndex").field(&self.name).finish()
    }
}

/// The indexes of a store.
#[derive(Clone, Debug, Default)]
pub struct Indexes(Vec<Index>);

/// The values of one object, one set per index.
pub(super) type Values = Box<[Vec<String>]>;

impl Indexes {
    /// Adds an index; one of the same name is replaced.
    pub fn add(&mut self, index: Index) {
        self.0.retain(|other| other.name != index.name);
        self.0.push(index);
    }

    /// Whether there is an index of the same name with another function.
    pub(crate) fn contradicts(&self, index: &Index) -> bool {
        self.0
            .iter()
            .any(|other| other.name == index.name && other.function != index.function)
    }

    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Index::name)
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|index| index.name() == name)
    }

    /// Runs every function once. A function that panics finds nothing; the cache goes on.
    pub(super) fn values(&self, record: &Arc<Record>) -> Values {
        self.0
            .iter()
            .map(|index| {
                let mut values = catch_unwind(AssertUnwindSafe(|| (index.values)(record))).unwrap_or_else(|_| {
                    tracing::error!(index = index.name(), object = %record.key(), "an index function panicked");
                    Vec::new()
                });
                values.sort_unstable();
                values.dedup();
                values
            })
            .collect()
    }
}

/// Which keys have which values, one table per index.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<BTreeMap<String, BTreeSet<ObjectKey>>>);

impl Tables {
    pub(super) fn insert(&mut self, key: &ObjectKey, values: &Values) {
        self.0.resize_with(self.0.len().max(values.len()), BTreeMap::new);
        for (table, values) in self.0.iter_mut().zip(values) {
            for value in values {
                if let Some(keys) = table.get_mut(value) {
                    keys.insert(key.clone());
                } else {
                    table.insert(value.clone(), BTreeSet::from([key.clone()]));
                }
            }
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey, values: &Values) {
        for (table, values) in self.0.iter_mut().zip(values) {
            for value in values {
                if let Some(keys) = table.get_mut(value) {
                    keys.remove(key);
                    if keys.is_empty() {
                        table.remove(value);
                    }
                }
            }
        }
    }

    /// The keys under a value, of one namespace or of all; costs as much as they are.
    pub(super) fn keys(
        &self,
        position: usize,
        value: &str,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &ObjectKey> {
        // All keys of a namespace begin with its name and a slash, and no other keys do.
        let prefix = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        self.0
            .get(position)
            .and_then(|table| table.get(value))
            .into_iter()
            .flat_map({
                let from = prefix.clone();
                move |keys| keys.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded))
            })
            .take_while(move |key| key.as_str().starts_with(&prefix))
    }
}
