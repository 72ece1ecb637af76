//! The documents of `/openapi/v3` and `/openapi/v2`, made from the table: schemas and paths as the real server has them (O3).
//! Making a document takes some milliseconds, so that a server should keep it.

mod custom;
mod docs;
mod gnostic;
mod group_versions;
mod operation;
mod parameter;
mod paths;
mod render;
mod schemas;
mod shared;
mod text;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

pub use custom::{Custom, add_custom_v2, custom_v3, schema_name};
pub use docs::{NoTypeDocs, TypeDocs};
pub use gnostic::{document_protobuf, swagger_protobuf};
pub use render::Dialect;
pub use text::{write_discovery, write_document, write_swagger};

use group_versions::GroupVersions;
use operation::{Operation, PLAIN, PathItem, Shape};
use render::Writer;
use schemas::Schemas;

use crate::resources::{GroupVersion, resources};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The documents that are not about resources.
const PLAIN_DOCUMENTS: [&str; 3] = ["version", ".well-known/openid-configuration", "openid/v1/jwks"];

/// The names of the documents below `/openapi/v3/`, in order: `api`, `api/v1`, `apis`, `apis/apps`, `apis/apps/v1` …
pub fn names() -> Vec<String> {
    let mut names: BTreeSet<String> = ["api", "apis"]
        .into_iter()
        .chain(PLAIN_DOCUMENTS)
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

/// The document of that name, without descriptions but those of operations.
pub fn document(name: &str) -> Option<Value> {
    described(name, &NoTypeDocs)
}

/// The document of that name, with descriptions.
pub fn described(name: &str, docs: &dyn TypeDocs) -> Option<Value> {
    let (gv, items) = items_of(name)?;
    let paths = Writer::new(Dialect::V3, docs).paths(items);
    let mut schemas = Schemas::new(Dialect::V3, GroupVersions::Of(gv), docs);
    for path in paths.values() {
        schemas.want_references(path);
    }
    let schemas = schemas.finish();
    let mut components = json!({"securitySchemes": security()});
    if !schemas.is_empty() {
        components["schemas"] = Value::Object(schemas);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": components,
    }))
}

/// The document of `/openapi/v2` for the built-ins.
pub fn swagger(docs: &dyn TypeDocs) -> Value {
    let mut writer = Writer::new(Dialect::V2, docs);
    let items = names().into_iter().filter_map(|name| Some(items_of(&name)?.1));
    let paths = writer.paths(items.flatten());
    let mut schemas = Schemas::new(Dialect::V2, GroupVersions::All, docs);
    for path in paths.values() {
        schemas.want_references(path);
    }
    schemas.want(&format!("{META}.DeleteOptions"));
    schemas.want(&format!("{META}.Patch"));
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": paths,
        "definitions": schemas.finish(),
        "parameters": writer.shared.parameters,
        "securityDefinitions": security(),
        "security": [{"BearerToken": []}],
    })
}

/// A document of version 2 in which nothing is served yet.
pub fn empty_swagger() -> Value {
    json!({
        "swagger": "2.0",
        "info": info(),
        "paths": {},
        "definitions": {},
        "parameters": {},
        "securityDefinitions": security(),
        "security": [{"BearerToken": []}],
    })
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": "1.36"})
}

fn security() -> Value {
    json!({"BearerToken": {
        "type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"
    }})
}

/// The paths of a document and the group-version it is about.
fn items_of(name: &str) -> Option<(&'static GroupVersion, Vec<PathItem>)> {
    if let Some(gv) = resources().group_versions().find(|gv| base(gv)[1..] == *name) {
        return Some((gv, paths::of(gv)));
    }
    let operation = match name {
        "api" => about_the_server(
            "getCoreAPIVersions".to_owned(),
            "get available API versions",
            "core".to_owned(),
            Shape::meta("APIVersions"),
        ),
        "apis" => about_the_server(
            "getAPIVersions".to_owned(),
            "get available API versions",
            "apis".to_owned(),
            Shape::meta("APIGroupList"),
        ),
        _ if PLAIN_DOCUMENTS.contains(&name) => plain(name),
        _ => {
            let group = name.strip_prefix("apis/")?;
            resources().group(group).next()?;
            let tag = operation::group_tag(group);
            let id = format!("get{}APIGroup", operation::capitalized(&tag));
            about_the_server(id, "get information of a group", tag, Shape::meta("APIGroup"))
        }
    };
    let item = PathItem {
        path: format!("/{name}/"),
        operations: vec![operation],
    };
    Some((resources().group_versions().next()?, vec![item]))
}

/// An operation that reads something about the server.
fn about_the_server(id: String, description: &str, tag: String, answer: Shape) -> Operation {
    Operation {
        method: "get",
        id,
        description: description.to_owned(),
        tag,
        subject: None,
        parameters: Vec::new(),
        body: None,
        codes: &["200"],
        answer,
        consumes: PLAIN,
        produces: PLAIN,
    }
}

/// The documents that are not about resources.
fn plain(name: &str) -> Operation {
    const JSON: &[&str] = &["application/json"];
    match name {
        "version" => Operation {
            consumes: JSON,
            produces: JSON,
            ..about_the_server(
                "getCodeVersion".to_owned(),
                "get the version information for this server",
                "version".to_owned(),
                Shape::Named("io.k8s.apimachinery.pkg.version.Info".to_owned()),
            )
        },
        ".well-known/openid-configuration" => Operation {
            consumes: &[],
            produces: JSON,
            ..about_the_server(
                "getServiceAccountIssuerOpenIDConfiguration".to_owned(),
                "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
                "WellKnown".to_owned(),
                Shape::Text,
            )
        },
        _ => Operation {
            consumes: &[],
            produces: &["application/jwk-set+json"],
            ..about_the_server(
                "getServiceAccountIssuerOpenIDKeyset".to_owned(),
                "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
                "openid".to_owned(),
                Shape::Text,
            )
        },
    }
}

/// The path below which a group-version is served.
fn base(gv: &GroupVersion) -> String {
    if gv.group.is_empty() {
        format!("/api/{}", gv.version)
    } else {
        format!("/apis/{}/{}", gv.group, gv.version)
    }
}

/// Calls back with the name of every schema that a part of a document refers to.
fn references<'v>(part: &'v Value, prefix: &str, found: &mut impl FnMut(&'v str)) {
    match part {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get("$ref")
                && let Some(name) = target.strip_prefix(prefix)
            {
                found(name);
            }
            for value in map.values() {
                references(value, prefix, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                references(item, prefix, found);
            }
        }
        _ => {}
    }
}

/// An empty object with a description, if there is one.
fn described_object(description: Option<&str>) -> Map<String, Value> {
    description
        .map(|text| ("description".to_owned(), json!(text)))
        .into_iter()
        .collect()
}
