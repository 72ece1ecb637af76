//! The documents of `/openapi/v3`, made from the table: schemas and paths as the real server has them, without the prose.
//! A document costs some milliseconds to make: whoever serves it keeps it.

mod operation;
mod paths;
mod schemas;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{
    resources::{GroupVersion, resources},
    types::Types,
};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The names of the documents below `/openapi/v3/`, in order: `api`, `api/v1`, `apis`, `apis/apps`, `apis/apps/v1` …
pub fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = [
        "api",
        "apis",
        "version",
        ".well-known/openid-configuration",
        "openid/v1/jwks",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect();
    for gv in resources().group_versions() {
        if !gv.group.is_empty() {
            names.insert(format!("apis/{}", gv.group));
        }
        names.insert(base(gv)[1..].to_owned());
    }
    names.into_iter().collect()
}

/// The document of that name.
pub fn document(name: &str) -> Option<Value> {
    if let Some(gv) = resources().group_versions().find(|gv| base(gv)[1..] == *name) {
        return Some(assemble(paths::of(gv), gv));
    }
    let (operation, answer, tag) = match name {
        "api" => ("getCoreAPIVersions".to_owned(), "APIVersions", "core".to_owned()),
        "apis" => ("getAPIVersions".to_owned(), "APIGroupList", "apis".to_owned()),
        "version" | ".well-known/openid-configuration" | "openid/v1/jwks" => return Some(plain(name)),
        _ => {
            let group = name.strip_prefix("apis/")?;
            resources().group(group).next()?;
            let tag = operation::group_tag(group);
            (format!("get{}APIGroup", operation::capitalized(&tag)), "APIGroup", tag)
        }
    };
    let get = json!({
        "operationId": operation,
        "responses": operation::responses(&["200"], &operation::reference(&format!("{META}.{answer}")), operation::PLAIN),
        "tags": [tag],
    });
    let core = resources().group_versions().next()?;
    Some(assemble(
        Map::from_iter([(format!("/{name}/"), json!({"get": get}))]),
        core,
    ))
}

/// The documents that are not about resources.
fn plain(name: &str) -> Value {
    let (operation, tag, media, schema) = match name {
        "version" => {
            let info = operation::reference("io.k8s.apimachinery.pkg.version.Info");
            ("getCodeVersion", "version", "application/json", info)
        }
        ".well-known/openid-configuration" => (
            "getServiceAccountIssuerOpenIDConfiguration",
            "WellKnown",
            "application/json",
            json!({"type": "string"}),
        ),
        _ => (
            "getServiceAccountIssuerOpenIDKeyset",
            "openid",
            "application/jwk-set+json",
            json!({"type": "string"}),
        ),
    };
    let get = json!({
        "operationId": operation,
        "responses": operation::responses(&["200"], &schema, &[media]),
        "tags": [tag],
    });
    let core = GroupVersion {
        group: "",
        version: "v1",
        resources: Vec::new(),
    };
    assemble(Map::from_iter([(format!("/{name}/"), json!({"get": get}))]), &core)
}

/// The path below which a group-version is served.
fn base(gv: &GroupVersion) -> String {
    if gv.group.is_empty() {
        format!("/api/{}", gv.version)
    } else {
        format!("/apis/{}/{}", gv.group, gv.version)
    }
}

/// A document of those paths, with every schema they mention.
fn assemble(paths: Map<String, Value>, gv: &GroupVersion) -> Value {
    let paths = Value::Object(paths);
    let mut schemas = Map::new();
    let mut wanted = Vec::new();
    references(&paths, &mut wanted);
    while let Some(name) = wanted.pop() {
        if !schemas.contains_key(&name)
            && let Some(ty) = Types::builtin().named(&name)
        {
            let schema = schemas::of(ty, gv);
            references(&schema, &mut wanted);
            schemas.insert(name, schema);
        }
    }
    let mut components = json!({
        "securitySchemes": {
            "BearerToken": {
                "type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"
            }
        }
    });
    if !schemas.is_empty() {
        components["schemas"] = Value::Object(schemas);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": paths,
        "components": components,
    })
}

/// The names of the schemas that a part of a document refers to.
fn references(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref") {
                found.extend(target.strip_prefix("#/components/schemas/").map(str::to_owned));
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}
