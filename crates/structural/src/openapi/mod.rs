//! The published documents of custom resources: a document of version 3 per group-version, and their part of the one
//! document of version 2 (C15, O3). Only established definitions are published, and only served versions.

mod lossy;
mod native;
mod schema;

use kubewright_schema::openapi::{Custom, Dialect, TypeDocs, add_custom_v2, custom_v3};
use serde_json::Value;

use crate::crd::{Definition, Version};

/// The names of the documents of version 3 that the definitions make, in order and each once: `apis/example.com/v1`.
pub fn names<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Vec<String> {
    let mut names: Vec<String> = definitions
        .into_iter()
        .flat_map(|definition| served(definition).map(|version| format!("apis/{}/{}", definition.group, version.name)))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The document of version 3 for the custom kinds of a group-version; `None` when there are none.
pub fn v3<'d>(
    group: &str,
    version: &str,
    definitions: impl IntoIterator<Item = &'d Definition>,
    docs: &dyn TypeDocs,
) -> Option<Value> {
    let definitions: Vec<&Definition> = definitions
        .into_iter()
        .filter(|definition| definition.group == group)
        .collect();
    let kinds: Vec<Custom> = definitions
        .iter()
        .flat_map(|definition| {
            served(definition)
                .filter(|served| served.name == version)
                .map(|served| custom(definition, served, Dialect::V3))
        })
        .collect();
    (!kinds.is_empty()).then(|| {
        let mut document = custom_v3(&kinds, docs);
        leave_out_unserved(&mut document, &definitions);
        document
    })
}

/// Adds the custom kinds to the document of version 2, which says less about them than they declare.
pub fn add_to_v2<'d>(swagger: &mut Value, definitions: impl IntoIterator<Item = &'d Definition>, docs: &dyn TypeDocs) {
    let definitions: Vec<&Definition> = definitions.into_iter().collect();
    let kinds: Vec<Custom> = definitions
        .iter()
        .flat_map(|definition| served(definition).map(|version| custom(definition, version, Dialect::V2)))
        .collect();
    if !kinds.is_empty() {
        add_custom_v2(swagger, &kinds, docs);
        leave_out_unserved(swagger, &definitions);
    }
}

/// Takes the operations out of a document that its definitions have but that are not served.
fn leave_out_unserved(document: &mut Value, definitions: &[&Definition]) {
    let limited: Vec<&&Definition> = definitions
        .iter()
        .filter(|definition| definition.limited_verbs.is_some())
        .collect();
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else {
        return;
    };
    if limited.is_empty() {
        return;
    }
    paths.retain(|path, item| {
        let Some(item) = item.as_object_mut() else { return true };
        let of = |definition: &&&Definition| is_path_of(path, definition);
        let Some(definition) = limited.iter().copied().find(of) else {
            return true;
        };
        item.retain(
            |_, operation| match operation.get("x-kubernetes-action").and_then(Value::as_str) {
                Some(action) => definition.verbs().contains(&verb_of(action)),
                None => true,
            },
        );
        // What is left besides operations are parameters.
        item.values().any(|part| part.get("x-kubernetes-action").is_some())
    });
}

fn is_path_of(path: &str, definition: &Definition) -> bool {
    let mut segments = path.trim_start_matches('/').split('/');
    (segments.next(), segments.next()) == (Some("apis"), Some(&*definition.group))
        && segments.any(|segment| segment == definition.names.plural)
}

/// The verb that discovery has for an action of an operation.
fn verb_of(action: &str) -> &str {
    match action {
        "post" => "create",
        "put" => "update",
        "watchlist" => "watch",
        same => same,
    }
}

fn served(definition: &Definition) -> impl Iterator<Item = &Version> {
    definition
        .versions
        .iter()
        .filter(|version| definition.established && version.served)
}

fn custom(definition: &Definition, version: &Version, dialect: Dialect) -> Custom {
    Custom {
        group: definition.group.clone(),
        version: version.name.clone(),
        plural: definition.names.plural.clone(),
        kind: definition.requested_kind.clone(),
        list_kind: definition.names.list_kind.clone(),
        namespaced: definition.namespaced,
        status: version.status,
        scale: version.scale.is_some(),
        schema: native::object(definition, version, dialect),
        list_schema: native::list(definition, version, dialect),
    }
}
