//! Deleting: one object, or all that a query asks for.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::request::Call;
use super::{Client, Error, Objects};
use crate::cache::{Barrier, Query};
use crate::object::{Kind, ObjectKey, Page, Record};

/// What happens to the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay, without their owner.
    Orphan,
}

/// How an object is deleted. The default leaves everything to the server.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
///
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_runtime::client::DeleteOptions;
/// use kubewright_runtime::object::ObjectKey;
///
/// let options = DeleteOptions {
///     uid: Some("of another one".to_owned()),
///     ..DeleteOptions::default()
/// };
/// let error = client.delete_with::<Namespace>(&ObjectKey::cluster("default"), &options).await.unwrap_err();
/// assert!(error.is_conflict());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOptions {
    /// How long the object may take to end, where its kind can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u32>,
    /// What happens to what it owns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// Only the object with this uid is deleted.
    #[serde(skip)]
    pub uid: Option<String>,
    /// Only the object at this resourceVersion is deleted.
    #[serde(skip)]
    pub resource_version: Option<String>,
}

impl DeleteOptions {
    fn body(&self, dry_run: bool) -> Vec<u8> {
        let mut body = serde_json::to_value(self).unwrap_or_default();
        body["apiVersion"] = "v1".into();
        body["kind"] = "DeleteOptions".into();
        if dry_run {
            body["dryRun"] = json!(["All"]);
        }
        if let Some(uid) = &self.uid {
            body["preconditions"]["uid"] = uid.as_str().into();
        }
        if let Some(version) = &self.resource_version {
            body["preconditions"]["resourceVersion"] = version.as_str().into();
        }
        body.to_string().into_bytes()
    }
}

/// The parts of an answer that decide whether the object stays: a `Status`, or the object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DeleteResponse {
    kind: String,
    metadata: ResponseMeta,
    spec: ResponseSpec,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResponseMeta {
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<String>>,
}

/// A namespace has finalizers in its specification too.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseSpec {
    finalizers: Option<Vec<serde_json::Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    uid: String,
}

impl DeleteResponse {
    /// Whether the object is marked for deletion and nothing holds it any more: this answer is its last state.
    fn is_last(&self) -> bool {
        let metadata = &self.metadata;
        metadata.deletion_timestamp.is_some()
            && metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
            && self.spec.finalizers.as_ref().is_none_or(Vec::is_empty)
            && metadata.deletion_grace_period_seconds.unwrap_or(0) == 0
    }
}

/// Whether an object that was written is gone by that: its last finalizer was removed.
pub(super) fn is_last_state(answer: &[u8]) -> bool {
    serde_json::from_slice::<DeleteResponse>(answer).is_ok_and(|answer| answer.is_last())
}

impl<K> Objects<K> {
    /// Deletes an object. It may stay for a while: until its finalizers are done, or its grace period is over.
    pub async fn delete(&self, key: &ObjectKey) -> Result<(), Error> {
        self.delete_with(key, &DeleteOptions::default()).await
    }

    /// Deletes an object in a certain way.
    pub async fn delete_with(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
        let dry_run = self.client.options.dry_run;
        let mut call = Call::new("delete", Method::DELETE, &self.kind).object(key);
        call.body = options.body(dry_run);
        let (_, answer) = self.client.send(call).await?;
        if !dry_run {
            self.client.shared.applied.forget(&self.kind, key);
            self.client.deleted(&self.kind, key, &answer);
        }
        Ok(())
    }

    /// Deletes all objects that a query asks for, in one request per namespace. Indexes exist in the cache only.
    pub async fn delete_all_of(&self, query: &Query, options: &DeleteOptions) -> Result<(), Error> {
        if let Some(lookup) = &query.index {
            return Err(crate::cache::UnknownIndex::on_server(&self.kind, lookup).into());
        }
        let dry_run = self.client.options.dry_run;
        let mut call = Call::new("delete all of", Method::DELETE, &self.kind);
        call.namespace = query.namespace.as_deref();
        if self.kind.is_namespaced() && query.namespace.is_none() {
            return Err(Error::Invalid {
                kind: self.kind.to_string(),
                problem: "deleting all needs a namespace".to_owned(),
            });
        }
        if !query.selector.is_everything() {
            call.query.push(("labelSelector", query.selector.to_string()));
        }
        call.body = options.body(dry_run);
        let (_, answer) = self.client.send(call).await?;
        if !dry_run && let Ok(page) = Page::parse(&answer, &self.kind.type_meta()) {
            for record in page.items {
                self.client.shared.applied.forget(&self.kind, record.key());
                self.client.deleted_among_others(&self.kind, &record);
            }
        }
        Ok(())
    }
}

impl Client {
    /// An object was among those whose deletion was asked for: this is what it was before. Whether it is gone or only marked is
    /// not said, but the cache has seen it when one of the two is so. What was marked already may stay as it is.
    fn deleted_among_others(&self, kind: &Kind, before: &Record) {
        let informer = self.shared.cache.informer(kind).filter(|_| !before.is_deleting());
        if let (Some(informer), Some(revision)) = (informer, before.revision()) {
            informer
                .store()
                .set_barrier(before.key(), Barrier::past(&before.uid(), revision));
        }
    }

    /// An object was deleted, or its deletion was asked for: cached reads of it wait until the cache has seen that.
    fn deleted(&self, kind: &Kind, key: &ObjectKey, answer: &[u8]) {
        let Some(informer) = self.shared.cache.informer(kind) else {
            return;
        };
        let store = informer.store();
        let parsed: DeleteResponse = serde_json::from_slice(answer).unwrap_or_default();
        let record = (parsed.kind != "Status")
            .then(|| Record::parse(answer, kind).ok())
            .flatten();
        if let Some(record) = &record
            && record.is_deleting()
            && !parsed.is_last()
        {
            // It stays for now, marked: that is an update.
            self.raise_barrier(kind, answer);
            return;
        }
        let said = match &record {
            Some(record) => record.uid().into_owned(),
            None => parsed.details.map(|details| details.uid).unwrap_or_default(),
        };
        let uid = if said.is_empty() {
            store
                .get(key.as_str())
                .map(|held| held.uid().into_owned())
                .unwrap_or_default()
        } else {
            said
        };
        if !uid.is_empty() {
            store.set_barrier(key, Barrier::gone(&uid));
        }
    }
}
