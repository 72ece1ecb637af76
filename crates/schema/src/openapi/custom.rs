//! The documents of custom resources: their own paths and schemas, and the built-in ones that those mention (C15).

use serde_json::{Map, Value, json};

use super::{
    Dialect, META, TypeDocs,
    group_versions::GroupVersions,
    operation::{
        Body, CUSTOM, CUSTOM_PATCHES, GroupVersionKind, Operation, PathItem, Shape, capitalized, group_tag, identifier,
        with_article,
    },
    parameter::{CREATE, DELETE, GET, LIST, Options, PATCH, Parameter, UPDATE, name_of, namespace, pretty},
    render::Writer,
    schemas::Schemas,
};

/// One version of a custom kind: its names, what can be done with it, and what its objects look like.
#[derive(Clone, Debug)]
pub struct Custom {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The name in paths.
    pub plural: String,
    /// The kind of its objects.
    pub kind: String,
    /// The kind of their lists.
    pub list_kind: String,
    /// Its objects live in namespaces.
    pub namespaced: bool,
    /// It has a status subresource.
    pub status: bool,
    /// It has a scale subresource.
    pub scale: bool,
    /// The schema of its objects, in the dialect of the document.
    pub schema: Value,
    /// The schema of their lists.
    pub list_schema: Value,
}

/// The name of a custom kind's schema: the group backwards, the version, the kind.
pub fn schema_name(group: &str, version: &str, kind: &str) -> String {
    let group: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", group.join("."))
}

/// The document of version 3 for the custom kinds of a group-version.
pub fn custom_v3(kinds: &[Custom], docs: &dyn TypeDocs) -> Value {
    let mut writer = Writer::new(Dialect::V3, docs);
    let paths = writer.paths(kinds.iter().flat_map(paths));
    let schemas = schemas(kinds, paths.values(), Dialect::V3, docs);
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}

/// Adds custom kinds to the document of version 2; what is there stays as it is.
pub fn add_custom_v2(swagger: &mut Value, kinds: &[Custom], docs: &dyn TypeDocs) {
    let mut writer = Writer::new(Dialect::V2, docs);
    let paths = writer.paths(kinds.iter().flat_map(paths));
    // Parameters that operations share have schemas, too.
    let mentioning = paths.values().chain(writer.shared.parameters.values());
    let schemas = schemas(kinds, mentioning, Dialect::V2, docs);
    for (part, added) in [
        ("parameters", writer.shared.parameters),
        ("definitions", schemas),
        ("paths", paths),
    ] {
        if let Some(Value::Object(present)) = swagger.get_mut(part) {
            for (name, value) in added {
                present.entry(name).or_insert(value);
            }
        }
    }
}

/// The schemas of the kinds, and those that parts of the document mention.
fn schemas<'v>(
    kinds: &[Custom],
    mentioning: impl Iterator<Item = &'v Value>,
    dialect: Dialect,
    docs: &dyn TypeDocs,
) -> Map<String, Value> {
    let mut schemas = Schemas::new(dialect, GroupVersions::OfClients, docs);
    for kind in kinds {
        let name = |of: &str| schema_name(&kind.group, &kind.version, of);
        schemas.put(name(&kind.kind), kind.schema.clone());
        schemas.put(name(&kind.list_kind), kind.list_schema.clone());
    }
    // The list of a kind may be read without its object's metadata being mentioned.
    schemas.want(&format!("{META}.ObjectMeta"));
    for part in mentioning {
        schemas.want_references(part);
    }
    schemas.finish()
}

struct Paths<'k> {
    custom: &'k Custom,
    kind: GroupVersionKind,
    tag: String,
    /// The group-version in operation ids.
    scope: String,
    place: Vec<Parameter>,
}

fn paths(custom: &Custom) -> Vec<PathItem> {
    let tag = group_tag(&custom.group);
    let place = if custom.namespaced {
        vec![namespace()]
    } else {
        Vec::new()
    };
    let paths = Paths {
        kind: GroupVersionKind {
            group: custom.group.clone(),
            version: custom.version.clone(),
            name: custom.kind.clone(),
        },
        scope: capitalized(&tag) + &identifier(&custom.version, true),
        tag: format!("{tag}_{}", identifier(&custom.version, false)),
        place,
        custom,
    };
    let Custom {
        group, version, plural, ..
    } = custom;
    let base = format!("/apis/{group}/{version}");
    let mut items = Vec::new();
    let mut add = |path: String, operations: Vec<Operation>| items.push(PathItem { path, operations });
    let root = if custom.namespaced {
        let mut list = paths.list();
        list.id = format!("list{}{}ForAllNamespaces", paths.scope, identifier(&custom.kind, true));
        list.parameters.retain(|parameter| parameter.name != "namespace");
        add(format!("{base}/{plural}"), vec![list]);
        format!("{base}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{base}/{plural}")
    };
    add(
        root.clone(),
        vec![paths.list(), paths.create(), paths.delete_collection()],
    );
    let mut object = paths.parts("", &paths.named(&custom.kind));
    object.push(paths.delete());
    add(format!("{root}/{{name}}"), object);
    if custom.status {
        let status = paths.parts("status", &paths.named(&custom.kind));
        add(format!("{root}/{{name}}/status"), status);
    }
    if custom.scale {
        let scale = Shape::Named("io.k8s.api.autoscaling.v1.Scale".to_owned());
        add(format!("{root}/{{name}}/scale"), paths.parts("scale", &scale));
    }
    items
}

impl Paths<'_> {
    fn named(&self, kind: &str) -> Shape {
        Shape::Named(schema_name(&self.kind.group, &self.kind.version, kind))
    }

    fn operation(&self, method: &'static str, verb: &str, action: &'static str, options: &Options) -> Operation {
        let namespaced = if self.custom.namespaced { "Namespaced" } else { "" };
        let of = identifier(&format!("{namespaced}{}", self.custom.kind), true);
        Operation {
            method,
            id: format!("{verb}{}{of}", self.scope),
            description: String::new(),
            tag: self.tag.clone(),
            subject: Some((action, self.kind.clone())),
            parameters: self
                .place
                .iter()
                .cloned()
                .chain(options.parameters())
                .chain([pretty()])
                .collect(),
            body: None,
            codes: &["200"],
            answer: self.named(&self.custom.kind),
            consumes: CUSTOM,
            produces: CUSTOM,
        }
    }

    fn list(&self) -> Operation {
        Operation {
            description: format!("list objects of kind {}", self.custom.kind),
            answer: self.named(&self.custom.list_kind),
            ..self.operation("get", "list", "list", &LIST)
        }
    }

    fn create(&self) -> Operation {
        Operation {
            description: format!("create{}", with_article(&self.custom.kind)),
            body: Some(Body::required(self.named(&self.custom.kind))),
            codes: &["200", "201", "202"],
            ..self.operation("post", "create", "post", &CREATE)
        }
    }

    fn delete_collection(&self) -> Operation {
        let one = self.operation("delete", "delete", "deletecollection", &LIST);
        let behind = one.id.split_at("delete".len() + self.scope.len()).1;
        Operation {
            id: format!("delete{}Collection{behind}", self.scope),
            description: format!("delete collection of {}", self.custom.kind),
            answer: Shape::meta("Status"),
            ..one
        }
    }

    fn delete(&self) -> Operation {
        let mut delete = self.operation("delete", "delete", "delete", &DELETE);
        delete.parameters.push(name_of(&self.custom.kind));
        Operation {
            description: format!("delete{}", with_article(&self.custom.kind)),
            body: Some(Body::delete_options()),
            codes: &["200", "202"],
            answer: Shape::meta("Status"),
            ..delete
        }
    }

    /// Read, replace and patch of an object or a part of it.
    fn parts(&self, part: &str, shape: &Shape) -> Vec<Operation> {
        let kind = &self.custom.kind;
        let of = if part.is_empty() {
            String::new()
        } else {
            format!(" {part} of")
        };
        let finish = |operation: Operation, verb: &str| {
            let mut parameters = operation.parameters;
            parameters.push(name_of(kind));
            Operation {
                id: operation.id + &capitalized(part),
                description: format!("{verb}{of} the specified {kind}"),
                answer: shape.clone(),
                parameters,
                ..operation
            }
        };
        vec![
            finish(self.operation("get", "read", "get", &GET), "read"),
            finish(
                Operation {
                    body: Some(Body::required(shape.clone())),
                    codes: &["200", "201"],
                    ..self.operation("put", "replace", "put", &UPDATE)
                },
                "replace",
            ),
            finish(
                Operation {
                    body: Some(Body::required(Shape::meta("Patch"))),
                    consumes: CUSTOM_PATCHES,
                    ..self.operation("patch", "patch", "patch", &PATCH)
                },
                "partially update",
            ),
        ]
    }
}
