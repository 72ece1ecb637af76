//! Writing: create, update, patch, apply; and what the cache must have seen afterwards.

use http::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::applied::ApplyKey;
use super::request::Call;
use super::{Client, Error, Objects, Patch};
use crate::cache::Barrier;
use crate::object::{Kind, ObjectKey, Record};

/// What a helper or an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be done, or the server found that nothing changed.
    Unchanged,
    /// The object is new.
    Created,
    /// The object changed.
    Updated,
    /// The object and its status changed.
    UpdatedStatus,
    /// Only the status changed.
    UpdatedStatusOnly,
}

/// An object after an apply, and what the apply did.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
/// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::Outcome;
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".to_owned());
/// settings.metadata.namespace = Some("default".to_owned());
/// let applied = client.apply(&settings).await?;
/// assert_eq!(applied.outcome, Outcome::Created);
/// assert!(applied.object.metadata.uid.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Applied<K> {
    /// The object.
    pub object: K,
    /// What was done.
    pub outcome: Outcome,
}

impl<K: Serialize + DeserializeOwned> Objects<K> {
    /// Creates an object. `metadata.generateName` works too.
    pub async fn create(&self, object: &K) -> Result<K, Error> {
        let body = self.value(object)?;
        let metadata = &body["metadata"];
        let mut call = Call::new("create", Method::POST, &self.kind);
        call.namespace = metadata["namespace"].as_str();
        call.new_name = metadata["name"].as_str();
        call.query = self.client.write_query(true);
        call.body = body.to_string().into_bytes();
        let (_, answer) = self.client.send(call).await?;
        self.written("create", &answer)
    }

    /// Replaces an object. Fails with a conflict if it was changed since it was read.
    pub async fn update(&self, object: &K) -> Result<K, Error> {
        let body = self.value(object)?;
        let key = self.key(&body)?;
        let mut call = Call::new("update", Method::PUT, &self.kind).object(&key);
        call.query = self.client.write_query(true);
        call.body = body.to_string().into_bytes();
        let (_, answer) = self.client.send(call).await?;
        self.written("update", &answer)
    }

    /// Changes an object.
    pub async fn patch(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        let mut call = Call::new("patch", Method::PATCH, &self.kind).object(key);
        call.query = self.client.write_query(true);
        call.content_type = patch.content_type();
        call.body = patch.body().to_string().into_bytes();
        let (_, answer) = self.client.send(call).await?;
        self.written("patch", &answer)
    }
}

impl<K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Objects<K> {
    /// Applies what this owner wants of an object (server-side apply); creates it if it is not there. What this owner applied
    /// before and does not want any more is removed. Applying the same again makes no call, as long as the cache shows that it
    /// is still so.
    pub async fn apply(&self, wanted: &K) -> Result<Applied<K>, Error> {
        let wanted = self.value(wanted)?;
        self.apply_value(wanted, None).await
    }

    pub(super) async fn apply_value(&self, mut wanted: Value, subresource: Option<&str>) -> Result<Applied<K>, Error> {
        let owner = self.client.field_owner_of_apply()?;
        let key = self.key(&wanted)?;
        if let Some(metadata) = wanted["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let slot = ApplyKey {
            kind: self.kind.clone(),
            key: key.clone(),
            owner,
            subresource: subresource.map(str::to_owned),
        };
        if let Some(present) = self.unchanged(&slot, &wanted).await? {
            return Ok(Applied {
                object: present,
                outcome: Outcome::Unchanged,
            });
        }
        let before = self.client.cached(&self.kind, &key);
        let call = self.apply_call(&key, subresource, &wanted);
        let (code, answer) = self.client.send(call).await?;
        let object = self.written("apply", &answer)?;
        let record = Record::parse(&answer, &self.kind).map_err(|error| self.malformed_response("apply", error))?;
        let outcome = match before {
            _ if code == StatusCode::CREATED => Outcome::Created,
            Some(before) if before.resource_version() == record.resource_version() => Outcome::Unchanged,
            _ => Outcome::Updated,
        };
        if !self.client.options.dry_run {
            self.client.shared.applied.remember(slot, &wanted, &record);
        }
        Ok(Applied { object, outcome })
    }

    /// The object as the cache has it, if applying `wanted` would change nothing.
    async fn unchanged(&self, slot: &ApplyKey, wanted: &Value) -> Result<Option<K>, Error> {
        let Some(informer) = self.client.shared.cache.informer(&self.kind) else {
            return Ok(None);
        };
        if informer.is_metadata_only() || self.is_live() || !informer.store().is_synced() {
            return Ok(None);
        }
        if let Some(wait) = self.client.options.wait {
            let caught_up = informer.store().caught_up_with_key(slot.key.as_str(), wait).await;
            self.client.count_wait(&self.kind, &caught_up);
            if caught_up.is_err() {
                return Ok(None);
            }
        }
        let Some(present) = informer.store().get(slot.key.as_str()) else {
            return Ok(None);
        };
        self.trace_read(informer.store(), &slot.key, Some(&present));
        if self.client.shared.applied.is_unchanged(slot, wanted, &present) {
            // Who applies the same again and again mostly does not look at it: a copy costs less than decoding it.
            return Ok(Some(informer.store().view::<K>(&present)?.into_owned()));
        }
        Ok(None)
    }
}

impl<K: Serialize + DeserializeOwned> Objects<K> {
    /// The object as it is sent: with apiVersion and kind.
    pub(super) fn value(&self, object: &K) -> Result<Value, Error> {
        let mut value = serde_json::to_value(object).map_err(|error| Error::Invalid {
            kind: self.kind.to_string(),
            problem: error.to_string(),
        })?;
        if !value.is_object() {
            return Err(Error::Invalid {
                kind: self.kind.to_string(),
                problem: "it does not serialize to an object".to_owned(),
            });
        }
        value["apiVersion"] = self.kind.api_version().into();
        value["kind"] = self.kind.kind().into();
        Ok(value)
    }

    pub(super) fn key(&self, value: &Value) -> Result<ObjectKey, Error> {
        let metadata = &value["metadata"];
        match metadata["name"].as_str() {
            Some(name) if !name.is_empty() => Ok(ObjectKey::new(metadata["namespace"].as_str(), name)),
            _ => Err(Error::Invalid {
                kind: self.kind.to_string(),
                problem: "the object has no name".to_owned(),
            }),
        }
    }

    /// The object as the server answered; later cached reads will see it.
    pub(super) fn written(&self, verb: &'static str, answer: &[u8]) -> Result<K, Error> {
        self.client.raise_barrier(&self.kind, answer);
        serde_json::from_slice(answer).map_err(|error| self.malformed_response(verb, error))
    }
}

impl<K> Objects<K> {
    /// The request of a server-side apply.
    pub(super) fn apply_call<'a>(
        &'a self,
        key: &'a ObjectKey,
        subresource: Option<&'a str>,
        wanted: &Value,
    ) -> Call<'a> {
        let mut call = Call::new("apply", Method::PATCH, &self.kind).object(key);
        call.subresource = subresource;
        call.query = self.client.write_query(true);
        if self.client.options.force {
            call.query.push(("force", "true".to_owned()));
        }
        call.content_type = "application/apply-patch+yaml";
        call.body = wanted.to_string().into_bytes();
        call
    }
}

impl Client {
    /// As whom this client applies: the server refuses an apply of nobody.
    pub(super) fn field_owner_of_apply(&self) -> Result<std::sync::Arc<str>, Error> {
        self.options.field_owner.clone().ok_or(Error::NoFieldOwner)
    }

    /// The parameters of a write.
    pub(super) fn write_query(&self, validates: bool) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        if self.options.dry_run {
            query.push(("dryRun", "All".to_owned()));
        }
        if let Some(owner) = &self.options.field_owner {
            query.push(("fieldManager", owner.to_string()));
        }
        if let Some(validation) = self.options.field_validation.filter(|_| validates) {
            query.push(("fieldValidation", validation.as_str().to_owned()));
        }
        query
    }

    /// What the cache holds under a key, without waiting.
    pub(super) fn cached(&self, kind: &Kind, key: &ObjectKey) -> Option<std::sync::Arc<Record>> {
        self.shared.cache.informer(kind)?.store().get(key.as_str())
    }

    /// An object was written: cached reads of it wait until the cache has seen that.
    ///
    /// An object that no watch of ours shows sets no barrier, unless the cache still holds it and has to see it go.
    pub(super) fn raise_barrier(&self, kind: &Kind, answer: &[u8]) {
        let Some(informer) = self.shared.cache.informer(kind).filter(|_| !self.options.dry_run) else {
            return;
        };
        let Ok(record) = Record::parse(answer, kind) else {
            return;
        };
        let Some(revision) = record.revision() else {
            return;
        };
        let store = informer.store();
        if informer.covers(&record) || store.get(record.key().as_str()).is_some() {
            let barrier = if record.is_deleting() && super::delete::is_last_state(answer) {
                Barrier::gone(&record.uid())
            } else {
                Barrier::revision(revision)
            };
            store.set_barrier(record.key(), barrier);
        }
    }
}
