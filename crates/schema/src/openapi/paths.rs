//! The paths of a group-version and the operations on them.

use serde_json::{Map, Value, json};

use super::{
    META, base,
    operation::{
        ANYTHING, DELETE, DELETE_COLLECTION, LIST, LOG, PATCH, PATCHES, PLAIN, PRETTY, Parameter, STREAMED, WRITE,
        capitalized, content, group_tag, path, reference, responses,
    },
};
use crate::{
    model::Scalar,
    resources::{GroupVersion, Resource, Subresource},
    types::Types,
};

pub(super) fn of(gv: &GroupVersion) -> Map<String, Value> {
    let mut paths = Paths::new(gv);
    paths.discovery();
    for resource in &gv.resources {
        paths.collection(resource);
        paths.object(resource);
        paths.watches(resource);
        for subresource in &resource.subresources {
            paths.subresource(resource, subresource);
        }
    }
    paths.items
}

struct Paths {
    items: Map<String, Value>,
    base: String,
    tag: String,
    /// The group-version in operation ids: `CoreV1`.
    scope: String,
}

/// An operation before its parameters are divided between it and its path.
struct Operation {
    method: &'static str,
    parameters: Vec<Parameter>,
    body: Value,
}

/// The group, version and kind an operation is about.
struct Subject<'r> {
    group: &'r str,
    version: &'r str,
    kind: &'r str,
}

impl Subject<'_> {
    fn schema(&self) -> Value {
        let ty = Types::builtin().kind(self.group, self.version, self.kind);
        ty.and_then(crate::TypeRef::name)
            .map_or_else(|| json!({"type": "string"}), reference)
    }
}

fn kind_of(resource: &Resource) -> Subject<'_> {
    Subject {
        group: resource.group,
        version: resource.version,
        kind: resource.kind,
    }
}

fn namespaced(resource: &Resource) -> &'static str {
    if resource.namespaced { "Namespaced" } else { "" }
}

fn meta(kind: &str) -> Value {
    reference(&format!("{META}.{kind}"))
}

impl Paths {
    fn new(gv: &GroupVersion) -> Self {
        let tag = group_tag(gv.group);
        Paths {
            items: Map::new(),
            base: base(gv),
            scope: capitalized(&tag) + &capitalized(gv.version),
            tag: format!("{tag}_{}", gv.version),
        }
    }

    fn discovery(&mut self) {
        let get = json!({
            "operationId": format!("get{}APIResources", self.scope),
            "responses": responses(&["200"], &meta("APIResourceList"), PLAIN),
            "tags": [self.tag],
        });
        self.items.insert(format!("{}/", self.base), json!({"get": get}));
    }

    fn operation(&self, id: &str, action: &str, kind: &Subject<'_>, answers: &Value) -> Value {
        json!({
            "operationId": id,
            "responses": answers,
            "tags": [self.tag],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        })
    }

    /// Adds a path; what all its operations take as parameter is said once.
    fn add(&mut self, path: String, operations: Vec<Operation>) {
        let Some(first) = operations.first() else { return };
        let shared = |parameter: &Parameter| operations.iter().all(|other| other.parameters.contains(parameter));
        let mut common: Vec<_> = first.parameters.iter().copied().filter(shared).collect();
        common.sort();
        let mut item = Map::new();
        for Operation {
            method,
            parameters,
            mut body,
        } in operations
        {
            let mut own: Vec<_> = parameters.into_iter().filter(|own| !common.contains(own)).collect();
            own.sort();
            if !own.is_empty() {
                body["parameters"] = own.into_iter().map(Parameter::render).collect();
            }
            item.insert(method.to_owned(), body);
        }
        if !common.is_empty() {
            item.insert(
                "parameters".to_owned(),
                common.into_iter().map(Parameter::render).collect(),
            );
        }
        self.items.insert(path, Value::Object(item));
    }

    /// The start of a resource's path, with the parameter it needs.
    fn root(&self, prefix: &str, resource: &Resource) -> (String, Vec<Parameter>) {
        let base = &self.base;
        let plural = resource.plural;
        if resource.namespaced {
            (
                format!("{base}{prefix}/namespaces/{{namespace}}/{plural}"),
                vec![path("namespace")],
            )
        } else {
            (format!("{base}{prefix}/{plural}"), Vec::new())
        }
    }

    /// `listCoreV1NamespacedPod`, given `list` and what follows the kind.
    fn id(&self, verb: &str, resource: &Resource, suffix: &str) -> String {
        format!("{verb}{}{}{}{suffix}", self.scope, namespaced(resource), resource.kind)
    }

    fn collection(&mut self, resource: &Resource) {
        let (root, place) = self.root("", resource);
        let kind = kind_of(resource);
        let list = Subject {
            kind: &format!("{}List", resource.kind),
            ..kind_of(resource)
        }
        .schema();
        let listed = responses(&["200"], &list, STREAMED);
        let mut operations = Vec::new();
        for verb in &resource.verbs {
            operations.push(match *verb {
                "list" => Operation {
                    method: "get",
                    parameters: [&place, LIST].concat(),
                    body: self.operation(&self.id("list", resource, ""), "list", &kind, &listed),
                },
                "create" => self.create(&self.id("create", resource, ""), &kind, &place),
                "deletecollection" => {
                    let id = format!(
                        "delete{}Collection{}{}",
                        self.scope,
                        namespaced(resource),
                        resource.kind
                    );
                    let answers = responses(&["200"], &meta("Status"), PLAIN);
                    let mut body = self.operation(&id, "deletecollection", &kind, &answers);
                    body["requestBody"] = json!({"content": content(&meta("DeleteOptions"), ANYTHING)});
                    Operation {
                        method: "delete",
                        parameters: [&place, DELETE_COLLECTION].concat(),
                        body,
                    }
                }
                _ => continue,
            });
        }
        self.add(root, operations);
        if resource.namespaced && resource.verbs.contains(&"list") {
            let id = format!("list{}{}ForAllNamespaces", self.scope, resource.kind);
            let body = self.operation(&id, "list", &kind, &listed);
            let path = format!("{}/{}", self.base, resource.plural);
            self.add(
                path,
                vec![Operation {
                    method: "get",
                    parameters: LIST.to_vec(),
                    body,
                }],
            );
        }
    }

    fn create(&self, id: &str, kind: &Subject<'_>, place: &[Parameter]) -> Operation {
        let schema = kind.schema();
        let mut body = self.operation(id, "post", kind, &responses(&["200", "201", "202"], &schema, PLAIN));
        body["requestBody"] = json!({"content": content(&schema, ANYTHING), "required": true});
        Operation {
            method: "post",
            parameters: [place, WRITE].concat(),
            body,
        }
    }

    fn read(&self, id: &str, kind: &Subject<'_>, place: &[Parameter]) -> Operation {
        let answers = responses(&["200"], &kind.schema(), PLAIN);
        Operation {
            method: "get",
            parameters: [place, &[PRETTY]].concat(),
            body: self.operation(id, "get", kind, &answers),
        }
    }

    fn replace(&self, id: &str, kind: &Subject<'_>, place: &[Parameter]) -> Operation {
        let schema = kind.schema();
        let mut body = self.operation(id, "put", kind, &responses(&["200", "201"], &schema, PLAIN));
        body["requestBody"] = json!({"content": content(&schema, ANYTHING), "required": true});
        Operation {
            method: "put",
            parameters: [place, WRITE].concat(),
            body,
        }
    }

    fn patch(&self, id: &str, kind: &Subject<'_>, place: &[Parameter]) -> Operation {
        let mut body = self.operation(id, "patch", kind, &responses(&["200", "201"], &kind.schema(), PLAIN));
        body["requestBody"] = json!({"content": content(&meta("Patch"), PATCHES), "required": true});
        Operation {
            method: "patch",
            parameters: [place, PATCH].concat(),
            body,
        }
    }

    fn object(&mut self, resource: &Resource) {
        let (root, mut place) = self.root("", resource);
        place.push(path("name"));
        let kind = kind_of(resource);
        let mut operations = Vec::new();
        for verb in &resource.verbs {
            operations.push(match *verb {
                "get" => self.read(&self.id("read", resource, ""), &kind, &place),
                "update" => self.replace(&self.id("replace", resource, ""), &kind, &place),
                "patch" => self.patch(&self.id("patch", resource, ""), &kind, &place),
                "delete" => {
                    let answer = if resource.returns_deleted {
                        kind.schema()
                    } else {
                        meta("Status")
                    };
                    let answers = responses(&["200", "202"], &answer, PLAIN);
                    let mut body = self.operation(&self.id("delete", resource, ""), "delete", &kind, &answers);
                    body["requestBody"] = json!({"content": content(&meta("DeleteOptions"), ANYTHING)});
                    Operation {
                        method: "delete",
                        parameters: [&place, DELETE].concat(),
                        body,
                    }
                }
                _ => continue,
            });
        }
        self.add(format!("{root}/{{name}}"), operations);
    }

    /// The old paths below `/watch`.
    fn watches(&mut self, resource: &Resource) {
        if !resource.verbs.contains(&"watch") {
            return;
        }
        let kind = kind_of(resource);
        let (root, place) = self.root("/watch", resource);
        let answers = responses(&["200"], &meta("WatchEvent"), STREAMED);
        let everywhere = format!("watch{}{}ListForAllNamespaces", self.scope, resource.kind);
        let (list, one) = (self.id("watch", resource, "List"), self.id("watch", resource, ""));
        let all = format!("{}/watch/{}", self.base, resource.plural);
        let mut watch = |path: String, id: &str, action: &str, place: &[Parameter]| {
            let body = self.operation(id, action, &kind, &answers);
            self.add(
                path,
                vec![Operation {
                    method: "get",
                    parameters: [place, LIST].concat(),
                    body,
                }],
            );
        };
        if resource.namespaced {
            watch(all, &everywhere, "watchlist", &[]);
        }
        watch(root.clone(), &list, "watchlist", &place);
        watch(
            format!("{root}/{{name}}"),
            &one,
            "watch",
            &[&place[..], &[path("name")]].concat(),
        );
    }

    fn subresource(&mut self, resource: &Resource, subresource: &Subresource) {
        let (root, mut place) = self.root("", resource);
        place.push(path("name"));
        let at = format!("{root}/{{name}}/{}", subresource.name);
        let kind = Subject {
            group: subresource.group,
            version: subresource.version,
            kind: subresource.kind,
        };
        let suffix = capitalized(subresource.name);
        if subresource.kind.ends_with("Options") {
            return self.connect(resource, subresource, &kind, at, &place);
        }
        if (resource.plural, subresource.name) == ("pods", "log") {
            let answers = responses(&["200"], &json!({"type": "string"}), LOG);
            let body = self.operation(&self.id("read", resource, &suffix), "get", &kind, &answers);
            let options = options(&Subject {
                kind: "PodLogOptions",
                ..kind_of(resource)
            });
            let parameters = [&place[..], &options, &[PRETTY]].concat();
            return self.add(
                at,
                vec![Operation {
                    method: "get",
                    parameters,
                    body,
                }],
            );
        }
        let operations = subresource.verbs.iter().filter_map(|verb| match *verb {
            "get" => Some(self.read(&self.id("read", resource, &suffix), &kind, &place)),
            "update" => Some(self.replace(&self.id("replace", resource, &suffix), &kind, &place)),
            "patch" => Some(self.patch(&self.id("patch", resource, &suffix), &kind, &place)),
            "create" => Some(self.create(&self.id("create", resource, &suffix), &kind, &place)),
            _ => None,
        });
        let operations = operations.collect();
        self.add(at, operations);
    }

    /// Subresources that hand the connection over, such as `exec` and `proxy`.
    fn connect(
        &mut self,
        resource: &Resource,
        subresource: &Subresource,
        kind: &Subject<'_>,
        at: String,
        place: &[Parameter],
    ) {
        let proxies = subresource.name == "proxy";
        let methods: &[&'static str] = if proxies {
            &["delete", "get", "head", "options", "patch", "post", "put"]
        } else {
            &["get", "post"]
        };
        let parameters = [place, &options(kind)].concat();
        let operations = |suffix: &str, parameters: &[Parameter]| -> Vec<Operation> {
            let answers = responses(&["200"], &json!({"type": "string"}), ANYTHING);
            let of_method = |method: &&'static str| {
                let id = format!(
                    "connect{}{}{}{}{}{suffix}",
                    self.scope,
                    capitalized(method),
                    namespaced(resource),
                    resource.kind,
                    capitalized(subresource.name)
                );
                let body = self.operation(&id, "connect", kind, &answers);
                Operation {
                    method,
                    parameters: parameters.to_vec(),
                    body,
                }
            };
            methods.iter().map(of_method).collect()
        };
        let below = proxies.then(|| operations("WithPath", &[&parameters[..], &[path("path")]].concat()));
        let here = operations("", &parameters);
        if let Some(below) = below {
            self.add(format!("{at}/{{path}}"), below);
        }
        self.add(at, here);
    }
}

/// The fields of an options type, as parameters of a query.
fn options(kind: &Subject<'_>) -> Vec<Parameter> {
    let Some(ty) = Types::builtin().kind(kind.group, kind.version, kind.kind) else {
        return Vec::new();
    };
    let parameter = |field: crate::FieldRef<'static>| {
        let kind = field.type_ref().element().unwrap_or(field.type_ref());
        let kind = match kind.scalar()? {
            Scalar::Bool => "boolean",
            Scalar::Int(_) => "integer",
            Scalar::String => "string",
            _ => return None,
        };
        let is_type_meta = matches!(field.name(), "apiVersion" | "kind");
        (!is_type_meta).then(|| Parameter::for_option(field.name(), kind))
    };
    ty.fields().filter_map(parameter).collect()
}
