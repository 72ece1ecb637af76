//! How an object is found within its kind: namespace and name in one shared string.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Namespace and name, or only a name where the kind is cluster-scoped. Cheap to clone; ordered as the server orders lists.
///
/// ```
/// use kubewright_runtime::object::ObjectKey;
///
/// let web = ObjectKey::namespaced("shop", "web");
/// assert_eq!((web.namespace(), web.name()), (Some("shop"), "web"));
/// assert_eq!(web.to_string(), "shop/web");
/// assert_eq!(ObjectKey::cluster("node-1").namespace(), None);
/// ```
#[derive(Clone)]
pub struct ObjectKey {
    /// `namespace/name` or `name`. Neither part can contain a slash.
    text: Arc<str>,
    name_at: usize,
}

impl ObjectKey {
    /// The key of an object in a namespace.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        ObjectKey {
            text: format!("{namespace}/{name}").into(),
            name_at: namespace.len() + 1,
        }
    }

    /// The key of an object of a cluster-scoped kind.
    pub fn cluster(name: &str) -> Self {
        ObjectKey {
            text: name.into(),
            name_at: 0,
        }
    }

    /// The key of an object in this namespace; without one, or with an empty one, the key of a cluster-scoped object.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self::namespaced(namespace, name),
            _ => Self::cluster(name),
        }
    }

    /// The namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.name_at.checked_sub(1).map(|end| &self.text[..end])
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.text[self.name_at..]
    }

    /// `namespace/name`, or `name`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

// A cluster-scoped `a` and a namespaced `a/b` never meet in one kind, so the text alone decides.
impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}
