//! From events to requests: itself, its owners, or what a function says.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_description::Wakes;
use serde::de::DeserializeOwned;

use super::reconciler::Request;
use crate::cache::Event;
use crate::client::Client;
use crate::object::{Kind, ObjectKey, Record, View};

/// Which owners count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerMatch {
    Controller,
    Any,
}

type MapRecord = dyn Fn(&Arc<Record>) -> Vec<Request> + Send + Sync;
type Mapped = Pin<Box<dyn Future<Output = Vec<Request>> + Send>>;
type MapRecordLater = dyn Fn(Client, Arc<Record>) -> Mapped + Send + Sync;

/// Whom an object wakes.
#[derive(Clone)]
pub(super) enum Mapping {
    Itself,
    Owner(OwnerMatch),
    Function(Arc<MapRecord>),
    Later(Arc<MapRecordLater>),
}

impl Mapping {
    pub(super) fn function<K: DeserializeOwned + Send + Sync + 'static>(
        map: impl Fn(&K) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        Mapping::Function(Arc::new(move |record| {
            decoded(record).map_or_else(Vec::new, |object| map(&object))
        }))
    }

    pub(super) fn asynchronous<K, Fut>(map: impl Fn(Client, View<K>) -> Fut + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
        Fut: Future<Output = Vec<Request>> + Send + 'static,
    {
        Mapping::Later(Arc::new(move |client, record| match decoded(&record) {
            Some(object) => Box::pin(map(client, object)),
            None => Box::pin(std::future::ready(Vec::new())),
        }))
    }

    /// The requests of an event; `None` if they have to be awaited.
    pub(super) fn requests(&self, owner: &Kind, event: &Event) -> Option<Vec<Request>> {
        let records = event.old().into_iter().chain([event.object()]);
        let mut requests: Vec<Request> = match self {
            Mapping::Itself => vec![event.key().clone().into()],
            Mapping::Owner(which) => records.flat_map(|record| owners(record, owner, *which)).collect(),
            Mapping::Function(map) => records.flat_map(|record| map(record)).collect(),
            Mapping::Later(_) => return None,
        };
        requests.sort_unstable();
        requests.dedup();
        Some(requests)
    }

    /// The same, awaited.
    pub(super) async fn requests_later(&self, owner: &Kind, client: &Client, event: &Event) -> Vec<Request> {
        let Mapping::Later(map) = self else {
            return self.requests(owner, event).unwrap_or_default();
        };
        let mut requests = Vec::new();
        for record in event.old().into_iter().chain([event.object()]) {
            requests.extend(map(client.clone(), Arc::clone(record)).await);
        }
        requests.sort_unstable();
        requests.dedup();
        requests
    }

    /// Which objects are reconciled, for tools.
    pub(super) fn wakes(&self) -> Wakes {
        match self {
            Mapping::Itself => Wakes::Itself,
            Mapping::Owner(OwnerMatch::Controller) => Wakes::Controller,
            Mapping::Owner(OwnerMatch::Any) => Wakes::Owners,
            Mapping::Function(_) | Mapping::Later(_) => Wakes::Function,
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wakes().fmt(f)
    }
}

fn owners<'a>(record: &'a Record, kind: &'a Kind, which: OwnerMatch) -> impl Iterator<Item = Request> + 'a {
    record
        .owners()
        .into_iter()
        .filter(move |owner| owner.is_of(kind) && (which == OwnerMatch::Any || owner.controller))
        .map(move |owner| {
            // A namespaced owner is in the namespace of what it owns.
            let namespace = record.key().namespace().filter(|_| kind.is_namespaced());
            ObjectKey::new(namespace, &owner.name).into()
        })
}

fn decoded<K: DeserializeOwned + Send + Sync + 'static>(record: &Arc<Record>) -> Option<View<K>> {
    record
        .view()
        .map_err(|error| tracing::warn!(%error, "an object wakes nobody"))
        .ok()
}
