//! The attributes of a request that webhooks are sent (A3).

use std::fmt;

use serde_json::{Map, Value, json};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A new object.
    Create,
    /// A change of an object.
    Update,
    /// The deletion of an object.
    Delete,
    /// A connection to `pods/exec`, `services/proxy` and the like (A15).
    Connect,
}

impl Operation {
    /// Its name in rules and reviews.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// A group, a version and the plural name of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupVersionResource {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural name.
    pub resource: String,
}

impl GroupVersionKind {
    /// A kind of a group in a version.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({"group": self.group, "version": self.version, "kind": self.kind})
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl GroupVersionResource {
    /// A resource of a group in a version.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        GroupVersionResource {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({"group": self.group, "version": self.version, "resource": self.resource})
    }
}

/// The user who sent the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The user's name.
    pub username: String,
    /// The user's uid.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// What else the authenticator knows, in order of the keys.
    pub extra: Vec<(String, Vec<String>)>,
}

impl UserInfo {
    /// The user as JSON; empty fields are left out.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        if !self.username.is_empty() {
            map.insert("username".into(), self.username.as_str().into());
        }
        if !self.uid.is_empty() {
            map.insert("uid".into(), self.uid.as_str().into());
        }
        if !self.groups.is_empty() {
            map.insert("groups".into(), self.groups.clone().into());
        }
        if !self.extra.is_empty() {
            let extra: Map<String, Value> = self
                .extra
                .iter()
                .map(|(key, values)| (key.clone(), values.clone().into()))
                .collect();
            map.insert("extra".into(), Value::Object(extra));
        }
        Value::Object(map)
    }
}

/// A request without its objects.
#[derive(Clone, Debug)]
pub struct Attributes {
    /// What is being done.
    pub operation: Operation,
    /// The kind of the object that was sent.
    pub kind: GroupVersionKind,
    /// The resource that was addressed.
    pub resource: GroupVersionResource,
    /// The subresource that was addressed; empty for the object itself.
    pub subresource: String,
    /// The name of the object; empty while a name is still to be generated (M2).
    pub name: String,
    /// Its namespace; a Namespace's own name for itself.
    pub namespace: String,
    /// The user who sent the request.
    pub user: UserInfo,
    /// Whether it is a dry run (A9).
    pub dry_run: bool,
    /// `CreateOptions`, `UpdateOptions` …; null when there are none.
    pub options: Value,
}

impl Attributes {
    /// The variable `request` of expressions: the request of a review without uid and objects, for an object shown
    /// as `kind` and a rule about `resource`.
    pub(crate) fn to_variable(&self, kind: &GroupVersionKind, resource: &GroupVersionResource) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.into(), value);
        };
        // A field that is never set and has no omitempty.
        put("uid", "".into());
        put("kind", kind.to_value());
        put("resource", resource.to_value());
        put("requestKind", self.kind.to_value());
        put("requestResource", self.resource.to_value());
        for (key, text) in [
            ("subResource", &self.subresource),
            ("requestSubResource", &self.subresource),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ] {
            if !text.is_empty() {
                put(key, text.as_str().into());
            }
        }
        put("operation", self.operation.name().into());
        put("userInfo", self.user.to_value());
        put("object", Value::Null);
        put("oldObject", Value::Null);
        put("dryRun", self.dry_run.into());
        put("options", self.options.clone());
        Value::Object(map)
    }
}
