//! The built-in resources: the table of facts joined with each kind's rules.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use kubewright_kinds::Behaviour;
use kubewright_kinds::strategy::{Strategy, strategy};
use kubewright_schema::{self as schema, TypeRef, Types};
use kubewright_store::ResourceId;

use super::{BuiltInId, Registry, Resource, ResourceOrigin, Subresource, api_version};
use crate::custom;
use crate::registry::convert::{self, Conversion};
use crate::registry::name::Name;

/// What a built-in is made of.
pub(crate) struct BuiltIn {
    pub(crate) facts: &'static schema::Resource,
    pub(crate) ty: TypeRef<'static>,
    pub(crate) behaviour: &'static dyn Behaviour,
    pub(crate) strategy: &'static Strategy,
    /// Set where this version is not the stored one.
    pub(crate) conversion: Option<Conversion>,
}

impl BuiltIn {
    pub(super) fn verbs(&self, subresource: Option<Subresource<'_>>) -> Option<&[&'static str]> {
        match subresource {
            None => Some(&self.facts.verbs),
            Some(part) => self.facts.subresource(part.known_name()).map(|part| &*part.verbs),
        }
    }
}

impl Registry {
    /// The built-in resources; made once per process.
    pub(crate) fn builtin() -> &'static Registry {
        static REGISTRY: OnceLock<Registry> = OnceLock::new();
        REGISTRY.get_or_init(built_in)
    }
}

fn built_in() -> Registry {
    let mut tables: HashMap<(&str, &str), ResourceId> = HashMap::new();
    let mut made: HashMap<(&str, &str, &str), Arc<Resource>> = HashMap::new();
    // What others are stored as is made before them; discovery's order is kept.
    let facts: Vec<&'static schema::Resource> = schema::resources().iter().collect();
    let is_stored_elsewhere = |facts: &schema::Resource| {
        convert::stored_as(facts.group, facts.version, facts.plural) != (facts.group, facts.version)
    };
    let (others, stored): (Vec<&'static schema::Resource>, Vec<&'static schema::Resource>) =
        facts.iter().copied().partition(|facts| is_stored_elsewhere(facts));
    for facts in stored.into_iter().chain(others) {
        let Some(ty) = Types::builtin().kind(facts.group, facts.version, facts.kind) else {
            continue;
        };
        let (group, version) = convert::stored_as(facts.group, facts.version, facts.plural);
        let next = ResourceId(tables.len() as u64);
        let table = *tables.entry((group, facts.plural)).or_insert(next);
        let conversion = convert::conversion(facts.group, facts.version, facts.plural);
        let api_version = api_version(facts.group, facts.version);
        let list_kind: Arc<str> = format!("{}List", facts.kind).into();
        let resource = Resource {
            table,
            group: facts.group.into(),
            version: facts.version.into(),
            plural: facts.plural.into(),
            kind: facts.kind.into(),
            list_kind: Name::Defined(list_kind),
            namespaced: facts.namespaced,
            type_meta: format!(r#""kind":"{}","apiVersion":"{api_version}","#, facts.kind),
            api_version,
            origin: ResourceOrigin::BuiltIn(BuiltIn {
                facts,
                ty,
                behaviour: behaviour(facts),
                strategy: strategy(facts.group, facts.plural),
                conversion,
            }),
            id: BuiltInId::find(facts.group, facts.plural),
            stored: conversion.and_then(|_| made.get(&(group, version, facts.plural)).cloned()),
            zero: OnceLock::new(),
        };
        made.insert((facts.group, facts.version, facts.plural), Arc::new(resource));
    }
    let mut registry = Registry::default();
    for facts in facts {
        if let Some(resource) = made.get(&(facts.group, facts.version, facts.plural)) {
            registry.add(Arc::clone(resource));
        }
    }
    for id in BuiltInId::ALL {
        let resource = registry.find(id.group(), "v1", id.plural()).cloned();
        registry
            .by_id
            .push(resource.expect("the table of facts has every resource that code speaks of"));
    }
    registry
}

/// The rules of a kind. A definition's are here, since they need the schemas that `kinds` does not know.
fn behaviour(facts: &schema::Resource) -> &'static dyn Behaviour {
    match BuiltInId::find(facts.group, facts.plural) {
        Some(BuiltInId::CustomResourceDefinitions) => &custom::CustomResourceDefinition,
        _ => kubewright_kinds::behaviour(facts.group, facts.plural),
    }
}
