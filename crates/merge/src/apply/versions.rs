//! What a write needs to know about its kind and its author.

use std::borrow::Cow;

use serde_json::Value;

use crate::Topology;
use crate::managed::FieldFilter;

/// One kind in all its versions, as seen by one request.
pub trait Versions<'t> {
    /// The cursor into the type of the kind.
    type Topology: Topology<'t>;

    /// The type of the kind at `api_version`; `None` when that version does not exist (any more): sets at such a version
    /// are dropped (S11).
    fn topology(&self, api_version: &str) -> Option<Self::Topology>;

    /// The same object at another version. Only called when the object's own apiVersion differs.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError>;

    /// The object before anything was set, as the server would write it: for a built-in kind the fields that are written
    /// even when empty (`{"metadata":{},"spec":{…},"status":{}}`), for a custom resource nothing but apiVersion and kind.
    /// Fields that are present here are not counted as added by a create, so `f:spec` gets no `.` of its own.
    fn zero(&self, api_version: &str) -> Value;

    /// Whether an object may be of another shape than its type says. Then it is looked at, and one that is gets no owners.
    fn may_be_malformed(&self) -> bool {
        false
    }

    /// What this endpoint never owns (S12): `status` for the main resource, everything else for `/status`.
    fn filter(&self, api_version: &str) -> Option<&FieldFilter> {
        let _ = api_version;
        None
    }
}

/// The live object, or the object before anything was set if there is none.
pub(super) fn live_or_zero<'t, 'v, V: Versions<'t>>(
    versions: &V,
    live: Option<&'v Value>,
    api_version: &str,
) -> Cow<'v, Value> {
    live.map_or_else(|| Cow::Owned(versions.zero(api_version)), Cow::Borrowed)
}

/// Why an object could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// The version does not exist; owners at that version are forgotten (S11).
    #[error("no such version")]
    MissingVersion,
    /// The conversion itself failed.
    #[error("{0}")]
    Failed(String),
}

/// The writer, the endpoint and the time of a write.
#[derive(Clone, Copy, Debug)]
pub struct FieldManager<'a> {
    /// The `fieldManager` of the request, or what stands before the `/` of its User-Agent; `unknown` if empty.
    pub name: &'a str,
    /// The apiVersion of the endpoint.
    pub api_version: &'a str,
    /// The kind of the endpoint.
    pub kind: &'a str,
    /// The subresource of the endpoint; empty for the main resource.
    pub subresource: &'a str,
    /// The time of the request, as RFC 3339 in seconds and UTC (`2026-01-02T03:04:05Z`).
    pub time: &'a str,
}
