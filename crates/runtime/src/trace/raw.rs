//! What a trace keeps of what happens: handles, and copies of bytes. They become records when somebody reads them, so that an operator
//! at which nobody looks pays neither for text nor for comparing objects. Of confidential kinds nothing is kept that is not redacted.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call::RawCall;
use super::record::{
    CacheRead, Cause, Change, Found, LogLevel, LogLine, ObjectChange, Outcome, ReadTarget, TraceEvent, WebhookCall,
};
use crate::cache::{Event, Query};
use crate::object::{Kind, ObjectKey};

/// Something that happened. See [`TraceEvent`], which is made of it.
#[derive(Clone, Debug)]
pub(crate) enum RawEvent {
    Observed(RawChange),
    Queued {
        controller: Arc<str>,
        key: ObjectKey,
        cause: RawCause,
    },
    Began {
        controller: Arc<str>,
        key: ObjectKey,
        waited: Duration,
    },
    Read(RawRead),
    Called(Arc<RawCall>),
    #[cfg_attr(
        not(any(feature = "log", test)),
        expect(dead_code, reason = "log lines are recorded with the feature `log` alone")
    )]
    Logged(RawLine),
    Ended {
        controller: Arc<str>,
        key: ObjectKey,
        outcome: Outcome,
        error: Option<Arc<str>>,
        is_terminal: bool,
        took: Duration,
    },
    Webhook(Arc<dyn RawWebhook>),
}

/// A call of a webhook, of which webhooks know how to read it. See [`WebhookCall`].
pub(crate) trait RawWebhook: fmt::Debug + Send + Sync {
    /// How many bytes it holds, near enough, with its own allocation.
    fn bytes(&self) -> usize;

    /// The call as readers see it.
    fn call(&self) -> WebhookCall;
}

/// See [`ObjectChange`].
#[derive(Clone, Debug)]
pub(crate) struct RawChange {
    kind: Arc<Kind>,
    key: ObjectKey,
    uid: Uid,
    revision: Option<u64>,
    change: Change,
}

/// See [`Cause`].
#[derive(Clone, Debug)]
pub(crate) enum RawCause {
    Object(RawChange),
    Source { after: Option<Duration> },
    Again { outcome: Outcome, after: Duration },
}

/// A uid: as a server makes it, which needs no allocation, or as something else does.
#[derive(Clone, Debug)]
enum Uid {
    Usual([u8; 36]),
    Other(Arc<str>),
}

/// See [`CacheRead`].
#[derive(Clone, Debug)]
pub(crate) struct RawRead {
    pub(crate) kind: Arc<Kind>,
    pub(crate) target: RawTarget,
    pub(crate) found: Found,
    /// Up to which revision the cache had seen everything, of a list.
    pub(crate) cache: Option<u64>,
}

/// See [`ReadTarget`].
#[derive(Clone, Debug)]
pub(crate) enum RawTarget {
    Key(ObjectKey),
    /// A selector has no cheaper copy than its text; `None` selects everything.
    List {
        namespace: Option<Arc<str>>,
        selector: Option<Arc<str>>,
    },
}

/// See [`LogLine`].
#[derive(Clone, Debug)]
pub(crate) struct RawLine {
    pub(crate) level: LogLevel,
    pub(crate) target: &'static str,
    pub(crate) message: Arc<str>,
}

impl RawChange {
    pub(crate) fn of(kind: &Arc<Kind>, event: &Event) -> Self {
        let object = event.object();
        RawChange {
            kind: Arc::clone(kind),
            key: event.key().clone(),
            uid: Uid::of(&object.uid()),
            revision: object.revision(),
            change: Change::from(event),
        }
    }

    fn bytes(&self) -> usize {
        let uid = match &self.uid {
            Uid::Usual(_) => 0,
            Uid::Other(text) => text.len(),
        };
        self.key.as_str().len() + uid
    }

    fn change(&self) -> ObjectChange {
        ObjectChange {
            kind: (*self.kind).clone(),
            key: self.key.clone(),
            uid: self.uid.text(),
            revision: self.revision,
            change: self.change,
        }
    }
}

impl Uid {
    fn of(text: &str) -> Self {
        text.as_bytes()
            .try_into()
            .map_or_else(|_| Uid::Other(text.into()), Uid::Usual)
    }

    fn text(&self) -> Arc<str> {
        match self {
            Uid::Usual(bytes) => String::from_utf8_lossy(bytes).into(),
            Uid::Other(text) => Arc::clone(text),
        }
    }
}

impl RawCause {
    fn bytes(&self) -> usize {
        match self {
            RawCause::Object(change) => change.bytes(),
            RawCause::Source { .. } | RawCause::Again { .. } => 0,
        }
    }

    /// The cause, and how much later it asks for a reconcile.
    fn cause(&self) -> (Cause, Option<Duration>) {
        match self {
            RawCause::Object(change) => (Cause::Object(change.change()), None),
            RawCause::Source { after } => (Cause::Source, *after),
            RawCause::Again { outcome, after } => {
                (Cause::Again(*outcome), Some(*after).filter(|after| !after.is_zero()))
            }
        }
    }
}

impl RawTarget {
    pub(crate) fn list(query: &Query) -> Self {
        let selector = &query.selector;
        RawTarget::List {
            namespace: query.namespace.as_deref().map(Into::into),
            selector: (!selector.is_everything()).then(|| selector.to_string().into()),
        }
    }
}

impl RawRead {
    fn bytes(&self) -> usize {
        match &self.target {
            RawTarget::Key(key) => key.as_str().len(),
            RawTarget::List { namespace, selector } => {
                [namespace, selector].into_iter().flatten().map(|text| text.len()).sum()
            }
        }
    }

    fn read(&self) -> CacheRead {
        CacheRead {
            kind: (*self.kind).clone(),
            target: match &self.target {
                RawTarget::Key(key) => ReadTarget::Key(key.clone()),
                RawTarget::List { namespace, selector } => ReadTarget::List {
                    namespace: namespace.as_deref().map(str::to_owned),
                    selector: selector.as_deref().unwrap_or_default().to_owned(),
                },
            },
            found: self.found,
            cache: self.cache,
        }
    }
}

impl RawEvent {
    /// How many bytes it holds, near enough: what stands behind its handles, even if others hold that, too.
    pub(super) fn bytes(&self) -> usize {
        match self {
            RawEvent::Observed(change) => change.bytes(),
            RawEvent::Queued { key, cause, .. } => key.as_str().len() + cause.bytes(),
            RawEvent::Began { key, .. } => key.as_str().len(),
            RawEvent::Read(read) => read.bytes(),
            RawEvent::Called(call) => call.bytes(),
            RawEvent::Logged(line) => line.message.len(),
            RawEvent::Ended { key, error, .. } => key.as_str().len() + error.as_ref().map_or(0, |error| error.len()),
            RawEvent::Webhook(call) => call.bytes(),
        }
    }

    /// The event as readers see it.
    pub(super) fn event(&self) -> TraceEvent {
        match self {
            RawEvent::Observed(change) => TraceEvent::Observed(change.change()),
            RawEvent::Queued { controller, key, cause } => {
                let (cause, after) = cause.cause();
                TraceEvent::Queued {
                    controller: Arc::clone(controller),
                    key: key.clone(),
                    cause,
                    after,
                }
            }
            RawEvent::Began {
                controller,
                key,
                waited,
            } => TraceEvent::Began {
                controller: Arc::clone(controller),
                key: key.clone(),
                waited: *waited,
            },
            RawEvent::Read(read) => TraceEvent::Read(read.read()),
            RawEvent::Called(call) => TraceEvent::Called(call.call()),
            RawEvent::Logged(line) => TraceEvent::Logged(LogLine {
                level: line.level,
                target: line.target.into(),
                message: line.message.as_ref().to_owned(),
            }),
            RawEvent::Ended {
                controller,
                key,
                outcome,
                error,
                is_terminal,
                took,
            } => TraceEvent::Ended {
                controller: Arc::clone(controller),
                key: key.clone(),
                outcome: *outcome,
                error: error.as_deref().map(str::to_owned),
                is_terminal: *is_terminal,
                took: *took,
            },
            RawEvent::Webhook(call) => TraceEvent::Webhook(call.call()),
        }
    }
}
