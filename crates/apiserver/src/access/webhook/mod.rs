//! Authorization by a webhook: what is asked is posted to it as a `SubjectAccessReview`, and its answers count for a while (Z4).

mod conditions;
mod question;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubewright_access::{Attributes, Decision, User};
use serde_json::{Value, json};

use self::conditions::MatchConditions;
use self::question::question;
use crate::server::Server;
use crate::webhook::answers::AnswerCache;
use crate::webhook::call::Caller;
use crate::webhook::call::kubeconfig;
pub use crate::webhook::call::kubeconfig::KubeconfigError;

/// How many answers are kept, as upstream.
const MOST_ANSWERS: usize = 8192;
/// What a client can make longer than this is asked anew every time, so that nobody fills the memory with it.
const LONGEST_QUESTION: usize = 10_000;
/// How long is waited before a webhook is asked for the second time that fails for a moment.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// A webhook that says what users may do.
///
/// It is described by a kubeconfig, as `--authorization-webhook-config-file` of kube-apiserver has it: `server` is the address
/// that reviews are posted to.
#[derive(Clone)]
pub struct AuthorizationWebhook(Arc<Webhook>);

struct Webhook {
    settings: WebhookSettings,
    answers: AnswerCache<Answer>,
}

/// How a webhook is asked. Times and policies are those of kube-apiserver's flags.
#[derive(Clone, Debug)]
struct WebhookSettings {
    caller: Caller,
    version: &'static str,
    allowed: Duration,
    refused: Duration,
    timeout: Duration,
    denies_on_error: bool,
    conditions: MatchConditions,
}

/// What a webhook says.
#[derive(Clone, Debug)]
struct Answer {
    verdict: Verdict,
    reason: String,
    error: Option<String>,
}

/// What an authorizer decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// Whoever would be asked next is not.
    Deny,
    NoOpinion,
}

/// What an authorizer says of a question: what it decides, why, and what went wrong.
#[derive(Clone, Debug)]
pub(super) struct Opinion {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) error: Option<String>,
}

impl Opinion {
    /// What an authorizer means that allows or does not.
    pub(super) fn of(decision: &Decision) -> Opinion {
        Opinion {
            verdict: if decision.allowed {
                Verdict::Allow
            } else {
                Verdict::NoOpinion
            },
            reason: decision.reason.to_string(),
            error: None,
        }
    }
}

impl AuthorizationWebhook {
    /// The webhook that a kubeconfig describes. Files that it names are below `folder` unless their paths are absolute.
    pub fn from_kubeconfig(text: &str, folder: &std::path::Path) -> Result<Self, KubeconfigError> {
        Ok(Self::with(WebhookSettings {
            caller: kubeconfig::caller(text, folder)?,
            version: "v1beta1",
            allowed: Duration::from_mins(5),
            refused: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            denies_on_error: false,
            conditions: MatchConditions::default(),
        }))
    }

    fn with(settings: WebhookSettings) -> Self {
        AuthorizationWebhook(Arc::new(Webhook {
            settings,
            answers: AnswerCache::of(MOST_ANSWERS),
        }))
    }

    fn changed(self, change: impl FnOnce(&mut WebhookSettings)) -> Self {
        let mut settings = self.0.settings.clone();
        change(&mut settings);
        Self::with(settings)
    }

    /// Sends reviews of version `v1` of their group; `v1beta1` otherwise.
    #[must_use]
    pub fn v1(self, v1: bool) -> Self {
        self.changed(|settings| settings.version = if v1 { "v1" } else { "v1beta1" })
    }

    /// For how long it counts that something is allowed, and that it is not; five minutes and half a minute by default.
    #[must_use]
    pub fn kept(self, allowed: Duration, refused: Duration) -> Self {
        self.changed(|settings| (settings.allowed, settings.refused) = (allowed, refused))
    }

    /// How long an answer may take; half a minute by default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.changed(|settings| settings.timeout = timeout)
    }

    /// Whether everything is refused about which the webhook cannot be asked; by default the next authorizer is asked.
    #[must_use]
    pub fn deny_on_error(self, deny: bool) -> Self {
        self.changed(|settings| settings.denies_on_error = deny)
    }

    /// Asks only about what these expressions of CEL are all true for, whose `request` is the `spec` of the review. The error says what
    /// is wrong with one, and which.
    pub fn match_conditions<S: AsRef<str>>(self, expressions: &[S]) -> Result<Self, (usize, String)> {
        let conditions = MatchConditions::compile(expressions)?;
        Ok(self.changed(|settings| settings.conditions = conditions))
    }

    /// What the webhook says.
    pub(super) async fn ask(&self, server: &Server, user: &User, asked: &Attributes<'_>) -> Opinion {
        let settings = &self.0.settings;
        let on_error = |error: String| Opinion {
            verdict: if settings.denies_on_error {
                Verdict::Deny
            } else {
                Verdict::NoOpinion
            },
            reason: String::new(),
            error: Some(error),
        };
        let spec = question(user, asked);
        match settings.conditions.hold(&spec) {
            Ok(true) => {}
            Ok(false) => {
                return Opinion {
                    verdict: Verdict::NoOpinion,
                    reason: String::new(),
                    error: None,
                };
            }
            Err(error) => return on_error(error),
        }
        let key = spec.to_string();
        if let Some(known) = self.0.answers.known(&key) {
            return known.into();
        }
        let status = match self.review(server, spec).await {
            Ok(status) => status,
            Err(error) => return on_error(error),
        };
        let answer = Answer::of(&status);
        if key.len() <= LONGEST_QUESTION {
            let allowed = status["allowed"] == true;
            let time = if allowed { settings.allowed } else { settings.refused };
            self.0.answers.keep(key, answer.clone(), time);
        }
        answer.into()
    }

    /// The status of the review that comes back.
    async fn review(&self, server: &Server, mut spec: Value) -> Result<Value, String> {
        let settings = &self.0.settings;
        if settings.version == "v1beta1"
            && let Some(fields) = spec.as_object_mut()
            && let Some(groups) = fields.remove("groups")
        {
            // The older version calls them so.
            fields.insert("group".into(), groups);
        }
        let review = json!({
            "kind": "SubjectAccessReview",
            "apiVersion": format!("authorization.k8s.io/{}", settings.version),
            "metadata": {},
            "spec": spec,
            "status": { "allowed": false },
        });
        let document = review.to_string().into_bytes();
        let posted = settings
            .caller
            .post_repeatedly(server, &document, settings.timeout, FIRST_DELAY)
            .await;
        status_of(&posted.map_err(|error| error.to_string())?)
    }
}

/// The status of a review that a webhook sent, or upstream's words for what it is instead.
fn status_of(body: &[u8]) -> Result<Value, String> {
    let review: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if review["kind"] != "SubjectAccessReview" {
        let text = |key: &str| review[key].as_str().unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        return Err(format!(
            "converting ({version}.{}) to (v1.SubjectAccessReview): unknown conversion",
            text("kind")
        ));
    }
    Ok(review["status"].clone())
}

impl Answer {
    fn of(status: &Value) -> Answer {
        let (allowed, denied) = (status["allowed"] == true, status["denied"] == true);
        Answer {
            verdict: match (allowed, denied) {
                (_, true) => Verdict::Deny,
                (true, false) => Verdict::Allow,
                (false, false) => Verdict::NoOpinion,
            },
            reason: status["reason"].as_str().unwrap_or_default().to_owned(),
            error: (allowed && denied)
                .then(|| "webhook subject access review returned both allow and deny response".to_owned()),
        }
    }
}

impl From<Answer> for Opinion {
    fn from(answer: Answer) -> Self {
        Opinion {
            verdict: answer.verdict,
            reason: answer.reason,
            error: answer.error,
        }
    }
}

impl fmt::Debug for AuthorizationWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuthorizationWebhook").finish_non_exhaustive()
    }
}

impl PartialEq for AuthorizationWebhook {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AuthorizationWebhook {}
