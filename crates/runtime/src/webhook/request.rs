//! What the server asks a webhook.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::object::Kind;

/// The operation of an admission request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Create it.
    Create,
    /// Change it.
    Update,
    /// Delete it.
    Delete,
    /// Connect to it, as `kubectl exec` does.
    Connect,
    /// Something else; `*` in rules stands for all of them.
    Other(String),
}

impl Operation {
    /// All operations, for rules.
    pub fn all() -> Self {
        Operation::Other("*".to_owned())
    }

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
            Operation::Other(other) => other,
        }
    }
}

impl From<&str> for Operation {
    fn from(word: &str) -> Self {
        match word {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            other => Operation::Other(other.to_owned()),
        }
    }
}

impl Default for Operation {
    fn default() -> Self {
        Operation::Other(String::new())
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Group, version and kind of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// Group, version and plural name of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionResource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name, as `deployments`.
    pub resource: String,
}

/// The user who sends a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The name, as `system:serviceaccount:shop:default`.
    pub username: String,
    /// Identifies the user over time, among users of the same name.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What the server asks a webhook: who wants to do what to which object.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::webhook::{AdmissionRequest, Operation};
///
/// let settings = ConfigMap { data: Some([("a".to_owned(), "1".to_owned())].into()), ..ConfigMap::default() };
/// let request = AdmissionRequest::create(&settings);
/// assert_eq!((request.operation.clone(), request.dry_run), (Operation::Create, false));
/// assert_eq!(request.decode::<ConfigMap>().unwrap().data, settings.data);
/// assert!(request.decode_old::<ConfigMap>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionRequest {
    /// Names this call; the answer repeats it.
    pub uid: String,
    /// What the object is.
    pub kind: GroupVersionKind,
    /// The resource it belongs to.
    pub resource: GroupVersionResource,
    /// The subresource, as `status` or `scale`.
    pub sub_resource: String,
    /// What the object was when the user sent it, where that is another version than this webhook wants.
    pub request_kind: Option<GroupVersionKind>,
    /// The resource the user named.
    pub request_resource: Option<GroupVersionResource>,
    /// The subresource the user named.
    pub request_sub_resource: String,
    /// The object's name; empty where the server makes one.
    pub name: String,
    /// The namespace; empty for objects that have none.
    pub namespace: String,
    /// What is to be done.
    pub operation: Operation,
    /// The user who sent the request.
    pub user_info: UserInfo,
    /// The object as it will be; null when it is deleted.
    pub object: Value,
    /// The object as it is; null when it is created.
    pub old_object: Value,
    /// Nothing will be stored: there must be no side effects.
    pub dry_run: bool,
    /// The options of the request, as `CreateOptions`.
    pub options: Value,
}

/// Why an object in a request cannot be read. The text is the one clients see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ContentError(pub(super) String);

impl AdmissionRequest {
    /// A request to create an object, to try a webhook with.
    pub fn create<T: crate::object::Object>(object: &T) -> Self {
        Self::about(object, Operation::Create)
    }

    /// A request to change an object, to try a webhook with.
    pub fn update<T: crate::object::Object>(old: &T, new: &T) -> Self {
        AdmissionRequest {
            old_object: whole(old),
            ..Self::about(new, Operation::Update)
        }
    }

    /// A request to delete an object, to try a webhook with.
    pub fn delete<T: crate::object::Object>(old: &T) -> Self {
        AdmissionRequest {
            object: Value::Null,
            old_object: whole(old),
            ..Self::about(old, Operation::Delete)
        }
    }

    fn about<T: crate::object::Object>(object: &T, operation: Operation) -> Self {
        let kind = Kind::of::<T>();
        let (group, version) = (kind.group().to_owned(), kind.version().to_owned());
        AdmissionRequest {
            uid: "1".to_owned(),
            kind: GroupVersionKind {
                group: group.clone(),
                version: version.clone(),
                kind: kind.kind().to_owned(),
            },
            resource: GroupVersionResource {
                group,
                version,
                resource: kind.plural().to_owned(),
            },
            name: object.meta().name.clone().unwrap_or_default(),
            namespace: object.meta().namespace.clone().unwrap_or_default(),
            operation,
            object: whole(object),
            ..AdmissionRequest::default()
        }
    }

    /// The object as a type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ContentError> {
        decode(&self.object)
    }

    /// The object as it was, as a type.
    pub fn decode_old<T: DeserializeOwned>(&self) -> Result<T, ContentError> {
        decode(&self.old_object)
    }
}

/// An object with apiVersion and kind, as the server sends it.
fn whole<T: crate::object::Object>(object: &T) -> Value {
    let kind = Kind::of::<T>();
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.kind().into());
    }
    value
}

/// Decodes a value as a type. The error is a message for clients.
pub(super) fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, ContentError> {
    if value.is_null() {
        return Err(ContentError("there is no content to decode".to_owned()));
    }
    serde_path_to_error::deserialize(value).map_err(|error| ContentError(error.to_string()))
}
