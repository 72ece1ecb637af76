//! The audit trail: for the most recent requests, who sent them, what they asked for, whether they were allowed, and their results.
//!
//! Recording costs a few clones per request; the attributes of a request are computed when the trail is read. Bodies are
//! not recorded, so the trail never has the values of Secrets.
//!
//! An audit log beside it ([`log`]) has what its policy ([`policy`]) says, as upstream writes it.

mod event;
mod log;
mod policy;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Response};
use jiff::Timestamp;
use kubewright_access::{Decision, Forbidden, Impersonated};
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use event::{AuditDecision, AuditEvent, AuditQuery};
pub use log::AuditLogFormat;
pub(crate) use log::{AuditLog, LoggedRequest};
pub use policy::AuditPolicy;

use crate::access::User;
use crate::request::RequestHead;
use crate::server::{ApiServer, Server};
use crate::wire::body::Body;
use crate::wire::respond::Refusal;

static AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// How many bytes of an audit id are kept that a client sent.
const LONGEST_ID: usize = 64;
/// How many bytes of a method are kept. All known methods are shorter.
const LONGEST_METHOD: usize = 16;
/// How many bytes of an annotation are kept.
const LONGEST_ANNOTATION: usize = 4 * 1024;
/// How many annotations of a request are kept.
const MOST_ANNOTATIONS: usize = 64;
/// How many bytes of path and query are kept.
const LONGEST_URI: usize = 8 * 1024;

/// The last requests of a server.
pub(crate) struct AuditTrail {
    most: usize,
    ring: Mutex<Ring>,
    /// Notified behind every entry.
    grown: Notify,
    log: Option<AuditLog>,
}

#[derive(Default)]
struct Ring {
    entries: VecDeque<Entry>,
    /// The number of the newest entry; the first ever has 1.
    last: u64,
}

impl Ring {
    /// The entries after a number, each with its own.
    fn after(&self, seen: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let before = self.last - self.entries.len() as u64;
        let skipped = usize::try_from(seen.min(self.last).saturating_sub(before)).unwrap_or(usize::MAX);
        (before + 1..).zip(&self.entries).skip(skipped)
    }
}

/// The record of a request. It is small, since the trail has thousands of them.
#[derive(Clone)]
struct Entry {
    time: Timestamp,
    /// Its id, method and URI, separated by blanks.
    line: Box<str>,
    user: Option<Arc<User>>,
    outcome: AccessOutcome,
    code: u16,
    dry_run: bool,
    /// Fields that few requests have.
    rare: Option<Box<RareFields>>,
}

#[derive(Clone, Default)]
struct RareFields {
    impersonated: Option<(Arc<User>, String)>,
    annotations: Vec<(String, String)>,
}

/// The record of a request that is not answered yet.
pub(crate) struct AuditDraft {
    time: Timestamp,
    id: HeaderValue,
    /// Id, method and URI; empty if the trail is off.
    line: Box<str>,
    pub(crate) user: Option<Arc<User>>,
    /// The impersonated user, and the verb that allowed the impersonation.
    pub(crate) impersonated: Option<(Arc<User>, String)>,
    pub(crate) outcome: AccessOutcome,
    /// Set where the body, not the query, asks for a dry run.
    pub(crate) dry_run: bool,
    pub(crate) annotations: Vec<(String, String)>,
    /// The request in the audit log.
    logged: Option<Arc<LoggedRequest>>,
}

/// The outcome of authentication and authorization.
#[derive(Clone, Debug)]
pub(crate) enum AccessOutcome {
    /// The request was refused before it was authenticated.
    Undecided,
    /// The request was not authenticated.
    Unauthenticated,
    /// The user may not impersonate the other user.
    MayNotImpersonate,
    /// The authorizer's decision.
    Decided(Decision),
}

/// Annotations that the stages of a request add to its record.
#[derive(Default)]
pub(crate) struct AuditAnnotations {
    added: Mutex<Vec<(String, String)>>,
    logged: Option<Arc<LoggedRequest>>,
}

impl AuditAnnotations {
    /// Those of a request.
    pub(crate) fn of(draft: &AuditDraft) -> Self {
        AuditAnnotations {
            added: Mutex::default(),
            logged: draft.logged.clone(),
        }
    }

    /// The request in the audit log, if that has it.
    pub(crate) fn logged(&self) -> Option<&LoggedRequest> {
        self.logged.as_deref()
    }

    /// Adds an annotation. Of two with the same key the first is kept, as upstream does.
    pub(crate) fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let (mut annotations, key, value) = (self.added.lock(), key.into(), value.into());
        if annotations.len() < MOST_ANNOTATIONS
            && key.len() <= LONGEST_ANNOTATION
            && !annotations.iter().any(|(known, _)| *known == key)
        {
            annotations.push((key, cut(&value, LONGEST_ANNOTATION).to_owned()));
        }
    }

    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.added.lock())
    }
}

impl AuditTrail {
    pub(crate) fn new(most: usize, log: Option<AuditLog>) -> Self {
        AuditTrail {
            most,
            ring: Mutex::default(),
            grown: Notify::new(),
            log,
        }
    }

    /// The empty trail of a fork.
    pub(crate) fn fork(&self) -> Self {
        AuditTrail::new(self.most, self.log.clone())
    }

    /// Begins the record of a received request.
    pub(crate) fn begin(&self, server: &Server, parts: &Parts) -> AuditDraft {
        // A client may send an id of its own.
        let given = parts.headers.get(&AUDIT_ID).filter(|id| !id.is_empty()).cloned();
        let fresh = || HeaderValue::from_str(&server.random.uuid()).unwrap_or(HeaderValue::from_static(""));
        let id = given.unwrap_or_else(fresh);
        AuditDraft {
            time: server.clock.now(),
            line: if self.most == 0 {
                Box::default()
            } else {
                line(&id, parts)
            },
            id,
            user: None,
            impersonated: None,
            outcome: AccessOutcome::Undecided,
            dry_run: false,
            annotations: Vec::new(),
            logged: None,
        }
    }

    /// The entries after a number, each with its own.
    fn entries(&self, seen: u64) -> Vec<(u64, Entry)> {
        let ring = self.ring.lock();
        ring.after(seen)
            .map(|(number, entry)| (number, entry.clone()))
            .collect()
    }

    /// Waits until there is an entry after a number. Returns the number of the newest.
    async fn grown_after(&self, seen: u64) -> u64 {
        loop {
            let mut grown = pin!(self.grown.notified());
            // Registered before looking, so that an entry in between is not missed.
            grown.as_mut().enable();
            let last = self.ring.lock().last;
            if last > seen {
                return last;
            }
            grown.await;
        }
    }
}

/// A request in one text; a blank within a client's id would end it.
fn line(id: &HeaderValue, parts: &Parts) -> Box<str> {
    let id = cut(id.to_str().unwrap_or_default(), LONGEST_ID).replace(' ', "_");
    [&id, cut(parts.method.as_str(), LONGEST_METHOD), uri(parts)]
        .join(" ")
        .into()
}

fn uri(parts: &Parts) -> &str {
    let text = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    cut(text, LONGEST_URI)
}

/// The beginning of a text, of this length at most.
fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// A request that is being worked on. Whatever it did before its client went away, the trail has it.
pub(crate) struct AuditGuard<'t> {
    trail: &'t AuditTrail,
    annotations: &'t AuditAnnotations,
    draft: Option<AuditDraft>,
}

impl<'t> AuditGuard<'t> {
    pub(crate) fn new(trail: &'t AuditTrail, annotations: &'t AuditAnnotations, draft: AuditDraft) -> Self {
        let draft = Some(draft);
        AuditGuard {
            trail,
            annotations,
            draft,
        }
    }

    /// The request has its answer.
    pub(crate) fn finish(mut self, response: &mut Response<Body>) {
        if let Some(mut draft) = self.draft.take() {
            draft.annotations = self.annotations.take();
            draft.finish(self.trail, response);
        }
    }
}

impl Drop for AuditGuard<'_> {
    fn drop(&mut self) {
        if let Some(mut draft) = self.draft.take() {
            draft.annotations = self.annotations.take();
            if let Some(logged) = draft.logged.take() {
                logged.decided(&draft);
                let _ = logged.answered(0);
            }
            draft.keep(self.trail, 0);
        }
    }
}

impl AuditDraft {
    /// The id of the request.
    pub(crate) fn id(&self) -> &HeaderValue {
        &self.id
    }

    /// The user is known: the audit log has the request from here on, if it is to have it.
    pub(crate) fn authenticated(&mut self, server: &Server, head: &RequestHead<'_>, user: Arc<User>) {
        self.user = Some(user);
        if let Some(log) = &server.audit.log {
            self.logged = LoggedRequest::begin(log, &server.clock, self, head).map(Arc::new);
            if let Some(logged) = &self.logged {
                logged.received();
            }
        }
    }

    /// The user wants to act as another one: as whom, if they may.
    pub(crate) fn impersonates(&mut self, ruling: Result<Impersonated, Forbidden>) -> Result<Arc<User>, Forbidden> {
        match ruling {
            Ok(impersonated) => {
                let user = Arc::new(impersonated.user);
                self.impersonated = Some((Arc::clone(&user), impersonated.constraint));
                Ok(user)
            }
            Err(forbidden) => {
                self.outcome = AccessOutcome::MayNotImpersonate;
                Err(forbidden)
            }
        }
    }

    /// Nobody knows whose request it is.
    pub(crate) fn unauthenticated(&mut self, server: &Server, head: &RequestHead<'_>) {
        self.outcome = AccessOutcome::Unauthenticated;
        let log = server.audit.log.as_ref();
        let logged = log.and_then(|log| LoggedRequest::begin(log, &server.clock, self, head));
        self.logged = logged.map(Arc::new);
    }

    /// Puts the request's id on its answer, and both into the trail.
    pub(crate) fn finish(mut self, trail: &AuditTrail, response: &mut Response<Body>) {
        let refusal = response.extensions_mut().remove::<Refusal>();
        if let Some(logged) = self.logged.take() {
            logged.decided(&self);
            if let Some(Refusal(text)) = refusal {
                logged.response_object(&text);
            }
            if let Some(end) = logged.answered(response.status().as_u16()) {
                let body = std::mem::replace(response.body_mut(), Body::empty());
                *response.body_mut() = body.holding(end);
            }
        }
        response.headers_mut().insert(AUDIT_ID.clone(), self.id.clone());
        self.keep(trail, response.status().as_u16());
    }

    fn keep(self, trail: &AuditTrail, code: u16) {
        if trail.most == 0 {
            return;
        }
        let is_rare = self.impersonated.is_some() || !self.annotations.is_empty();
        let rare = is_rare.then(|| {
            Box::new(RareFields {
                impersonated: self.impersonated,
                annotations: self.annotations,
            })
        });
        let entry = Entry {
            time: self.time,
            line: self.line,
            user: self.user,
            outcome: self.outcome,
            code,
            dry_run: self.dry_run,
            rare,
        };
        let forgotten = {
            let mut ring = trail.ring.lock();
            let forgotten = (ring.entries.len() >= trail.most).then(|| ring.entries.pop_front());
            ring.entries.push_back(entry);
            ring.last += 1;
            forgotten
        };
        trail.grown.notify_waiters();
        // Outside of the lock: freeing takes longer than writing down.
        drop(forgotten);
    }
}

impl ApiServer {
    /// The last requests, oldest first; narrow the query, then ask for its [`AuditQuery::events`].
    ///
    /// ```
    /// # use kubewright_apiserver::{ApiServer, Options, User};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// let request = http::Request::get("/api/v1/namespaces/default/secrets").body(Default::default()).unwrap();
    /// server.handle_as(Some(&User::new("jane", ["staff"])), request).await;
    ///
    /// let refused = server.audit().user("jane").refused().events();
    /// assert_eq!(refused[0].attributes.verb, "list");
    /// assert_eq!(refused[0].attributes.resource, "secrets");
    /// assert_eq!(refused[0].code, 403);
    /// # }
    /// ```
    pub fn audit(&self) -> AuditQuery {
        self.audit_after(0)
    }

    /// The requests whose [number](AuditEvent::number) is greater than `seen`, oldest first; costs what these are. If the first of them is not
    /// the next one, those in between are not kept any more.
    ///
    /// ```
    /// # use kubewright_apiserver::{ApiServer, Options};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// let get = |path: &str| http::Request::get(path).body(Default::default()).unwrap();
    /// server.handle(get("/version")).await;
    /// let seen = server.audited_after(0).await; // there is one already
    /// let (newest, _) = tokio::join!(server.audited_after(seen), server.handle(get("/healthz")));
    /// assert_eq!(newest, seen + 1);
    /// assert_eq!(server.audit_after(seen).events()[0].uri, "/healthz");
    /// # }
    /// ```
    pub fn audit_after(&self, seen: u64) -> AuditQuery {
        AuditQuery::new(self.server.audit.entries(seen))
    }

    /// Waits until there is a request whose [number](AuditEvent::number) is greater than `seen`. Returns the greatest number. Waits for ever if
    /// the server keeps no trail.
    pub async fn audited_after(&self, seen: u64) -> u64 {
        self.server.audit.grown_after(seen).await
    }
}
