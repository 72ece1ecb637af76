//! From path and method to what is asked for: verb, resource, namespace, name, subresource (H1, H2).

use std::sync::Arc;

use http::Method;

use crate::custom::Served;
use crate::registry::{Registry, Resource};
use crate::status::Status;
use crate::wire::query::{Query, percent_decode};

/// What a request is for.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// An object, a collection or a subresource.
    Resource(Target),
    /// A group-version the server has, but nothing of that name in it.
    UnknownResource,
    /// A path outside the resource tree (`/version`, `/apis`, …), without its trailing slash.
    Plain(String),
}

/// The place in the resource tree that a request names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped resources and for a collection across all namespaces.
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// What follows a `proxy` in the path, with its slash.
    pub(crate) rest: String,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch_prefix: bool,
    /// The path leaves the namespace of a namespaced resource open.
    pub(crate) all_namespaces: bool,
}

/// What a client wants to do, under the name that authorization and metrics know it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

/// Reads a path.
pub(crate) fn route(served: &Served, path: &str) -> Route {
    // Decoded before it is split: an escaped slash parts segments too. Final slashes mean nothing, others do.
    let path = percent_decode(path);
    let whole = path.strip_prefix('/').unwrap_or(&path);
    let parts: Vec<&str> = whole.trim_end_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Route::Plain(format!("/{}", parts.join("/"))),
    };
    let built_in = Registry::builtin();
    if !built_in.serves_group(group) && !served.registry.serves_group(group) {
        return Route::Plain(format!("/{}", parts.join("/")));
    }
    let find = |plural: &str| {
        let found = built_in.find(group, version, plural);
        found.or_else(|| served.registry.find(group, version, plural)).cloned()
    };
    match target(find, group, rest) {
        Some(target) => Route::Resource(target),
        // Upstream's router knows the paths of built-in groups only.
        None if !built_in.serves_group(group) => Route::Plain(format!("/{}", parts.join("/"))),
        None => Route::UnknownResource,
    }
}

fn target(find: impl Fn(&str) -> Option<Arc<Resource>>, group: &str, parts: &[&str]) -> Option<Target> {
    let (watch_prefix, parts) = match parts {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        parts => (false, parts),
    };
    // `/namespaces/NS/RESOURCE` is a collection in a namespace; `/namespaces/NS` and `/namespaces/NS/status` are the
    // Namespace itself.
    let (namespace, parts) = match parts {
        ["namespaces", namespace, plural, rest @ ..]
            if !(group.is_empty() && rest.is_empty() && matches!(*plural, "status" | "finalize")) =>
        {
            (*namespace, [&[*plural], rest].concat())
        }
        parts => ("", parts.to_vec()),
    };
    if parts.iter().any(|part| part.is_empty()) {
        return None;
    }
    let resource = find(parts.first()?)?;
    if !namespace.is_empty() && !resource.namespaced {
        return None;
    }
    let name = parts.get(1).copied().unwrap_or_default();
    let subresource = parts.get(2).copied().unwrap_or_default();
    if resource.namespaced && namespace.is_empty() && !name.is_empty() {
        return None;
    }
    if !subresource.is_empty() && !resource.has_subresource(subresource) && resource.custom().is_none() {
        return None;
    }
    // Of a custom resource, upstream does not look at what follows the subresource.
    if parts.len() > 3 && subresource != "proxy" && resource.custom().is_none() {
        return None;
    }
    Some(Target {
        all_namespaces: resource.namespaced && namespace.is_empty(),
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        rest: parts.iter().skip(3).flat_map(|part| ["/", *part]).collect(),
        watch_prefix,
    })
}

/// The verb of a request; `None` when the target does not take that method.
pub(crate) fn verb(method: &Method, target: &Target, query: &Query) -> Option<Verb> {
    let one = !target.name.is_empty();
    let verb = match (method.as_str(), one) {
        ("GET", _) if target.watch_prefix => Verb::Watch,
        _ if target.watch_prefix => return None,
        ("GET", true) => Verb::Get,
        ("GET", false) if query.flag("watch") == Some(true) => Verb::Watch,
        ("GET", false) => Verb::List,
        ("POST", false) if !target.all_namespaces => Verb::Create,
        // The body says what is created; a custom resource may be posted to any name.
        ("POST", true) if !target.subresource.is_empty() || target.resource.custom().is_some() => Verb::Create,
        ("PUT", true) => Verb::Update,
        ("PATCH", true) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) if !target.all_namespaces => Verb::DeleteCollection,
        _ => return None,
    };
    target.resource.allows(verb, &target.subresource).then_some(verb)
}

/// The refusal of a method that the target does not take.
pub(crate) fn not_allowed(method: &Method, target: &Target) -> Box<Status> {
    if target.resource.custom().is_none() {
        return Status::method_not_allowed();
    }
    let one = !target.name.is_empty();
    match (method.as_str(), one) {
        ("OPTIONS", _) => Status::method_not_supported(target.resource.about(), ""),
        ("POST", true) => Status::method_not_supported(target.resource.about(), "create"),
        ("DELETE", true) => Status::method_not_supported(target.resource.about(), "delete"),
        // What is to be changed must be named.
        ("PUT" | "PATCH", false) => Status::bad_request("name must be provided"),
        _ => Status::method_not_allowed(),
    }
}
