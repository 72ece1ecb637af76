//! The verbs on the client itself, for Rust types.

use super::{Applied, Client, DeleteOptions, Error, Patch};
use crate::cache::{Query, QueryOf};
use crate::object::{Object, ObjectKey, View};

impl Client {
    /// Reads the object under a key from the cache; [`Error::is_not_found`] if there is none.
    ///
    /// Waits until the cache has seen this client's own writes of the key. The kind must be declared (`reads`, `owns`, `watches`);
    /// an undeclared kind is an error, unless the client is [`live`](Client::live).
    pub async fn get<K: Object>(&self, key: &ObjectKey) -> Result<View<K>, Error> {
        self.of::<K>().get(key).await
    }

    /// Reads the object under a key like [`Client::get`], or `None` if there is none.
    pub async fn get_opt<K: Object>(&self, key: &ObjectKey) -> Result<Option<View<K>>, Error> {
        self.of::<K>().get_opt(key).await
    }

    /// Lists the objects that match a query, from the cache: by an index where the query is one of it
    /// ([`DeclaredIndex::query`](crate::cache::DeclaredIndex::query)), else by a walk over the namespace. Waits for this client's own
    /// writes in that namespace.
    pub async fn list<K: Object>(&self, query: &impl QueryOf<K>) -> Result<Vec<View<K>>, Error> {
        self.of::<K>().list(query).await
    }

    /// Creates an object and returns it as the server stored it. `metadata.generateName` works too.
    pub async fn create<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().create(object).await
    }

    /// Replaces an object. Fails with a conflict if its resourceVersion is not the one on the server: it was changed since it was
    /// read.
    pub async fn update<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().update(object).await
    }

    /// Patches an object. Conflicts only if the patch itself names a resourceVersion ([`Patch::merge_from_locked`]).
    pub async fn patch<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().patch(key, patch).await
    }

    /// Applies an object server-side as this client's field owner, and creates it if it is not there. Fields that this owner
    /// applied before and now leaves out are removed. See [`Objects::apply`](super::Objects::apply) for when no request is sent.
    pub async fn apply<K: Object>(&self, wanted: &K) -> Result<Applied<K>, Error> {
        self.of::<K>().apply(wanted).await
    }

    /// Deletes an object. It may stay for a while: until its finalizers are removed, or its grace period is over.
    pub async fn delete<K: Object>(&self, key: &ObjectKey) -> Result<(), Error> {
        self.of::<K>().delete(key).await
    }

    /// Deletes an object under preconditions, with a grace period or with a propagation policy.
    pub async fn delete_with<K: Object>(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
        self.of::<K>().delete_with(key, options).await
    }

    /// Deletes all objects that match a query, in one request per namespace.
    pub async fn delete_all_of<K: Object>(&self, query: &Query) -> Result<(), Error> {
        self.of::<K>().delete_all_of(query, &DeleteOptions::default()).await
    }

    /// Replaces the status of an object, and nothing else of it. Fails with a conflict if the object was changed since it was read.
    pub async fn update_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().status().update(object).await
    }

    /// Patches the status of an object, and nothing else of it.
    pub async fn patch_status<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().status().patch(key, patch).await
    }
}
