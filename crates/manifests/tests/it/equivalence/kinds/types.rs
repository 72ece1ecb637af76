//! Types of the language and of Kubernetes itself.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    EnvVar, LocalObjectReference, ObjectReference, ResourceRequirements, SecretKeySelector, Toleration,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, MicroTime, Time};
use kubewright::kube::core::Duration;

/// ScalarSpec has a field of each simple type.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Scalar",
    namespaced,
    doc = "Scalar has each simple type."
)]
pub struct ScalarSpec {
    /// Text is a text.
    pub text: String,
    /// Switch is a truth.
    pub switch: bool,
    /// Small is a number of 32 bits.
    pub small: i32,
    /// Large is a number of 64 bits.
    pub large: i64,
    /// Machine is a number of the machine's width.
    pub machine: isize,
    /// Byte is a number of 8 bits.
    pub byte: i8,
    /// Short is a number of 16 bits.
    pub short: i16,
    /// UnsignedSmall is a number of 32 bits that is not negative.
    pub unsigned_small: u32,
    /// UnsignedLarge is a number of 64 bits that is not negative.
    pub unsigned_large: u64,
    /// Bytes are written in base64.
    #[schemars(with = "String")]
    #[schema(format = "byte")]
    pub bytes: ByteString,
}

/// ContainerSpec has lists and maps in each other.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Container",
    namespaced,
    doc = "Container has lists and maps."
)]
pub struct ContainerSpec {
    /// List is a list.
    pub list: Vec<String>,
    /// Map is a map.
    pub map: BTreeMap<String, i32>,
    /// Objects is a list of objects.
    pub objects: Vec<ContainerItem>,
    /// Pointers is a list of objects that are pointed to.
    pub pointers: Vec<ContainerItem>,
    /// MapOfObjects is a map of objects.
    pub map_of_objects: BTreeMap<String, ContainerItem>,
    /// MapOfLists is a map of lists.
    pub map_of_lists: BTreeMap<String, Vec<String>>,
    /// MapOfMaps is a map of maps.
    pub map_of_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Keyed is a map whose keys have a type of their own.
    pub keyed: BTreeMap<ContainerKey, String>,
}

/// ContainerKey is a key.
#[kubewright::schema]
#[derive(Eq, PartialOrd, Ord)]
pub struct ContainerKey(pub String);

/// ContainerItem is an item.
#[kubewright::schema]
pub struct ContainerItem {
    /// Name is a text.
    pub name: String,
}

/// WellknownSpec has types that Kubernetes' own kinds use.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Wellknown",
    namespaced,
    doc = "Wellknown has types of Kubernetes itself."
)]
pub struct WellknownSpec {
    /// Time is a moment.
    pub time: Time,
    /// Precise is a moment with microseconds.
    pub precise: MicroTime,
    /// Duration is a span.
    pub duration: Duration,
    /// Quantity is an amount.
    pub quantity: Quantity,
    /// Selector selects by labels.
    pub selector: LabelSelector,
    /// Condition is a condition.
    pub condition: Condition,
    /// Object refers to an object.
    pub object: ObjectReference,
    /// Local refers to an object of the same namespace.
    pub local: LocalObjectReference,
    /// Secret is a key of a Secret.
    pub secret: SecretKeySelector,
    /// Resources are what is asked for.
    pub resources: ResourceRequirements,
    /// Tolerations are what is endured.
    pub tolerations: Vec<Toleration>,
    /// Env are variables.
    pub env: Vec<EnvVar>,
}

/// InlinedSpec has more fields than it says.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Inlined",
    namespaced,
    doc = "Inlined has another object's fields among its own."
)]
pub struct InlinedSpec {
    #[serde(flatten)]
    pub part: InlinedPart,
    /// Own is its own.
    pub own: String,
}

/// InlinedPart is a part of others.
#[kubewright::schema]
pub struct InlinedPart {
    /// Name is a text.
    pub name: String,
    /// Size is a number.
    #[schema(minimum = 1)]
    pub size: Option<i32>,
}

/// ConcealedSpec has a field of another name and one that is never written.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Concealed",
    namespaced,
    doc = "Concealed has fields that are not what they are called, or not there."
)]
pub struct ConcealedSpec {
    /// Renamed is written with another name.
    #[serde(rename = "x-name")]
    pub renamed: String,
    /// Hidden is never written.
    #[serde(skip)]
    pub hidden: String,
}
