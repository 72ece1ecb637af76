//! The verbs on the client itself, for Rust types.

use super::{Applied, Client, DeleteOptions, Error, Patch};
use crate::cache::Query;
use crate::object::{Object, ObjectKey, View};

impl Client {
    /// The object under a key; an error if there is none. See [`Objects::get`](super::Objects::get).
    pub async fn get<K: Object>(&self, key: &ObjectKey) -> Result<View<K>, Error> {
        self.of::<K>().get(key).await
    }

    /// The object under a key, if there is one.
    pub async fn get_opt<K: Object>(&self, key: &ObjectKey) -> Result<Option<View<K>>, Error> {
        self.of::<K>().get_opt(key).await
    }

    /// The objects a query asks for.
    pub async fn list<K: Object>(&self, query: &Query) -> Result<Vec<View<K>>, Error> {
        self.of::<K>().list(query).await
    }

    /// Creates an object.
    pub async fn create<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().create(object).await
    }

    /// Replaces an object. Fails with a conflict if it was changed since it was read.
    pub async fn update<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().update(object).await
    }

    /// Changes an object.
    pub async fn patch<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().patch(key, patch).await
    }

    /// Applies what this owner wants of an object. See [`Objects::apply`](super::Objects::apply).
    pub async fn apply<K: Object>(&self, wanted: &K) -> Result<Applied<K>, Error> {
        self.of::<K>().apply(wanted).await
    }

    /// Deletes an object.
    pub async fn delete<K: Object>(&self, key: &ObjectKey) -> Result<(), Error> {
        self.of::<K>().delete(key).await
    }

    /// Deletes an object in a certain way.
    pub async fn delete_with<K: Object>(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
        self.of::<K>().delete_with(key, options).await
    }

    /// Deletes all objects that a query asks for.
    pub async fn delete_all_of<K: Object>(&self, query: &Query) -> Result<(), Error> {
        self.of::<K>().delete_all_of(query, &DeleteOptions::default()).await
    }

    /// Replaces the status of an object.
    pub async fn update_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().status().update(object).await
    }

    /// Changes the status of an object.
    pub async fn patch_status<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().status().patch(key, patch).await
    }
}
