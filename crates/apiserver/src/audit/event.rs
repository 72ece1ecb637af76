//! Reads the audit trail: events, and queries that filter them.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_access::Attributes;

use super::{AccessOutcome, Entry};
use crate::access::User;
use crate::request::attributes_of;

/// The record of a request.
#[derive(Clone, Debug)]
pub struct AuditEvent {
    /// How many requests the server had answered with it, this one included: the trail is in this order.
    pub number: u64,
    /// When the server received it.
    pub time: Timestamp,
    /// Its id, which the response has in its header `Audit-Id`.
    pub id: String,
    /// The user who sent it; `None` if authentication failed.
    pub user: Option<Arc<User>>,
    /// The impersonated user.
    pub impersonated: Option<Arc<User>>,
    /// The verb that allowed the impersonation (`impersonate:user-info`); empty for the verb `impersonate`.
    pub impersonation_constraint: Option<String>,
    /// The attributes that a rule must allow.
    pub attributes: Attributes<'static>,
    /// Path and query.
    pub uri: String,
    /// Whether it was allowed.
    pub decision: AuditDecision,
    /// The reason: the binding that allowed it, or why none did. Empty if there is none.
    pub reason: String,
    /// The status code of the response; 0 if the client disconnected before there was one.
    pub code: u16,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// Annotations, with the keys that upstream uses.
    pub annotations: Vec<(String, String)>,
}

/// Whether a request was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditDecision {
    /// It was allowed.
    Allowed,
    /// It was forbidden.
    Forbidden,
    /// Authentication failed.
    Unauthenticated,
    /// It was refused before it was authenticated.
    Undecided,
}

impl AuditEvent {
    /// The user whose rights counted: the impersonated one, or else the sender.
    pub fn actor(&self) -> Option<&User> {
        self.impersonated.as_deref().or(self.user.as_deref())
    }

    fn of((number, entry): (u64, Entry)) -> AuditEvent {
        let mut parts = entry.line.splitn(3, ' ');
        let mut next = || parts.next().unwrap_or_default();
        let (id, method, uri) = (next(), next(), next());
        let attributes = attributes_of(method, uri);
        let rare = entry.rare.map(|rare| *rare).unwrap_or_default();
        let (impersonated, impersonation_constraint) = rare.impersonated.unzip();
        let mut annotations = Vec::new();
        let mut note = |key: &str, value: &str| annotations.push((key.to_owned(), value.to_owned()));
        let (decision, reason) = match &entry.outcome {
            AccessOutcome::Decided(decision) if decision.allowed => {
                (AuditDecision::Allowed, decision.reason.to_string())
            }
            AccessOutcome::Decided(decision) => (AuditDecision::Forbidden, decision.reason.to_string()),
            AccessOutcome::MayNotImpersonate => (AuditDecision::Forbidden, String::new()),
            AccessOutcome::Unauthenticated => (AuditDecision::Unauthenticated, String::new()),
            AccessOutcome::Undecided => (AuditDecision::Undecided, String::new()),
        };
        if let AccessOutcome::Decided(decision) = &entry.outcome {
            let word = if decision.allowed { "allow" } else { "forbid" };
            note("authorization.k8s.io/decision", word);
            note("authorization.k8s.io/reason", &reason);
        }
        annotations.extend(rare.annotations);
        let asks_for_dry_run = uri.split_once('?').is_some_and(|(_, query)| {
            let mut values = query.split('&').filter_map(|pair| pair.strip_prefix("dryRun="));
            values.any(|value| value == "All")
        });
        AuditEvent {
            number,
            time: entry.time,
            id: id.to_owned(),
            user: entry.user,
            impersonated,
            impersonation_constraint,
            attributes,
            uri: uri.to_owned(),
            decision,
            reason,
            code: entry.code,
            dry_run: entry.dry_run || asks_for_dry_run,
            annotations,
        }
    }
}

/// Part of the trail. Each step narrows it.
///
/// ```
/// use kubewright_apiserver::{ApiServer, Options, User};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ApiServer::new(Options::new());
/// let robot = User::service_account("shop", "robot");
/// let request = http::Request::get("/api/v1/namespaces/shop/pods/web").body(Default::default()).unwrap();
/// server.handle_as(Some(&robot), request).await;
///
/// let asked = server.audit().service_account("shop", "robot").verb("get").resource("", "pods");
/// let event = &asked.clone().namespace("shop").name("web").events()[0];
/// assert_eq!(event.actor().unwrap().name, "system:serviceaccount:shop:robot");
/// assert!(asked.clone().allowed().events().is_empty());
/// assert_eq!(asked.clone().since(event.time).filter(|event| event.code == 403).events().len(), 1);
/// assert_eq!(asked.refused().events().len(), 1);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AuditQuery(Vec<AuditEvent>);

impl AuditQuery {
    pub(super) fn new(entries: Vec<(u64, Entry)>) -> Self {
        AuditQuery(entries.into_iter().map(AuditEvent::of).collect())
    }

    /// Those for which a condition holds.
    pub fn filter(mut self, condition: impl Fn(&AuditEvent) -> bool) -> Self {
        self.0.retain(|event| condition(event));
        self
    }

    /// Those whose rights counted were this user's.
    pub fn user(self, name: &str) -> Self {
        self.filter(|event| event.actor().is_some_and(|user| user.name == name))
    }

    /// Those of a service account.
    pub fn service_account(self, namespace: &str, name: &str) -> Self {
        self.user(&User::service_account(namespace, name).name)
    }

    /// Those of a verb: `get`, `list`, `watch`, `create`, …
    pub fn verb(self, verb: &str) -> Self {
        self.filter(|event| event.attributes.verb == verb)
    }

    /// Those of a resource, in any version.
    pub fn resource(self, group: &str, resource: &str) -> Self {
        self.filter(|event| {
            let asked = &event.attributes;
            asked.is_resource && asked.group == group && asked.resource == resource
        })
    }

    /// Those in a namespace.
    pub fn namespace(self, namespace: &str) -> Self {
        self.filter(|event| event.attributes.namespace == namespace)
    }

    /// Those of objects of this name.
    pub fn name(self, name: &str) -> Self {
        self.filter(|event| event.attributes.name == name)
    }

    /// Requests that were forbidden or not authenticated.
    pub fn refused(self) -> Self {
        self.filter(|event| {
            matches!(
                event.decision,
                AuditDecision::Forbidden | AuditDecision::Unauthenticated
            )
        })
    }

    /// Those that were allowed.
    pub fn allowed(self) -> Self {
        self.filter(|event| event.decision == AuditDecision::Allowed)
    }

    /// Those that came at or after a time.
    pub fn since(self, time: Timestamp) -> Self {
        self.filter(|event| event.time >= time)
    }

    /// The events, oldest first.
    pub fn events(self) -> Vec<AuditEvent> {
        self.0
    }
}
