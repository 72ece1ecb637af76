//! Access that another server decides about: the same stages, but each question may have to be sent.

use std::sync::{Arc, OnceLock};

use http::Response;
use kubewright_access::{Attributes, Decision, Forbidden, Impersonated, User};
use kubewright_apimachinery::go::quote;

use super::questions::Question;
use super::{
    Authorized, Identity, Questions, authenticate, forbidden_status, impersonate, no_sniff, refuse, unreadable,
};
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
                let impersonating = self.impersonate_by(access, &requestor, &wanted, &asked).await;
                let impersonated = impersonating.map_err(|why| unknown(head, &why))?;
                draft
                    .impersonates(impersonated)
                    .map_err(|forbidden| forbid(&forbidden))?
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

    /// Whether a user may act as another one.
    async fn impersonate_by(
        &self,
        access: &dyn DelegatedAccess,
        requestor: &User,
        wanted: &User,
        asked: &Attributes<'_>,
    ) -> Result<Result<Impersonated, Forbidden>, String> {
        let questions = Questions::default();
        let impersonating = || {
            let ask = |user: &User, asked: &Attributes<'_>| questions.decide(user, asked);
            kubewright_access::impersonate(&self.access.modes, requestor, wanted, asked, &ask)
        };
        let answer = |question: Question| async move {
            let decision = decide_by(access, &question.0, &question.1).await?;
            Ok((question, decision))
        };
        questions.settled_by(impersonating, answer).await
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
