//! What a reflector lists and watches.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::object::{Kind, Selector};

/// Changes objects before they are cached, to save memory by removing fields that are not read.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_runtime::object::Kind;
/// use kubewright_runtime::reflector::{Target, Transform};
///
/// // Nobody here reads what the Pods are made of.
/// let lean = Transform::new(|pod| {
///     pod["spec"].take();
/// });
/// let target = Target::new(Kind::of::<Pod>()).transform(lean);
/// # let _ = target;
/// ```
#[derive(Clone)]
pub struct Transform(Arc<dyn Fn(&mut Value) + Send + Sync>);

impl Transform {
    /// A transform. It must leave `metadata.name`, `namespace`, `uid` and `resourceVersion` as they are.
    pub fn new(transform: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Transform(Arc::new(transform))
    }

    pub(super) fn apply(&self, object: &mut Value) {
        (self.0)(object);
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transform")
    }
}

/// What a reflector lists and watches: a kind, in one namespace or all, by selectors.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Selector,
    pub(crate) fields: Option<String>,
    pub(crate) metadata_only: bool,
    pub(crate) transform: Option<Transform>,
}

impl Target {
    /// Everything of a kind.
    pub fn new(kind: Kind) -> Self {
        Target {
            kind,
            namespace: None,
            labels: Selector::everything(),
            fields: None,
            metadata_only: false,
            transform: None,
        }
    }

    /// Only in a namespace. Default: in all.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects with these labels. Default: all.
    pub fn labels(mut self, labels: Selector) -> Self {
        self.labels = labels;
        self
    }

    /// Only objects with these fields, as `status.phase=Running`; the server decides which fields it knows. Default: all.
    pub fn fields(mut self, fields: impl Into<String>) -> Self {
        self.fields = Some(fields.into());
        self
    }

    /// Only the metadata of objects is asked for and kept. Default: all of them.
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }

    /// Changes objects before they are kept. Default: no change.
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = Some(transform);
        self
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            None => write!(f, "{}", self.kind),
            Some(namespace) => write!(f, "{} in namespace {namespace}", self.kind),
        }
    }
}
