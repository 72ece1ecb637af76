//! What a policy is shown of a request.

use std::sync::{Arc, OnceLock};

use kubewright_cel::authorizer::Authorize;
use serde_json::Value;

use crate::activation::Inputs;
use crate::attributes::{Attributes, GroupVersionKind, GroupVersionResource};
use crate::expression::Expression;

/// Which variables the expressions of a policy read, so that nobody has to find what no expression reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// `request`
    pub request: bool,
    /// `namespaceObject`
    pub namespace: bool,
    /// `authorizer` or `authorizer.requestResource`
    pub authorizer: bool,
}

impl Reads {
    pub(crate) fn add(&mut self, expression: &Expression) {
        self.request |= expression.reads("request");
        self.namespace |= expression.reads("namespaceObject");
        self.authorizer |= expression.reads("authorizer") || expression.reads("authorizer.requestResource");
    }
}

/// The variable `request` of one request and one version of its resource, made when an expression reads it first and then the same for
/// all policies: it is most of what evaluating a policy would allocate.
#[derive(Debug, Default)]
pub struct RequestVariable {
    /// As match conditions see it, which is also how all else sees it unless the rule is about another version of the resource.
    of_request: OnceLock<Value>,
    of_rule: OnceLock<Value>,
}

/// A request as a policy sees it.
pub struct Request<'a> {
    pub(crate) attributes: &'a Attributes,
    kind: &'a GroupVersionKind,
    resource: &'a GroupVersionResource,
    object: &'a Value,
    old: &'a Value,
    namespace: &'a Value,
    params: &'a Value,
    authorizer: Option<&'a Arc<dyn Authorize>>,
    /// The variable `request`.
    variable: &'a RequestVariable,
}

impl<'a> Request<'a> {
    /// A request whose objects are shown as `kind`, by a rule about `resource`. Objects are null when there are none. `variable` is for
    /// all policies that are shown this request with this kind and this resource.
    pub fn new(
        attributes: &'a Attributes,
        kind: &'a GroupVersionKind,
        resource: &'a GroupVersionResource,
        object: &'a Value,
        old: &'a Value,
        variable: &'a RequestVariable,
    ) -> Request<'a> {
        Request {
            attributes,
            kind,
            resource,
            object,
            old,
            namespace: &Value::Null,
            params: &Value::Null,
            authorizer: None,
            variable,
        }
    }

    /// With the namespace of the object.
    pub fn in_namespace(mut self, namespace: &'a Value) -> Self {
        self.namespace = namespace;
        self
    }

    /// With the params of a binding.
    pub fn with_params(mut self, params: &'a Value) -> Self {
        self.params = params;
        self
    }

    /// With the rights of its user.
    pub fn with_authorizer(mut self, authorizer: &'a Arc<dyn Authorize>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// What match conditions see, which is neither the namespace nor the resource of the rule.
    pub(crate) fn for_conditions(&self, reads: Reads) -> Inputs<'_> {
        Inputs {
            request: self.variable(reads, &self.attributes.resource),
            namespace: &Value::Null,
            ..self.inputs(reads)
        }
    }

    /// What all other expressions see.
    pub(crate) fn inputs(&self, reads: Reads) -> Inputs<'_> {
        Inputs {
            object: self.object,
            old: self.old,
            request: self.variable(reads, self.resource),
            namespace: self.namespace,
            params: self.params,
            authorizer: self
                .authorizer
                .filter(|_| reads.authorizer)
                .map(|authorizer| (authorizer, self.attributes)),
        }
    }

    fn variable(&self, reads: Reads, resource: &GroupVersionResource) -> &'a Value {
        if !reads.request {
            return &Value::Null;
        }
        let variable = if *resource == self.attributes.resource {
            &self.variable.of_request
        } else {
            &self.variable.of_rule
        };
        variable.get_or_init(|| self.attributes.to_variable(self.kind, resource))
    }
}
