//! From a request as the operator's trace has it, by kind, to one as an audit trail has it, by resource: rules are about resources.

use kubewright_description::Description;
use kubewright_manifests::rules::check::Request;
use kubewright_plural::plural;
use kubewright_runtime::trace::ApiCall;

use super::Asked;

/// Whoever asks as the operator, where only its trace says so.
pub(crate) const TRACED_OPERATOR: &str = "the operator";

/// A request of the operator. Its description knows the resources of its own kinds.
pub(super) fn by_operator(call: &ApiCall, description: Option<&Description>) -> Asked {
    let code = call.code.unwrap_or(0);
    let request = if call.target.starts_with('/') {
        of_path(&call.verb, &call.target)
    } else {
        of_kind(&call.verb, &call.target, description)
    };
    Asked {
        request: Request {
            user: TRACED_OPERATOR.to_owned(),
            allowed: code != 403,
            ..request
        },
        code,
    }
}

/// `Deployment.apps/scale shop/web`, `Deployment.apps in namespace shop`, `Node`
fn of_kind(verb: &str, target: &str, description: Option<&Description>) -> Request {
    let (what, which) = target.split_once(' ').unwrap_or((target, ""));
    let (kind, subresource) = what.split_once('/').unwrap_or((what, ""));
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    let (namespace, name) = match which.strip_prefix("in namespace ") {
        Some(namespace) => (namespace, ""),
        None => which.split_once('/').unwrap_or(("", which)),
    };
    let mut defined = description
        .into_iter()
        .flat_map(|one| one.definitions.iter().chain(&one.aggregated));
    let known = defined.find(|one| one.kind == kind && one.group == group);
    Request {
        verb: if verb == "apply" { "patch" } else { verb }.to_owned(),
        group: group.to_owned(),
        resource: known.map_or_else(|| plural(kind), |one| one.plural.clone()),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..Request::default()
    }
}

/// A request that was sent past the client: a method and `/apis/apps/v1/namespaces/shop/deployments/web/scale`.
fn of_path(method: &str, path: &str) -> Request {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let group = match parts.next() {
        Some("api") => Some(""),
        Some("apis") => parts.next(),
        _ => None,
    };
    let rest: Vec<&str> = parts.skip(1).collect();
    let (namespace, rest) = match &rest[..] {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let (Some(group), [resource, object @ ..]) = (group, rest) else {
        return Request {
            verb: method.to_owned(),
            path: path.to_owned(),
            ..Request::default()
        };
    };
    let verb = match (method, object) {
        ("get", []) => "list",
        ("post", _) => "create",
        ("put", _) => "update",
        ("delete", []) => "deletecollection",
        (other, _) => other,
    };
    let part = |at: usize| object.get(at).copied().unwrap_or_default().to_owned();
    Request {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: (*resource).to_owned(),
        subresource: part(1),
        namespace: namespace.to_owned(),
        name: part(0),
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `verb resource.group/subresource namespace/name`
    fn text(request: &Request) -> String {
        let Request {
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
            ..
        } = request;
        format!("{verb} {resource}.{group}/{subresource} {namespace}/{name}")
    }

    #[test]
    fn what_a_trace_calls_by_kind_is_a_resource() {
        for (verb, target, wanted) in [
            ("apply", "Deployment.apps shop/web", "patch deployments.apps/ shop/web"),
            (
                "patch",
                "Deployment.apps/scale shop/web",
                "patch deployments.apps/scale shop/web",
            ),
            (
                "list",
                "Ingress.networking.k8s.io in namespace shop",
                "list ingresses.networking.k8s.io/ shop/",
            ),
            ("get", "Node one", "get nodes./ /one"),
            ("list", "Node", "list nodes./ /"),
        ] {
            assert_eq!(text(&of_kind(verb, target, None)), wanted);
        }
    }

    #[test]
    fn a_path_is_a_resource_if_it_leads_to_one() {
        for (method, path, wanted) in [
            ("get", "/api/v1/pods", "list pods./ /"),
            ("get", "/api/v1/namespaces/shop", "get namespaces./ /shop"),
            (
                "post",
                "/api/v1/namespaces/shop/pods/web/eviction",
                "create pods./eviction shop/web",
            ),
            (
                "put",
                "/apis/apps/v1/namespaces/shop/deployments/web",
                "update deployments.apps/ shop/web",
            ),
            (
                "delete",
                "/apis/apps/v1/namespaces/shop/deployments",
                "deletecollection deployments.apps/ shop/",
            ),
        ] {
            assert_eq!(text(&of_path(method, path)), wanted);
        }
        let page = of_path("get", "/version");
        assert_eq!((&*page.path, &*page.resource), ("/version", ""));
    }
}
