//! The resources a server serves: the table of facts joined with each kind's rules and its place in the store.

use std::collections::HashMap;
use std::sync::OnceLock;

use kubewright_kinds::Behaviour;
use kubewright_kinds::strategy::{Strategy, strategy};
use kubewright_schema::{self as schema, TypeRef, Types};
use kubewright_store::ResourceId;
use serde_json::Value;

use crate::convert::{self, Conversion};
use crate::route::Verb;
use crate::status::About;

/// A resource in one version.
pub(crate) struct Resource {
    pub(crate) table: ResourceId,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) facts: &'static schema::Resource,
    pub(crate) ty: TypeRef<'static>,
    pub(crate) behaviour: &'static dyn Behaviour,
    pub(crate) strategy: &'static Strategy,
    /// `group/version`, or the version alone in the core.
    pub(crate) api_version: String,
    /// `"kind":"Pod","apiVersion":"v1",`: what the stored text lacks.
    pub(crate) type_meta: String,
    /// The object before anything is set, made when first needed.
    zero: OnceLock<Value>,
    /// Set where this version is not the stored one.
    pub(crate) conversion: Option<Conversion>,
}

/// Every resource, by its path and in discovery's order.
pub(crate) struct Registry {
    resources: Vec<Resource>,
    by_path: HashMap<(&'static str, &'static str, &'static str), usize>,
}

impl Registry {
    /// The built-in resources; made once per process.
    pub(crate) fn builtin() -> &'static Registry {
        static REGISTRY: OnceLock<Registry> = OnceLock::new();
        REGISTRY.get_or_init(|| Registry::of(schema::resources()))
    }

    fn of(facts: &'static schema::Resources) -> Registry {
        let mut tables: HashMap<(&str, &str), ResourceId> = HashMap::new();
        let mut resources: Vec<Resource> = Vec::new();
        let mut by_path = HashMap::new();
        for facts in facts.iter() {
            let Some(ty) = Types::builtin().kind(facts.group, facts.version, facts.kind) else {
                continue;
            };
            let (stored_group, stored_version) = convert::stored_as(facts.group, facts.version, facts.plural);
            let next = ResourceId(tables.len() as u32);
            let table = *tables.entry((stored_group, facts.plural)).or_insert(next);
            let api_version = api_version(facts.group, facts.version);
            let stored_here = (stored_group, stored_version) == (facts.group, facts.version);
            by_path.insert((facts.group, facts.version, facts.plural), resources.len());
            resources.push(Resource {
                table,
                group: facts.group,
                version: facts.version,
                plural: facts.plural,
                kind: facts.kind,
                namespaced: facts.namespaced,
                facts,
                ty,
                behaviour: kubewright_kinds::behaviour(facts.group, facts.plural),
                strategy: strategy(facts.group, facts.plural),
                zero: OnceLock::new(),
                type_meta: format!(r#""kind":"{}","apiVersion":"{api_version}","#, facts.kind),
                api_version,
                conversion: (!stored_here)
                    .then(|| convert::conversion(facts.group, facts.version, facts.plural))
                    .flatten(),
            });
        }
        Registry { resources, by_path }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        self.by_path
            .get(&(group, version, plural))
            .map(|at| &self.resources[*at])
    }

    /// A resource that every server has.
    pub(crate) fn core(&self, plural: &str) -> &Resource {
        self.find("", "v1", plural).unwrap_or(&self.resources[0])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter()
    }

    pub(crate) fn serves_group(&self, group: &str) -> bool {
        self.resources.iter().any(|resource| resource.group == group)
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
    /// What errors call this resource.
    pub(crate) fn about(&self) -> About<'_> {
        About {
            group: self.group,
            resource: self.plural,
        }
    }

    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        self.facts.subresource(name).is_some()
    }

    pub(crate) fn allows(&self, verb: Verb, subresource: &str) -> bool {
        let verbs = match subresource {
            "" => &self.facts.verbs,
            name => match self.facts.subresource(name) {
                Some(subresource) => &subresource.verbs,
                None => return false,
            },
        };
        verbs.contains(&verb.name())
    }

    /// Whether objects of this resource are kept; reviews and bindings are only answered.
    pub(crate) fn is_stored(&self) -> bool {
        self.facts.verbs.contains(&"get")
    }

    /// What upstream says with every answer about a kind that is on its way out (H12).
    pub(crate) fn deprecation(&self) -> Option<&'static str> {
        match (self.group, self.plural) {
            ("", "endpoints") => Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
            ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
            _ => None,
        }
    }

    /// The values of the selectable fields, in the strategy's order.
    pub(crate) fn field_values(&self, object: &Value) -> Box<[Box<str>]> {
        self.strategy
            .fields
            .iter()
            .filter(|field| !is_of_the_key(field.label))
            .map(|field| field.text(object).into())
            .collect()
    }

    /// The resource in the version that is stored.
    pub(crate) fn stored(&'static self) -> &'static Resource {
        if self.conversion.is_none() {
            return self;
        }
        let (group, version) = convert::stored_as(self.group, self.version, self.plural);
        Registry::builtin().find(group, version, self.plural).unwrap_or(self)
    }

    /// The object before anything is set, as the server writes it: `{"metadata":{},"spec":{},"status":{}}`.
    pub(crate) fn zero(&self) -> &Value {
        self.zero.get_or_init(|| {
            let empty = Value::Object(serde_json::Map::new());
            schema::decode(self.ty, empty, None)
                .map(|decoded| decoded.value)
                .unwrap_or_default()
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
        match (self.group, self.plural) {
            ("", "services") => "services/specs".into(),
            ("", "endpoints") => "services/endpoints".into(),
            ("", "nodes") => "minions".into(),
            ("", "replicationcontrollers") => "controllers".into(),
            ("networking.k8s.io", "ingresses") => "ingress".into(),
            (_, plural) => plural.into(),
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
