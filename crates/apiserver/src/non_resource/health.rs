//! `/healthz`, `/livez` and `/readyz`: upstream's texts and checks.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_apimachinery::go::quote;

use crate::wire::body::Body;
use crate::wire::query::Query;
use crate::wire::respond;

/// Checks of `/healthz` and `/livez`, in upstream's order. A server exists once its store and the objects that upstream's start
/// hooks make are there, so none of them can fail.
const CHECKS: [&str; 35] = [
    "ping",
    "log",
    "loopback-serving-certificate",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/aggregator-reload-proxy-client-cert",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// The check that `/readyz` does not have.
const ALIVE_ONLY: &str = "loopback-serving-certificate";

/// Checks that only `/readyz` has, each behind the check it follows.
const READINESS: [(&str, &str); 3] = [
    ("etcd", "etcd-readiness"),
    ("etcd", "informer-sync"),
    ("poststarthook/apiservice-openapiv3-controller", "shutdown"),
];

/// The paths of every check of every endpoint.
pub(super) fn paths() -> impl Iterator<Item = String> {
    let endpoints = [
        ("healthz", CHECKS.to_vec()),
        ("livez", CHECKS.to_vec()),
        ("readyz", readiness()),
    ];
    endpoints
        .into_iter()
        .flat_map(|(endpoint, checks)| checks.into_iter().map(move |check| format!("/{endpoint}/{check}")))
}

/// Answers a health path; `None` for any other path.
pub(crate) fn answer(path: &str, query: &Query) -> Option<Response<Body>> {
    let path = path.strip_prefix('/')?;
    let (endpoint, check) = path
        .split_once('/')
        .map_or((path, None), |(endpoint, check)| (endpoint, Some(check)));
    let checks = match endpoint {
        "healthz" | "livez" => CHECKS.to_vec(),
        "readyz" => readiness(),
        _ => return None,
    };
    Some(match check {
        None => respond::text(StatusCode::OK, all(endpoint, &checks, query)),
        Some(check) if checks.contains(&check) => one(),
        Some(_) => respond::page_not_found(),
    })
}

pub(super) fn readiness() -> Vec<&'static str> {
    let behind = |check: &'static str| {
        READINESS
            .iter()
            .filter(move |(after, _)| *after == check)
            .map(|(_, own)| *own)
    };
    CHECKS
        .into_iter()
        .filter(|check| *check != ALIVE_ONLY)
        .flat_map(|check| std::iter::once(check).chain(behind(check)))
        .collect()
}

/// What a component that is healthy says of all its checks.
pub(crate) fn all(endpoint: &str, checks: &[&str], query: &Query) -> String {
    if query.get("verbose").is_none() {
        return "ok".into();
    }
    let mut excluded: BTreeSet<&str> = query.all("exclude").into_iter().collect();
    let mut text = String::new();
    for check in checks {
        let verdict = if excluded.remove(check) { "excluded: ok" } else { "ok" };
        let _ = writeln!(text, "[+]{check} {verdict}");
    }
    if !excluded.is_empty() {
        let unknown: Vec<String> = excluded.into_iter().map(quote).collect();
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {}",
            unknown.join(",")
        );
    }
    let _ = writeln!(text, "{endpoint} check passed");
    text
}

/// A single check answers without the header that the whole has.
pub(crate) fn one() -> Response<Body> {
    let mut response = Response::new(Body::from("ok"));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(header::CONTENT_LENGTH, 2.into());
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn ask(path: &str, query: &str) -> Option<(StatusCode, String)> {
        let response = answer(path, &Query::parse(Some(query)))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body");
        Some((parts.status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
    }

    #[tokio::test]
    async fn a_health_check_is_terse_unless_asked() {
        assert_eq!(ask("/healthz", "").await, Some((StatusCode::OK, "ok".into())));
        assert_eq!(
            ask("/readyz/informer-sync", "").await,
            Some((StatusCode::OK, "ok".into()))
        );
        assert_eq!(
            ask("/livez/informer-sync", "").await,
            Some((StatusCode::NOT_FOUND, "404 page not found\n".into()))
        );
        assert_eq!(ask("/health", "").await, None);
    }

    #[tokio::test]
    async fn a_verbose_check_names_each_part_and_what_was_excluded() {
        let (_, text) = ask("/readyz", "verbose&exclude=etcd&exclude=foo&exclude=bar")
            .await
            .unwrap();
        assert!(
            text.starts_with(
                "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n"
            )
        );
        assert!(text.ends_with(
            "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"bar\",\"foo\"\n\
             readyz check passed\n"
        ));
    }
}
