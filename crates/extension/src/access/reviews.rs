//! Reviews of tokens and of access by the API server of the cluster, and for how long they count.

use std::sync::Arc;
use std::time::Duration;

use kubewright_apiserver::{Attributes, Decision, User};
use kubewright_runtime::random::Random;
use kubewright_runtime::serve::{TtlCache, review};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::DelegationOptions;

/// Longer tokens are refused without a review.
const LONGEST_TOKEN: usize = 64 << 10;
/// What is longer is asked anew every time: nobody can fill the memory with it.
const LONGEST_QUESTION: usize = 10_000;

/// Asks the API server, and remembers its answers.
pub(super) struct Reviews {
    kube: kube::Client,
    random: Random,
    /// By the hash of the token; nobody for one that is not valid.
    users: TtlCache<[u8; 32], Option<Arc<User>>>,
    decisions: TtlCache<String, Decision>,
    tokens: Duration,
    allowed: Duration,
    denied: Duration,
}

impl Reviews {
    pub(super) fn new(kube: kube::Client, options: &DelegationOptions) -> Self {
        Reviews {
            kube,
            random: Random::from_entropy(),
            users: TtlCache::new(),
            decisions: TtlCache::new(),
            tokens: options.tokens,
            allowed: options.allowed,
            denied: options.denied,
        }
    }

    /// Whose token this is. A review that fails is not remembered.
    pub(super) async fn token(&self, token: &str) -> Option<User> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some(known) = self.users.get(&key) {
            return known.as_deref().cloned();
        }
        let spec = json!({ "token": token });
        let (group, kind, plural) = ("authentication.k8s.io", "TokenReview", "tokenreviews");
        let status = match review(&self.kube, &self.random, group, kind, plural, &spec).await {
            Ok(status) => status,
            Err(error) => {
                tracing::warn!(error, "a token cannot be reviewed");
                return None;
            }
        };
        let user = (status["authenticated"] == true).then(|| Arc::new(user_of(&status["user"])));
        self.users.put(key, user.clone(), self.tokens);
        user.as_deref().cloned()
    }

    /// Whether a user may do what is asked.
    pub(super) async fn access(&self, user: &User, asked: &Attributes<'_>) -> Result<Decision, String> {
        let spec = question(user, asked);
        let key = spec.to_string();
        if let Some(known) = self.decisions.get(&key) {
            return Ok(known);
        }
        let (group, kind, plural) = ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews");
        let status = review(&self.kube, &self.random, group, kind, plural, &spec).await?;
        let allowed = status["allowed"] == true;
        let decision = Decision::reviewed(allowed, status["reason"].as_str().unwrap_or_default());
        if key.len() <= LONGEST_QUESTION {
            let time = if allowed { self.allowed } else { self.denied };
            self.decisions.put(key, decision.clone(), time);
        }
        Ok(decision)
    }
}

fn user_of(user: &Value) -> User {
    let text = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> {
        let list = value.as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = user["extra"].as_object().into_iter().flatten();
    let mut found = User::new(text("username"), texts(&user["groups"])).with_uid(text("uid"));
    found.extra = extra.map(|(key, values)| (key.clone(), texts(values))).collect();
    found
}

/// The question whether a user may do something, as a `SubjectAccessReview` asks it.
fn question(user: &User, asked: &Attributes<'_>) -> Value {
    let mut spec = Map::new();
    spec.insert("user".into(), user.name.as_str().into());
    if !user.uid.is_empty() {
        spec.insert("uid".into(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        spec.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
    let (of, fields) = if asked.is_resource {
        let fields = [
            ("namespace", &asked.namespace),
            ("verb", &asked.verb),
            ("group", &asked.group),
            ("version", &asked.version),
            ("resource", &asked.resource),
            ("subresource", &asked.subresource),
            ("name", &asked.name),
        ];
        ("resourceAttributes", fields.to_vec())
    } else {
        (
            "nonResourceAttributes",
            vec![("path", &asked.path), ("verb", &asked.verb)],
        )
    };
    let fields: Map<String, Value> = fields
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), Value::from(value.as_ref())))
        .collect();
    spec.insert(of.into(), fields.into());
    spec.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_the_user_and_what_is_asked_and_nothing_that_is_empty() {
        let user = User::new("jane", ["staff"]).with_extra("pod", ["web-0"]);
        let asked = Attributes::resource("get", "shop.example.com", "orders")
            .in_namespace("shop")
            .named("one");
        assert_eq!(
            question(&user, &asked),
            json!({
                "user": "jane", "groups": ["staff", "system:authenticated"], "extra": { "pod": ["web-0"] },
                "resourceAttributes": {
                    "namespace": "shop", "verb": "get", "group": "shop.example.com", "resource": "orders", "name": "one",
                },
            })
        );
    }

    #[test]
    fn a_reviewed_user_is_in_the_groups_that_the_review_says() {
        let user = user_of(&json!({ "username": "robot", "uid": "1", "groups": ["a"], "extra": { "k": ["v"] } }));
        assert_eq!(user, User::new("robot", ["a"]).with_uid("1").with_extra("k", ["v"]));
    }
}
