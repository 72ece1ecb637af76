//! Reading: from the cache behind barriers, or live.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde::de::DeserializeOwned;

use super::request::{Call, METADATA, METADATA_LIST};
use super::{Client, Error, Objects};
use crate::cache::{BarrierTimeout, Query, QueryOf, Store, UnknownIndex};
use crate::object::{Kind, ObjectKey, Page, Record, View};
use crate::trace::{Found, REDACTED, RawEvent, RawRead, RawTarget, is_confidential};

/// How long a reader waits for an informer that has not seen the state yet, if reads do not wait otherwise.
const SYNC_WAIT: Duration = Duration::from_secs(5);
/// Live lists come in pages of this many.
const PAGE: usize = 500;

impl<K: DeserializeOwned + Send + Sync + 'static> Objects<K> {
    /// The object under a key; an error if there is none.
    pub async fn get(&self, key: &ObjectKey) -> Result<View<K>, Error> {
        let object = self.get_opt(key).await?;
        object.ok_or_else(|| Error::NotFound {
            kind: self.kind.to_string(),
            key: key.clone(),
        })
    }

    /// The object under a key, if there is one.
    pub async fn get_opt(&self, key: &ObjectKey) -> Result<Option<View<K>>, Error> {
        if self.is_live() {
            let record = self.get_live(key).await?;
            return Ok(record.map(|record| record.view()).transpose()?);
        }
        let store = self.store().await?;
        if let Some(wait) = self.client.options.wait {
            let caught_up = store.caught_up_with_key(key.as_str(), wait).await;
            self.client.count_wait(&self.kind, &caught_up);
            caught_up?;
        }
        let record = store.get(key.as_str());
        self.trace_read(&store, key, record.as_deref());
        Ok(record.map(|record| store.view(&record)).transpose()?)
    }

    /// The objects a query asks for. A live list reads all pages, and its objects have no managedFields.
    pub async fn list(&self, query: &impl QueryOf<K>) -> Result<Vec<View<K>>, Error> {
        let query = query.query();
        if self.is_live() {
            let records = self.list_live(query).await?;
            return records.iter().map(|record| Ok(record.view()?)).collect();
        }
        let store = self.store().await?;
        if let Some(wait) = self.client.options.wait {
            let caught_up = store.caught_up(query.namespace.as_deref(), wait).await;
            self.client.count_wait(&self.kind, &caught_up);
            caught_up?;
        }
        // Before the list: what comes meanwhile makes it no older.
        let is_traced = self.client.trace().is_on();
        let cache = is_traced.then(|| store.seen_in(query.namespace.as_deref())).flatten();
        let records = store.list(query)?;
        self.trace_list(&store, query, records.len(), cache);
        Ok(store.views(&records)?)
    }

    /// The store of the kind, once it has seen the state of the cluster.
    async fn store(&self) -> Result<Store, Error> {
        let kind = || self.kind.to_string();
        let informer = self
            .client
            .shared
            .cache
            .informer(&self.kind)
            .ok_or_else(|| Error::Undeclared { kind: kind() })?;
        if informer.is_metadata_only() && !self.metadata_only {
            return Err(Error::MetadataOnly { kind: kind() });
        }
        let store = informer.store();
        // A kind that the server does not have has no objects; waiting would not change that.
        if !store.is_synced() && !informer.is_missing() {
            let wait = self.client.options.wait.unwrap_or(SYNC_WAIT);
            if tokio::time::timeout(wait, store.synced()).await.is_err() {
                let trouble = informer
                    .troubles()
                    .first()
                    .map_or_else(String::new, |trouble| format!(": {trouble}"));
                return Err(Error::NotSynced { kind: kind(), trouble });
            }
        }
        Ok(store.clone())
    }

    async fn get_live(&self, key: &ObjectKey) -> Result<Option<Arc<Record>>, Error> {
        let mut call = Call::new("get", Method::GET, &self.kind).object(key);
        call.accept = self.metadata_only.then_some(METADATA);
        match self.client.send(call).await {
            Ok((_, body)) => {
                let record =
                    Record::parse_whole(&body, &self.kind).map_err(|error| self.malformed_response("get", error))?;
                Ok(Some(Arc::new(record)))
            }
            Err(error) if error.reason() == "NotFound" => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_live(&self, query: &Query) -> Result<Vec<Arc<Record>>, Error> {
        if let Some(lookup) = &query.index {
            return Err(UnknownIndex::on_server(&self.kind, lookup).into());
        }
        let mut records = Vec::new();
        let mut continue_token = String::new();
        loop {
            let mut call = Call::new("list", Method::GET, &self.kind);
            call.namespace = query.namespace.as_deref();
            call.accept = self.metadata_only.then_some(METADATA_LIST);
            call.query.push(("limit", PAGE.to_string()));
            if !query.selector.is_everything() {
                call.query.push(("labelSelector", query.selector.to_string()));
            }
            if !continue_token.is_empty() {
                call.query.push(("continue", continue_token));
            }
            let (_, body) = self.client.send(call).await?;
            let page =
                Page::parse(&body, &self.kind.type_meta()).map_err(|error| self.malformed_response("list", error))?;
            records.extend(page.items.into_iter().map(Arc::new));
            continue_token = page.continue_token;
            if continue_token.is_empty() {
                return Ok(records);
            }
        }
    }
}

impl Client {
    /// A cached read waited for own writes, or not long enough.
    pub(super) fn count_wait(&self, kind: &Kind, caught_up: &Result<Duration, BarrierTimeout>) {
        if matches!(caught_up, Ok(Duration::ZERO)) {
            return;
        }
        let Some(metrics) = self.shared.read_metrics.get() else {
            return;
        };
        let kind = kind.to_string();
        let waited = match caught_up {
            Ok(waited) => *waited,
            Err(timeout) => {
                metrics.timeouts.with([kind.as_str()]).inc();
                timeout.waited
            }
        };
        metrics.waits.with([kind.as_str()]).observe_duration(waited);
    }
}

impl<K> Objects<K> {
    /// Records what the cache had under a key.
    pub(super) fn trace_read(&self, store: &Store, key: &ObjectKey, record: Option<&Record>) {
        self.client.trace().record(|| {
            RawEvent::Read(RawRead {
                kind: Arc::clone(store.shared_kind()),
                target: RawTarget::Key(key.clone()),
                found: record.map_or(Found::Nothing, |record| Found::Object(record.revision())),
                cache: None,
            })
        });
    }

    /// Records a list from the cache, which had seen everything up to a revision before.
    fn trace_list(&self, store: &Store, query: &Query, found: usize, cache: Option<u64>) {
        self.client.trace().record(|| {
            RawEvent::Read(RawRead {
                kind: Arc::clone(store.shared_kind()),
                target: RawTarget::list(query),
                found: Found::Objects(found),
                cache,
            })
        });
    }

    /// Whether reads go to the server, because this client or the whole kind was declared live.
    pub(super) fn is_live(&self) -> bool {
        self.client.options.live || self.client.shared.cache.is_live(&self.kind)
    }

    /// The error for an answer that succeeded but does not decode.
    pub(super) fn malformed_response(
        &self,
        verb: &'static str,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        // What does not decode is often quoted.
        let source = if is_confidential(&self.kind) {
            format!("the answer does not decode {REDACTED}").into()
        } else {
            error.into()
        };
        Error::Transport {
            verb,
            what: self.kind.to_string(),
            source,
        }
    }
}
