//! The audit trail: who asked for what, what was decided and what came of it, for the last so many requests.
//!
//! Recording costs a few clones per request; what a request asked for is worked out when the trail is read. Bodies are
//! never part of it, so no secret's value can be.

mod event;

use std::collections::VecDeque;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Response};
use jiff::Timestamp;
use kubewright_access::Decision;
use parking_lot::Mutex;

pub use event::{AuditEvent, AuditQuery, AuditVerdict};

use crate::access::User;
use crate::server::{ApiServer, Server};
use crate::wire::body::Body;

static AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// As much of a client's own id is kept.
const LONGEST_ID: usize = 64;
/// As much of a method is kept; those that mean something are shorter.
const LONGEST_METHOD: usize = 16;
/// As much of an annotation is kept, and as many of them.
const LONGEST_ANNOTATION: usize = 4 * 1024;
const MOST_ANNOTATIONS: usize = 64;
/// As much of an address is kept.
const LONGEST_URI: usize = 8 * 1024;

/// The last requests of a server.
pub(crate) struct AuditTrail {
    most: usize,
    ring: Mutex<VecDeque<Entry>>,
}

/// What is kept of a request: small, since thousands of them are.
#[derive(Clone)]
struct Entry {
    time: Timestamp,
    /// Its id, its method and its address, parted by blanks.
    line: Box<str>,
    user: Option<Arc<User>>,
    verdict: Verdict,
    code: u16,
    dry_run: bool,
    /// What few requests have.
    rare: Option<Box<Rare>>,
}

#[derive(Clone, Default)]
struct Rare {
    impersonated: Option<(Arc<User>, String)>,
    annotations: Vec<(String, String)>,
}

/// What is known of a request that is not answered yet.
pub(crate) struct AuditDraft {
    time: Timestamp,
    id: HeaderValue,
    /// Id, method and address; empty when nothing is kept.
    line: Box<str>,
    pub(crate) user: Option<Arc<User>>,
    /// As whom the request acts, and the verb that allowed it.
    pub(crate) impersonated: Option<(Arc<User>, String)>,
    pub(crate) verdict: Verdict,
    /// Set where the body, not the query, asks for a dry run.
    pub(crate) dry_run: bool,
    pub(crate) annotations: Vec<(String, String)>,
}

/// What was decided.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// Nothing: the request was refused before.
    Undecided,
    /// The request was not authenticated.
    Unauthenticated,
    /// The user may not act as the one they wanted to be.
    MayNotImpersonate,
    /// The authorizer's answer.
    Decided(Decision),
}

/// Annotations that the steps of a request leave for the trail.
#[derive(Default)]
pub(crate) struct AuditAnnotations(Mutex<Vec<(String, String)>>);

impl AuditAnnotations {
    /// Adds one. Of two with the same key the first stays, as upstream has it.
    pub(crate) fn add(&self, key: impl Into<String>, value: impl Into<String>) {
        let (mut annotations, key, value) = (self.0.lock(), key.into(), value.into());
        if annotations.len() < MOST_ANNOTATIONS
            && key.len() <= LONGEST_ANNOTATION
            && !annotations.iter().any(|(known, _)| *known == key)
        {
            annotations.push((key, cut(&value, LONGEST_ANNOTATION).to_owned()));
        }
    }

    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl AuditTrail {
    pub(crate) fn new(most: usize) -> Self {
        AuditTrail {
            most,
            ring: Mutex::default(),
        }
    }

    /// The trail of a fork, which begins with the fork.
    pub(crate) fn fork(&self) -> Self {
        AuditTrail::new(self.most)
    }

    /// Begins the entry of a request that has come.
    pub(crate) fn begin(&self, server: &Server, parts: &Parts) -> AuditDraft {
        // A client may bring an id of its own.
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
            verdict: Verdict::Undecided,
            dry_run: false,
            annotations: Vec::new(),
        }
    }

    fn entries(&self) -> Vec<Entry> {
        self.ring.lock().iter().cloned().collect()
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
            draft.keep(self.trail, 0);
        }
    }
}

impl AuditDraft {
    /// Puts the request's id on its answer, and both into the trail.
    pub(crate) fn finish(self, trail: &AuditTrail, response: &mut Response<Body>) {
        response.headers_mut().insert(AUDIT_ID.clone(), self.id.clone());
        self.keep(trail, response.status().as_u16());
    }

    fn keep(self, trail: &AuditTrail, code: u16) {
        if trail.most == 0 {
            return;
        }
        let is_rare = self.impersonated.is_some() || !self.annotations.is_empty();
        let rare = is_rare.then(|| {
            Box::new(Rare {
                impersonated: self.impersonated,
                annotations: self.annotations,
            })
        });
        let entry = Entry {
            time: self.time,
            line: self.line,
            user: self.user,
            verdict: self.verdict,
            code,
            dry_run: self.dry_run,
            rare,
        };
        let forgotten = {
            let mut ring = trail.ring.lock();
            let forgotten = (ring.len() >= trail.most).then(|| ring.pop_front());
            ring.push_back(entry);
            forgotten
        };
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
        AuditQuery::new(self.server.audit.entries())
    }
}
