//! Who asks, and whether they may: identities from the doors and from tokens, impersonation, roles and bindings (Z1–Z7).
//!
//! [`ApiServer::admit`] is the step every request passes before its body is read; [`decide`] answers anybody else who
//! wants to know what a user may do.

mod aggregate;
mod authenticate;
mod guard;
mod impersonate;
mod query;
mod signers;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
pub use kubewright_access::{Attributes, User};
use kubewright_access::{Authorizer, Decision, Forbidden, Modes, Policy, Table};
use kubewright_codec::quote;
use parking_lot::Mutex;
use serde_json::Value;

pub(crate) use guard::{check_create_by_update, check_escalation};
pub(crate) use signers::check_signer;

use crate::audit::{Draft, Verdict};
use crate::object::{self, meta_text};
use crate::options::{AuthorizationMode, Options};
use crate::registry::{Registry, Resource};
use crate::route::{Target, Verb};
use crate::server::{ApiServer, Server};
use crate::status::{About, Status};
use crate::timeout;
use crate::wire::body::Body;
use crate::wire::negotiate;
use crate::wire::query::{Query, percent_decode};
use crate::wire::respond;

const RBAC: &str = "rbac.authorization.k8s.io";

/// What a door knows of its client.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    /// Who the client is.
    Proven(Arc<User>),
    /// The client has shown something that proves nothing, such as a certificate of somebody else's authority.
    Refused,
    /// Nothing: headers may tell more.
    Unknown,
}

impl Identity {
    /// The administrator, as the in-process door serves them.
    pub(crate) fn admin() -> Identity {
        static ADMIN: OnceLock<Arc<User>> = OnceLock::new();
        Identity::Proven(Arc::clone(ADMIN.get_or_init(|| Arc::new(User::admin()))))
    }
}

/// A request that may go on.
pub(crate) struct Admitted {
    /// As whom.
    pub(crate) user: Arc<User>,
    /// What it asks for; `None` for those who may do everything.
    pub(crate) asked: Option<Attributes<'static>>,
    pub(crate) warnings: Vec<String>,
    /// What the audit trail is to say of it; taken by whoever carries it out.
    pub(crate) draft: Option<Draft>,
}

impl Admitted {
    /// Whether a place in the resource tree is what was allowed. Paths are read once for authorization and once to find
    /// what serves them; this makes sure that both mean the same.
    pub(crate) fn may_mean(&self, target: &Target) -> bool {
        self.asked.as_ref().is_none_or(|asked| {
            let is_same = asked.is_resource
                && asked.group == *target.resource.group
                && asked.resource == *target.resource.plural
                && asked.subresource == target.subresource;
            // A Namespace is in itself.
            let place = if target.namespace.is_empty() && target.resource.is("", "namespaces") {
                &target.name
            } else {
                &target.namespace
            };
            is_same && asked.namespace == *place && (target.name.is_empty() || asked.name == target.name)
        })
    }

    /// Whether a verb is what was allowed, for the same reason.
    pub(crate) fn may_do(&self, verb: Verb) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.verb == verb.name())
    }
}

/// What a server knows of access.
pub(crate) struct Access {
    mode: AuthorizationMode,
    anonymous: bool,
    /// Whether roles that gather those of others are kept up to date.
    aggregates: bool,
    tokens: Arc<HashMap<String, Arc<User>>>,
    /// Made when somebody asks who may not do everything.
    authorizer: OnceLock<Authorizer>,
    /// Held while it is made, so that no write is missed.
    making: Mutex<()>,
    modes: Modes,
}

impl Access {
    pub(crate) fn new(options: &Options) -> Self {
        Access {
            mode: options.authorization,
            anonymous: options.anonymous,
            aggregates: options.aggregated_roles,
            tokens: Arc::new(options.tokens.clone()),
            authorizer: OnceLock::new(),
            making: Mutex::new(()),
            modes: Modes::default(),
        }
    }

    /// That of a fork, which reads roles and bindings from its own store when somebody asks.
    pub(crate) fn fork(&self) -> Self {
        Access {
            mode: self.mode,
            anonymous: self.anonymous,
            aggregates: self.aggregates,
            tokens: Arc::clone(&self.tokens),
            authorizer: OnceLock::new(),
            making: Mutex::new(()),
            modes: Modes::default(),
        }
    }
}

/// What a request asks for, by its method and its address.
pub(crate) fn attributes_of(method: &str, uri: &str) -> Attributes<'static> {
    let (path, query) = match uri.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (uri, None),
    };
    Attributes::of_request(method, &percent_decode(path), &query::Lazy::new(query)).into_owned()
}

/// Whether a user may do what is asked.
pub(crate) fn decide(server: &Server, user: &User, asked: &Attributes<'_>) -> Decision {
    if user.is_master() || server.access.mode == AuthorizationMode::AlwaysAllow {
        return Decision::ALLOWED;
    }
    server.authorizer().decide(user, asked)
}

impl Server {
    /// Roles and bindings as they are.
    pub(crate) fn authorizer(&self) -> &Authorizer {
        let access = &self.access;
        if let Some(authorizer) = access.authorizer.get() {
            return authorizer;
        }
        let _making = access.making.lock();
        access.authorizer.get_or_init(|| Authorizer::new(self.policy()))
    }

    /// Who decides.
    pub(crate) fn authorization_mode(&self) -> AuthorizationMode {
        self.access.mode
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        for table in Table::ALL {
            let resource = Registry::builtin().known(RBAC, table.resource());
            for record in self.store.snapshot(resource.table).records(None, None) {
                let object = object::to_value(resource, record, record.revision);
                policy.set(table, &record.key, Some(&object));
            }
        }
        policy
    }

    /// What follows from a write of a role or a binding: it counts at once.
    pub(crate) fn after_access(&self, resource: &Resource, object: &Value) {
        if resource.group != RBAC {
            return;
        }
        let Some(table) = Table::of_resource(&resource.plural) else {
            return;
        };
        let key = object::key(meta_text(object, "namespace"), meta_text(object, "name"));
        self.take_note(resource, table, &key);
        if table == Table::ClusterRoles {
            self.aggregate_roles();
        }
    }

    /// Lets the authorizer know that a role or a binding is another one.
    fn take_note(&self, resource: &Resource, table: Table, key: &str) {
        let making = self
            .access
            .authorizer
            .get()
            .is_none()
            .then(|| self.access.making.lock());
        let Some(authorizer) = self.access.authorizer.get() else {
            // Whoever asks first reads everything.
            return;
        };
        drop(making);
        authorizer.refresh(table, key, || {
            let record = self.store.get(resource.table, key)?;
            Some(object::to_value(resource, &record, record.revision))
        });
    }
}

impl ApiServer {
    /// Lets a request in, or answers 401, 403 or 400. Only its head is looked at.
    pub(crate) fn admit(&self, identity: &Identity, parts: &Parts) -> Result<Admitted, Box<Response<Body>>> {
        let server = &*self.server;
        let mut draft = server.audit.begin(server, parts);
        let attempt = catch_unwind(AssertUnwindSafe(|| server.let_in(identity, parts, &mut draft)));
        let refusal = match attempt {
            Ok(Ok((user, asked, warnings))) => {
                return Ok(Admitted {
                    user,
                    asked,
                    warnings,
                    draft: Some(draft),
                });
            }
            Ok(Err(refusal)) => refusal,
            Err(_) => Box::new(respond::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "This request caused apiserver to panic. Look in the logs for details.",
            )),
        };
        let mut response = *refusal;
        if parts.method == http::Method::HEAD {
            *response.body_mut() = Body::empty();
        }
        draft.finish(&server.audit, &mut response);
        Err(Box::new(response))
    }
}

type LetIn = (Arc<User>, Option<Attributes<'static>>, Vec<String>);

impl Server {
    fn let_in(&self, identity: &Identity, parts: &Parts, draft: &mut Draft) -> Result<LetIn, Box<Response<Body>>> {
        let refuse = |status: &Status| {
            let query = Query::parse(parts.uri.query());
            let output = negotiate::fallback(&parts.headers, query.flag("pretty"));
            // Upstream looks at the deadline before it asks who is there.
            match bad_timeout(parts, &query) {
                Some(status) => Box::new(respond::refuse(&status, output, &[])),
                None => Box::new(respond::refuse(status, output, &[])),
            }
        };
        if let Some(response) = unreadable(parts) {
            return Err(Box::new(response));
        }
        let mut warnings = Vec::new();
        let Some(requestor) = authenticate::authenticate(self, identity, &parts.headers, &mut warnings) else {
            draft.verdict = Verdict::Unauthenticated;
            return Err(refuse(&Status::unauthorized()));
        };
        draft.user = Some(Arc::clone(&requestor));
        let wanted = impersonate::wanted(&parts.headers).map_err(|status| unsniffable(refuse(&status)))?;
        if wanted.is_none() && (requestor.is_master() || self.access.mode == AuthorizationMode::AlwaysAllow) {
            draft.verdict = Verdict::Decided(Decision::ALLOWED);
            return Ok((requestor, None, warnings));
        }
        let path = percent_decode(parts.uri.path());
        let query = query::Lazy::new(parts.uri.query());
        let asked = Attributes::of_request(parts.method.as_str(), &path, &query);
        let forbid = |forbidden: &Forbidden| {
            let mut response = refuse(&forbidden_status(forbidden));
            if response.status() == StatusCode::FORBIDDEN {
                response = unsniffable(response);
            }
            respond::warn(response.headers_mut(), &warnings);
            response
        };
        let user = match wanted {
            None => requestor,
            Some(wanted) => {
                let ask = |user: &User, asked: &Attributes<'_>| decide(self, user, asked);
                match kubewright_access::impersonate(&self.access.modes, &requestor, &wanted, &asked, &ask) {
                    Ok(impersonated) => {
                        let user = Arc::new(impersonated.user);
                        draft.impersonated = Some((Arc::clone(&user), impersonated.constraint));
                        user
                    }
                    Err(forbidden) => {
                        draft.verdict = Verdict::MayNotImpersonate;
                        return Err(forbid(&forbidden));
                    }
                }
            }
        };
        let decision = decide(self, &user, &asked);
        draft.verdict = Verdict::Decided(decision.clone());
        if !decision.allowed {
            return Err(forbid(&Forbidden::of(&user, &asked, &decision)));
        }
        let asked = (!user.is_master()).then(|| asked.into_owned());
        Ok((user, asked, warnings))
    }
}

/// The answer to a path that says how, but not what: `/api/v1/watch`.
fn unreadable(parts: &Parts) -> Option<Response<Body>> {
    let path = parts.uri.path().trim_matches('/');
    if !path.ends_with("/watch") && !path.ends_with("/proxy") {
        return None;
    }
    let segments: Vec<&str> = path.split('/').collect();
    if !matches!(segments.as_slice(), ["api", _, _] | ["apis", _, _, _]) {
        return None;
    }
    let uri = parts.uri.path_and_query().map_or(path, http::uri::PathAndQuery::as_str);
    let text = format!(
        "Internal Server Error: {}: failed to create RequestInfo: unable to determine kind and namespace from url, {uri}",
        quote(uri)
    );
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut response = respond::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{text}\n"));
    response.headers_mut().remove(header::CACHE_CONTROL);
    Some(response)
}

/// What is wrong with the deadline of a request, if it has one that counts.
fn bad_timeout(parts: &Parts, query: &Query) -> Option<Box<Status>> {
    let text = query.get("timeout")?;
    let asked = attributes_of(parts.method.as_str(), &parts.uri.to_string());
    let is_long = matches!(&*asked.verb, "watch" | "proxy")
        || matches!(&*asked.subresource, "attach" | "exec" | "log" | "portforward" | "proxy");
    let why = timeout::check(Some(text), Verb::Get).err().filter(|_| !is_long)?;
    Some(Status::bad_request(format!(
        "invalid timeout specified in the request URL - {why}"
    )))
}

/// Browsers shall not guess what a refusal is.
fn unsniffable(mut response: Box<Response<Body>>) -> Box<Response<Body>> {
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The 403 of a refusal.
pub(crate) fn forbidden_status(forbidden: &Forbidden) -> Box<Status> {
    let about = About {
        group: &forbidden.group,
        resource: &forbidden.resource,
    };
    let mut status = Status::forbidden(about, &forbidden.name, &forbidden.why);
    if forbidden.resource.is_empty() && forbidden.group.is_empty() {
        // About nothing in particular, upstream's sentence begins with the verdict.
        status.message = format!("forbidden: {}", forbidden.why);
    }
    status
}
