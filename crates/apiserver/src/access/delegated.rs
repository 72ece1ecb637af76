//! Access that another server decides about: the same stages, but each question may have to be sent.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use http::Response;
use kubewright_access::{Attributes, Decision, Forbidden, Impersonated, User};
use kubewright_apimachinery::go::quote;

use super::{Authorized, Identity, authenticate, forbidden_status, impersonate, no_sniff, refuse, unreadable};
use crate::audit::{AccessOutcome, AuditDraft};
use crate::extension::DelegatedAccess;
use crate::request::RequestHead;
use crate::server::Server;
use crate::stream::websocket;
use crate::wire::body::Body;
use crate::wire::respond;
use crate::wire::status::Status;

type Refused = Box<Response<Body>>;

impl Server {
    /// Finds out through another server who asks, and whether they may.
    pub(crate) async fn authorize_by(
        &self,
        access: &dyn DelegatedAccess,
        identity: &Identity,
        head: &RequestHead<'_>,
        draft: &mut AuditDraft,
    ) -> Result<Authorized, Refused> {
        if let Some(response) = unreadable(head) {
            return Err(Box::new(response));
        }
        let mut warnings = Vec::new();
        let Some((requestor, token_among_protocols)) = who(self, access, identity, head, &mut warnings).await else {
            draft.unauthenticated(self, head);
            return Err(refuse(head, &Status::unauthorized()));
        };
        draft.authenticated(self, head, Arc::clone(&requestor));
        let asked = head.attributes();
        let forbid = |forbidden: &Forbidden| {
            let mut response = no_sniff(refuse(head, &forbidden_status(forbidden)));
            respond::warn(response.headers_mut(), &warnings);
            response
        };
        let wanted = impersonate::wanted(head.headers()).map_err(|status| no_sniff(refuse(head, &status)))?;
        let user = match wanted {
            None => requestor,
            Some(wanted) => {
                let impersonating = self.impersonate_by(access, &requestor, &wanted, &asked);
                match impersonating.await.map_err(|why| unknown(head, &why))? {
                    Ok(impersonated) => {
                        let user = Arc::new(impersonated.user);
                        draft.impersonated = Some((Arc::clone(&user), impersonated.constraint));
                        user
                    }
                    Err(forbidden) => {
                        draft.outcome = AccessOutcome::MayNotImpersonate;
                        return Err(forbid(&forbidden));
                    }
                }
            }
        };
        let decision = decide_by(access, &user, &asked).await;
        let decision = decision.map_err(|why| unknown(head, &why))?;
        draft.outcome = AccessOutcome::Decided(decision.clone());
        if !decision.allowed {
            return Err(forbid(&Forbidden::of(&user, &asked, &decision)));
        }
        Ok(Authorized {
            user,
            warnings,
            token_among_protocols,
            // The server that reviewed the token does not say.
            expires: None,
        })
    }

    /// Whether a user may act as another one. The rules ask and do not wait: what they ask for the first time is sent, and they
    /// are tried once more with the answer.
    async fn impersonate_by(
        &self,
        access: &dyn DelegatedAccess,
        requestor: &User,
        wanted: &User,
        asked: &Attributes<'_>,
    ) -> Result<Result<Impersonated, Forbidden>, String> {
        let mut known: Vec<((User, Attributes<'static>), Decision)> = Vec::new();
        loop {
            let next = {
                let missing: RefCell<Option<(User, Attributes<'static>)>> = RefCell::new(None);
                let ask = |user: &User, asked: &Attributes<'_>| {
                    let question = (user.clone(), asked.clone().into_owned());
                    if let Some((_, decision)) = known.iter().find(|(asked, _)| *asked == question) {
                        return decision.clone();
                    }
                    missing.borrow_mut().get_or_insert(question);
                    Decision::DENIED
                };
                let result = kubewright_access::impersonate(&self.access.modes, requestor, wanted, asked, &ask);
                match missing.into_inner() {
                    None => return Ok(result),
                    Some(missing) => missing,
                }
            };
            let decision = decide_by(access, &next.0, &next.1).await?;
            known.push((next, decision));
        }
    }
}

/// Whether a user may do what is asked. Masters may do everything, whatever another server says.
pub(super) async fn decide_by(
    access: &dyn DelegatedAccess,
    user: &User,
    asked: &Attributes<'_>,
) -> Result<Decision, String> {
    if user.is_master() {
        return Ok(Decision::ALLOWED);
    }
    access.authorize(user, asked).await
}

/// Who sends a request, and whether by a token among the WebSocket protocols it offers; `None` if what it says of them is wrong.
async fn who(
    server: &Server,
    access: &dyn DelegatedAccess,
    identity: &Identity,
    head: &RequestHead<'_>,
    warnings: &mut Vec<String>,
) -> Option<(Arc<User>, bool)> {
    static ANYBODY: OnceLock<Arc<User>> = OnceLock::new();
    let headers = head.headers();
    let chain = match identity {
        Identity::Proven(user) => return Some((Arc::clone(user), false)),
        Identity::Shown(chain) => &**chain,
        Identity::Unknown | Identity::Refused | Identity::Proxy(..) => &[],
    };
    let certified = access.by_certificate(chain, headers);
    if let Ok(Some(user)) = certified {
        return Some((Arc::new(user), false));
    }
    let bearer = authenticate::bearer(headers, warnings);
    if let Some(token) = &bearer
        && let Some(user) = access.by_token(token).await
    {
        return Some((Arc::new(user), false));
    }
    let among_protocols = websocket::offered_token(headers);
    if let Ok(Some(token)) = &among_protocols
        && let Some(user) = access.by_token(token).await
    {
        return Some((Arc::new(user), true));
    }
    let shows_something = bearer.is_some() || !matches!(among_protocols, Ok(None)) || certified.is_err();
    if shows_something || matches!(identity, Identity::Refused) || !server.access.anonymous {
        return None;
    }
    Some((Arc::clone(ANYBODY.get_or_init(|| Arc::new(User::anonymous()))), false))
}

/// The answer where nobody knows whether a request is allowed.
pub(super) fn unknown(head: &RequestHead<'_>, why: &str) -> Refused {
    let uri = &head.parts.uri;
    let uri = uri.path_and_query().map_or(uri.path(), http::uri::PathAndQuery::as_str);
    let text = format!("Internal Server Error: {}: {why}\n", quote(uri));
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Box::new(respond::text(http::StatusCode::INTERNAL_SERVER_ERROR, text))
}
