//! A request as a trace keeps it, and what it changed, which is found out when somebody reads it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::change::FieldChange;
use super::record::{ApiCall, is_write};
use super::redact::{Sent, changes, is_confidential};
use crate::object::{Kind, ObjectKey, Record};

/// See [`ApiCall`].
#[derive(Clone, Debug)]
pub(crate) struct RawCall {
    pub(crate) verb: Cow<'static, str>,
    pub(crate) target: CallTarget,
    pub(crate) dry_run: bool,
    pub(crate) sent: Option<Sent>,
    pub(crate) code: Option<u16>,
    pub(crate) error: Option<String>,
    pub(crate) cached: Option<u64>,
    pub(crate) answer: WriteAnswer,
    pub(crate) took: Duration,
}

/// What a request is about.
#[derive(Clone, Debug)]
pub(crate) enum CallTarget {
    /// An object of a kind, or several.
    Of {
        kind: Arc<Kind>,
        subresource: Option<Arc<str>>,
        objects: CalledObjects,
    },
    /// A path.
    Path(Arc<str>),
}

/// Which objects of a kind a request is about.
#[derive(Clone, Debug)]
pub(crate) enum CalledObjects {
    One(ObjectKey),
    Namespace(Arc<str>),
    All,
}

/// What a write was answered with.
#[derive(Clone, Debug)]
pub(crate) enum WriteAnswer {
    /// Nothing, or it was no write.
    None,
    /// The object, which is compared with what the cache had when somebody reads it. Never of a confidential kind.
    Raw {
        before: Option<Arc<Record>>,
        body: Arc<[u8]>,
    },
    /// What came of comparing it at once.
    Compared {
        revision: Option<u64>,
        changes: Vec<FieldChange>,
    },
}

impl WriteAnswer {
    /// The answer to a write. It is compared at once if it must not be kept as it is, or if `has_room` says that so many bytes would
    /// displace too much else.
    pub(crate) fn of(
        target: &CallTarget,
        before: Option<Arc<Record>>,
        body: &[u8],
        has_room: impl Fn(usize) -> bool,
    ) -> Self {
        let CallTarget::Of { kind, .. } = target else {
            return WriteAnswer::None;
        };
        let bytes = body.len() + before.as_ref().map_or(0, |before| before.bytes());
        if target.may_answer_secrets() || !has_room(bytes) {
            let (revision, changes) = compare(kind, before.as_deref(), body);
            return WriteAnswer::Compared { revision, changes };
        }
        // Copied: a part of what the connection has read would keep all of that.
        let body = body.into();
        WriteAnswer::Raw { before, body }
    }

    fn bytes(&self) -> usize {
        match self {
            WriteAnswer::None => 0,
            WriteAnswer::Raw { before, body } => body.len() + before.as_ref().map_or(0, |before| before.bytes()),
            WriteAnswer::Compared { changes, .. } => changes.iter().map(FieldChange::bytes).sum(),
        }
    }
}

impl CallTarget {
    /// Whether an answer may hold what must not enter a trace. That of a subresource may be of any kind, such as a token.
    fn may_answer_secrets(&self) -> bool {
        match self {
            CallTarget::Of { kind, subresource, .. } => {
                is_confidential(kind) || subresource.as_deref().is_some_and(|name| name != "status")
            }
            CallTarget::Path(_) => true,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            CallTarget::Of {
                subresource, objects, ..
            } => {
                let objects = match objects {
                    CalledObjects::One(key) => key.as_str().len(),
                    CalledObjects::Namespace(namespace) => namespace.len(),
                    CalledObjects::All => 0,
                };
                objects + subresource.as_ref().map_or(0, |subresource| subresource.len())
            }
            CallTarget::Path(path) => path.len(),
        }
    }

    /// `Deployment.apps/scale shop/web`
    fn text(&self) -> String {
        let (kind, subresource, objects) = match self {
            CallTarget::Of {
                kind,
                subresource,
                objects,
            } => (kind, subresource, objects),
            CallTarget::Path(path) => return path.as_ref().to_owned(),
        };
        let mut text = kind.to_string();
        if let Some(subresource) = subresource {
            let _ = write!(text, "/{subresource}");
        }
        match objects {
            CalledObjects::One(key) => _ = write!(text, " {key}"),
            CalledObjects::Namespace(namespace) => _ = write!(text, " in namespace {namespace}"),
            CalledObjects::All => {}
        }
        text
    }
}

impl RawCall {
    pub(crate) fn is_write(&self) -> bool {
        is_write(&self.verb, self.dry_run)
    }

    /// How many bytes it holds, with its own allocation.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.error.as_ref().map_or(0, String::len) + self.sent.as_ref().map_or(0, Sent::bytes);
        size_of::<RawCall>() + 2 * size_of::<usize>() + self.target.bytes() + texts + self.answer.bytes()
    }

    /// The request as readers see it.
    pub(super) fn call(&self) -> ApiCall {
        let (revision, changes) = match (&self.answer, &self.target) {
            (WriteAnswer::Raw { before, body }, CallTarget::Of { kind, .. }) => compare(kind, before.as_deref(), body),
            (WriteAnswer::Compared { revision, changes }, _) => (*revision, changes.clone()),
            _ => (None, Vec::new()),
        };
        ApiCall {
            verb: (&*self.verb).into(),
            target: self.target.text(),
            dry_run: self.dry_run,
            sent: self.sent.as_ref().map(Sent::text),
            code: self.code,
            error: self.error.clone(),
            cached: self.cached,
            revision,
            changes,
            took: self.took,
        }
    }
}

/// What is read of an answer before it is known whether it is worth reading more.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    resource_version: Option<Cow<'a, str>>,
}

/// The revision of the object in an answer, and the fields in which it differs from what the cache had.
fn compare(kind: &Kind, before: Option<&Record>, body: &[u8]) -> (Option<u64>, Vec<FieldChange>) {
    let Ok(head) = serde_json::from_slice::<Head<'_>>(body) else {
        return (None, Vec::new());
    };
    let revision = head
        .metadata
        .and_then(|metadata| metadata.resource_version?.parse().ok());
    // A subresource may answer with another kind, such as a token, which is no form of the object.
    let is_object = head.kind.as_deref() == Some(kind.kind());
    let before = before.filter(|before| is_object && before.revision() != revision);
    let values = before.and_then(|before| {
        let before = serde_json::from_slice::<Value>(before.json()).ok()?;
        Some((before, serde_json::from_slice::<Value>(body).ok()?))
    });
    let changed = values.map_or_else(Vec::new, |(before, after)| changes(kind, &before, &after));
    (revision, changed)
}
