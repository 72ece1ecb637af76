//! A whole object of which only some fields are set.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube_core::Resource;
use kube_core::object::{HasSpec, HasStatus};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Error, Map, Value};

use super::{Fields, Part};

/// What one owner says of an object of the kind `K`, for `Client::apply`: it owns what was set here, and takes back what it set before
/// and no longer sets.
///
/// `#[kubewright::resource(kind = "Garden", …)]` names it `GardenApply`; for the built-in kinds it is
/// [`DeploymentApply`](crate::apps::v1::DeploymentApply) and its like, with a setter for each field. `Setters` says which of both it is.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_apply::Apply;
/// use serde_json::json;
///
/// let settings = Apply::<ConfigMap>::namespaced("shop", "settings").label("app", "shop").set("data", json!({ "a": "1" }));
/// assert_eq!(
///     serde_json::to_value(&settings).unwrap(),
///     json!({
///         "apiVersion": "v1", "kind": "ConfigMap",
///         "metadata": { "name": "settings", "namespace": "shop", "labels": { "app": "shop" } },
///         "data": { "a": "1" },
///     })
/// );
/// ```
pub struct Apply<K, Setters = Own> {
    metadata: ObjectMeta,
    pub(crate) fields: Fields,
    kind: PhantomData<fn() -> (K, Setters)>,
}

/// An [`Apply`] of a program's own kind: `spec` and `status` take the types of the program.
#[derive(Clone, Copy, Debug)]
pub enum Own {}

/// An [`Apply`] of a built-in kind: a setter for each of its fields.
#[derive(Clone, Copy, Debug)]
pub enum BuiltIn {}

impl<K, Setters> Apply<K, Setters> {
    pub(crate) fn of(metadata: ObjectMeta, fields: Fields) -> Self {
        Apply {
            metadata,
            fields,
            kind: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = ()>, Setters> Apply<K, Setters> {
    /// A cluster-scoped object, or an object whose namespace [`in_namespace`](Self::in_namespace) sets.
    pub fn new(name: impl Into<String>) -> Self {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        Apply::of(metadata, Fields::default())
    }

    /// With a label.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata
            .labels
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }

    /// With labels, beside those that it has.
    pub fn labels(mut self, labels: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.metadata.labels.get_or_insert_default().extend(labels);
        self
    }

    /// With an annotation.
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata
            .annotations
            .get_or_insert_default()
            .insert(key.into(), value.into());
        self
    }

    /// With annotations, beside those that it has.
    pub fn annotations(
        mut self,
        annotations: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let annotations = annotations.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.metadata.annotations.get_or_insert_default().extend(annotations);
        self
    }

    /// With an owner.
    pub fn owner(mut self, owner: OwnerReference) -> Self {
        self.metadata.owner_references.get_or_insert_default().push(owner);
        self
    }

    /// With a finalizer.
    pub fn finalizer(mut self, finalizer: impl Into<String>) -> Self {
        self.metadata.finalizers.get_or_insert_default().push(finalizer.into());
        self
    }

    /// The object with the fields that were set; what `Client::apply` returns has all of them.
    pub fn object(&self) -> Result<K, Error>
    where
        K: DeserializeOwned,
    {
        serde_json::to_value(self).and_then(serde_json::from_value)
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>, Setters> Apply<K, Setters> {
    /// An object of a namespace.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Apply::new(name).in_namespace(namespace)
    }

    /// In a namespace.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.metadata.namespace = Some(namespace.into());
        self
    }
}

impl<K: Resource<DynamicType = ()>> Apply<K> {
    /// With a field beside the metadata, by its name in JSON.
    pub fn set(mut self, name: &str, value: impl Serialize) -> Self {
        self.fields.set(name, serde_json::to_value(value));
        self
    }
}

impl<K: HasSpec> Apply<K> {
    /// With a spec: whole, or a twin with some fields set.
    ///
    /// ```
    /// use kube::CustomResource;
    /// use kubewright_apply::Apply;
    /// use schemars::JsonSchema;
    /// use serde::{Deserialize, Serialize};
    /// use serde_json::json;
    ///
    /// #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    /// #[kube(group = "example.com", version = "v1", kind = "Tree", status = "TreeStatus")]
    /// struct TreeSpec {
    ///     height: u32,
    /// }
    ///
    /// #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    /// struct TreeStatus {
    ///     leaves: u32,
    /// }
    ///
    /// let tree = Apply::<Tree>::new("oak").spec(TreeSpec { height: 20 });
    /// assert_eq!(serde_json::to_value(&tree).unwrap()["spec"], json!({ "height": 20 }));
    /// let tree = Apply::<Tree>::new("oak").status(TreeStatus { leaves: 9 });
    /// assert_eq!(serde_json::to_value(&tree).unwrap()["status"], json!({ "leaves": 9 }));
    /// ```
    pub fn spec(mut self, spec: impl Part<K::Spec>) -> Self {
        self.fields.set("spec", spec.into_value());
        self
    }
}

impl<K: HasStatus> Apply<K> {
    /// With a status: whole, or a twin with some fields set. It is written by `client.of::<GardenApply>().status().apply(…)`.
    pub fn status(mut self, status: impl Part<K::Status>) -> Self {
        self.fields.set("status", status.into_value());
        self
    }
}

impl<K, Setters> Clone for Apply<K, Setters> {
    fn clone(&self) -> Self {
        Apply::of(self.metadata.clone(), self.fields.clone())
    }
}

impl<K, Setters> PartialEq for Apply<K, Setters> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata && self.fields == other.fields
    }
}

impl<K, Setters> fmt::Debug for Apply<K, Setters> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Apply { metadata, fields, .. } = self;
        f.debug_struct("Apply")
            .field("metadata", metadata)
            .field("fields", fields)
            .finish()
    }
}

impl<K: Resource<DynamicType = ()>, Setters> Resource for Apply<K, Setters> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn api_version((): &()) -> Cow<'_, str> {
        K::api_version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<K: Resource<DynamicType = ()>, Setters> Serialize for Apply<K, Setters> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.fields.members().map_err(ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(members.len() + 3))?;
        map.serialize_entry("apiVersion", &K::api_version(&()))?;
        map.serialize_entry("kind", &K::kind(&()))?;
        map.serialize_entry("metadata", &self.metadata)?;
        for (name, value) in members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What the kind does not know is dropped, as the kind's own type drops it; `from_yaml::<DeploymentApply>` refuses it. An object of a
/// program's own kind that lacks what its type requires is taken as it is.
impl<'de, K: DeserializeOwned, Setters: Reading> Deserialize<'de> for Apply<K, Setters> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::Object(Map::deserialize(deserializer)?);
        match unknown::<K>(&object) {
            Ok(paths) => paths.iter().for_each(|path| remove(&mut object, path)),
            Err(error) if Setters::IS_WHOLE_WITH_ANY_FIELDS => return Err(de::Error::custom(error)),
            Err(_) => {}
        }
        let mut members = match object {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        members.remove("apiVersion");
        members.remove("kind");
        let metadata = members.remove("metadata").unwrap_or_else(|| Value::Object(Map::new()));
        let metadata = serde_json::from_value(metadata).map_err(de::Error::custom)?;
        Ok(Apply::of(metadata, Fields::of(members)))
    }
}

/// How an [`Apply`] is read.
pub trait Reading {
    /// Whether the type of the kind can be read from some of its fields.
    const IS_WHOLE_WITH_ANY_FIELDS: bool;
}

impl Reading for Own {
    const IS_WHOLE_WITH_ANY_FIELDS: bool = false;
}

impl Reading for BuiltIn {
    const IS_WHOLE_WITH_ANY_FIELDS: bool = true;
}

/// The fields of an object that a type does not know: the way to each of them.
fn unknown<K: DeserializeOwned>(object: &Value) -> Result<Vec<Vec<String>>, Error> {
    let mut paths = Vec::new();
    let mut report = |path: serde_ignored::Path<'_>| paths.push(steps(&path));
    K::deserialize(serde_ignored::Deserializer::new(object, &mut report))?;
    Ok(paths)
}

/// The keys and numbers on the way to a field.
fn steps(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;

    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => [steps(parent), vec![index.to_string()]].concat(),
        Path::Map { parent, key } => [steps(parent), vec![key.clone()]].concat(),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => steps(parent),
    }
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, way)) = path.split_last() else { return };
    let parent = way.iter().try_fold(object, |value, step| match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    });
    if let Some(Value::Object(members)) = parent {
        members.remove(last);
    }
}
