//! What policies are shown of a write, found when it is first needed and then kept for all policies.

use std::sync::{Arc, OnceLock};

use kubewright_admission::policy::{
    Binding, MatchResources, MatchedVersion, Reads, Request, RequestVariable, is_exempt,
};
use kubewright_admission::{Attributes as Facts, GroupVersionKind, GroupVersionResource, Operation, Undecided};
use kubewright_cel::authorizer::Authorize;
use serde_json::Value;

use crate::admit::Attributes;
use crate::object::{self, remove_meta};
use crate::registry::{BuiltInId, Resource, name_of};
use crate::webhook::dispatch::{Equivalents, Rights, VersionedObjects};
use crate::wire::status::{Result, Status};

/// Whether some of these constraints may be about a write, by its resource and the equivalents of that. Most writes concern no policy, and for
/// those nothing is allocated.
pub(super) fn are_concerned<'p>(
    attributes: &Attributes<'_>,
    constraints: &(impl Iterator<Item = &'p MatchResources> + Clone),
) -> bool {
    let subresource = name_of(attributes.subresource);
    let is_named = |resource: &Resource| {
        let resource = (&*resource.group, &*resource.version, &*resource.plural);
        let mut constraints = constraints.clone();
        constraints.any(|constraints| constraints.may_find(attributes.operation, resource, subresource))
    };
    is_named(attributes.resource) || Equivalents::any(attributes, is_named)
}

/// A write as policies look at it.
pub(super) struct Context<'a> {
    pub(super) attributes: &'a Attributes<'a>,
    pub(super) facts: Facts,
    pub(super) equivalents: Equivalents,
    namespace: OnceLock<Result<Value>>,
    rights: OnceLock<Arc<dyn Authorize>>,
    /// The variable `request` in the version of the request, and in each of the equivalents.
    variable: RequestVariable,
    equivalent_variables: Vec<RequestVariable>,
}

impl<'a> Context<'a> {
    /// `None` for a write that is exempt from policies.
    pub(super) fn new(attributes: &'a Attributes<'a>) -> Option<Context<'a>> {
        let facts = attributes.facts();
        (!is_exempt(&facts.resource)).then(|| {
            let equivalents = Equivalents::of(attributes);
            let identifiers = equivalents.identifiers.iter();
            Context {
                equivalent_variables: identifiers.map(|_| RequestVariable::default()).collect(),
                variable: RequestVariable::default(),
                equivalents,
                attributes,
                facts,
                namespace: OnceLock::new(),
                rights: OnceLock::new(),
            }
        })
    }

    /// The version in which constraints are about the write, if they are; or upstream's message why that is not known.
    pub(super) fn find(
        &self,
        constraints: &MatchResources,
        object: &Value,
        old: &Value,
    ) -> std::result::Result<Option<MatchedVersion>, String> {
        constraints
            .find(&self.facts, object, old, &self.equivalents.identifiers, || {
                self.namespace_labels(object)
            })
            .map_err(|undecided| match undecided {
                Undecided::Namespace(why) | Undecided::Selector(why) => why,
            })
    }

    /// Whether a binding is about the write; or upstream's message why that is not known.
    pub(super) fn is_bound(&self, binding: &Binding, object: &Value, old: &Value) -> std::result::Result<bool, String> {
        match &binding.matches {
            None => Ok(true),
            Some(constraints) => Ok(self.find(constraints, object, old)?.is_some()),
        }
    }

    /// A request as the expressions of a policy see it that read these variables.
    pub(super) fn request<'v>(
        &'v self,
        reads: Reads,
        matched: MatchedVersion,
        objects: &'v VersionedObjects,
        params: &'v Value,
    ) -> Result<Request<'v>> {
        let (resource, kind) = self.version(matched);
        let variable = match matched {
            MatchedVersion::Requested => &self.variable,
            MatchedVersion::Equivalent(index) => &self.equivalent_variables[index],
        };
        let mut request = Request::new(&self.facts, kind, resource, &objects.object, &objects.old, variable);
        request = request.with_params(params);
        if reads.namespace {
            request = request.in_namespace(self.namespace_object()?);
        }
        if reads.authorizer {
            request = request.with_authorizer(self.rights());
        }
        Ok(request)
    }

    /// The resource and the kind of a version that constraints are about.
    pub(super) fn version(&self, matched: MatchedVersion) -> (&GroupVersionResource, &GroupVersionKind) {
        match matched {
            MatchedVersion::Requested => (&self.facts.resource, &self.facts.kind),
            MatchedVersion::Equivalent(index) => {
                let (resource, kind) = &self.equivalents.identifiers[index];
                (resource, kind)
            }
        }
    }

    /// The labels of the write's namespace. For a write of a Namespace, those that it will have.
    fn namespace_labels<'v>(&'v self, object: &'v Value) -> std::result::Result<&'v Value, String> {
        let is_written = matches!(self.facts.operation, Operation::Create | Operation::Update);
        let is_namespace = self.facts.resource.resource == "namespaces" && self.facts.subresource.is_empty();
        let owner = if is_namespace && is_written {
            object
        } else {
            self.stored_namespace().map_err(|status| status.message.clone())?
        };
        Ok(owner.pointer("/metadata/labels").unwrap_or(&Value::Null))
    }

    /// What expressions see as `namespaceObject`: null for objects of the cluster, and for Namespaces.
    pub(super) fn namespace_object(&self) -> Result<&Value> {
        let kind = &self.facts.kind;
        let is_namespace = kind.group.is_empty() && kind.version == "v1" && kind.kind == "Namespace";
        if self.facts.namespace.is_empty() || is_namespace {
            return Ok(&Value::Null);
        }
        self.stored_namespace().map_err(|status| Box::new(status.clone()))
    }

    fn stored_namespace(&self) -> std::result::Result<&Value, &Status> {
        let found = self.namespace.get_or_init(|| {
            let namespaces = BuiltInId::Namespaces.resource();
            let name = &self.facts.namespace;
            let record = self.attributes.server.store.get(namespaces.table, name);
            let record = record.ok_or_else(|| Status::not_found(namespaces.about(), name))?;
            let mut namespace = object::to_value(namespaces, &record, record.revision);
            // Upstream shows what it has in its cache of namespaces, which has no types and no owners of fields.
            remove_meta(&mut namespace, "managedFields");
            if let Some(fields) = namespace.as_object_mut() {
                fields.remove("apiVersion");
                fields.remove("kind");
            }
            Ok(namespace)
        });
        found.as_ref().map_err(|status| &**status)
    }

    /// The rights of the user.
    pub(super) fn rights(&self) -> &Arc<dyn Authorize> {
        self.rights.get_or_init(|| Arc::new(Rights::of(self.attributes)))
    }
}

/// The objects of a write in the versions that policies are about, each converted once.
#[derive(Default)]
pub(super) struct Forms {
    forms: Vec<(MatchedVersion, VersionedObjects)>,
}

impl Forms {
    /// The objects in this version; `fresh` makes them in the version of the request.
    pub(super) async fn of(
        &mut self,
        matched: MatchedVersion,
        context: &Context<'_>,
        fresh: impl FnOnce() -> VersionedObjects,
    ) -> Result<&mut VersionedObjects> {
        if let Some(at) = self.forms.iter().position(|(known, _)| *known == matched) {
            return Ok(&mut self.forms[at].1);
        }
        let mut objects = fresh();
        let (_, kind) = context.version(matched);
        objects
            .convert_to(kind, context.attributes, &context.equivalents)
            .await?;
        self.forms.push((matched, objects));
        let at = self.forms.len() - 1;
        Ok(&mut self.forms[at].1)
    }

    /// The objects in a version that they were made in.
    pub(super) fn get_mut(&mut self, matched: MatchedVersion) -> Option<&mut VersionedObjects> {
        let mut forms = self.forms.iter_mut();
        forms.find(|(known, _)| *known == matched).map(|(_, objects)| objects)
    }

    /// Takes the objects in a version out.
    pub(super) fn take(&mut self, matched: MatchedVersion) -> Option<VersionedObjects> {
        let at = self.forms.iter().position(|(known, _)| *known == matched)?;
        Some(self.forms.swap_remove(at).1)
    }
}
