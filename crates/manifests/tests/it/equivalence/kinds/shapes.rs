//! What has no schema of its own, or more than one.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// MatryoshkaSpec has objects in it.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Matryoshka",
    namespaced,
    doc = "Matryoshka holds whole objects."
)]
pub struct MatryoshkaSpec {
    /// Field is any object.
    #[schema(embedded_resource, preserve_unknown)]
    pub field: RawExtension,
    /// Alias is any object, said with the other marker.
    #[schema(embedded_resource)]
    pub alias: RawExtension,
    /// Named is any object by its type.
    pub named: InnerObject,
    /// Items are any objects.
    #[schema(items(embedded_resource, preserve_unknown))]
    pub items: Vec<RawExtension>,
    /// NamedItems are objects by the type of the list.
    pub named_items: InnerObjects,
}

/// InnerObject is a whole object.
#[kubewright::schema]
#[schema(embedded_resource)]
pub struct InnerObject {
    /// APIVersion is its version.
    pub api_version: String,
    /// Kind is its kind.
    pub kind: String,
    /// Metadata is what all objects have.
    pub metadata: Option<ObjectMeta>,
    /// Data is what it holds.
    pub data: Option<BTreeMap<String, String>>,
}

/// InnerObjects is a list of whole objects.
#[kubewright::schema]
#[schema(items(embedded_resource))]
pub struct InnerObjects(pub Vec<RawExtension>);

/// KeeperSpec keeps unknown fields.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Keeper",
    namespaced,
    doc = "Keeper keeps what it does not know."
)]
pub struct KeeperSpec {
    /// Field keeps them where it stands.
    #[schema(preserve_unknown)]
    pub field: KeptObject,
    /// Alias keeps them, said with the other marker.
    #[schema(preserve_unknown)]
    pub alias: KeptObject,
    /// Named keeps them by its type.
    pub named: KeepingObject,
    /// NamedAlias keeps them by its type, said with the other marker.
    pub named_alias: KeepingObjectToo,
    /// Items keep them where they stand.
    #[schema(items(preserve_unknown))]
    pub items: Vec<KeptObject>,
    /// NamedItems keep them by the type of the list.
    pub named_items: KeptObjects,
    /// Anything is any JSON.
    pub anything: serde_json::Value,
    /// Raw is any object.
    pub raw: RawExtension,
}

/// KeptObject is an object with one known field.
#[kubewright::schema]
pub struct KeptObject {
    /// Name is a text.
    pub name: Option<String>,
}

/// KeepingObject keeps what it does not know.
#[kubewright::schema]
#[schema(preserve_unknown)]
pub struct KeepingObject {
    /// Name is a text.
    pub name: Option<String>,
}

/// KeepingObjectToo keeps what it does not know.
#[kubewright::schema]
#[schema(preserve_unknown)]
pub struct KeepingObjectToo {
    /// Name is a text.
    pub name: Option<String>,
}

/// KeptObjects is a list of objects that keep what they do not know.
#[kubewright::schema]
#[schema(items(preserve_unknown))]
pub struct KeptObjects(pub Vec<KeptObject>);

/// ShapelessSpec has a field of which only this is known.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Shapeless",
    namespaced,
    doc = "Shapeless has fields without a schema."
)]
pub struct ShapelessSpec {
    /// Field is of no shape.
    #[schema(schemaless, preserve_unknown)]
    pub field: ShapelessObject,
    /// Typed is an object of no known fields.
    #[schema(schemaless, preserve_unknown, type = "object")]
    pub typed: ShapelessObject,
}

/// ShapelessObject is an object nobody sees the fields of.
#[kubewright::schema]
pub struct ShapelessObject {
    /// Name is a text.
    pub name: String,
}

/// EitherWaySpec has numbers or texts.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "EitherWay",
    namespaced,
    doc = "EitherWay has fields that are numbers or texts."
)]
pub struct EitherWaySpec {
    /// Port is Kubernetes' own type.
    pub port: IntOrString,
    /// Bounded is Kubernetes' own type, the text of a form.
    #[schema(int_or_string, pattern = "^[0-9]+%$")]
    pub bounded: IntOrString,
    /// Field says it where it stands.
    #[schema(schemaless, int_or_string)]
    pub field: IntOrString,
    /// Items say it where they stand.
    #[schema(items(int_or_string))]
    pub items: Vec<IntOrString>,
    /// NamedItems say it by the type of the list.
    pub named_items: Percentages,
    /// Named says it by its type.
    pub named: Percentage,
}

/// Percentages is a list of numbers or texts.
#[kubewright::schema]
#[schema(items(int_or_string))]
pub struct Percentages(pub Vec<IntOrString>);

/// Percentage is a number or a text.
#[kubewright::schema]
#[schema(int_or_string)]
pub struct Percentage(pub String);
