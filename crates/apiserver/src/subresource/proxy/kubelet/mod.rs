//! What the kubelet of a simulated node answers to requests through `nodes/proxy`, with the paths, words and codes of upstream's kubelet:
//! its health, its Pods, the logs of their containers, commands in them, forwarded ports. Nothing is measured, and figures say so; what
//! looks into the machine of a node is switched off.

mod documents;
mod figures;
mod health;
mod logs;
mod route;
mod run;

use http::{HeaderValue, Response, StatusCode, header};
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use self::route::{ContainerPath, Page, PodPath};
use super::location::text;
use crate::object;
use crate::registry::BuiltInId;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::stream::containers::PodIdentity;
use crate::stream::port_forward::{self, ForwardedPod};
use crate::stream::{is_upgrade, node as node_answers};
use crate::subresource::life::ConnectionLife;
use crate::subresource::log;
use crate::wire::body::Body;
use crate::wire::query::Query;
use crate::wire::respond;
use crate::wire::status::{Result, Status};

/// What a kubelet says of a connection to a container behind which there is no process.
const NOTHING_THERE: &str = "its containers are simulated, there is no process to connect to";

/// Answers for the kubelet of a node.
pub(super) async fn answer(call: &Call<'_>, node: &str, path: &str) -> Result<HandlerOutput> {
    let is_upgrade = is_upgrade(call.headers);
    // As upstream, the query of an upgrade is not passed on.
    let nothing = Query::default();
    let query = if is_upgrade { &nothing } else { call.query };
    let kubelet = Kubelet { call, query, node };
    let asked = crate::wire::query::percent_decode(call.parts.uri.path());
    let prefix = asked.strip_suffix(path).unwrap_or_default();
    let routed = route::route(call.method(), path, call.header(header::ACCEPT));
    let response = match routed {
        Ok(Page::PortForward(pod)) if is_upgrade => kubelet.port_forward(pod),
        Ok(page) => kubelet.page(page).await,
        Err(refusal) => refusal.response(prefix, path),
    };
    let response = if is_upgrade { upgraded(response)? } else { response };
    Ok(HandlerOutput::Response(response))
}

/// What the proxy makes of an answer to an upgrade.
fn upgraded(mut response: Response<Body>) -> Result<Response<Body>> {
    let code = response.status();
    if code == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    if code.as_u16() < 400 {
        let why = format!("invalid upgrade response: status code {}", code.as_u16());
        return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why));
    }
    response.headers_mut().remove(header::CACHE_CONTROL);
    Ok(node_answers::refused_handshake(response))
}

/// The kubelet of a node.
#[derive(Clone, Copy)]
struct Kubelet<'a> {
    call: &'a Call<'a>,
    query: &'a Query,
    node: &'a str,
}

/// A Pod of the node.
struct FoundPod {
    identity: PodIdentity,
    value: Value,
    life: ConnectionLife,
}

impl FoundPod {
    fn has(&self, container: &str) -> bool {
        log::container(&self.value, container).is_ok()
    }
}

impl Kubelet<'_> {
    async fn page(self, page: Page<'_>) -> Response<Body> {
        match page {
            Page::Health(part) => health::answer(self.query, part),
            Page::Pods => documents::pods(self),
            Page::RunningPods => documents::running_pods(self),
            Page::Summary => documents::summary(self),
            // It has none.
            Page::Configuration => {
                let mut response = respond::text(StatusCode::OK, "{}");
                let kind = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            Page::Figures(figures) => figures::answer(self, figures),
            Page::Log(at) => logs::answer(self, at),
            Page::Run(at) => run::answer(self, at).await,
            Page::Exec(at) => self.not_upgraded(at, &|container| format!("container not found ({})", quote(container))),
            Page::Attach(at) => self.not_upgraded(at, &|container| {
                let PodPath { namespace, name, .. } = at.pod;
                format!("container {container} not found in pod {name}_{namespace}")
            }),
            Page::PortForward(pod) => match self.pod(pod) {
                Some(_) => upgrade_required(),
                None => plain(StatusCode::NOT_FOUND, "pod does not exist"),
            },
            Page::Checkpoint(at) => self.checkpoint(at),
            Page::Disabled(why) => respond::text(StatusCode::METHOD_NOT_ALLOWED, why),
        }
    }

    /// A Pod that is bound to the node.
    fn pod(self, path: PodPath<'_>) -> Option<FoundPod> {
        let (record, life) = ConnectionLife::of(self.call, path.namespace, path.name)?;
        let value = object::to_value(BuiltInId::Pods.resource(), &record, record.revision);
        let is_asked_for = path.uid.is_none_or(|uid| *record.uid == *uid);
        (self.has(&value) && is_asked_for).then(|| FoundPod {
            identity: PodIdentity {
                namespace: path.namespace.to_owned(),
                name: path.name.to_owned(),
                uid: record.uid.to_string(),
            },
            value,
            life,
        })
    }

    /// All Pods that are bound to the node.
    fn pods(self) -> Vec<Value> {
        let pods = BuiltInId::Pods.resource();
        let snapshot = self.call.server.store.snapshot(pods.table);
        let all = snapshot.records(None, None);
        all.map(|record| object::to_value(pods, record, record.revision))
            .filter(|pod| self.has(pod))
            .collect()
    }

    fn has(self, pod: &Value) -> bool {
        pod.get("spec").is_some_and(|spec| text(spec, "nodeName") == self.node)
    }

    /// Exec and attach of a request that is no upgrade: what is wrong with it is said first.
    fn not_upgraded(self, at: ContainerPath<'_>, not_found: &dyn Fn(&str) -> String) -> Response<Body> {
        let asks_for = |stream| self.query.text(stream) == "1";
        if !["input", "output", "error"].into_iter().any(asks_for) {
            return plain(
                StatusCode::BAD_REQUEST,
                "you must specify at least 1 of stdin, stdout, stderr",
            );
        }
        match self.pod(PodPath { uid: None, ..at.pod }) {
            None => plain(StatusCode::NOT_FOUND, "pod does not exist"),
            Some(pod) if !pod.has(at.container) => plain(StatusCode::INTERNAL_SERVER_ERROR, not_found(at.container)),
            Some(_) => upgrade_required(),
        }
    }

    fn port_forward(self, path: PodPath<'_>) -> Response<Body> {
        let websocket = self.call.websocket();
        let tunnel = websocket.filter(|handshake| port_forward::tunnel::is_requested(*handshake));
        if websocket.is_some() && tunnel.is_none() {
            return plain(StatusCode::BAD_REQUEST, "query parameter \"port\" is required");
        }
        let Some(pod) = self.pod(PodPath { uid: None, ..path }) else {
            return plain(StatusCode::NOT_FOUND, "pod does not exist");
        };
        if path.uid.is_some_and(|uid| uid != pod.identity.uid) {
            return plain(StatusCode::NOT_FOUND, "pod not found");
        }
        let server = self.call.server;
        let containers = server.containers.of(&server.store, &pod.identity);
        if !containers.may_listen() {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, NOTHING_THERE);
        }
        let forwarded = ForwardedPod {
            name: pod.identity.name,
            containers,
        };
        let life = async {
            pod.life.end().await;
        };
        match tunnel {
            Some(handshake) => port_forward::tunnel::run(handshake, forwarded, life),
            None => port_forward::spdy::run(self.call.headers, forwarded, life),
        }
    }

    fn checkpoint(self, at: ContainerPath<'_>) -> Response<Body> {
        let Some(pod) = self.pod(at.pod) else {
            return plain(StatusCode::NOT_FOUND, "pod does not exist");
        };
        let container = at.container;
        if !pod.has(container) {
            return plain(StatusCode::NOT_FOUND, format!("container {container} does not exist"));
        }
        let PodPath { namespace, name, .. } = at.pod;
        let why = "there is no process to checkpoint";
        let why = format!("checkpointing of {namespace}/{name}/{container} failed ({why})");
        plain(StatusCode::INTERNAL_SERVER_ERROR, why)
    }
}

/// Text, as the kubelet's router writes it.
fn plain(code: StatusCode, words: impl Into<String>) -> Response<Body> {
    let mut response = respond::text(code, words.into());
    response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
    response
}

fn json(text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = respond::text(StatusCode::OK, text);
    response.headers_mut().remove(header::X_CONTENT_TYPE_OPTIONS);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn upgrade_required() -> Response<Body> {
    respond::text(StatusCode::INTERNAL_SERVER_ERROR, "Upgrade request required\n")
}
