//! The way of a request, from any transport to its response:
//!
//! parse ([`RequestHead`]) → authenticate, authorize (`access`) → pass on to another server (`aggregation`), or read the body → route ([`route`]) → negotiate (`wire`) →
//! dispatch ([`dispatch`]) to a verb or a subresource → respond (`wire`).

mod body;
pub(crate) mod call;
mod cost;
pub(crate) mod delete_options;
mod dispatch;
mod head;
pub(crate) mod list_options;
pub(crate) mod route;
pub(crate) mod select;
pub(crate) mod timeout;
pub(crate) mod write_options;

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use parking_lot::Mutex;

pub(crate) use body::RequestBody;
pub(crate) use dispatch::{HandlerOutput, check_name, check_namespace};
pub(crate) use head::{RequestHead, attributes_of};

use crate::access::{Authorized, Identity};
use crate::aggregation;
use crate::audit::{AuditAnnotations, AuditGuard};
use crate::non_resource;
use crate::registry::{Subresource, Verb};
use crate::request::call::Call;
use crate::server::metrics::Observation;
use crate::server::{ApiServer, Server};
use crate::service::OutgoingBody;
use crate::stream::OutsideHttp;
use crate::wire::body::Body;
use crate::wire::negotiate::{self, OfferedForms, Output};
use crate::wire::query::percent_decode;
use crate::wire::respond::{self, GoTypes};
use crate::wire::status::Status;
use crate::wire::table;
use route::{Route, Target};

/// The largest body a request may have (H10).
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// A body as a transport received it; the error answers one that broke off.
pub(crate) type ReceivedBody = Result<Bytes, Box<Status>>;

impl ApiServer {
    /// Answers a request: the one entry of all transports. `body` is read only once the sender may send it; what it
    /// fails with ends the request without an answer.
    pub(crate) async fn serve<B: RequestBody>(
        &self,
        identity: &Identity,
        parts: &Parts,
        body: B,
    ) -> Result<Response<Body>, B::Error> {
        let server = &*self.server;
        let mut draft = server.audit.begin(server, parts);
        let path = percent_decode(parts.uri.path());
        let head = RequestHead::parse(parts, &path);
        let authorized = match server.access.delegated() {
            None => {
                let deciding = server.authorize(identity, &head, &mut draft);
                AssertUnwindSafe(deciding).catch_unwind().await
            }
            Some(access) => {
                // Boxed, so that the future of a request that nobody else is asked about does not grow.
                let deciding = Box::pin(server.authorize_by(&**access, identity, &head, &mut draft));
                AssertUnwindSafe(deciding).catch_unwind().await
            }
        };
        let authorized = match authorized.unwrap_or_else(|_| Err(Box::new(panicked()))) {
            Ok(authorized) => authorized,
            Err(mut response) => {
                if parts.method == Method::HEAD {
                    *response.body_mut() = Body::empty();
                }
                draft.finish(&server.audit, &mut response);
                return Ok(*response);
            }
        };
        if let Some(remote) = server.aggregation.set().route_of(server, &head) {
            let id = draft.id().clone();
            let annotations = AuditAnnotations::of(&draft);
            let working = AuditGuard::new(&server.audit, &annotations, draft);
            let request = aggregation::ProxiedRequest {
                server,
                remote: &remote,
                head: &head,
                user: &authorized.user,
                token_among_protocols: authorized.token_among_protocols,
                audit_id: &id,
                body: body.stream(),
            };
            let answer = AssertUnwindSafe(aggregation::answer(request)).catch_unwind().await;
            let mut response = answer.unwrap_or_else(|_| panicked());
            respond::warn(response.headers_mut(), &authorized.warnings);
            working.finish(&mut response);
            OutsideHttp::strip(&mut response);
            return Ok(response);
        }
        let received = if head.is_proxied() {
            // The Pod that it is passed on to reads it as it comes.
            Ok((Bytes::new(), Some(body.stream())))
        } else {
            body.whole().await?.map(|body| (body, None))
        };
        let (body, streamed) = match received {
            Ok(received) => received,
            Err(status) => {
                let mut response = respond::refuse(&status, Output::JSON, &[]);
                draft.finish(&server.audit, &mut response);
                return Ok(response);
            }
        };
        draft.dry_run = parts.method == Method::DELETE && is_dry(&body);
        let annotations = AuditAnnotations::of(&draft);
        let working = AuditGuard::new(&server.audit, &annotations, draft);
        let mut observation = server.metrics.observe();
        let request = AuthorizedRequest {
            server,
            head: &head,
            authorized: &authorized,
            annotations: &annotations,
            body,
            streamed: Mutex::new(streamed),
        };
        let answer = AssertUnwindSafe(request.answer(&mut observation)).catch_unwind().await;
        let mut response = answer.unwrap_or_else(|_| panicked());
        respond::warn(response.headers_mut(), &authorized.warnings);
        working.finish(&mut response);
        OutsideHttp::strip(&mut response);
        server.metrics.finish(&observation, response.status());
        Ok(response)
    }
}

fn panicked() -> Response<Body> {
    let why = "This request caused apiserver to panic. Look in the logs for details.";
    respond::text(StatusCode::INTERNAL_SERVER_ERROR, why)
}

/// Whether the options in a deletion's body ask for a dry run.
fn is_dry(options: &[u8]) -> bool {
    memchr::memmem::find(options, b"dryRun").is_some()
        && serde_json::from_slice::<serde_json::Value>(options)
            .is_ok_and(|options| options.pointer("/dryRun/0").is_some_and(|value| value == "All"))
}

/// A request that was authorized, with its body.
struct AuthorizedRequest<'a> {
    server: &'a Server,
    head: &'a RequestHead<'a>,
    authorized: &'a Authorized,
    annotations: &'a AuditAnnotations,
    body: Bytes,
    /// The body of a request that is passed on, which nobody has read.
    streamed: Mutex<Option<OutgoingBody>>,
}

impl AuthorizedRequest<'_> {
    async fn answer(self, observation: &mut Observation<'_>) -> Response<Body> {
        let head = self.head;
        let route = route::route(&self.server.definitions.served(), &head.info);
        if *head.method() == Method::HEAD {
            let mut response = match route {
                Route::Resource(target) if target.resource.custom().is_some() || head.is_proxied() => {
                    self.answer_target(&target, observation).await
                }
                Route::Resource(_) => respond::refuse(&Status::method_not_allowed(), head.error_output(), &[]),
                Route::UnknownResource => respond::refuse(&Status::no_such_path(), head.error_output(), &[]),
                Route::NonResource => {
                    let path = head.info.trimmed_path();
                    observation.plain(head.method(), path);
                    non_resource::answer(self.server, head.parts, path, &head.query)
                }
            };
            *response.body_mut() = Body::empty();
            return response;
        }
        match route {
            Route::Resource(target) => self.answer_target(&target, observation).await,
            Route::UnknownResource => respond::refuse(&Status::no_such_path(), head.error_output(), &[]),
            Route::NonResource => {
                let path = head.info.trimmed_path();
                observation.plain(head.method(), path);
                cost::leave_for_page(head.parts, path).await;
                non_resource::answer(self.server, head.parts, path, &head.query)
            }
        }
    }

    /// Answers a request for an object, a collection or a subresource.
    async fn answer_target(self, target: &Target<'_>, observation: &mut Observation<'_>) -> Response<Body> {
        let (server, head) = (self.server, self.head);
        let (verb, output) = match self.negotiate(target, observation) {
            Ok(negotiated) => negotiated,
            Err(response) => return *response,
        };
        let deadline = OnceLock::new();
        let mut call = Call {
            server,
            user: &self.authorized.user,
            annotations: self.annotations,
            deadline: &deadline,
            target,
            query: &head.query,
            parts: head.parts,
            headers: head.headers(),
            token_among_protocols: self.authorized.token_among_protocols,
            expires: self.authorized.expires,
            body: self.body,
            streamed: &self.streamed,
            output,
            warnings: deprecation(target),
        };
        // How the answer is to look is a question only once there is one: a write that cannot be shown is still done.
        cost::leave_if_long(&call, verb).await;
        let answer = dispatch::in_time(&mut call, verb).await;
        let answer = answer.and_then(|answer| match answer {
            HandlerOutput::Reply(reply) => {
                let reply = reply.of_types(GoTypes::of(target));
                table::print(target, output, &head.query, reply, server.clock.now()).map(HandlerOutput::Reply)
            }
            done @ HandlerOutput::Response(_) => Ok(done),
        });
        match answer {
            Ok(HandlerOutput::Reply(reply)) => {
                if let Some(logged) = self.annotations.logged() {
                    logged.response_object(&respond::as_json(&reply, output));
                }
                respond::respond(reply, output, head.headers(), &call.warnings)
            }
            Ok(HandlerOutput::Response(mut response)) => {
                respond::warn(response.headers_mut(), &call.warnings);
                response
            }
            Err(status) => respond::refuse(&status, head.error_output(), &call.warnings),
        }
    }

    /// The verb, and how its answer is written; the error is the response to what cannot be answered.
    fn negotiate(
        &self,
        target: &Target<'_>,
        observation: &mut Observation<'_>,
    ) -> Result<(Verb, Output), Box<Response<Body>>> {
        let (query, headers) = (&self.head.query, self.head.headers());
        let reads = matches!(*self.head.method(), Method::GET | Method::HEAD);
        let is_custom = target.resource.custom().is_some();
        if is_custom && target.all_namespaces && !reads && !target.watch_prefix {
            return Err(Box::new(respond::page_not_found()));
        }
        let refuse = |status: &Status| {
            let response = respond::refuse(status, self.head.error_output(), &deprecation(target));
            Err(Box::new(response))
        };
        if is_custom && !target.resource.has_subresource(target.subresource) {
            return refuse(&Status::not_found(target.resource.about(), target.name));
        }
        let Some(verb) = route::verb(self.head, target) else {
            let status = route::not_allowed(self.head, target);
            if is_custom {
                return refuse(&status);
            }
            // Upstream's router refuses a method of a built-in before anything is known of the kind.
            return Err(Box::new(respond::refuse(&status, self.head.error_output(), &[])));
        };
        observation.route(verb, target);
        observation.refine(headers, query);
        if is_connection(target) {
            // What a connection carries is not negotiated, and it lasts as long as it likes.
            return Ok((verb, Output::JSON));
        }
        let offer = OfferedForms {
            watches: target.name.is_empty() && reads,
            tables: &|| table::printer(target).is_some(),
            custom: is_custom,
        };
        let output = match negotiate::output(headers, query.flag("pretty"), offer) {
            Ok(output) => output,
            Err(status) => return refuse(&status),
        };
        if self.body.len() > MAX_BODY {
            let message = format!("Request entity too large: limit is {MAX_BODY}");
            return refuse(&Status::too_large(message));
        }
        if let Err(why) = timeout::check(query.get("timeout"), verb) {
            let message = format!("invalid timeout specified in the request URL - {why}");
            return refuse(&Status::bad_request(message));
        }
        Ok((verb, output))
    }
}

/// Whether a request is for a connection to a Pod, a Service or a node.
fn is_connection(target: &Target<'_>) -> bool {
    let part = target.subresource.filter(|_| target.resource.custom().is_none());
    part.is_some_and(|part| {
        matches!(
            part,
            Subresource::Attach | Subresource::Exec | Subresource::PortForward | Subresource::Proxy
        )
    })
}

/// What upstream warns of with every answer about a kind that is on its way out.
fn deprecation(target: &Target<'_>) -> Vec<String> {
    target.resource.deprecation().map(str::to_owned).into_iter().collect()
}
