//! Field indexes: functions from an object to values, run once when the object changes.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;

use kube::core::PartialObjectMeta;
use serde::de::DeserializeOwned;

use super::state::{IndexLookup, Query};
use crate::object::{ObjectKey, Record, Selector};

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

/// An index that is declared, to make queries by it. [`Context::index`](crate::controller::Context::index) gives it to a reconciler, and
/// [`Cache::index`](crate::informer::Cache::index) to who reads without one.
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
    /// [`IndexQuery::in_namespace`].
    #[track_caller]
    pub fn query(&self, value: impl Into<String>) -> IndexQuery<K> {
        let lookup = IndexLookup {
            name: Arc::clone(&self.name),
            value: value.into(),
            asked_at: Location::caller(),
        };
        IndexQuery {
            query: Query {
                index: Some(lookup),
                ..Query::all()
            },
            kind: PhantomData,
        }
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

/// Which objects of type `K` a reader wants, by an index of that kind. There is no other way to name an index, and
/// [`DeclaredIndex::query`] is the only one to make this: an index that nobody declares is found when it is asked for, not when it is read
/// by, and one of another kind does not compile:
///
/// ```compile_fail,E0277
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kubewright_runtime::cache::DeclaredIndex;
/// use kubewright_runtime::client::{Client, Error};
///
/// async fn users(client: &Client, pods_that_use: &DeclaredIndex<Pod>) -> Result<usize, Error> {
///     Ok(client.list::<ConfigMap>(&pods_that_use.query("settings")).await?.len())
/// }
/// ```
///
/// The objects that are listed need not be named, since they follow from the index:
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// # use kubewright_runtime::cache::DeclaredIndex;
/// # use kubewright_runtime::client::{Client, Error};
/// async fn users(client: &Client, pods_that_use: &DeclaredIndex<Pod>) -> Result<usize, Error> {
///     Ok(client.list(&pods_that_use.query("settings").in_namespace("shop")).await?.len())
/// }
/// # let _ = users;
/// ```
pub struct IndexQuery<K> {
    query: Query,
    kind: PhantomData<fn() -> K>,
}

impl<K> IndexQuery<K> {
    /// Only those of a namespace.
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        IndexQuery {
            query: self.query.in_namespace(namespace),
            ..self
        }
    }

    /// The same objects, for [`Client::metadata_of`](crate::client::Client::metadata_of).
    pub fn metadata(self) -> IndexQuery<PartialObjectMeta<K>> {
        IndexQuery {
            query: self.query,
            kind: PhantomData,
        }
    }

    /// Only those whose labels match.
    pub fn matching(self, selector: Selector) -> Self {
        IndexQuery {
            query: self.query.matching(selector),
            ..self
        }
    }
}

impl<K> Clone for IndexQuery<K> {
    fn clone(&self) -> Self {
        IndexQuery {
            query: self.query.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for IndexQuery<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IndexQuery").field(&self.query).finish()
    }
}

/// What objects of type `K` are listed by: a [`Query`], or an [`IndexQuery`] of an index of their kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not ask for objects of type `{K}`",
    note = "an index finds objects of the kind that it was declared for; a `Query` asks for objects of any kind"
)]
pub trait QueryOf<K> {
    /// As the stores read it.
    #[doc(hidden)]
    fn query(&self) -> &Query;
}

impl<K> QueryOf<K> for Query {
    fn query(&self) -> &Query {
        self
    }
}

impl<K> QueryOf<K> for IndexQuery<K> {
    fn query(&self) -> &Query {
        &self.query
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
