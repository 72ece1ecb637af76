//! Authorizes requests for an endpoint: the API server reviews tokens and permissions, as with controller-runtime's filter.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use super::cache::TtlCache;
use super::response::{HttpResponse, error};
use super::review::review;
use super::router::{Handler, Router};
use crate::random::Random;

const TOKENS: Duration = Duration::from_mins(1);
const ALLOWED: Duration = Duration::from_mins(5);
const DENIED: Duration = Duration::from_secs(30);
/// Longer tokens are refused without a review.
const LONGEST_TOKEN: usize = 64 << 10;

struct Inner {
    client: kube::Client,
    random: Random,
    /// The user of a token; nothing for tokens that are not valid.
    users: TtlCache<String, Option<Arc<User>>>,
    decisions: TtlCache<(Arc<User>, String, String), bool>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct User {
    name: String,
    /// As the review of a token says it and the review of an access wants it.
    spec: String,
}

/// Lets in who has a valid bearer token and may do the request's method (`get`) on its path, by RBAC a rule like
/// `nonResourceURLs: ["/metrics"], verbs: [get]`.
///
/// The operator itself needs `create` on `tokenreviews.authentication.k8s.io` and `subjectaccessreviews.authorization.k8s.io`.
/// Tokens are remembered for a minute, permissions for five minutes and refusals for half a minute.
#[derive(Clone)]
pub(crate) struct Authorizer(Arc<Inner>);

impl Authorizer {
    /// An authorizer that asks this server.
    pub(crate) fn new(client: kube::Client) -> Self {
        Authorizer(Arc::new(Inner {
            client,
            random: Random::from_entropy(),
            users: TtlCache::new(),
            decisions: TtlCache::new(),
        }))
    }

    /// Protects everything a router serves.
    pub(crate) fn protect(&self, router: Router) -> Router {
        router.map(|handler| {
            Arc::new(AuthorizedHandler {
                authorizer: self.clone(),
                handler,
            })
        })
    }

    /// The refusal of a request, if it is refused.
    async fn refuse(&self, headers: &HeaderMap, verb: &str, path: &str) -> Option<HttpResponse> {
        let Some(token) = bearer_token(headers) else {
            return Some(error(StatusCode::UNAUTHORIZED, "Unauthorized"));
        };
        let user = match self.authenticate(token).await {
            Ok(Some(user)) => user,
            // Go's authenticators make an error of a token that is not valid, hence not 401.
            failed => {
                let reason = failed.err().unwrap_or_else(|| "invalid bearer token".to_owned());
                tracing::warn!(reason, path, "authentication failed");
                return Some(error(StatusCode::INTERNAL_SERVER_ERROR, "Authentication failed"));
            }
        };
        match self.authorize(&user, verb, path).await {
            Ok(true) => None,
            Ok(false) => Some(error(
                StatusCode::FORBIDDEN,
                &format!("Authorization denied for user {}", user.name),
            )),
            Err(reason) => {
                tracing::warn!(reason, path, user = user.name, "authorization failed");
                let what = format!("Authorization for user {} failed", user.name);
                Some(error(StatusCode::INTERNAL_SERVER_ERROR, &what))
            }
        }
    }

    async fn authenticate(&self, token: &str) -> Result<Option<Arc<User>>, String> {
        if token.len() > LONGEST_TOKEN {
            return Ok(None);
        }
        if let Some(known) = self.0.users.get(&token.to_owned()) {
            return Ok(known);
        }
        let Inner { client, random, .. } = &*self.0;
        let spec = json!({ "token": token });
        let status = review(
            client,
            random,
            "authentication.k8s.io",
            "TokenReview",
            "tokenreviews",
            &spec,
        )
        .await?;
        let user = (status["authenticated"] == json!(true)).then(|| Arc::new(User::of(&status["user"])));
        self.0.users.put(token.to_owned(), user.clone(), TOKENS);
        Ok(user)
    }

    async fn authorize(&self, user: &Arc<User>, verb: &str, path: &str) -> Result<bool, String> {
        let key = (Arc::clone(user), verb.to_owned(), path.to_owned());
        if let Some(known) = self.0.decisions.get(&key) {
            return Ok(known);
        }
        let mut spec: Value = serde_json::from_str(&user.spec).map_err(|error| error.to_string())?;
        spec["nonResourceAttributes"] = json!({ "path": path, "verb": verb });
        let Inner { client, random, .. } = &*self.0;
        let (group, kind, plural) = ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews");
        let status = review(client, random, group, kind, plural, &spec).await?;
        let allowed = status["allowed"] == json!(true);
        self.0
            .decisions
            .put(key, allowed, if allowed { ALLOWED } else { DENIED });
        Ok(allowed)
    }
}

impl User {
    fn of(user: &Value) -> Self {
        let mut spec = Map::new();
        // The name is called `user` there.
        for (there, here) in [
            ("username", "user"),
            ("uid", "uid"),
            ("groups", "groups"),
            ("extra", "extra"),
        ] {
            if let Some(value) = user.get(there).filter(|value| !value.is_null()) {
                spec.insert(here.to_owned(), value.clone());
            }
        }
        User {
            name: user["username"].as_str().unwrap_or_default().to_owned(),
            spec: Value::Object(spec).to_string(),
        }
    }
}

/// The token of a request; nothing where the header has another scheme.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer")
    }
}

/// Marks a request that the cluster allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Authorized;

struct AuthorizedHandler {
    authorizer: Authorizer,
    handler: Arc<dyn Handler>,
}

impl Handler for AuthorizedHandler {
    fn call(&self, request: Request<Incoming>) -> BoxFuture<'static, HttpResponse> {
        let (authorizer, handler) = (self.authorizer.clone(), Arc::clone(&self.handler));
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let verb = parts.method.as_str().to_ascii_lowercase();
            if let Some(refusal) = authorizer.refuse(&parts.headers, &verb, parts.uri.path()).await {
                return refusal;
            }
            // Nobody behind needs it.
            parts.headers.remove(header::AUTHORIZATION);
            parts.extensions.insert(Authorized);
            handler.call(Request::from_parts(parts, body)).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_are_tokens() {
        let token = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(token("bearer  abc "), Some("abc".to_owned()));
        for other in ["", "Bearer", "Bearer ", "Basic abc", "abc"] {
            assert_eq!(token(other), None, "{other}");
        }
    }
}
