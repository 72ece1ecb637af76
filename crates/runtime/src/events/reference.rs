//! Which object an event is about.

use kube::core::DynamicObject;
use serde::Serialize;

/// A reference to an object, as events carry it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
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
