//! Which object an event is about.

use kube::core::DynamicObject;
use serde::Serialize;

/// A reference to an object, as events carry it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::events::{Referable, Reference};
///
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".to_owned());
/// let reference = Reference { field_path: "data.colour".to_owned(), ..map.reference() };
/// assert_eq!((reference.api_version.as_str(), reference.kind.as_str()), ("v1", "ConfigMap"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// Group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Nothing for objects outside namespaces; events about them are in `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Which of several objects that had this name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Which state of it. Events about different states are different events.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Which part of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

impl Reference {
    /// A reference to an object whose kind is known only at run time.
    ///
    /// ```
    /// use kube::core::{DynamicObject, TypeMeta};
    /// use kubewright_runtime::events::Reference;
    ///
    /// let mut tree = DynamicObject { types: None, metadata: Default::default(), data: Default::default() };
    /// tree.types = Some(TypeMeta { api_version: "example.com/v1".to_owned(), kind: "Tree".to_owned() });
    /// tree.metadata.name = Some("oak".to_owned());
    /// assert_eq!(Reference::dynamic(&tree).kind, "Tree");
    /// ```
    pub fn dynamic(object: &DynamicObject) -> Self {
        let types = object.types.clone().unwrap_or_default();
        Reference {
            api_version: types.api_version,
            kind: types.kind,
            ..Self::of_metadata(&object.metadata)
        }
    }

    fn of_metadata(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Self {
        Reference {
            namespace: metadata.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// What an event can be about.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::events::Referable as _;
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".to_owned());
/// let reference = settings.reference();
/// assert_eq!((reference.kind.as_str(), reference.name.as_str()), ("ConfigMap", "settings"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something an event can be about",
    note = "pass an object, or a `Reference`; for `DynamicObject` use `Reference::dynamic`"
)]
pub trait Referable {
    /// The reference.
    fn reference(&self) -> Reference;
}

impl Referable for Reference {
    fn reference(&self) -> Reference {
        self.clone()
    }
}

impl<K: kube::Resource<DynamicType = ()>> Referable for K {
    fn reference(&self) -> Reference {
        Reference {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            ..Reference::of_metadata(self.meta())
        }
    }
}
