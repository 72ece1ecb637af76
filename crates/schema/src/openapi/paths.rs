//! The paths of a group-version of built-ins and the operations on them.

use super::{
    base,
    operation::{
        ANYTHING, Body, GroupVersionKind, LOG, Operation, PATCHES, PLAIN, PathItem, STREAMED, Shape, capitalized,
        group_tag, identifier, with_article,
    },
    parameter::{
        CREATE, DELETE, LIST, LIST_TO_DELETE, PATCH, Parameter, UPDATE, name_of, namespace, pretty, rest_of_path,
    },
};
use crate::{
    model::Scalar,
    resources::{GroupVersion, Resource, Subresource},
    types::Types,
};

pub(super) fn of(gv: &GroupVersion) -> Vec<PathItem> {
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
    items: Vec<PathItem>,
    base: String,
    tag: String,
    /// The group-version in operation ids: `CoreV1`.
    scope: String,
}

/// The object or subresource that a group of operations is about.
struct Target<'r> {
    resource: &'r Resource,
    /// The subresource, or nothing for the object itself.
    part: &'r str,
    kind: GroupVersionKind,
    place: Vec<Parameter>,
}

impl Target<'_> {
    fn schema(&self) -> Shape {
        schema(&self.kind)
    }

    /// ` status of`, or nothing.
    fn part_of(&self) -> String {
        if self.part.is_empty() {
            String::new()
        } else {
            format!(" {} of", self.part)
        }
    }
}

/// The schema of a kind; what has none answers with text.
fn schema(kind: &GroupVersionKind) -> Shape {
    let ty = Types::builtin().kind(&kind.group, &kind.version, &kind.name);
    ty.and_then(crate::TypeRef::name)
        .map_or(Shape::Text, |name| Shape::Named(name.to_owned()))
}

fn kind_of(resource: &Resource) -> GroupVersionKind {
    GroupVersionKind {
        group: resource.group.to_owned(),
        version: resource.version.to_owned(),
        name: resource.kind.to_owned(),
    }
}

fn namespaced(resource: &Resource) -> &'static str {
    if resource.namespaced { "Namespaced" } else { "" }
}

impl Paths {
    fn new(gv: &GroupVersion) -> Self {
        let tag = group_tag(gv.group);
        Paths {
            items: Vec::new(),
            base: base(gv),
            scope: capitalized(&tag) + &identifier(gv.version, true),
            tag: format!("{tag}_{}", gv.version),
        }
    }

    fn add(&mut self, path: String, operations: Vec<Operation>) {
        self.items.push(PathItem { path, operations });
    }

    fn discovery(&mut self) {
        let get = super::about_the_server(
            format!("get{}APIResources", self.scope),
            "get available resources",
            self.tag.clone(),
            Shape::meta("APIResourceList"),
        );
        self.add(format!("{}/", self.base), vec![get]);
    }

    /// An operation on a kind; the caller fills in the rest.
    fn operation(&self, method: &'static str, id: String, action: &'static str, kind: &GroupVersionKind) -> Operation {
        Operation {
            method,
            id,
            description: String::new(),
            tag: self.tag.clone(),
            subject: Some((action, kind.clone())),
            parameters: Vec::new(),
            body: None,
            codes: &["200"],
            answer: Shape::Text,
            consumes: ANYTHING,
            produces: PLAIN,
        }
    }

    /// The start of a resource's path, with the parameter it needs.
    fn root(&self, prefix: &str, resource: &Resource) -> (String, Vec<Parameter>) {
        let base = &self.base;
        let plural = resource.plural;
        if resource.namespaced {
            let root = format!("{base}{prefix}/namespaces/{{namespace}}/{plural}");
            (root, vec![namespace()])
        } else {
            (format!("{base}{prefix}/{plural}"), Vec::new())
        }
    }

    /// `listCoreV1NamespacedPod`, given `list` and what follows the kind.
    fn id(&self, verb: &str, resource: &Resource, suffix: &str) -> String {
        format!("{verb}{}{}{}{suffix}", self.scope, namespaced(resource), resource.kind)
    }

    fn list(&self, id: String, resource: &Resource, place: &[Parameter]) -> Operation {
        let kind = kind_of(resource);
        let or_watch = if resource.verbs.contains(&"watch") {
            " or watch"
        } else {
            ""
        };
        let list = GroupVersionKind {
            name: format!("{}List", resource.kind),
            ..kind.clone()
        };
        Operation {
            description: format!("list{or_watch} objects of kind {}", resource.kind),
            parameters: place
                .iter()
                .cloned()
                .chain(LIST.parameters())
                .chain([pretty()])
                .collect(),
            answer: schema(&list),
            produces: STREAMED,
            ..self.operation("get", id, "list", &kind)
        }
    }

    fn collection(&mut self, resource: &Resource) {
        let (root, place) = self.root("", resource);
        let target = Target {
            resource,
            part: "",
            kind: kind_of(resource),
            place: place.clone(),
        };
        let operations = resource.verbs.iter().filter_map(|verb| match *verb {
            "list" => Some(self.list(self.id("list", resource, ""), resource, &place)),
            "create" => Some(self.create(&target)),
            "deletecollection" => Some(self.delete_collection(resource, &place)),
            _ => None,
        });
        let operations = operations.collect();
        self.add(root, operations);
        if resource.namespaced && resource.verbs.contains(&"list") {
            let id = format!("list{}{}ForAllNamespaces", self.scope, resource.kind);
            let list = self.list(id, resource, &[]);
            self.add(format!("{}/{}", self.base, resource.plural), vec![list]);
        }
    }

    fn delete_collection(&self, resource: &Resource, place: &[Parameter]) -> Operation {
        let of = namespaced(resource);
        let id = format!("delete{}Collection{of}{}", self.scope, resource.kind);
        let options = LIST_TO_DELETE.parameters().chain(DELETE.parameters());
        Operation {
            description: format!("delete collection of {}", resource.kind),
            parameters: place.iter().cloned().chain(options).chain([pretty()]).collect(),
            body: Some(Body::delete_options()),
            answer: Shape::meta("Status"),
            ..self.operation("delete", id, "deletecollection", &kind_of(resource))
        }
    }

    /// An operation on a target, with its options and `pretty`.
    fn on(
        &self,
        target: &Target<'_>,
        (method, verb, action): (&'static str, &str, &'static str),
        options: impl Iterator<Item = Parameter>,
    ) -> Operation {
        let id = self.id(verb, target.resource, &capitalized(target.part));
        Operation {
            parameters: target.place.iter().cloned().chain(options).chain([pretty()]).collect(),
            answer: target.schema(),
            ..self.operation(method, id, action, &target.kind)
        }
    }

    fn create(&self, target: &Target<'_>) -> Operation {
        Operation {
            description: format!("create{}{}", target.part_of(), with_article(target.resource.kind)),
            body: Some(Body::required(target.schema())),
            codes: &["200", "201", "202"],
            ..self.on(target, ("post", "create", "post"), CREATE.parameters())
        }
    }

    fn read(&self, target: &Target<'_>) -> Operation {
        Operation {
            description: format!("read{} the specified {}", target.part_of(), target.resource.kind),
            ..self.on(target, ("get", "read", "get"), std::iter::empty())
        }
    }

    fn replace(&self, target: &Target<'_>) -> Operation {
        Operation {
            description: format!("replace{} the specified {}", target.part_of(), target.resource.kind),
            body: Some(Body::required(target.schema())),
            codes: &["200", "201"],
            ..self.on(target, ("put", "replace", "put"), UPDATE.parameters())
        }
    }

    fn patch(&self, target: &Target<'_>) -> Operation {
        Operation {
            description: format!(
                "partially update{} the specified {}",
                target.part_of(),
                target.resource.kind
            ),
            body: Some(Body::required(Shape::meta("Patch"))),
            codes: &["200", "201"],
            consumes: PATCHES,
            ..self.on(target, ("patch", "patch", "patch"), PATCH.parameters())
        }
    }

    fn delete(&self, target: &Target<'_>) -> Operation {
        let answer = if target.resource.returns_deleted {
            target.schema()
        } else {
            Shape::meta("Status")
        };
        Operation {
            description: format!("delete{}", with_article(target.resource.kind)),
            body: Some(Body::delete_options()),
            codes: &["200", "202"],
            answer,
            ..self.on(target, ("delete", "delete", "delete"), DELETE.parameters())
        }
    }

    fn object(&mut self, resource: &Resource) {
        let (root, mut place) = self.root("", resource);
        place.push(name_of(resource.kind));
        let target = Target {
            resource,
            part: "",
            kind: kind_of(resource),
            place,
        };
        let operations = resource.verbs.iter().filter_map(|verb| match *verb {
            "get" => Some(self.read(&target)),
            "update" => Some(self.replace(&target)),
            "patch" => Some(self.patch(&target)),
            "delete" => Some(self.delete(&target)),
            _ => None,
        });
        let operations = operations.collect();
        self.add(format!("{root}/{{name}}"), operations);
    }

    /// The old paths below `/watch`.
    fn watches(&mut self, resource: &Resource) {
        if !resource.verbs.contains(&"watch") {
            return;
        }
        let kind = resource.kind;
        let (root, place) = self.root("/watch", resource);
        let watch = |id: String, action: &'static str, description: String, place: &[Parameter]| {
            let options = LIST.parameters().chain([pretty()]);
            vec![Operation {
                description,
                parameters: place.iter().cloned().chain(options).collect(),
                answer: Shape::meta("WatchEvent"),
                produces: STREAMED,
                ..self.operation("get", id, action, &kind_of(resource))
            }]
        };
        let old = "deprecated: use the 'watch' parameter with a list operation instead";
        let of_list = format!("watch individual changes to a list of {kind}. {old}.");
        let of_one = format!(
            "watch changes to an object of kind {kind}. {old}, filtered to a single item with the 'fieldSelector' parameter."
        );
        let mut items = Vec::new();
        if resource.namespaced {
            let id = format!("watch{}{kind}ListForAllNamespaces", self.scope);
            let all = format!("{}/watch/{}", self.base, resource.plural);
            items.push((all, watch(id, "watchlist", of_list.clone(), &[])));
        }
        let named = [&place[..], &[name_of(kind)]].concat();
        let id = self.id("watch", resource, "List");
        items.push((root.clone(), watch(id, "watchlist", of_list, &place)));
        let id = self.id("watch", resource, "");
        items.push((format!("{root}/{{name}}"), watch(id, "watch", of_one, &named)));
        for (path, operations) in items {
            self.add(path, operations);
        }
    }

    fn subresource(&mut self, resource: &Resource, subresource: &Subresource) {
        let (root, mut place) = self.root("", resource);
        let at = format!("{root}/{{name}}/{}", subresource.name);
        place.push(name_of(subresource.kind));
        let target = Target {
            resource,
            part: subresource.name,
            kind: GroupVersionKind {
                group: subresource.group.to_owned(),
                version: subresource.version.to_owned(),
                name: subresource.kind.to_owned(),
            },
            place,
        };
        if subresource.kind.ends_with("Options") {
            return self.connect(&target, at);
        }
        if (resource.plural, subresource.name) == ("pods", "log") {
            let options = options(&GroupVersionKind {
                name: "PodLogOptions".to_owned(),
                ..kind_of(resource)
            });
            let read = self.read(&target);
            let log = Operation {
                parameters: read.parameters.iter().cloned().chain(options).collect(),
                answer: Shape::Text,
                produces: LOG,
                ..read
            };
            return self.add(at, vec![log]);
        }
        let operations = subresource.verbs.iter().filter_map(|verb| match *verb {
            "get" => Some(self.read(&target)),
            "update" => Some(self.replace(&target)),
            "patch" => Some(self.patch(&target)),
            "create" => Some(self.create(&target)),
            _ => None,
        });
        let operations = operations.collect();
        self.add(at, operations);
    }

    /// Subresources that upgrade or forward the connection, such as `exec` and `proxy`.
    fn connect(&mut self, target: &Target<'_>, at: String) {
        let proxies = target.part == "proxy";
        let methods: &[&'static str] = if proxies {
            &["delete", "get", "head", "options", "patch", "post", "put"]
        } else {
            &["get", "post"]
        };
        let resource = target.resource;
        let parameters = [&target.place[..], &options(&target.kind)].concat();
        let operations = |suffix: &str, parameters: &[Parameter]| -> Vec<Operation> {
            let of_method = |method: &&'static str| {
                let id = format!(
                    "connect{}{}{}{}{}{suffix}",
                    self.scope,
                    capitalized(method),
                    namespaced(resource),
                    resource.kind,
                    capitalized(target.part)
                );
                let method_name = method.to_uppercase();
                Operation {
                    description: format!("connect {method_name} requests to {} of {}", target.part, resource.kind),
                    parameters: parameters.to_vec(),
                    produces: ANYTHING,
                    ..self.operation(method, id, "connect", &target.kind)
                }
            };
            methods.iter().map(of_method).collect()
        };
        let below = proxies.then(|| operations("WithPath", &[&parameters[..], &[rest_of_path()]].concat()));
        let here = operations("", &parameters);
        if let Some(below) = below {
            self.add(format!("{at}/{{path}}"), below);
        }
        self.add(at, here);
    }
}

/// The fields of an options type, as parameters of a query.
fn options(kind: &GroupVersionKind) -> Vec<Parameter> {
    let Some(ty) = Types::builtin().kind(&kind.group, &kind.version, &kind.name) else {
        return Vec::new();
    };
    let name = ty.name().unwrap_or_default();
    let parameter = |field: crate::FieldRef<'static>| {
        let kind = field.type_ref().element().unwrap_or(field.type_ref());
        let kind = match kind.scalar()? {
            Scalar::Bool => "boolean",
            Scalar::Int(_) => "integer",
            Scalar::String => "string",
            _ => return None,
        };
        let is_type_meta = matches!(field.name(), "apiVersion" | "kind");
        (!is_type_meta).then(|| Parameter::for_option(name, field.name(), kind))
    };
    ty.fields().filter_map(parameter).collect()
}
