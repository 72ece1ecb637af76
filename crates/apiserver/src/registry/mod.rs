//! The resources a server serves: what each is called, what shapes its objects, and its place in the store.

mod builtin;
pub(crate) mod convert;
mod id;
pub(crate) mod name;
mod subresource;
pub(crate) mod topology;
mod verb;

use std::sync::{Arc, OnceLock};

use kubewright_kinds::Behaviour;
use kubewright_kinds::strategy::Strategy;
use kubewright_schema::{self as schema, Decoded, Source, TypeRef};
use kubewright_store::{Record, ResourceId};
use kubewright_structural::schema::Scale;
use serde_json::Value;

pub(crate) use builtin::BuiltIn;
pub(crate) use id::BuiltInId;
pub(crate) use subresource::{Subresource, name_of};
pub(crate) use verb::Verb;

use crate::custom;
use crate::registry::convert::Conversion;
use crate::registry::name::Name;
use crate::wire::status::GroupResource;

/// A resource in one version.
pub(crate) struct Resource {
    pub(crate) table: ResourceId,
    pub(crate) group: Name,
    pub(crate) version: Name,
    pub(crate) plural: Name,
    pub(crate) kind: Name,
    pub(crate) list_kind: Name,
    pub(crate) namespaced: bool,
    /// `group/version`, or the version alone in the core.
    pub(crate) api_version: String,
    /// `"kind":"Pod","apiVersion":"v1",`: what the stored text lacks.
    pub(crate) type_meta: String,
    pub(crate) origin: ResourceOrigin,
    /// Set for the built-ins that code speaks of.
    id: Option<BuiltInId>,
    /// The resource in the version that is stored, where that is another one and writes go through its rules.
    stored: Option<Arc<Resource>>,
    /// The object before anything is set, made when first needed.
    zero: OnceLock<Value>,
}

/// Where the schema and the rules of a resource come from.
pub(crate) enum ResourceOrigin {
    /// The table of facts and the rules of its kind.
    BuiltIn(BuiltIn),
    /// A `CustomResourceDefinition`.
    Custom(custom::Version),
}

/// Resources by their path, and in discovery's order.
#[derive(Default)]
pub(crate) struct Registry {
    resources: Vec<Arc<Resource>>,
    /// Sorted by group, version and plural name.
    by_path: Vec<Arc<Resource>>,
    /// Those that code speaks of, by the numbers of their ids; only built-ins have any.
    by_id: Vec<Arc<Resource>>,
}

impl Registry {
    pub(crate) fn add(&mut self, resource: Arc<Resource>) {
        let at = match self.position(&resource.group, &resource.version, &resource.plural) {
            Ok(at) | Err(at) => at,
        };
        self.by_path.insert(at, Arc::clone(&resource));
        self.resources.push(resource);
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.position(group, version, plural).ok().map(|at| &self.by_path[at])
    }

    fn position(&self, group: &str, version: &str, plural: &str) -> Result<usize, usize> {
        self.by_path
            .binary_search_by(|at| (&*at.group, &*at.version, &*at.plural).cmp(&(group, version, plural)))
    }

    fn by_id(&self, id: BuiltInId) -> &Arc<Resource> {
        &self.by_id[id as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    pub(crate) fn serves_group(&self, group: &str) -> bool {
        self.by_path.binary_search_by(|at| (*at.group).cmp(group)).is_ok()
    }
}

/// `group/version`, or the version alone in the core.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

impl Resource {
    /// A version of a defined kind, by group, version and plural name, and by kind and kind of list.
    pub(crate) fn custom_version(
        table: ResourceId,
        [group, version, plural]: [Name; 3],
        [kind, list_kind]: [Name; 2],
        namespaced: bool,
        origin: custom::Version,
    ) -> Resource {
        let api_version = api_version(&group, &version);
        Resource {
            table,
            type_meta: format!(r#""apiVersion":"{api_version}","kind":"{kind}","#),
            api_version,
            group,
            version,
            plural,
            kind,
            list_kind,
            namespaced,
            origin: ResourceOrigin::Custom(origin),
            id: None,
            stored: None,
            zero: OnceLock::new(),
        }
    }

    /// What errors call this resource.
    pub(crate) fn about(&self) -> GroupResource<'_> {
        GroupResource {
            group: &self.group,
            resource: &self.plural,
        }
    }

    /// Whether it is this resource of the built-ins, in any version.
    pub(crate) fn is(&self, id: BuiltInId) -> bool {
        self.id == Some(id)
    }

    /// Which of the built-ins that code speaks of it is.
    pub(crate) fn id(&self) -> Option<BuiltInId> {
        self.id
    }

    pub(crate) fn custom(&self) -> Option<&custom::Version> {
        match &self.origin {
            ResourceOrigin::Custom(version) => Some(version),
            ResourceOrigin::BuiltIn(_) => None,
        }
    }

    fn built_in(&self) -> Option<&BuiltIn> {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => Some(built_in),
            ResourceOrigin::Custom(_) => None,
        }
    }

    /// The type of a built-in.
    pub(crate) fn ty(&self) -> Option<TypeRef<'static>> {
        self.built_in().map(|built_in| built_in.ty)
    }

    pub(crate) fn behaviour(&self) -> &dyn Behaviour {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => built_in.behaviour,
            ResourceOrigin::Custom(version) => version,
        }
    }

    pub(crate) fn strategy(&self) -> &'static Strategy {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => built_in.strategy,
            ResourceOrigin::Custom(version) => version.strategy(),
        }
    }

    /// The conversion of a built-in that is stored in another version.
    pub(crate) fn conversion(&self) -> Option<Conversion> {
        self.built_in()?.conversion
    }

    /// Brings an object of this version to the stored one.
    pub(crate) fn to_stored(&self, object: &mut Value) {
        if let Some(conversion) = self.conversion() {
            conversion.store(object);
        }
    }

    /// Brings an object of the stored version to this one. A custom resource is read in its own version from the start.
    pub(crate) fn to_served(&self, object: &mut Value) {
        if let Some(conversion) = self.conversion() {
            conversion.serve(object);
        }
    }

    /// Whether a record's text is what this version serves, so that nothing needs to be parsed.
    pub(crate) fn serves_as_stored(&self, record: &Record) -> bool {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => built_in.conversion.is_none(),
            ResourceOrigin::Custom(version) => version.serves_as_stored(record),
        }
    }

    /// The verbs of the resource or of a subresource; `None` when there is no such subresource.
    fn verbs(&self, subresource: Option<Subresource<'_>>) -> Option<&[&'static str]> {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => built_in.verbs(subresource),
            ResourceOrigin::Custom(version) => version.verbs(subresource),
        }
    }

    /// Where the scale of a custom resource finds its parts.
    pub(crate) fn scale_paths(&self) -> Option<&Scale> {
        self.custom()?.scale()
    }

    /// Where each version keeps its replicas, which is what owners of the scale own.
    pub(crate) fn replicas_paths(&self) -> Vec<(String, Option<String>)> {
        match self.custom() {
            Some(version) => version.replicas_paths(),
            None => vec![(self.api_version.clone(), Some("spec.replicas".to_owned()))],
        }
    }

    /// Whether there is such a subresource; the object itself always is.
    pub(crate) fn has_subresource(&self, subresource: Option<Subresource<'_>>) -> bool {
        self.verbs(subresource).is_some()
    }

    pub(crate) fn allows(&self, verb: Verb, subresource: Option<Subresource<'_>>) -> bool {
        self.verbs(subresource)
            .is_some_and(|verbs| verbs.contains(&verb.name()))
    }

    /// Whether objects of this resource are kept; reviews and bindings are only answered.
    pub(crate) fn is_stored(&self) -> bool {
        self.allows(Verb::Get, None)
    }

    /// What upstream says with every answer about a kind that is on its way out (H12, C11).
    pub(crate) fn deprecation(&self) -> Option<&str> {
        match &self.origin {
            ResourceOrigin::Custom(version) => version.deprecation(),
            ResourceOrigin::BuiltIn(_) if self.is(BuiltInId::Endpoints) => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
            }
            ResourceOrigin::BuiltIn(_) if self.is(BuiltInId::ComponentStatuses) => {
                Some("v1 ComponentStatus is deprecated in v1.19+")
            }
            ResourceOrigin::BuiltIn(_) => None,
        }
    }

    /// Whether `label` can be selected by; the error is upstream's sentence.
    pub(crate) fn selectable_field(&self, label: &str) -> Result<(), String> {
        match &self.origin {
            ResourceOrigin::Custom(version) => version.selectable_field(label, self.namespaced),
            ResourceOrigin::BuiltIn(_) => self.strategy().selectable_field(label).map(|_| ()),
        }
    }

    /// The place of a built-in's selectable field among the values that a record keeps.
    pub(crate) fn kept_field(&self, label: &str) -> usize {
        let fields = self.strategy().fields.iter().map(|field| field.label);
        fields
            .filter(|known| !is_of_the_key(known))
            .take_while(|known| *known != label)
            .count()
    }

    /// The values of the selectable fields that a record keeps.
    pub(crate) fn field_values(&self, object: &Value) -> Box<[Box<str>]> {
        match &self.origin {
            ResourceOrigin::Custom(version) => version.field_values(object),
            ResourceOrigin::BuiltIn(built_in) => built_in
                .strategy
                .fields
                .iter()
                .filter(|field| !is_of_the_key(field.label))
                .map(|field| field.text(object).into())
                .collect(),
        }
    }

    /// The resource whose rules writes go through.
    pub(crate) fn stored(&self) -> &Resource {
        self.stored.as_deref().unwrap_or(self)
    }

    /// An object as this version's type holds it, and what it does not know (W2).
    pub(crate) fn decode(&self, value: Value, source: Option<&dyn Source>) -> Result<Decoded, String> {
        match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => {
                schema::decode(built_in.ty, value, source).map_err(|error| error.to_string())
            }
            ResourceOrigin::Custom(version) => version.decode(value),
        }
    }

    /// The object before anything is set, as the server writes it: `{"metadata":{},"spec":{},"status":{}}`.
    pub(crate) fn zero(&self) -> &Value {
        self.zero.get_or_init(|| match &self.origin {
            ResourceOrigin::BuiltIn(built_in) => {
                let empty = Value::Object(serde_json::Map::new());
                schema::decode(built_in.ty, empty, None)
                    .map(|decoded| decoded.value)
                    .unwrap_or_default()
            }
            ResourceOrigin::Custom(_) => Value::Object(serde_json::Map::new()),
        })
    }

    /// Puts back what a kind always writes, after its strategy has cleared it.
    pub(crate) fn fill_zero(&self, object: &mut Value) {
        let (Some(object), Some(zero)) = (object.as_object_mut(), self.zero().as_object()) else {
            return;
        };
        for (key, value) in zero {
            if !object.contains_key(key) {
                object.insert(key.clone(), value.clone());
            }
        }
    }

    /// Where etcd would keep the resource, which some messages tell.
    pub(crate) fn storage_path(&self) -> String {
        match self.id {
            Some(BuiltInId::Services) => "services/specs".into(),
            Some(BuiltInId::Endpoints) => "services/endpoints".into(),
            Some(BuiltInId::Nodes) => "minions".into(),
            Some(BuiltInId::ReplicationControllers) => "controllers".into(),
            Some(BuiltInId::Ingresses) => "ingress".into(),
            _ if self.custom().is_some() => format!("{}/{}", self.group, self.plural),
            _ => self.plural.to_string(),
        }
    }
}

/// Name and namespace are read from the key.
pub(crate) fn is_of_the_key(label: &str) -> bool {
    matches!(label, "metadata.name" | "metadata.namespace")
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.api_version, self.plural)
    }
}
