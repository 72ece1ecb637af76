//! The built-in kinds that take part: a manifest of each, its type from the table of facts, and its paths.

use std::sync::OnceLock;

use kubewright_schema::{Resource, TypeRef, Types, resources};
use serde::Deserialize;
use serde_json::Value;

use super::mutate;
use super::random::Choices;

/// A kind with a manifest that the real server accepts.
#[derive(Debug)]
pub struct BuiltIn {
    /// The manifest; `${ns}` and `${unique}` are not filled in.
    pub manifest: Value,
    /// Whether its objects outlive the request that creates them, and nothing but requests changes them.
    pub stored: bool,
    /// The resource that serves it.
    pub resource: &'static Resource,
    /// How often it is chosen among the others.
    weight: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Base {
    object: Value,
    #[serde(default)]
    only: Option<String>,
    #[serde(default = "one")]
    weight: usize,
}

fn one() -> usize {
    1
}

/// Every kind of `bases.yaml`.
pub fn built_ins() -> &'static [BuiltIn] {
    static BUILT_INS: OnceLock<Vec<BuiltIn>> = OnceLock::new();
    BUILT_INS.get_or_init(|| {
        let bases: Vec<Base> = yaml_serde::from_str(include_str!("bases.yaml")).expect("the manifests can be read");
        bases.into_iter().map(BuiltIn::of).collect()
    })
}

/// A kind, by weight; `stored` leaves out those of which only the creation can be repeated.
pub fn any(choices: &mut Choices, stored: bool) -> &'static BuiltIn {
    let candidates: Vec<_> = built_ins()
        .iter()
        .filter(|built_in| built_in.stored || !stored)
        .map(|built_in| (built_in.weight, built_in))
        .collect();
    choices.weighted(&candidates)
}

impl BuiltIn {
    fn of(base: Base) -> Self {
        let api_version = base.object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = base.object["kind"].as_str().unwrap_or_default();
        let resource = resources()
            .iter()
            .find(|resource| resource.group == group && resource.version == version && resource.kind == kind);
        BuiltIn {
            resource: resource.unwrap_or_else(|| panic!("bases.yaml: no resource serves {api_version} {kind}")),
            stored: base.only.is_none(),
            weight: base.weight,
            manifest: base.object,
        }
    }

    /// Its type.
    pub fn type_ref(&self) -> TypeRef<'static> {
        let Resource {
            group, version, kind, ..
        } = self.resource;
        let found = Types::builtin().kind(group, version, kind);
        found.unwrap_or_else(|| panic!("the table of facts has no type of {kind}"))
    }

    /// The path of its collection.
    pub fn collection(&self) -> String {
        let Resource {
            group, version, plural, ..
        } = self.resource;
        let root = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        if self.resource.namespaced {
            format!("{root}/namespaces/${{ns}}/{plural}")
        } else {
            format!("{root}/{plural}")
        }
    }

    /// The path of its manifest's object.
    pub fn path(&self) -> String {
        format!(
            "{}/{}",
            self.collection(),
            self.manifest["metadata"]["name"].as_str().unwrap_or("a")
        )
    }

    /// A changed copy of its manifest. The name of a cluster-scoped object stays the case's own, since cases share a server.
    pub fn changed(&self, choices: &mut Choices, manifest: &Value) -> Value {
        let mut changed = mutate::changed(choices, self.type_ref(), manifest);
        if !self.resource.namespaced {
            for field in ["name", "generateName"] {
                if let Some(Value::String(name)) = changed.pointer_mut(&format!("/metadata/{field}"))
                    && !name.is_empty()
                    && !name.contains("${unique}")
                {
                    name.push_str("-${unique}");
                }
            }
        }
        changed
    }

    /// A selector of its object alone, since others write objects of its kind, too.
    pub fn selector(&self) -> String {
        let name = self.manifest["metadata"]["name"].as_str().unwrap_or("a");
        format!("fieldSelector=metadata.name={name}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_resource_that_can_be_created_takes_part() {
        let known: BTreeSet<_> = built_ins()
            .iter()
            .map(|built_in| {
                (
                    built_in.resource.group,
                    built_in.resource.version,
                    built_in.resource.plural,
                )
            })
            .collect();
        let missing: Vec<_> = resources()
            .iter()
            .filter(|resource| resource.verbs.contains(&"create") && resource.plural != "bindings")
            .map(|resource| (resource.group, resource.version, resource.plural))
            .filter(|resource| !known.contains(resource))
            .collect();
        assert!(missing.is_empty(), "bases.yaml has no {missing:?}");
    }
}
