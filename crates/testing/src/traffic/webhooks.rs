//! What stands before the webhooks of an operator: they can be down or slow for a while.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long there is trouble.
const TROUBLE: Duration = Duration::from_secs(30);
/// Longer than a server waits for a webhook.
const SLOW: Duration = Duration::from_secs(31);

/// What is wrong with webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WebhookTrouble {
    /// Nobody is there.
    Down,
    /// Answers come later than the server waits.
    Slow,
}

/// Whether webhooks are called. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebhookGate(Arc<Mutex<Option<(WebhookTrouble, Instant)>>>);

impl WebhookGate {
    /// There is trouble from now on, for a while.
    pub(crate) fn trouble(&self, trouble: WebhookTrouble) {
        *self.0.lock() = Some((trouble, Instant::now() + TROUBLE));
    }

    fn now(&self) -> Option<WebhookTrouble> {
        let trouble = *self.0.lock();
        trouble
            .filter(|(_, until)| Instant::now() < *until)
            .map(|(trouble, _)| trouble)
    }

    /// Calls a webhook, unless there is trouble.
    pub(crate) async fn call(self, webhook: impl Future<Output = Response<Bytes>>) -> Response<Bytes> {
        match self.now() {
            Some(WebhookTrouble::Down) => {
                let mut answer = Response::new(Bytes::from_static(b"injected: no webhook is there"));
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                return answer;
            }
            Some(WebhookTrouble::Slow) => tokio::time::sleep(SLOW).await,
            None => {}
        }
        webhook.await
    }
}
