//! The route stage: from what a path says to what serves it (H1, H2).

use std::sync::Arc;

use kubewright_access::{Prefix, RequestInfo, ResourceInfo};

use super::head::RequestHead;
use crate::custom::ServedResources;
use crate::registry::{Registry, Resource, Subresource, Verb};
use crate::verbs::patch::Language;
use crate::wire::status::Status;

/// What a request is for.
#[derive(Clone, Debug)]
pub(crate) enum Route<'a> {
    /// An object, a collection or a subresource.
    Resource(Target<'a>),
    /// A group-version the server has, but nothing of that name in it.
    UnknownResource,
    /// A path outside the resource tree: `/version`, `/apis`, …
    NonResource,
}

/// The place in the resource tree that a request names.
#[derive(Clone, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped resources and for a collection across all namespaces.
    pub(crate) namespace: &'a str,
    /// Empty for a collection.
    pub(crate) name: &'a str,
    /// `None` for the object itself.
    pub(crate) subresource: Option<Subresource<'a>>,
    /// What follows a `proxy` in the path, with its slash.
    pub(crate) rest: &'a str,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch_prefix: bool,
    /// The path leaves the namespace of a namespaced resource open.
    pub(crate) all_namespaces: bool,
    /// The path has a place for the namespace, and nothing in it: what needs one is refused by whoever looks for it.
    pub(crate) lacks_namespace: bool,
}

/// Finds what serves a path. What is found is what the path was read as for authorization, never anything else.
pub(crate) fn route<'a>(served: &ServedResources, info: &RequestInfo<'a>) -> Route<'a> {
    // Authorization reads a path that begins with two slashes as if it began with one; nothing is served there.
    let Some(resource) = info.resource.filter(|_| !info.path.starts_with("//")) else {
        return Route::NonResource;
    };
    let built_in = Registry::builtin();
    let is_built_in = !served.without_built_ins && built_in.serves_group(resource.group);
    if !is_built_in && !served.registry.serves_group(resource.group) {
        return Route::NonResource;
    }
    let find = |plural: &str| {
        let found = built_in.find(resource.group, resource.version, plural);
        found
            .filter(|_| is_built_in)
            .or_else(|| served.registry.find(resource.group, resource.version, plural))
    };
    match find(resource.resource).and_then(|found| target(found, &resource)) {
        Some(target) => Route::Resource(target),
        // Upstream's router knows the paths of built-in groups only.
        None if !is_built_in => Route::NonResource,
        None => Route::UnknownResource,
    }
}

fn target<'a>(resource: &Arc<Resource>, info: &ResourceInfo<'a>) -> Option<Target<'a>> {
    if info.prefix == Some(Prefix::Proxy) || info.has_empty_segments() {
        return None;
    }
    let is_custom = resource.custom().is_some();
    // To authorization a Namespace is in itself; to storage it is in none.
    let namespace = if info.is_namespace { "" } else { info.namespace };
    let has_place = !namespace.is_empty() || info.has_empty_namespace && !is_custom;
    if has_place && !resource.namespaced {
        return None;
    }
    let all_namespaces = resource.namespaced && namespace.is_empty();
    let lacks_namespace = all_namespaces && info.has_empty_namespace && !is_custom;
    if all_namespaces && !lacks_namespace && !info.name.is_empty() {
        return None;
    }
    let subresource = Subresource::parse(info.subresource);
    if !is_custom && !resource.has_subresource(subresource) {
        return None;
    }
    // Of a custom resource, upstream does not look at what follows the subresource.
    if !is_custom && !info.rest.is_empty() && subresource != Some(Subresource::Proxy) {
        return None;
    }
    Some(Target {
        all_namespaces,
        lacks_namespace,
        resource: Arc::clone(resource),
        namespace,
        name: info.name,
        subresource,
        rest: info.rest,
        watch_prefix: info.prefix == Some(Prefix::Watch),
    })
}

/// The verb of a request, which is the one that was authorized; `None` when the target does not take that method.
pub(crate) fn verb(head: &RequestHead<'_>, target: &Target<'_>) -> Option<Verb> {
    let one = !target.name.is_empty();
    if head.is_proxied() {
        // Every method is passed on; those that authorization has no verb for are read as a GET is.
        let is_passed_on = matches!(head.method().as_str(), "HEAD" | "OPTIONS");
        if is_passed_on {
            return Some(Verb::Get);
        }
    }
    let takes_method = match (head.method().as_str(), one) {
        // Upstream's handler of custom resources goes by the verb, which is that of a GET.
        ("GET" | "HEAD", _) => true,
        _ if target.watch_prefix => false,
        ("POST" | "DELETE", false) => !target.all_namespaces || target.lacks_namespace,
        // The body says what is created; a custom resource may be posted to any name.
        ("POST", true) => target.subresource.is_some() || target.resource.custom().is_some(),
        ("PUT" | "PATCH" | "DELETE", true) => true,
        _ => false,
    };
    let verb = head.verb(head.info.resource.as_ref()?)?;
    (takes_method && target.resource.allows(verb, target.subresource)).then_some(verb)
}

/// The refusal of a method that the target does not take.
pub(crate) fn not_allowed(head: &RequestHead<'_>, target: &Target<'_>) -> Box<Status> {
    if target.resource.custom().is_none() {
        return Status::method_not_allowed();
    }
    let one = !target.name.is_empty();
    match (head.method().as_str(), one) {
        ("OPTIONS", _) => Status::method_not_supported(target.resource.about(), ""),
        ("POST", true) => Status::method_not_supported(target.resource.about(), "create"),
        ("DELETE", true) => Status::method_not_supported(target.resource.about(), "delete"),
        // Upstream looks at how a patch is written before it looks at what is patched.
        ("PATCH", false) => Language::named(head.headers(), &target.resource)
            .map_or_else(|status| status, |_| Status::bad_request("name must be provided")),
        // What is to be changed must be named.
        ("PUT", false) => Status::bad_request("name must be provided"),
        _ => Status::method_not_allowed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> String {
        match route(&ServedResources::default(), &RequestInfo::parse("GET", path)) {
            Route::Resource(target) => {
                let part = target.subresource.map(Subresource::name);
                format!(
                    "{} {}|{} {part:?}{}",
                    target.resource.plural, target.namespace, target.name, target.rest
                )
            }
            Route::UnknownResource => "unknown".into(),
            Route::NonResource => "non-resource".into(),
        }
    }

    #[test]
    fn what_is_served_is_what_the_path_was_authorized_as() {
        assert_eq!(read("/api/v1/namespaces/n/pods/p/log"), r#"pods n|p Some("log")"#);
        assert_eq!(read("/api/v1/namespaces/n"), "namespaces |n None");
        assert_eq!(read("/api/v1/namespaces/n/status"), r#"namespaces |n Some("status")"#);
        assert_eq!(read("/api/v1/watch/namespaces/n/pods"), "pods n| None");
        assert_eq!(
            read("/api/v1/namespaces/n/pods/p/proxy/a/b"),
            r#"pods n|p Some("proxy")/a/b"#
        );
        assert_eq!(read("/api/v1/namespaces//pods"), "pods | None");
    }

    #[test]
    fn what_can_be_authorized_and_is_not_served_is_unknown() {
        for path in [
            "/api/v1/proxy/namespaces/n/pods/p",
            "/api/v1/namespaces/n/status/more",
            "/api/v1/namespaces/n/namespaces/n",
            "/api/v1/namespaces/n/nodes",
            "/api/v1/namespaces//nodes",
            "/api/v1/namespaces//status",
            "/api/v1//pods",
            "/api/v1/pods/p",
            "/api/v1/namespaces/n/pods/p/logs",
            "/api/v1/namespaces/n/pods/p/log/more",
            "/apis/apps/v1/namespaces/n/status",
        ] {
            assert_eq!(read(path), "unknown", "{path}");
        }
        for path in ["//api/v1/pods", "/apis/none.example/v1/pods", "/api/v1", "/version"] {
            assert_eq!(read(path), "non-resource", "{path}");
        }
    }
}
