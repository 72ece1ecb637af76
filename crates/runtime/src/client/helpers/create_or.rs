//! Create an object if it is missing, else bring it into shape.

use serde_json::Value;

use super::super::patch::merge_difference;
use super::super::{Applied, Client, Error, Outcome, Patch};
use crate::object::{Object, ObjectKey};

impl Client {
    /// Reads an object, changes it and updates it; creates it if it is missing. Nothing is sent if the change changes nothing.
    ///
    /// `initial` names the object and is what a new one is made from; `change` is applied to what exists or to `initial`.
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
    /// settings.metadata.namespace = Some("default".to_owned());
    /// settings.metadata.name = Some("settings".to_owned());
    /// let done = client
    ///     .create_or_update(settings, |settings| {
    ///         settings.data.get_or_insert_default().insert("colour".to_owned(), "red".to_owned());
    ///         Ok(())
    ///     })
    ///     .await?;
    /// assert_eq!(done.outcome, Outcome::Created);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_or_update<K: Object>(
        &self,
        initial: K,
        change: impl FnOnce(&mut K) -> Result<(), Error>,
    ) -> Result<Applied<K>, Error> {
        let key = key_of(&initial)?;
        let Some(existing) = self.get_opt::<K>(&key).await? else {
            return self.create_changed(initial, change).await;
        };
        let before = self.of::<K>().value(&existing)?;
        let mut object = existing.into_owned();
        change(&mut object)?;
        same_name(&key, &object)?;
        if self.of::<K>().value(&object)? == before {
            return Ok(Applied {
                object,
                outcome: Outcome::Unchanged,
            });
        }
        Ok(Applied {
            object: self.update(&object).await?,
            outcome: Outcome::Updated,
        })
    }

    /// The same with merge patches instead of updates, so that other writers' changes are no conflict. A changed status is
    /// patched too, on its own.
    pub async fn create_or_patch<K: Object>(
        &self,
        initial: K,
        change: impl FnOnce(&mut K) -> Result<(), Error>,
    ) -> Result<Applied<K>, Error> {
        let key = key_of(&initial)?;
        let objects = self.of::<K>();
        let Some(existing) = self.get_opt::<K>(&key).await? else {
            return self.create_changed(initial, change).await;
        };
        let mut before = objects.value(&existing)?;
        let mut object = existing.into_owned();
        change(&mut object)?;
        same_name(&key, &object)?;
        let mut after = objects.value(&object)?;
        let (old_status, new_status) = (take_status(&mut before), take_status(&mut after));
        let mut outcome = Outcome::Unchanged;
        if let Some(difference) = merge_difference(&before, &after) {
            object = self.patch(&key, &Patch::Merge(difference)).await?;
            outcome = Outcome::Updated;
        }
        if let Some(difference) = merge_difference(&old_status, &new_status) {
            let patch = Patch::Merge(serde_json::json!({ "status": difference }));
            object = self.patch_status(&key, &patch).await?;
            outcome = match outcome {
                Outcome::Updated => Outcome::UpdatedStatus,
                _ => Outcome::UpdatedStatusOnly,
            };
        }
        Ok(Applied { object, outcome })
    }

    async fn create_changed<K: Object>(
        &self,
        mut object: K,
        change: impl FnOnce(&mut K) -> Result<(), Error>,
    ) -> Result<Applied<K>, Error> {
        let key = key_of(&object)?;
        change(&mut object)?;
        same_name(&key, &object)?;
        Ok(Applied {
            object: self.create(&object).await?,
            outcome: Outcome::Created,
        })
    }
}

fn take_status(value: &mut Value) -> Value {
    value
        .as_object_mut()
        .and_then(|object| object.remove("status"))
        .unwrap_or_default()
}

fn key_of<K: Object>(object: &K) -> Result<ObjectKey, Error> {
    let meta = object.meta();
    match meta.name.as_deref() {
        Some(name) if !name.is_empty() => Ok(ObjectKey::new(meta.namespace.as_deref(), name)),
        _ => Err(Error::Invalid {
            kind: K::kind(&()).into_owned(),
            problem: "the object has no name".to_owned(),
        }),
    }
}

fn same_name<K: Object>(key: &ObjectKey, object: &K) -> Result<(), Error> {
    if key_of(object)? == *key {
        return Ok(());
    }
    Err(Error::Invalid {
        kind: K::kind(&()).into_owned(),
        problem: format!("the change renames {key}"),
    })
}
