//! What a test does with objects.

use std::panic::Location;

use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{DeleteOptions, helpers::retry_on_conflict};
use kubewright_runtime::object::{Kind, Object, ObjectKey};
use serde_json::Value;

use super::{Name, NewNamespace, TestEnv};
use crate::Error;
use crate::fail::or_fail;

impl TestEnv {
    pub(super) async fn apply_all(&self, objects: Vec<Value>) -> Result<Vec<DynamicObject>, Error> {
        let mut applied = Vec::with_capacity(objects.len());
        for object in objects {
            applied.push(self.apply_one(object).await?);
        }
        Ok(applied)
    }

    async fn apply_one(&self, mut object: Value) -> Result<DynamicObject, Error> {
        let kind = self.kind_of(&object).await?;
        let metadata = &mut object["metadata"];
        if kind.is_namespaced() && metadata["namespace"].as_str().unwrap_or_default().is_empty() {
            metadata["namespace"] = self.namespace().into();
        }
        let is_named = metadata["name"].as_str().is_some_and(|name| !name.is_empty());
        let place = format!("{} {}", kind.kind(), metadata["name"].as_str().unwrap_or_default());
        let wanted: DynamicObject = serde_json::from_value(object).map_err(|error| Error::Manifest {
            place,
            problem: error.to_string(),
        })?;
        let objects = self.client.dynamic(kind);
        let done = if is_named {
            objects.apply(&wanted).await.map(|applied| applied.object)
        } else {
            objects.create(&wanted).await
        };
        done.map_err(Error::client)
    }

    /// Deletes objects, the last one first; what is gone already is no failure.
    #[track_caller]
    pub(crate) fn delete_objects(&self, objects: &[Value]) -> impl Future<Output = ()> {
        or_fail(Location::caller(), async move {
            for object in objects.iter().rev() {
                let kind = self.kind_of(object).await?;
                let metadata = &object["metadata"];
                let text = |field: &str| metadata[field].as_str().filter(|text| !text.is_empty());
                let Some(name) = text("name") else { continue };
                let key = if kind.is_namespaced() {
                    ObjectKey::namespaced(text("namespace").unwrap_or(self.namespace()), name)
                } else {
                    ObjectKey::cluster(name)
                };
                match self.client.dynamic(kind).delete(&key).await {
                    Err(error) if error.code() == Some(404) => {}
                    done => done.map_err(Error::client)?,
                }
            }
            Ok(())
        })
    }

    /// What the server calls the kind of an object.
    async fn kind_of(&self, object: &Value) -> Result<Kind, Error> {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version.is_empty() || kind.is_empty() {
            let name = object["metadata"]["name"].as_str().unwrap_or("an object");
            return Err(Error::Manifest {
                place: name.to_owned(),
                problem: "apiVersion or kind is missing".to_owned(),
            });
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.mapper
            .kind(group, version, kind)
            .await
            .map_err(|source| Error::Kind {
                what: format!("{kind} of {api_version}"),
                source,
            })
    }

    /// An object as it is on the server.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let namespace = env.get::<Namespace>(env.namespace()).await;
    /// assert!(namespace.metadata.uid.is_some());
    /// # }
    /// ```
    #[track_caller]
    pub fn get<K: Object>(&self, name: impl Into<Name>) -> impl Future<Output = K> {
        let (at, name) = (Location::caller(), name.into());
        or_fail(at, async move {
            let key = name.key(&Kind::of::<K>(), self.namespace());
            let found = self.client.get::<K>(&key).await;
            found
                .map(kubewright_runtime::object::View::into_owned)
                .map_err(Error::client)
        })
    }

    /// An object, if there is one.
    #[track_caller]
    pub fn get_opt<K: Object>(&self, name: impl Into<Name>) -> impl Future<Output = Option<K>> {
        or_fail(Location::caller(), self.try_get(name))
    }

    /// As [`get`](Self::get), but returns the error instead of failing the test.
    pub fn try_get<K: Object>(&self, name: impl Into<Name>) -> impl Future<Output = Result<Option<K>, Error>> {
        let name = name.into();
        async move {
            let key = name.key(&Kind::of::<K>(), self.namespace());
            let found = self.client.get_opt::<K>(&key).await.map_err(Error::client)?;
            Ok(found.map(kubewright_runtime::object::View::into_owned))
        }
    }

    /// All objects of a kind: those of the test's namespace, or of the whole cluster if they are in none.
    #[track_caller]
    pub fn list<K: Object>(&self) -> impl Future<Output = Vec<K>> {
        or_fail(Location::caller(), self.try_list())
    }

    /// As [`list`](Self::list), but returns the error instead of failing the test.
    pub async fn try_list<K: Object>(&self) -> Result<Vec<K>, Error> {
        let mut query = Query::all();
        if Kind::of::<K>().is_namespaced() {
            query = query.in_namespace(self.namespace());
        }
        let found = self.client.list::<K>(&query).await.map_err(Error::client)?;
        Ok(found
            .into_iter()
            .map(kubewright_runtime::object::View::into_owned)
            .collect())
    }

    /// Creates an object.
    #[track_caller]
    pub fn create<K: Object>(&self, object: &K) -> impl Future<Output = K> {
        or_fail(Location::caller(), self.try_create(object))
    }

    /// As [`create`](Self::create), but returns the error instead of failing the test.
    pub async fn try_create<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.client.create(&self.placed(object)).await.map_err(Error::client)
    }

    /// Replaces an object.
    #[track_caller]
    pub fn update<K: Object>(&self, object: &K) -> impl Future<Output = K> {
        or_fail(Location::caller(), self.try_update(object))
    }

    /// As [`update`](Self::update), but returns the error instead of failing the test.
    pub async fn try_update<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.client.update(&self.placed(object)).await.map_err(Error::client)
    }

    /// Replaces the status of an object, as a controller of its own would. Where Kubernetes' controllers run, they have the last
    /// word about kinds of theirs.
    #[track_caller]
    pub fn update_status<K: Object>(&self, object: &K) -> impl Future<Output = K> {
        or_fail(Location::caller(), self.try_update_status(object))
    }

    /// As [`update_status`](Self::update_status), but returns the error instead of failing the test.
    pub async fn try_update_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        let updated = self.client.update_status(&self.placed(object)).await;
        updated.map_err(Error::client)
    }

    /// Reads an object, changes it and writes it, and repeats that after conflicts.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").await;
    /// let edited = env.edit::<ConfigMap>("a", |map| map.immutable = Some(true)).await;
    /// assert_eq!(edited.immutable, Some(true));
    /// # }
    /// ```
    #[track_caller]
    pub fn edit<K: Object>(&self, name: impl Into<Name>, change: impl Fn(&mut K)) -> impl Future<Output = K> {
        or_fail(Location::caller(), self.try_edit(name, change))
    }

    /// As [`edit`](Self::edit), but returns the error instead of failing the test.
    pub fn try_edit<K: Object>(
        &self,
        name: impl Into<Name>,
        change: impl Fn(&mut K),
    ) -> impl Future<Output = Result<K, Error>> {
        let name = name.into();
        async move {
            let key = name.key(&Kind::of::<K>(), self.namespace());
            let edited = retry_on_conflict(|| async {
                let mut object = self.client.get::<K>(&key).await?.into_owned();
                change(&mut object);
                self.client.update(&object).await
            });
            edited.await.map_err(Error::client)
        }
    }

    /// Deletes an object. What depends on it is for the garbage collector.
    #[track_caller]
    pub fn delete<K: Object>(&self, name: impl Into<Name>) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_delete::<K>(name))
    }

    /// As [`delete`](Self::delete), but returns the error instead of failing the test.
    pub fn try_delete<K: Object>(&self, name: impl Into<Name>) -> impl Future<Output = Result<(), Error>> {
        let name = name.into();
        async move {
            let key = name.key(&Kind::of::<K>(), self.namespace());
            let deleted = self.client.delete_with::<K>(&key, &DeleteOptions::default()).await;
            deleted.map_err(Error::client)
        }
    }

    /// Another namespace, fresh as well. It may be limited as namespaces of a cluster are.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::{PodSecurity, TestEnv};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let plain = env.create_namespace().await;
    /// let team = env.create_namespace().pod_security(PodSecurity::Restricted).quota([("pods", "4")]).await;
    /// let pod = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: {team}}}, spec: {{containers: [{{name: a, image: a}}]}}}}");
    /// let error = env.try_apply(pod).await.unwrap_err().text();
    /// assert!(error.contains("violates PodSecurity \"restricted:latest\""), "{error}");
    /// # drop(plain);
    /// # }
    /// ```
    #[track_caller]
    pub fn create_namespace(&self) -> NewNamespace<'_> {
        NewNamespace::new(self)
    }

    fn placed<K: Object>(&self, object: &K) -> K {
        let mut object = object.clone();
        let namespace = &mut object.meta_mut().namespace;
        if Kind::of::<K>().is_namespaced() && namespace.as_ref().is_none_or(String::is_empty) {
            *namespace = Some(self.namespace().to_owned());
        }
        object
    }
}
