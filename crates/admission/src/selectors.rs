//! The selectors of webhooks and policies: by labels of the object and of its namespace (A6).

use std::borrow::Borrow;

use kubewright_apimachinery::labels::Selector;
use serde_json::Value;

use crate::attributes::Attributes;

/// A `namespaceSelector` and an `objectSelector`.
#[derive(Debug)]
pub(crate) struct Selectors {
    namespaces: Result<Selector, String>,
    objects: Result<Selector, String>,
}

/// Why it is not known whether a webhook or a policy is about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided<E> {
    /// The labels of the namespace could not be read.
    Namespace(E),
    /// A selector is invalid; upstream's message.
    Selector(String),
}

impl Selectors {
    /// Compiles the selectors of `owner`.
    pub(crate) fn read(owner: &Value) -> Selectors {
        let selector = |field: &str| {
            let selector = owner.get(field).unwrap_or(&Value::Null);
            Selector::from_label_selector(selector).map_err(|error| error.to_string())
        };
        Selectors {
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
        }
    }

    /// Whether both select the request. An error of one counts only if the other one does not exclude the request.
    /// `namespace_labels` is called only when the answer depends on it.
    pub(crate) fn select<E, L: Borrow<Value>>(
        &self,
        attributes: &Attributes,
        object: &Value,
        old: &Value,
        namespace_labels: impl FnOnce() -> Result<L, E>,
    ) -> Result<bool, Undecided<E>> {
        let in_namespace = self.select_namespace(attributes, namespace_labels);
        if matches!(in_namespace, Ok(false)) {
            return Ok(false);
        }
        let selected = match &self.objects {
            Ok(selector) => Ok(selector.is_everything() || selects(selector, object) || selects(selector, old)),
            Err(why) => Err(Undecided::Selector(why.clone())),
        };
        if matches!(selected, Ok(false)) {
            return Ok(false);
        }
        in_namespace.and(selected)
    }

    fn select_namespace<E, L: Borrow<Value>>(
        &self,
        attributes: &Attributes,
        labels: impl FnOnce() -> Result<L, E>,
    ) -> Result<bool, Undecided<E>> {
        // A namespace selector does not exclude cluster-scoped objects, except Namespaces themselves.
        if attributes.namespace.is_empty() && attributes.resource.resource != "namespaces" {
            return Ok(true);
        }
        match &self.namespaces {
            Err(why) => Err(Undecided::Selector(why.clone())),
            Ok(selector) if selector.is_everything() => Ok(true),
            Ok(selector) => {
                let labels = labels().map_err(Undecided::Namespace)?;
                Ok(selector.matches(&labels.borrow().as_object()))
            }
        }
    }
}

/// Whether a selector selects an object by its own labels. Null is not selected.
fn selects(selector: &Selector, object: &Value) -> bool {
    object.get("metadata").is_some_and(|metadata| {
        let labels = metadata.get("labels").and_then(Value::as_object);
        selector.matches(&labels)
    })
}
