//! Authentication and authorization: identities of transports and tokens, impersonation, roles and bindings (Z1–Z7).
//!
//! [`Server::authorize`] is the stage every request passes before its body is read; [`ruling`] answers anybody else who
//! wants to know what a user may do, and [`Questions`] those who cannot wait for the answer.

mod aggregate;
mod authenticate;
mod delegated;
pub(crate) mod front_proxy;
mod guard;
mod impersonate;
mod node;
mod params;
mod questions;
mod signers;
pub(crate) mod tokens;
mod webhook;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
pub(crate) use kubewright_access::Decision;
pub use kubewright_access::{Attributes, User};
use kubewright_access::{Authorizer, Forbidden, Impersonated, Modes, Policy, RbacResource, Reason, ResourceInfo};
use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::go::quote;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use serde_json::Value;

pub(crate) use guard::{check_create_by_update, check_create_of_connection, check_escalation};
pub(crate) use params::check_params;
pub(crate) use questions::Questions;
pub(crate) use signers::check_signer;
pub use webhook::{AuthorizationWebhook, KubeconfigError};

use self::front_proxy::FrontProxyHeaders;
use self::webhook::{Opinion, Verdict};
use crate::audit::{AccessOutcome, AuditDraft};
use crate::extension::DelegatedAccess;
use crate::object::{self, meta_text};
use crate::registry::{BuiltInId, Resource};
use crate::request::RequestHead;
use crate::server::Server;
use crate::server::options::{AuthorizationMode, Options};
use crate::wire::body::Body;
use crate::wire::respond;
use crate::wire::status::{GroupResource, Status};

const RBAC: &str = "rbac.authorization.k8s.io";

/// What a transport knows of its client.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    /// The identity of the client.
    Proven(Arc<User>),
    /// The credentials of the client are invalid, such as a certificate of an unknown authority.
    Refused,
    /// Nothing: headers may tell more.
    Unknown,
    /// A front proxy, which says in headers whom a request is of; where it does not, the identity of its certificate counts.
    Proxy(Arc<FrontProxyHeaders>, Arc<Identity>),
    /// The certificates that it showed, about which [`DelegatedAccess`] decides.
    Shown(Arc<[CertificateDer<'static>]>),
}

impl Identity {
    /// The administrator, as the in-process transport serves them.
    pub(crate) fn admin() -> Identity {
        static ADMIN: OnceLock<Arc<User>> = OnceLock::new();
        Identity::Proven(Arc::clone(ADMIN.get_or_init(|| Arc::new(User::admin()))))
    }
}

/// A request that may go on.
pub(crate) struct Authorized {
    /// As whom.
    pub(crate) user: Arc<User>,
    pub(crate) warnings: Vec<String>,
    /// Whether one of the WebSocket protocols that the client offers is the token by which it was authenticated.
    pub(crate) token_among_protocols: bool,
    /// When the token by which it was authenticated expires; `None` for other credentials.
    pub(crate) expires: Option<Timestamp>,
}

/// What a server knows of access.
pub(crate) struct Access {
    /// Asked one after another.
    authorizers: Arc<[AuthorizationMode]>,
    anonymous: bool,
    /// Whether roles that gather those of others are kept up to date.
    aggregates: bool,
    tokens: Arc<HashMap<String, Arc<User>>>,
    /// The policy of the server that this one was forked from, as it was before that.
    inherited: Policy,
    /// Made by the first request that has to be authorized.
    authorizer: OnceLock<Authorizer>,
    /// Held while it is made, so that no write is missed.
    making: Mutex<()>,
    modes: Modes,
    /// Who decides instead of this server.
    delegated: Option<Arc<dyn DelegatedAccess>>,
}

impl Access {
    /// Who decides instead of this server.
    pub(crate) fn delegated(&self) -> Option<&Arc<dyn DelegatedAccess>> {
        self.delegated.as_ref()
    }

    pub(crate) fn new(options: &Options) -> Self {
        Access {
            authorizers: Arc::clone(&options.authorization),
            anonymous: options.anonymous,
            aggregates: options.aggregated_roles,
            tokens: Arc::new(options.tokens.clone()),
            inherited: Policy::default(),
            authorizer: OnceLock::new(),
            making: Mutex::new(()),
            modes: Modes::default(),
            delegated: options.delegated.clone(),
        }
    }

    /// Whether nobody is asked whether a request is allowed.
    fn allows_everything(&self) -> bool {
        self.authorizers.first() == Some(&AuthorizationMode::AlwaysAllow)
    }

    /// Whether somebody outside the server is asked.
    fn asks_webhooks(&self) -> bool {
        let is_webhook = |mode: &AuthorizationMode| matches!(mode, AuthorizationMode::Webhook(_));
        self.authorizers.iter().any(is_webhook)
    }

    /// The access of a fork, which reads from its own store, when first needed, the roles and bindings that are
    /// not as they are here. To be made before the store is forked: a revision that is known here means the same there.
    pub(crate) fn fork(&self) -> Self {
        let inherited = self.authorizer.get().map(Authorizer::policy);
        self.fork_with(inherited.unwrap_or_else(|| self.inherited.clone()))
    }

    /// The access of a fork of the past, which reads all of them: what is known here may be of revisions that the fork gives to writes of its own.
    pub(crate) fn fork_of_past(&self) -> Self {
        self.fork_with(Policy::default())
    }

    fn fork_with(&self, inherited: Policy) -> Self {
        Access {
            authorizers: Arc::clone(&self.authorizers),
            anonymous: self.anonymous,
            aggregates: self.aggregates,
            tokens: Arc::clone(&self.tokens),
            inherited,
            authorizer: OnceLock::new(),
            making: Mutex::new(()),
            modes: Modes::default(),
            delegated: self.delegated.clone(),
        }
    }
}

/// What all authorizers come to.
#[derive(Debug)]
pub(crate) struct Ruling {
    pub(crate) decision: Decision,
    /// Whether somebody said no, rather than nobody yes.
    pub(crate) denied: bool,
    /// What went wrong on the way.
    pub(crate) error: Option<String>,
}

impl From<Decision> for Ruling {
    fn from(decision: Decision) -> Self {
        Ruling {
            decision,
            denied: false,
            error: None,
        }
    }
}

/// Whether a user may do what is asked, by all authorizers, also those that have to be waited for.
pub(crate) async fn ruling(server: &Server, user: &User, asked: &Attributes<'_>) -> Ruling {
    if user.is_master() || !server.access.asks_webhooks() {
        return decide(server, user, asked).into();
    }
    // Boxed, so that the future of a request that nobody else is asked about does not grow.
    Box::pin(ruling_with_webhooks(server, user, asked)).await
}

async fn ruling_with_webhooks(server: &Server, user: &User, asked: &Attributes<'_>) -> Ruling {
    let (mut reasons, mut errors) = (Vec::new(), Vec::new());
    for mode in server.access.authorizers.iter() {
        let Opinion { verdict, reason, error } = match mode {
            AuthorizationMode::Webhook(webhook) => webhook.ask(server, user, asked).await,
            mode => Opinion::of(&decide_by_mode(server, mode, user, asked)),
        };
        if verdict != Verdict::NoOpinion {
            return Ruling {
                decision: Decision::reviewed(verdict == Verdict::Allow, &reason),
                denied: verdict == Verdict::Deny,
                error,
            };
        }
        reasons.extend((!reason.is_empty()).then_some(reason));
        errors.extend(error);
    }
    Ruling {
        decision: Decision::reviewed(false, &reasons.join("\n")),
        denied: false,
        error: aggregate(errors),
    }
}

/// Whether one authorizer of this server allows what is asked. A webhook has no opinion that is known at once.
fn decide_by_mode(server: &Server, mode: &AuthorizationMode, user: &User, asked: &Attributes<'_>) -> Decision {
    match mode {
        AuthorizationMode::AlwaysAllow => Decision::ALLOWED,
        AuthorizationMode::AlwaysDeny => Decision::EVERYTHING_FORBIDDEN,
        AuthorizationMode::Node => node::decide(server, user, asked),
        AuthorizationMode::Rbac => server.authorizer().decide(user, asked),
        AuthorizationMode::Webhook(_) => Decision::DENIED,
    }
}

/// Whether a user may do what is asked, by the authorizers that need not be waited for.
pub(crate) fn decide(server: &Server, user: &User, asked: &Attributes<'_>) -> Decision {
    if user.is_master() {
        return Decision::ALLOWED;
    }
    let mut refusals: Vec<Decision> = Vec::new();
    for mode in server.access.authorizers.iter() {
        let decision = decide_by_mode(server, mode, user, asked);
        if decision.allowed {
            return decision;
        }
        if decision.reason != Reason::None {
            refusals.push(decision);
        }
    }
    if refusals.len() > 1 {
        let reasons: Vec<String> = refusals.iter().map(|refusal| refusal.reason.to_string()).collect();
        return Decision::reviewed(false, &reasons.join("\n"));
    }
    refusals.pop().unwrap_or(Decision::DENIED)
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

    /// Whether somebody outside the server is asked what users may do.
    pub(crate) fn asks_webhooks(&self) -> bool {
        self.access.asks_webhooks()
    }

    /// The authorization modes, in the order in which they are asked.
    pub(crate) fn authorization_modes(&self) -> &[AuthorizationMode] {
        &self.access.authorizers
    }

    fn policy(&self) -> Policy {
        let mut policy = self.access.inherited.clone();
        for table in RbacResource::ALL {
            let resource = resource_of(table).resource();
            let snapshot = self.store.snapshot(resource.table);
            let present = snapshot.records(None, None);
            let present: Vec<_> = present.map(|record| (&*record.key, record.revision.0)).collect();
            policy.catch_up(table, &present, |key| {
                let record = snapshot.get(key)?;
                Some(object::to_value(resource, record, record.revision))
            });
        }
        policy
    }

    /// Makes a written role or binding count at once.
    pub(crate) fn after_access(&self, resource: &Resource, object: &Value) {
        let Some(table) = RbacResource::ALL
            .into_iter()
            .find(|table| resource.is(resource_of(*table)))
        else {
            return;
        };
        let key = object::key(meta_text(object, "namespace"), meta_text(object, "name"));
        self.refresh_authorizer(resource, table, &key);
        if table == RbacResource::ClusterRoles {
            self.aggregate_roles();
        }
    }

    /// Makes the authorizer read a role or a binding again.
    fn refresh_authorizer(&self, resource: &Resource, table: RbacResource, key: &str) {
        let making = self
            .access
            .authorizer
            .get()
            .is_none()
            .then(|| self.access.making.lock());
        let Some(authorizer) = self.access.authorizer.get() else {
            // The first decision makes the authorizer from everything that is stored.
            return;
        };
        drop(making);
        authorizer.refresh(table, key, || {
            let record = self.store.get(resource.table, key)?;
            Some(object::to_value(resource, &record, record.revision))
        });
    }
}

/// The resource whose objects a table of the policy holds.
fn resource_of(table: RbacResource) -> BuiltInId {
    match table {
        RbacResource::Roles => BuiltInId::Roles,
        RbacResource::ClusterRoles => BuiltInId::ClusterRoles,
        RbacResource::RoleBindings => BuiltInId::RoleBindings,
        RbacResource::ClusterRoleBindings => BuiltInId::ClusterRoleBindings,
    }
}

impl Server {
    /// Finds out who asks, and whether they may: the answer is 401, 403 or 400 otherwise. Only the head is looked at.
    pub(crate) async fn authorize(
        &self,
        identity: &Identity,
        head: &RequestHead<'_>,
        draft: &mut AuditDraft,
    ) -> Result<Authorized, Box<Response<Body>>> {
        if let Some(response) = unreadable(head) {
            return Err(Box::new(response));
        }
        let mut warnings = Vec::new();
        let authenticated = authenticate::authenticate(self, identity, head.headers(), &mut warnings);
        let Some(authenticate::Authenticated {
            user: requestor,
            token_among_protocols,
            expires,
        }) = authenticated
        else {
            draft.unauthenticated(self, head);
            return Err(refuse(head, &Status::unauthorized()));
        };
        draft.authenticated(self, head, Arc::clone(&requestor));
        let wanted = impersonate::wanted(head.headers()).map_err(|status| no_sniff(refuse(head, &status)))?;
        if wanted.is_none() && (requestor.is_master() || self.access.allows_everything()) {
            draft.outcome = AccessOutcome::Decided(Decision::ALLOWED);
            return Ok(Authorized {
                user: requestor,
                warnings,
                token_among_protocols,
                expires,
            });
        }
        let asked = head.attributes();
        let forbid = |forbidden: &Forbidden| {
            let mut response = refuse(head, &forbidden_status(forbidden));
            if response.status() == StatusCode::FORBIDDEN {
                response = no_sniff(response);
            }
            respond::warn(response.headers_mut(), &warnings);
            response
        };
        let user = match wanted {
            None => requestor,
            Some(wanted) => {
                let impersonated = self.impersonate(&requestor, &wanted, &asked).await;
                draft
                    .impersonates(impersonated)
                    .map_err(|forbidden| forbid(&forbidden))?
            }
        };
        let Ruling { decision, error, .. } = ruling(self, &user, &asked).await;
        draft.outcome = AccessOutcome::Decided(decision.clone());
        if !decision.allowed {
            return Err(match error {
                Some(why) => delegated::unknown(head, &why),
                None => forbid(&Forbidden::of(&user, &asked, &decision)),
            });
        }
        Ok(Authorized {
            user,
            warnings,
            token_among_protocols,
            expires,
        })
    }

    /// Whether a user may act as another one.
    async fn impersonate(
        &self,
        requestor: &User,
        wanted: &User,
        asked: &Attributes<'_>,
    ) -> Result<Impersonated, Forbidden> {
        if !self.access.asks_webhooks() {
            let ask = |user: &User, asked: &Attributes<'_>| decide(self, user, asked);
            return kubewright_access::impersonate(&self.access.modes, requestor, wanted, asked, &ask);
        }
        let questions = Questions::default();
        let impersonating = questions.settled(self, || {
            let ask = |user: &User, asked: &Attributes<'_>| questions.decide(user, asked);
            kubewright_access::impersonate(&self.access.modes, requestor, wanted, asked, &ask)
        });
        Box::pin(impersonating).await
    }
}

/// A refusal; of its deadline, where that is malformed: upstream looks at it before it asks who is there.
fn refuse(head: &RequestHead<'_>, status: &Status) -> Box<Response<Body>> {
    let bad_timeout = head
        .bad_timeout()
        .map(|why| Status::bad_request(format!("invalid timeout specified in the request URL - {why}")));
    let status = bad_timeout.as_deref().unwrap_or(status);
    Box::new(respond::refuse(status, head.error_output(), &[]))
}

/// The answer to a path that says how, but not what: `/api/v1/watch`.
fn unreadable(head: &RequestHead<'_>) -> Option<Response<Body>> {
    head.info.resource.filter(ResourceInfo::names_nothing)?;
    let uri = &head.parts.uri;
    let uri = uri.path_and_query().map_or(uri.path(), http::uri::PathAndQuery::as_str);
    let text = format!(
        "Internal Server Error: {}: failed to create RequestInfo: unable to determine kind and namespace from url, {uri}",
        quote(uri)
    );
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut response = respond::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{text}\n"));
    response.headers_mut().remove(header::CACHE_CONTROL);
    Some(response)
}

/// Forbids browsers to guess what a refusal is.
fn no_sniff(mut response: Box<Response<Body>>) -> Box<Response<Body>> {
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The 403 of a refusal.
pub(crate) fn forbidden_status(forbidden: &Forbidden) -> Box<Status> {
    let about = GroupResource {
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
