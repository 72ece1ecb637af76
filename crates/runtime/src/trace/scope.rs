//! Which reconcile a line of code runs in.

use std::fmt;
use std::future::Future;

use serde::{Deserialize, Serialize};

use super::Trace;

/// Tells the reconciles of a trace apart. Counted from 1 in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReconcileId(pub(super) u64);

impl ReconcileId {
    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// The reconcile that a task is at, and where its log lines go.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) reconcile: ReconcileId,
    #[cfg_attr(
        not(any(feature = "log", feature = "otlp")),
        expect(
            dead_code,
            reason = "log lines are recorded with the feature `log` alone, and spans exported with `otlp`"
        )
    )]
    pub(super) trace: Trace,
}

tokio::task_local! {
    static SCOPE: Scope;
}

/// Runs a reconcile; what its task records while it runs carries its id. Nothing is different if the trace is off.
pub(crate) async fn in_reconcile<T>(trace: &Trace, reconcile: impl Future<Output = T>) -> T {
    let Some(id) = trace.next_reconcile() else {
        return reconcile.await;
    };
    let scope = Scope {
        reconcile: id,
        trace: trace.clone(),
    };
    let reconcile = SCOPE.scope(scope, reconcile);
    #[cfg(feature = "log")]
    if super::logs::nobody_listens() {
        use tracing::instrument::WithSubscriber as _;
        return reconcile.with_subscriber(super::logs::recorder()).await;
    }
    reconcile.await
}

/// The reconcile that this code runs in; `None` outside of one, and in a task that a reconciler spawned.
pub(super) fn current() -> Option<ReconcileId> {
    SCOPE.try_with(|scope| scope.reconcile).ok()
}

/// A request with the W3C context of the reconcile that sends it, if spans are exported.
pub(crate) fn with_context<B>(request: http::Request<B>) -> http::Request<B> {
    #[cfg(feature = "otlp")]
    {
        let parent = |scope: &Scope| {
            let context = *scope.trace.0.as_ref()?.context.get()?;
            http::HeaderValue::try_from(context.traceparent(scope.reconcile)).ok()
        };
        if let Ok(Some(parent)) = SCOPE.try_with(parent) {
            let mut request = request;
            request.headers_mut().entry("traceparent").or_insert(parent);
            return request;
        }
    }
    request
}

/// Calls a function with the scope, if there is one.
#[cfg(feature = "log")]
pub(super) fn with(look: impl FnOnce(&Scope)) {
    let _ = SCOPE.try_with(look);
}
