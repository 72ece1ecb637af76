//! Names of objects in a test.

use kubewright_runtime::object::{Kind, ObjectKey};

/// The name of an object: in the test's namespace, unless it says another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    namespace: Option<String>,
    name: String,
}

impl Name {
    pub(crate) fn key(&self, kind: &Kind, namespace: &str) -> ObjectKey {
        if kind.is_namespaced() {
            ObjectKey::namespaced(self.namespace.as_deref().unwrap_or(namespace), &self.name)
        } else {
            ObjectKey::cluster(&self.name)
        }
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        Name {
            namespace,
            name: name.to_owned(),
        }
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&ObjectKey> for Name {
    fn from(key: &ObjectKey) -> Self {
        key.as_str().into()
    }
}

impl From<ObjectKey> for Name {
    fn from(key: ObjectKey) -> Self {
        (&key).into()
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
