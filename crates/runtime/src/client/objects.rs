//! The verbs for one kind, whether known to the compiler or not.

use std::fmt;
use std::marker::PhantomData;

use super::{Client, Subresource};
use crate::object::Kind;

/// The objects of one kind, read and written as `K`. Made by [`Client::of`], [`Client::dynamic`] and [`Client::metadata_of`].
pub struct Objects<K> {
    pub(super) client: Client,
    pub(super) kind: Kind,
    pub(super) metadata_only: bool,
    object: PhantomData<fn() -> K>,
}

impl<K> Objects<K> {
    pub(super) fn new(client: Client, kind: Kind, metadata_only: bool) -> Self {
        Objects {
            client,
            kind,
            metadata_only,
            object: PhantomData,
        }
    }

    /// What they are.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The status of the objects.
    pub fn status(&self) -> Subresource<K> {
        self.subresource("status")
    }

    /// Any subresource of the objects, as `scale`.
    pub fn subresource(&self, name: impl Into<String>) -> Subresource<K> {
        Subresource::new(self.clone(), name.into())
    }
}

impl<K> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Objects::new(self.client.clone(), self.kind.clone(), self.metadata_only)
    }
}

impl<K> fmt::Debug for Objects<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Objects({})", self.kind)
    }
}
