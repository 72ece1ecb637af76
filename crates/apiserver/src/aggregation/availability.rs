//! Whether the server behind an `APIService` is there: the condition `Available`, with upstream's reasons and times.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use kubewright_apimachinery::go::quote;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::backoff::Backoff;
use super::proxy::headers::put_user;
use super::remote::Remote;
use super::set::LEGACY;
use crate::access::User;
use crate::object;
use crate::registry::BuiltInId;
use crate::server::{ApiServer, Server};
use crate::service::{GoClient, resolve};

/// How often it is looked again although nothing is known to have changed.
const RESYNC: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(5);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// How many requests a check sends at once, of which one must succeed.
const ATTEMPTS: usize = 5;
/// How long each of them may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How often a status is written again that somebody else has changed meanwhile.
const WRITES: usize = 5;

/// Keeps the condition of an `APIService` up to date.
pub(super) async fn keep(server: Weak<Server>, remote: Arc<Remote>) {
    let mut backoff = Backoff::new(FIRST_RETRY, LAST_RETRY);
    loop {
        let Some(server) = server.upgrade() else { return };
        let wait = {
            let Ok(_turn) = server.aggregation.limits.availability.acquire().await else {
                return;
            };
            match check(&server, &remote).await {
                Ok(found) => {
                    let is_reached = found.reason != "FailedDiscoveryCheck";
                    write(&server, &remote, &found).await;
                    if is_reached {
                        backoff.reset();
                        RESYNC
                    } else {
                        backoff.next()
                    }
                }
                Err(_) => backoff.next(),
            }
        };
        drop(server);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = remote.wake.availability.notified() => {}
        }
    }
}

/// What a check found.
struct Found {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Looks whether the server is there. The error says why it cannot even be asked; the condition stays what it is then.
async fn check(server: &Server, remote: &Arc<Remote>) -> Result<Found, String> {
    let missing = |reason, message| {
        Ok(Found {
            status: "False",
            reason,
            message,
        })
    };
    if !remote.is_registered(server)
        && let Some((reason, message)) = service_problem(server, remote)
    {
        return missing(reason, message);
    }
    remote.tls(server.clock)?;
    let mut attempts: FuturesUnordered<_> = (0..ATTEMPTS).map(|_| attempt(server, remote)).collect();
    let mut last = String::new();
    while let Some(outcome) = attempts.next().await {
        match outcome {
            Ok(()) => {
                return Ok(Found {
                    status: "True",
                    reason: "Passed",
                    message: "all checks passed".into(),
                });
            }
            Err(why) => last = why,
        }
    }
    missing("FailedDiscoveryCheck", last)
}

/// What is wrong with the Service, as a reason and a message.
fn service_problem(server: &Server, remote: &Remote) -> Option<(&'static str, String)> {
    let (name, namespace, port) = (&remote.service.name, &remote.service.namespace, remote.service.port);
    let of_service = format!("service/{name} in {}", quote(namespace));
    let Some(service) = resolve::stored(server, BuiltInId::Services, &object::key(namespace, name)) else {
        return Some(("ServiceNotFound", format!("{of_service} is not present")));
    };
    if service["spec"]["type"] != "ClusterIP" {
        return None;
    }
    let Some(port_name) = resolve::port_name(&service, port) else {
        return Some((
            "ServicePortError",
            format!("{of_service} is not listening on port {port}"),
        ));
    };
    let slices = resolve::slices(server, namespace, name);
    if slices.is_empty() {
        return Some((
            "EndpointsNotFound",
            format!("cannot find endpointslices for {of_service}"),
        ));
    }
    let has_endpoint = slices
        .iter()
        .any(|slice| resolve::ready_endpoints(slice).next().is_some() && !resolve::ports(slice, &port_name).is_empty());
    (!has_endpoint).then(|| {
        let message = format!(
            "endpointslices for {of_service} have no addresses with port name {}",
            quote(&port_name)
        );
        ("MissingEndpoints", message)
    })
}

/// Asks for a page that every such server has.
async fn attempt(server: &Server, remote: &Arc<Remote>) -> Result<(), String> {
    let resolved = remote.resolve(server)?;
    let path = if remote.name == LEGACY {
        format!("/api/{}", remote.version)
    } else {
        format!("/apis/{}/{}", remote.group, remote.version)
    };
    let url = format!("https://{}{path}", resolved.authority);
    let failed = |why: String| format!("failing or missing response from {url}: {why}");
    let got = |why: String| failed(format!("Get {}: {why}", quote(&url)));
    let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = path.parse().map_err(|_| got("invalid URL".into()))?;
    let host = HeaderValue::from_str(&resolved.authority).map_err(|_| got("invalid URL".into()))?;
    request.headers_mut().insert(header::HOST, host);
    request.extensions_mut().insert(GoClient);
    put_user(request.headers_mut(), &aggregator());
    match timeout(ATTEMPT, remote.send(resolved, request, server.clock)).await {
        Err(_) => Err(got(
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)".into(),
        )),
        Ok(Err(why)) => Err(got(why)),
        Ok(Ok(response)) if response.status().is_success() => Ok(()),
        Ok(Ok(response)) => {
            let code = response.status().as_u16();
            Err(failed(format!("bad status from {url}: {code}")))
        }
    }
}

/// As whom the aggregator asks. Every such server lets it do everything.
pub(super) fn aggregator() -> User {
    User {
        name: "system:kube-aggregator".into(),
        groups: vec!["system:masters".into()],
        ..User::default()
    }
}

/// Writes the condition, if it says something else than before.
async fn write(server: &Arc<Server>, remote: &Remote, found: &Found) {
    for _ in 0..WRITES {
        let Some(service) = resolve::stored(server, BuiltInId::ApiServices, &remote.name) else {
            return;
        };
        let changed = with_condition(service.clone(), found, &server.clock.stamp());
        if changed == service {
            return;
        }
        let server = ApiServer {
            server: Arc::clone(server),
        };
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{}/status", remote.name);
        if server.ask(Method::PUT, &path, "application/json", Some(&changed)).await != StatusCode::CONFLICT {
            return;
        }
    }
}

/// The time of a condition is that of its last change of status.
fn with_condition(mut service: Value, found: &Found, now: &str) -> Value {
    let condition = json!({
        "type": "Available",
        "status": found.status,
        "lastTransitionTime": now,
        "reason": found.reason,
        "message": found.message,
    });
    if !service["status"]["conditions"].is_array() {
        service["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = service["status"]["conditions"].as_array_mut() else {
        return service;
    };
    match conditions.iter_mut().find(|known| known["type"] == "Available") {
        None => conditions.push(condition),
        Some(known) => {
            let since = known["lastTransitionTime"].take();
            let same = known["status"] == found.status;
            *known = condition;
            if same {
                known["lastTransitionTime"] = since;
            }
        }
    }
    service
}
