//! Converts the objects of a request to the version that a webhook's rules name, and back (A6).

use std::sync::Arc;

use http::StatusCode;
use kubewright_admission::{GroupVersionKind, GroupVersionResource};
use kubewright_schema::{self as schema, TypeRef, Types};
use serde_json::Value;

use crate::admit::{Attributes, BodyKind, Operation, kind_of};
use crate::custom::ServedResources;
use crate::custom::conversion::with_conversions;
use crate::object;
use crate::registry::convert;
use crate::registry::topology::ObjectTopology;
use crate::registry::{BuiltInId, Registry, Resource, api_version};
use crate::wire::status::{Result, Status};
use crate::write::defaults::default;

/// The other resources that serve the same objects, in other groups or versions.
pub(crate) struct Equivalents {
    pub(crate) identifiers: Vec<(GroupVersionResource, GroupVersionKind)>,
    resources: Vec<Arc<Resource>>,
}

impl Equivalents {
    pub(crate) fn of(attributes: &Attributes<'_>) -> Equivalents {
        let served = attributes.server.definitions.served();
        let resources: Vec<Arc<Resource>> = equivalents(attributes, &served).cloned().collect();
        let identifiers = resources
            .iter()
            .map(|other| {
                let resource = GroupVersionResource::new(&other.group, &other.version, &other.plural);
                let kind = match attributes.body_kind {
                    Some(_) => attributes.kind(),
                    None => kind_of(other),
                };
                (resource, kind)
            })
            .collect();
        Equivalents { identifiers, resources }
    }

    /// Whether one of them is like this.
    pub(crate) fn any(attributes: &Attributes<'_>, mut is: impl FnMut(&Resource) -> bool) -> bool {
        let served = attributes.server.definitions.served();
        equivalents(attributes, &served).any(|resource| is(resource))
    }

    fn resource(&self, kind: &GroupVersionKind) -> Option<&Resource> {
        let mut resources = self.resources.iter().map(|resource| &**resource);
        resources.find(|resource| kind_of(resource) == *kind)
    }
}

fn equivalents<'a>(
    attributes: &'a Attributes<'_>,
    served: &'a ServedResources,
) -> impl Iterator<Item = &'a Arc<Resource>> {
    let own = attributes.resource;
    let registry = match own.custom() {
        Some(_) => &served.registry,
        None => Registry::builtin(),
    };
    registry
        .iter()
        .filter(|other| other.table == own.table && other.api_version != own.api_version)
        .filter(|other| other.has_subresource(attributes.subresource))
}

/// The `managedFields` of an object.
fn owners(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// The objects of a request in one version.
#[derive(Clone)]
pub(crate) struct VersionedObjects {
    pub(crate) kind: GroupVersionKind,
    /// Null when there is none.
    pub(crate) object: Value,
    /// Null when there is none.
    pub(crate) old: Value,
    /// This request set times in the `managedFields` of a built-in. Upstream holds them more precisely than it
    /// writes them, so the first object that it reads back is never equal.
    stamped: bool,
}

impl VersionedObjects {
    /// The objects in the version of the request, made from the form that the stages of a write work on.
    pub(crate) fn new(attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> VersionedObjects {
        let kind = attributes.kind();
        let as_served = |object: &Value| {
            let mut served = object.clone();
            if !served.is_object() {
                return Value::Null;
            }
            if attributes.body_kind.is_none() {
                attributes.resource.to_served(&mut served);
                object::leave_out_empties(attributes.resource, &mut served);
            }
            named(&mut served, &kind);
            served
        };
        let built_in = attributes.body_kind.is_some() || attributes.resource.custom().is_none();
        VersionedObjects {
            object: as_served(object),
            old: old.map_or(Value::Null, as_served),
            stamped: built_in && owners(object).is_some() && owners(object) != old.and_then(owners),
            kind,
        }
    }

    /// The same without the phase of a new `PersistentVolumeClaim`, which the server sets when it stores one.
    pub(crate) fn without_stored_defaults(mut self, attributes: &Attributes<'_>) -> VersionedObjects {
        let is_new = attributes.operation == Operation::Create && attributes.subresource.is_none();
        if is_new
            && attributes.resource.is(BuiltInId::PersistentVolumeClaims)
            && let Some(Value::Object(status)) = self.object.get_mut("status")
        {
            status.remove("phase");
        }
        self
    }

    /// The same once the objects have been encoded and decoded, which rounds the times of `managedFields`.
    pub(crate) fn reread(self) -> VersionedObjects {
        VersionedObjects { stamped: false, ..self }
    }

    /// Brings the objects to the version of `kind`.
    pub(crate) async fn convert_to(
        &mut self,
        kind: &GroupVersionKind,
        attributes: &Attributes<'_>,
        equivalents: &Equivalents,
    ) -> Result<()> {
        if self.kind == *kind {
            return Ok(());
        }
        let own = attributes.resource;
        let to = if *kind == attributes.kind() {
            Some(own)
        } else {
            equivalents.resource(kind)
        };
        let Some(to) = to else {
            return Err(Status::internal(&format!("unable to convert to {kind}: unknown kind")));
        };
        for object in [&mut self.object, &mut self.old] {
            if !object.is_object() {
                continue;
            }
            *object = match own.custom() {
                // Without a conversion webhook only apiVersion changes.
                Some(version) if version.kind.webhook().is_none() => object.take(),
                Some(version) => {
                    let converted = with_conversions(attributes.server, own, |cache| {
                        Ok(version.convert(object.clone(), &to.api_version, cache)?)
                    });
                    converted.await.map_err(|status| Status::internal(&status.message))?
                }
                None => {
                    let mut converted = object.take();
                    convert::between(&mut converted, to);
                    match to.ty().map(|ty| schema::decode(ty, converted.clone(), None)) {
                        Some(Ok(decoded)) => decoded.value,
                        _ => converted,
                    }
                }
            };
            named(object, kind);
        }
        self.kind = kind.clone();
        Ok(())
    }

    /// Replaces the object by the patched one. Returns whether they differ; the error is upstream's message.
    pub(crate) fn accept_patched(
        &mut self,
        patched: Value,
        attributes: &Attributes<'_>,
        equivalents: &Equivalents,
    ) -> std::result::Result<bool, String> {
        let resource = equivalents.resource(&self.kind).unwrap_or(attributes.resource);
        let mut next = self.decoded(patched, resource, attributes.body_kind)?;
        let before = self.decoded(self.object.clone(), resource, attributes.body_kind);
        let changed = std::mem::take(&mut self.stamped) || before.as_ref() != Ok(&next);
        match (attributes.body_kind, resource.custom()) {
            (Some(_), _) => {}
            (None, Some(version)) => version.default(&mut next),
            (None, None) => default(resource, &mut next),
        }
        self.object = next;
        Ok(changed)
    }

    /// The type of the objects, as merging asks for it. Upstream has none for what exists as the body of a subresource only; a Binding has a
    /// collection, too.
    pub(crate) fn topology<'t>(
        &self,
        attributes: &'t Attributes<'_>,
        equivalents: &'t Equivalents,
    ) -> Option<ObjectTopology<'t>> {
        if let Some(part) = attributes.body_kind {
            let has_collection = part == BodyKind::BINDING;
            let ty = typed(attributes.resource, Some(part)).filter(|_| has_collection);
            return ty.map(ObjectTopology::BuiltIn);
        }
        let resource = equivalents.resource(&self.kind).unwrap_or(attributes.resource);
        match resource.custom() {
            Some(version) => Some(ObjectTopology::Custom(version.schema().topology())),
            None => resource.ty().map(ObjectTopology::BuiltIn),
        }
    }

    /// The fields of a document that its built-in type does not have.
    pub(crate) fn unknown_fields(
        &self,
        document: &Value,
        attributes: &Attributes<'_>,
        equivalents: &Equivalents,
    ) -> Vec<String> {
        let resource = equivalents.resource(&self.kind).unwrap_or(attributes.resource);
        let decoded = typed(resource, attributes.body_kind).map(|ty| schema::decode(ty, document.clone(), None));
        decoded
            .and_then(std::result::Result::ok)
            .map(|decoded| decoded.unknown)
            .unwrap_or_default()
    }

    /// A document as an object of `self.kind`, as upstream's decoder makes one.
    fn decoded(
        &self,
        document: Value,
        resource: &Resource,
        part: Option<BodyKind>,
    ) -> std::result::Result<Value, String> {
        let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (given_version, given_kind) = (text("apiVersion"), text("kind"));
        let Some(ty) = typed(resource, part) else {
            if given_kind.is_empty() {
                let shown = document.to_string();
                return Err(format!("Object 'Kind' is missing in '{shown}'"));
            }
            return Ok(document);
        };
        let own = api_version(&self.kind.group, &self.kind.version);
        // A document that names another kind is decoded as that kind.
        if let Some(other) = Types::builtin().kind(&self.kind.group, &self.kind.version, &given_kind)
            && given_version == own
            && given_kind != self.kind.kind
        {
            schema::decode(other, document.clone(), None).map_err(|error| error.to_string())?;
        }
        let other_version = !given_version.is_empty() && given_version != own;
        let other_kind = !given_kind.is_empty() && given_kind != self.kind.kind;
        if other_version || other_kind {
            return Err(format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                kubewright_apimachinery::go::quote(&given_kind),
                kubewright_apimachinery::go::quote(&given_version)
            ));
        }
        let mut decoded = schema::decode(ty, document.clone(), None)
            .map_err(|error| error.to_string())?
            .value;
        schema::keep_empties(ty, &document, &mut decoded);
        named(&mut decoded, &self.kind);
        Ok(decoded)
    }

    /// The object in the version of the request, in the form that the stages of a write work on.
    pub(crate) fn into_object(self, attributes: &Attributes<'_>) -> Result<Value> {
        let mut object = self.object;
        if attributes.body_kind.is_some() {
            return Ok(object);
        }
        if attributes.resource.custom().is_some() {
            let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            let (given, kind, own) = (text("apiVersion"), text("kind"), &attributes.resource.api_version);
            if given != own {
                let own = kubewright_apimachinery::go::quote(own);
                let why = format!("{given}, Kind={kind} is unstructured and is not suitable for converting to {own}");
                return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
            }
            return Ok(object);
        }
        attributes.resource.to_stored(&mut object);
        Ok(object)
    }
}

fn typed(resource: &Resource, part: Option<BodyKind>) -> Option<TypeRef<'static>> {
    match part {
        Some(part) => Types::builtin().kind(part.group, BodyKind::VERSION, part.kind),
        None => resource.ty(),
    }
}

fn named(object: &mut Value, kind: &GroupVersionKind) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), api_version(&kind.group, &kind.version).into());
        fields.insert("kind".into(), kind.kind.as_str().into());
    }
}
