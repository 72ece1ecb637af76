//! The verbs on the client itself, for Rust types.

use super::{Applied, Client, DeleteOptions, Error, Patch};
use crate::cache::Query;
use crate::object::{Object, ObjectKey, View};

impl Client {
    /// The object under a key; an error if there is none. See [`Objects::get`](super::Objects::get).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// client.create(&settings).await?;
    /// let key = ObjectKey::namespaced("default", "settings");
    /// let settings = client.get::<ConfigMap>(&key).await?;
    /// assert_eq!(settings.key(), &key);
    /// assert!(client.get::<ConfigMap>(&ObjectKey::namespaced("default", "none")).await.unwrap_err().is_not_found());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get<K: Object>(&self, key: &ObjectKey) -> Result<View<K>, Error> {
        self.of::<K>().get(key).await
    }

    /// The object under a key, if there is one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// let none = ObjectKey::namespaced("default", "none");
    /// assert!(client.get_opt::<ConfigMap>(&none).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_opt<K: Object>(&self, key: &ObjectKey) -> Result<Option<View<K>>, Error> {
        self.of::<K>().get_opt(key).await
    }

    /// The objects a query asks for.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::cache::Query;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// client.create(&settings).await?;
    /// let found = client.list::<ConfigMap>(&Query::all().in_namespace("default")).await?;
    /// assert!(found.iter().any(|object| object.key().name() == "settings"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list<K: Object>(&self, query: &Query) -> Result<Vec<View<K>>, Error> {
        self.of::<K>().list(query).await
    }

    /// Creates an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// let created = client.create(&settings).await?;
    /// assert!(created.metadata.uid.is_some());
    /// assert!(client.create(&settings).await.unwrap_err().is_already_exists());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().create(object).await
    }

    /// Replaces an object. Fails with a conflict if it was changed since it was read.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// let mut read = client.create(&settings).await?;
    /// read.data = Some([("colour".to_owned(), "red".to_owned())].into());
    /// client.update(&read).await?;
    /// assert!(client.update(&read).await.unwrap_err().is_conflict()); // it was changed since it was read
    /// # Ok(())
    /// # }
    /// ```
    pub async fn update<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().update(object).await
    }

    /// Changes an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::Patch;
    /// use kubewright_runtime::object::ObjectKey;
    /// use serde_json::json;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// client.create(&settings).await?;
    /// let key = ObjectKey::namespaced("default", "settings");
    /// let patch = Patch::Merge(json!({ "data": { "colour": "red" } }));
    /// let patched = client.patch::<ConfigMap>(&key, &patch).await?;
    /// assert_eq!(patched.data.unwrap()["colour"], "red");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn patch<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().patch(key, patch).await
    }

    /// Applies what this owner wants of an object. See [`Objects::apply`](super::Objects::apply).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::Outcome;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// assert_eq!(client.apply(&settings).await?.outcome, Outcome::Created);
    /// assert_eq!(client.apply(&settings).await?.outcome, Outcome::Unchanged); // without asking the server
    /// # Ok(())
    /// # }
    /// ```
    pub async fn apply<K: Object>(&self, wanted: &K) -> Result<Applied<K>, Error> {
        self.of::<K>().apply(wanted).await
    }

    /// Deletes an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// client.create(&settings).await?;
    /// let key = ObjectKey::namespaced("default", "settings");
    /// client.delete::<ConfigMap>(&key).await?;
    /// assert!(client.get_opt::<ConfigMap>(&key).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete<K: Object>(&self, key: &ObjectKey) -> Result<(), Error> {
        self.of::<K>().delete(key).await
    }

    /// Deletes an object in a certain way.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::DeleteOptions;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// let created = client.create(&settings).await?;
    /// let only_this = DeleteOptions {
    ///     uid: created.metadata.uid,
    ///     ..DeleteOptions::default()
    /// };
    /// client.delete_with::<ConfigMap>(&ObjectKey::namespaced("default", "settings"), &only_this).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_with<K: Object>(&self, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Error> {
        self.of::<K>().delete_with(key, options).await
    }

    /// Deletes all objects that a query asks for.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    /// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::cache::Query;
    ///
    /// # let mut settings = ConfigMap::default();
    /// # settings.metadata.name = Some("settings".to_owned());
    /// # settings.metadata.namespace = Some("default".to_owned());
    /// client.create(&settings).await?;
    /// let all = Query::all().in_namespace("default");
    /// client.delete_all_of::<ConfigMap>(&all).await?;
    /// assert!(client.list::<ConfigMap>(&all).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_all_of<K: Object>(&self, query: &Query) -> Result<(), Error> {
        self.of::<K>().delete_all_of(query, &DeleteOptions::default()).await
    }

    /// Replaces the status of an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    ///
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_runtime::object::ObjectKey;
    ///
    /// let mut default = client.live().get::<Namespace>(&ObjectKey::cluster("default")).await?.into_owned();
    /// default.status.get_or_insert_default().phase = Some("Active".to_owned());
    /// client.update_status(&default).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn update_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.of::<K>().status().update(object).await
    }

    /// Changes the status of an object.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// # let mut declarations = kubewright_runtime::informer::Declarations::default();
    ///
    /// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
    /// # let _watches = cache.start(&kube, &kubewright_runtime::chance::Chance::seeded(1));
    /// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_runtime::client::Patch;
    /// use kubewright_runtime::object::ObjectKey;
    /// use serde_json::json;
    ///
    /// let patch = Patch::Merge(json!({ "status": { "conditions": [] } }));
    /// let patched = client.patch_status::<Namespace>(&ObjectKey::cluster("default"), &patch).await?;
    /// assert_eq!(patched.status.unwrap().phase.as_deref(), Some("Active"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn patch_status<K: Object>(&self, key: &ObjectKey, patch: &Patch) -> Result<K, Error> {
        self.of::<K>().status().patch(key, patch).await
    }
}
