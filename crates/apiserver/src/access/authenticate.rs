//! Who sends a request: the transport's identity, else that of a bearer token (of the header, or among the protocols that the client of
//! a WebSocket offers), else the anonymous user (Z1).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use kubewright_access::AUTHENTICATED;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::quote::quote_list;
use serde_json::Value;

use super::{Identity, User};
use crate::access::tokens;
use crate::object::{self, meta_text};
use crate::registry::BuiltInId;
use crate::server::Server;
use crate::stream::websocket;

/// Clocks may differ by so much, and what is being deleted counts for so much longer.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

const EXTRA_SPACE: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// What a token says of its bearer.
pub(crate) struct Reviewed {
    pub(crate) user: User,
    /// Those of the wanted audiences for which the token is good.
    pub(crate) audiences: Vec<String>,
    /// When the token expires; `None` for one that does not.
    pub(crate) expires: Option<Timestamp>,
}

/// Who sends a request.
pub(super) struct Authenticated {
    pub(super) user: Arc<User>,
    /// Whether the token is one of the WebSocket protocols that the client offers.
    pub(super) token_among_protocols: bool,
    /// When the token by which the client was authenticated expires.
    pub(super) expires: Option<Timestamp>,
}

impl From<Arc<User>> for Authenticated {
    fn from(user: Arc<User>) -> Self {
        Authenticated {
            user,
            token_among_protocols: false,
            expires: None,
        }
    }
}

/// The user a request is of; `None` if what it says of them is wrong.
pub(super) fn authenticate(
    server: &Server,
    identity: &Identity,
    headers: &HeaderMap,
    warnings: &mut Vec<String>,
) -> Option<Authenticated> {
    static ANYBODY: OnceLock<Arc<User>> = OnceLock::new();
    let identity = match identity {
        Identity::Proxy(names, otherwise) => match names.user(headers) {
            Some(user) => return Some(Arc::new(user).into()),
            None => &**otherwise,
        },
        identity => identity,
    };
    if let Identity::Proven(user) = identity {
        return Some(Arc::clone(user).into());
    }
    let bearer = bearer(headers, warnings);
    if let Some(token) = &bearer
        && let Ok(reviewed) = server.review(token, None)
    {
        return Some(Authenticated {
            user: Arc::new(reviewed.user),
            token_among_protocols: false,
            expires: reviewed.expires,
        });
    }
    let among_protocols = websocket::offered_token(headers);
    if let Ok(Some(token)) = &among_protocols
        && let Ok(reviewed) = server.review(token, None)
    {
        return Some(Authenticated {
            user: Arc::new(reviewed.user),
            token_among_protocols: true,
            expires: reviewed.expires,
        });
    }
    // Somebody who shows something that is wrong is not taken for an anonymous client.
    let shows_something = bearer.is_some() || !matches!(among_protocols, Ok(None));
    if shows_something || matches!(identity, Identity::Refused) || !server.access.anonymous {
        return None;
    }
    Some(Arc::clone(ANYBODY.get_or_init(|| Arc::new(User::anonymous()))).into())
}

/// The token of an `Authorization` header.
pub(super) fn bearer(headers: &HeaderMap, warnings: &mut Vec<String>) -> Option<String> {
    // Bytes that are no text are no token of ours, but they are meant as one.
    let text = String::from_utf8_lossy(headers.get(header::AUTHORIZATION)?.as_bytes());
    let mut parts = text.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    if token.is_empty() {
        if parts.next().is_some() {
            warnings.push(EXTRA_SPACE.to_owned());
        }
        return None;
    }
    Some(token.to_owned())
}

impl Server {
    /// Whose token this is and for which of the wanted audiences it is good; without any, it must be good for this
    /// server. The error is what a `TokenReview` says.
    pub(crate) fn review(&self, token: &str, audiences: Option<&[String]>) -> Result<Reviewed, String> {
        const INVALID: &str = "invalid bearer token";
        let own = self.signer.audiences();
        let wanted = audiences.unwrap_or(own);
        let both = |first: &[String]| -> Vec<String> {
            first
                .iter()
                .filter(|audience| wanted.contains(audience))
                .cloned()
                .collect()
        };
        if let Some(user) = self.access.tokens.get(token) {
            let audiences = both(own);
            if !audiences.is_empty() {
                let mut user = User::clone(user);
                user.join(AUTHENTICATED);
                return Ok(Reviewed {
                    user,
                    audiences,
                    expires: None,
                });
            }
        }
        let claims = match self.signer.verify(token) {
            Ok(claims) => claims,
            Err(tokens::TokenError::NotOurs) => return Err(INVALID.to_owned()),
            Err(tokens::TokenError::Wrong(why)) => return Err(format!("[{INVALID}, {why}]")),
        };
        let judge = || {
            let named = texts(claims.get("aud"));
            let audiences = both(&named);
            if audiences.is_empty() {
                return Err(format!(
                    "token audiences {} is invalid for the target audiences {}",
                    quote_list(&named),
                    quote_list(wanted)
                ));
            }
            let mut user = self.account(&claims)?;
            user.join(AUTHENTICATED);
            Ok(Reviewed {
                user,
                audiences,
                expires: time(&claims, "exp"),
            })
        };
        judge().map_err(|why| format!("[{INVALID}, {why}]"))
    }

    /// The same for a token as it would stand in a header, where blanks part it.
    pub(crate) fn review_header(&self, token: &str, audiences: Option<&[String]>) -> Result<Reviewed, String> {
        let first = token.trim_end().split(' ').next().unwrap_or_default();
        if first.is_empty() {
            // No token at all is what anonymous clients send.
            if !self.access.anonymous {
                return Err(String::new());
            }
            return Ok(Reviewed {
                user: User::anonymous(),
                audiences: audiences.unwrap_or(self.signer.audiences()).to_vec(),
                expires: None,
            });
        }
        self.review(first, audiences)
    }

    /// The service account of a token whose signature is right, if it and what the token is bound to are still there.
    fn account(&self, claims: &Value) -> Result<User, String> {
        let now = self.clock.now();
        check_times(claims, now)?;
        let bound = &claims["kubernetes.io"];
        let namespace = text(bound, "namespace");
        let reference = |kind: &str| {
            let reference = bound.get(kind).filter(|reference| reference.is_object())?;
            Some((text(reference, "name"), text(reference, "uid")))
        };
        let (name, uid) = reference("serviceaccount").unwrap_or_default();
        let account = self
            .look_up(BuiltInId::ServiceAccounts, &object::key(namespace, name))
            .ok_or_else(|| format!("serviceaccounts {} not found", quote(name)))?;
        let found = meta_text(&account, "uid");
        if found != uid {
            return Err(format!("service account UID ({found}) does not match claim ({uid})"));
        }
        if is_gone(&account, now) {
            return Err(format!("service account {namespace}/{name} has been deleted"));
        }
        let mut extra = BTreeMap::new();
        let mut know = |key: &str, value: &str| {
            let key = format!("authentication.kubernetes.io/{key}");
            extra.insert(key, vec![value.to_owned()]);
        };
        for (kind, id) in [("secret", BuiltInId::Secrets), ("pod", BuiltInId::Pods)] {
            if let Some((name, uid)) = reference(kind) {
                self.check_bound((id, kind), &object::key(namespace, name), uid, now)?;
                if kind == "pod" && !name.is_empty() && !uid.is_empty() {
                    know("pod-name", name);
                    know("pod-uid", uid);
                }
            }
        }
        if let Some((name, uid)) = reference("node") {
            // The claims have the node of a Pod, but only a token that is bound to the node alone depends on it.
            if reference("pod").is_none() {
                self.check_bound((BuiltInId::Nodes, "node"), name, uid, now)?;
            }
            if !name.is_empty() {
                know("node-name", name);
                if !uid.is_empty() {
                    know("node-uid", uid);
                }
            }
        }
        let id = text(claims, "jti");
        if !id.is_empty() {
            know("credential-id", &format!("JTI={id}"));
        }
        let mut user = User::service_account(namespace, name).with_uid(uid);
        user.extra = extra;
        Ok(user)
    }

    fn look_up(&self, id: BuiltInId, key: &str) -> Option<Value> {
        let resource = id.resource();
        let record = self.store.get(resource.table, key)?;
        Some(object::to_value(resource, &record, record.revision))
    }

    fn check_bound(&self, (id, kind): (BuiltInId, &str), key: &str, uid: &str, now: Timestamp) -> Result<(), String> {
        let invalidated = || "service account token has been invalidated".to_owned();
        let object = self.look_up(id, key).ok_or_else(invalidated)?;
        let found = meta_text(&object, "uid");
        if found != uid {
            return Err(format!(
                "{kind} UID ({found}) does not match service account {kind} ref claim ({uid})"
            ));
        }
        if is_gone(&object, now) {
            Err(invalidated())
        } else {
            Ok(())
        }
    }
}

/// Whether something has been on its way out for longer than clocks may differ.
fn is_gone(object: &Value, now: Timestamp) -> bool {
    let deleted = meta_text(object, "deletionTimestamp").parse::<Timestamp>().ok();
    let before = now.saturating_sub(LEEWAY).unwrap_or(now);
    deleted.is_some_and(|deleted| deleted < before)
}

/// A time among the claims of a token.
fn time(claims: &Value, key: &str) -> Option<Timestamp> {
    let seconds = claims.get(key).and_then(Value::as_i64)?;
    Timestamp::from_second(seconds).ok()
}

fn check_times(claims: &Value, now: Timestamp) -> Result<(), String> {
    let time = |key: &str| time(claims, key);
    let later = now.saturating_add(LEEWAY).unwrap_or(now);
    let earlier = now.saturating_sub(LEEWAY).unwrap_or(now);
    if time("nbf").is_some_and(|time| later < time) {
        return Err("service account token is not valid yet".into());
    }
    if time("exp").is_none_or(|time| earlier > time) {
        return Err("service account token has expired".into());
    }
    if time("iat").is_some_and(|time| later < time) {
        return Err("service account token is issued in the future".into());
    }
    Ok(())
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// One text or a list of them.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(only)) => vec![only.clone()],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
