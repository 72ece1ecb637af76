//! A span as OpenTelemetry defines it, whatever it is sent as.

use std::time::Duration;

use crate::trace::SpanContext;

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) context: SpanContext,
    /// The span that this one is a part of, in the same trace.
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Since 1970, as all times here.
    pub(super) began: Duration,
    pub(super) ended: Duration,
    pub(super) attributes: Vec<Attribute>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) dropped_events: u32,
    pub(super) links: Vec<Link>,
    /// Why it failed, if it did.
    pub(super) failure: Option<String>,
}

/// Where the time was spent. The numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    /// Here.
    Internal = 1,
    /// Waiting for a server.
    Client = 3,
}

/// The code of a span that failed.
pub(super) const STATUS_ERROR: u8 = 2;

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpanEvent {
    pub(super) at: Duration,
    pub(super) name: String,
    pub(super) attributes: Vec<Attribute>,
}

/// Another span that has to do with one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) to: SpanContext,
    pub(super) attributes: Vec<Attribute>,
}

/// A name with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub(super) key: String,
    pub(super) value: AttributeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AttributeValue {
    Text(String),
    Texts(Vec<String>),
    Bool(bool),
    Integer(u64),
    Double(f64),
}

impl Attribute {
    fn new(key: &str, value: AttributeValue) -> Self {
        Attribute {
            key: key.to_owned(),
            value,
        }
    }

    pub(super) fn text(key: &str, value: impl Into<String>) -> Self {
        Self::new(key, AttributeValue::Text(value.into()))
    }

    pub(super) fn texts(key: &str, values: Vec<String>) -> Self {
        Self::new(key, AttributeValue::Texts(values))
    }

    pub(super) fn bool(key: &str, value: bool) -> Self {
        Self::new(key, AttributeValue::Bool(value))
    }

    pub(super) fn integer(key: &str, value: u64) -> Self {
        Self::new(key, AttributeValue::Integer(value))
    }

    pub(super) fn seconds(key: &str, value: Duration) -> Self {
        Self::new(key, AttributeValue::Double(value.as_secs_f64()))
    }
}
