//! What a path of a kubelet leads to, and how its routers refuse the others: Go's in front, and go-restful behind it for what has
//! several methods.

use http::{HeaderValue, Method, Response, StatusCode, header};

use crate::wire::body::Body;
use crate::wire::respond;

/// What a kubelet answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page<'a> {
    /// Its health, or a part of it.
    Health(Option<&'a str>),
    Pods,
    RunningPods,
    Summary,
    Configuration,
    Figures(Figures),
    Log(ContainerPath<'a>),
    Run(ContainerPath<'a>),
    Exec(ContainerPath<'a>),
    Attach(ContainerPath<'a>),
    PortForward(PodPath<'a>),
    Checkpoint(ContainerPath<'a>),
    /// What looks into the machine of a node, which an administrator can switch off.
    Disabled(&'static str),
}

/// Which figures a kubelet is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figures {
    /// Of the kubelet itself.
    Kubelet,
    /// What the containers use.
    Resources,
    /// What cAdvisor measures.
    Cadvisor,
    /// Of its probes.
    Probes,
}

/// A Pod in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PodPath<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    /// The uid that the Pod must have.
    pub(super) uid: Option<&'a str>,
}

/// A container in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContainerPath<'a> {
    pub(super) pod: PodPath<'a>,
    pub(super) container: &'a str,
}

/// Why a path leads to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing begins like this.
    NoPage,
    /// What begins like this has no such page.
    NotFound,
    /// The page has these methods.
    NotAllowed(&'static str),
    /// The page is in JSON, which the client does not take.
    NotAcceptable,
    /// The page has a slash at its end.
    Moved,
}

/// What a request leads to. `accept` is what the client takes.
pub(super) fn route<'a>(method: &Method, path: &'a str, accept: &str) -> Result<Page<'a>, Refusal> {
    if let Some(page) = fixed(path) {
        return Ok(page);
    }
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (first, rest) = (parts[0], &parts[1..]);
    // These are registered with a slash only.
    let is_folder = matches!(first, "stats" | "runningpods" | "logs" | "checkpoint");
    if rest.is_empty() && is_folder && !path.ends_with('/') {
        return Err(Refusal::Moved);
    }
    let (page, methods) = match (first, rest) {
        ("logs", _) => return Ok(Page::Disabled("logs endpoint is disabled.\n")),
        ("debug", ["pprof", ..]) if path != "/debug/pprof" => {
            return Ok(Page::Disabled("profiling endpoint is disabled.\n"));
        }
        ("debug", ["pprof"]) => return Err(Refusal::Moved),
        ("pods", []) => (Page::Pods, "GET"),
        ("runningpods", []) => (Page::RunningPods, "GET"),
        ("stats", ["summary"]) => (Page::Summary, "GET, POST"),
        ("containerLogs", [_, _, _]) => (Page::Log(container(rest)?), "GET"),
        ("run", _) => (Page::Run(container(rest)?), "POST"),
        ("exec", _) => (Page::Exec(container(rest)?), "GET, POST"),
        ("attach", _) => (Page::Attach(container(rest)?), "GET, POST"),
        ("portForward", _) => (Page::PortForward(pod(rest)?), "GET, POST"),
        ("checkpoint", [_, _, _]) => (Page::Checkpoint(container(rest)?), "POST"),
        ("pods" | "runningpods" | "stats" | "containerLogs" | "checkpoint", _) => return Err(Refusal::NotFound),
        _ => return Err(Refusal::NoPage),
    };
    if !methods.split(", ").any(|allowed| method == allowed) {
        return Err(Refusal::NotAllowed(methods));
    }
    let is_json = matches!(
        page,
        Page::Pods | Page::RunningPods | Page::Summary | Page::Checkpoint(_)
    );
    if is_json && !takes_json(accept) {
        return Err(Refusal::NotAcceptable);
    }
    Ok(page)
}

/// Pages with one path and any method.
fn fixed(path: &str) -> Option<Page<'_>> {
    Some(match path {
        "/healthz" => Page::Health(None),
        "/healthz/ping" | "/healthz/log" | "/healthz/syncloop" => Page::Health(path.rsplit('/').next()),
        "/metrics" => Page::Figures(Figures::Kubelet),
        "/metrics/resource" => Page::Figures(Figures::Resources),
        "/metrics/cadvisor" => Page::Figures(Figures::Cadvisor),
        "/metrics/probes" => Page::Figures(Figures::Probes),
        "/configz" => Page::Configuration,
        "/debug/flags/v" => Page::Disabled("flags endpoint is disabled.\n"),
        _ => return None,
    })
}

fn pod<'a>(parts: &[&'a str]) -> Result<PodPath<'a>, Refusal> {
    match *parts {
        [namespace, name] => Ok(PodPath {
            namespace,
            name,
            uid: None,
        }),
        [namespace, name, uid] => Ok(PodPath {
            namespace,
            name,
            uid: Some(uid),
        }),
        _ => Err(Refusal::NotFound),
    }
}

fn container<'a>(parts: &[&'a str]) -> Result<ContainerPath<'a>, Refusal> {
    let (container, parts) = parts.split_last().ok_or(Refusal::NotFound)?;
    Ok(ContainerPath {
        pod: pod(parts)?,
        container,
    })
}

/// Whether a client takes JSON, as go-restful reads the header.
fn takes_json(accept: &str) -> bool {
    let mut taken = accept
        .split(',')
        .map(|kind| kind.split(';').next().unwrap_or_default().trim());
    accept.is_empty() || taken.any(|kind| matches!(kind, "*/*" | "application/json"))
}

impl Refusal {
    /// The answer of the router. `prefix` is the path of the proxy to the node.
    pub(super) fn response(&self, prefix: &str, path: &str) -> Response<Body> {
        match self {
            Refusal::NoPage => respond::text(StatusCode::NOT_FOUND, "404 page not found\n"),
            Refusal::NotFound => super::plain(StatusCode::NOT_FOUND, "404: Page Not Found"),
            Refusal::NotAcceptable => super::plain(
                StatusCode::NOT_ACCEPTABLE,
                "406: Not Acceptable\n\nAvailable representations: application/json",
            ),
            Refusal::NotAllowed(methods) => {
                let mut response = super::plain(StatusCode::METHOD_NOT_ALLOWED, "405: Method Not Allowed");
                response
                    .headers_mut()
                    .insert(header::ALLOW, HeaderValue::from_static(methods));
                response
            }
            Refusal::Moved => moved(prefix, path),
        }
    }
}

/// Leads to the path with a slash at its end, through the proxy; the page that says so knows nothing of that.
fn moved(prefix: &str, path: &str) -> Response<Body> {
    let page = format!("<a href=\"{path}/\">Temporary Redirect</a>.\n\n");
    let mut response = super::plain(StatusCode::TEMPORARY_REDIRECT, page);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/html; charset=utf-8"),
    );
    if let Ok(location) = HeaderValue::from_str(&format!("{prefix}{path}/")) {
        headers.insert(header::LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: &Method, path: &'static str) -> Result<Page<'static>, Refusal> {
        route(method, path, "*/*")
    }

    #[test]
    fn paths_lead_to_pages_by_their_methods() {
        assert_eq!(routed(&Method::GET, "/pods/"), Ok(Page::Pods));
        assert_eq!(routed(&Method::HEAD, "/pods"), Err(Refusal::NotAllowed("GET")));
        assert_eq!(routed(&Method::PUT, "/healthz/log"), Ok(Page::Health(Some("log"))));
        assert_eq!(routed(&Method::GET, "/healthz/none"), Err(Refusal::NoPage));
        assert_eq!(routed(&Method::GET, "/stats"), Err(Refusal::Moved));
        assert_eq!(routed(&Method::GET, "/stats/"), Err(Refusal::NotFound));
        assert_eq!(routed(&Method::GET, "/"), Err(Refusal::NoPage));
        assert_eq!(route(&Method::GET, "/pods", "text/html"), Err(Refusal::NotAcceptable));
    }

    #[test]
    fn a_container_may_be_asked_for_in_a_pod_of_a_uid() {
        let at = |uid| ContainerPath {
            pod: PodPath {
                namespace: "n",
                name: "web",
                uid,
            },
            container: "app",
        };
        assert_eq!(routed(&Method::POST, "/run/n/web/app"), Ok(Page::Run(at(None))));
        assert_eq!(routed(&Method::POST, "/run/n/web/u/app"), Ok(Page::Run(at(Some("u")))));
        assert_eq!(
            routed(&Method::GET, "/containerLogs/n/web/u/app"),
            Err(Refusal::NotFound)
        );
        assert_eq!(routed(&Method::POST, "/run/n"), Err(Refusal::NotFound));
    }
}
