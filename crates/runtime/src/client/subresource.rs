//! Parts of objects that are written on their own: status, scale and others.

use std::borrow::Cow;

use http::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::Call;
use super::{Applied, Error, Objects, Patch};
use crate::cache::Barrier;
use crate::object::ObjectKey;

/// One subresource of the objects of a kind.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
/// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::apps::v1::Deployment>());
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_runtime::client::Patch;
/// use kubewright_runtime::object::ObjectKey;
/// use serde_json::{Value, json};
///
/// # let web = json!({
/// #     "metadata": { "name": "web", "namespace": "default" },
/// #     "spec": {
/// #         "selector": { "matchLabels": { "app": "web" } },
/// #         "template": {
/// #             "metadata": { "labels": { "app": "web" } },
/// #             "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
/// #         },
/// #     },
/// # });
/// # client.create::<Deployment>(&kubewright_runtime::strict::from_json(web)?).await?;
/// let key = ObjectKey::namespaced("default", "web");
/// let scale = client.of::<Deployment>().subresource("scale");
/// scale.patch_as::<Value>(&key, &Patch::Merge(json!({ "spec": { "replicas": 3 } }))).await?;
/// assert_eq!(client.get::<Deployment>(&key).await?.spec.as_ref().unwrap().replicas, Some(3));
///
/// let mut wanted: Value = scale.get_as(&key).await?;
/// wanted["spec"]["replicas"] = json!(5);
/// let now: Value = scale.update_as(&key, &wanted).await?;
/// assert_eq!(now["spec"]["replicas"], 5);
///
/// let mut web = client.get::<Deployment>(&key).await?.into_owned();
/// web.status.get_or_insert_default().observed_generation = Some(2);
/// client.of::<Deployment>().status().update(&web).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Subresource<K> {
    objects: Objects<K>,
    name: String,
}

impl<K> Subresource<K> {
    pub(super) fn new(objects: Objects<K>, name: String) -> Self {
        Subresource { objects, name }
    }

    fn call<'a>(&'a self, verb: &'static str, method: Method, key: &'a ObjectKey) -> Call<'a> {
        let mut call = Call::new(verb, method, &self.objects.kind).object(key);
        call.subresource = Some(&self.name);
        call
    }

    fn read<T: DeserializeOwned>(&self, verb: &'static str, answer: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(answer).map_err(|error| self.objects.malformed_response(verb, error))
    }

    /// Reads it, live: subresources are not cached.
    pub async fn get_as<T: DeserializeOwned>(&self, key: &ObjectKey) -> Result<T, Error> {
        let (_, answer) = self.objects.client.send(self.call("get", Method::GET, key)).await?;
        self.read("get", &answer)
    }

    /// Creates it, as `eviction` or `token`.
    pub async fn create_as<T: DeserializeOwned>(&self, key: &ObjectKey, body: &impl Serialize) -> Result<T, Error> {
        self.write_as("create", Method::POST, key, body).await
    }

    /// Replaces it by something of another kind, as `scale`.
    pub async fn update_as<T: DeserializeOwned>(&self, key: &ObjectKey, body: &impl Serialize) -> Result<T, Error> {
        self.write_as("update", Method::PUT, key, body).await
    }

    /// Changes it, where it is of another kind, as `scale`.
    pub async fn patch_as<T: DeserializeOwned>(&self, key: &ObjectKey, patch: &Patch) -> Result<T, Error> {
        let mut call = self.call("patch", Method::PATCH, key);
        call.query = self.objects.client.write_query(true);
        call.content_type = patch.content_type();
        call.body = patch.body().to_string().into_bytes();
        let (_, answer) = self.objects.client.send(call).await?;
        self.raise_barrier(key, &answer);
        self.read("patch", &answer)
    }

    /// Applies what this owner wants of it, where it is of another kind, as `scale`: a `ScaleApply`, or any value that has what is
    /// wanted and nothing else. What this owner applied before and leaves out now is no longer its own.
    ///
    /// Servers take the replicas of a workload that nobody set for somebody's: whoever applies a scale first has to
    /// [`force`](super::Client::force) it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let cache = kubewright_runtime::informer::Cache::default();
    /// # let client = kubewright_runtime::client::Client::new(server.client(), cache).field_owner("example");
    /// use k8s_openapi::api::autoscaling::v1::Scale;
    /// use k8s_openapi::api::core::v1::ReplicationController;
    /// use kubewright_runtime::object::ObjectKey;
    /// use serde_json::json;
    ///
    /// # let template = json!({
    /// #     "metadata": { "labels": { "app": "web" } },
    /// #     "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
    /// # });
    /// # let web = json!({ "metadata": { "name": "web", "namespace": "default" }, "spec": { "template": template } });
    /// # client.create::<ReplicationController>(&kubewright_runtime::strict::from_json(web)?).await?;
    /// let key = ObjectKey::namespaced("default", "web");
    /// let scale = client.of::<ReplicationController>().subresource("scale");
    /// let wanted = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "spec": { "replicas": 3 } });
    /// let error = scale.apply_as::<Scale>(&key, &wanted).await.unwrap_err();
    /// assert!(error.is_conflict());
    /// let scale = client.force().of::<ReplicationController>().subresource("scale");
    /// let now: Scale = scale.apply_as(&key, &wanted).await?;
    /// assert_eq!(now.spec.unwrap().replicas, Some(3));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn apply_as<T: DeserializeOwned>(&self, key: &ObjectKey, wanted: &impl Serialize) -> Result<T, Error> {
        self.objects.client.field_owner_of_apply()?;
        let mut wanted = self.body(wanted)?;
        if let Some(Value::Object(metadata)) = wanted.get_mut("metadata") {
            metadata.remove("managedFields");
            // Servers do not look at it.
            if let Some(other) = metadata.get("name").filter(|name| *name != key.name()) {
                return Err(self.invalid(format!("it is named {other} and would be applied to {key}")));
            }
        }
        let call = self.objects.apply_call(key, Some(&self.name), &Value::Object(wanted));
        let (_, answer) = self.objects.client.send(call).await?;
        self.raise_barrier(key, &answer);
        self.read("apply", &answer)
    }

    fn body(&self, wanted: &impl Serialize) -> Result<Map<String, Value>, Error> {
        let problem = match serde_json::to_value(wanted) {
            Ok(Value::Object(members)) => return Ok(members),
            Ok(_) => "it does not serialize to an object".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(self.invalid(problem))
    }

    fn invalid(&self, problem: String) -> Error {
        let kind = format!("{} of {}", self.name, self.objects.kind);
        Error::Invalid { kind, problem }
    }

    async fn write_as<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        method: Method,
        key: &ObjectKey,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let mut call = self.call(verb, method, key);
        call.query = self.objects.client.write_query(true);
        call.body = serde_json::to_vec(body).map_err(|error| Error::Invalid {
            kind: self.objects.kind.to_string(),
            problem: error.to_string(),
        })?;
        let (_, answer) = self.objects.client.send(call).await?;
        self.raise_barrier(key, &answer);
        self.read(verb, &answer)
    }

    /// Cached reads of the object will see the write: the answer is the object itself (as for status), or has its uid and its
    /// resourceVersion (as a scale).
    fn raise_barrier(&self, key: &ObjectKey, answer: &[u8]) {
        let value: WrittenObject<'_> = serde_json::from_slice(answer).unwrap_or_default();
        let (client, kind) = (&self.objects.client, &self.objects.kind);
        if value.kind == kind.kind() && value.api_version == kind.api_version() {
            client.raise_barrier(kind, answer);
            return;
        }
        let metadata = &value.metadata;
        let revision = crate::object::revision(&metadata.resource_version);
        let informer = client.cache().informer(kind).filter(|_| !client.options.dry_run);
        if let (Some(revision), Some(informer)) = (revision, informer) {
            let store = informer.store();
            let is_the_object = match store.get(key.as_str()) {
                Some(record) => metadata.uid == record.uid(),
                // It was created a moment ago, by us.
                None => store.is_awaited(key) && value.kind == "Scale",
            };
            if is_the_object {
                store.set_barrier(key, Barrier::revision(revision));
            }
        }
    }
}

impl<K: Serialize + DeserializeOwned> Subresource<K> {
    /// Replaces it. Fails with a conflict if the object was changed since it was read.
    pub async fn update(&self, object: &K) -> Result<K, Error> {
        let body = self.objects.value(object)?;
        let key = self.objects.key(&body)?;
        self.write_as("update", Method::PUT, &key, &body).await
    }

    /// Changes it.
    pub async fn patch(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.patch_as(key, patch).await
    }
}

impl<K: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Subresource<K> {
    /// Applies what this owner wants of it; see [`Objects::apply`].
    pub async fn apply(&self, wanted: &K) -> Result<Applied<K>, Error> {
        let wanted = self.objects.value(wanted)?;
        self.objects.apply_value(wanted, Some(&self.name)).await
    }
}

/// What an answer says of the object that was written, without all the rest.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WrittenObject<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metadata: WrittenMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WrittenMetadata<'a> {
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
}
