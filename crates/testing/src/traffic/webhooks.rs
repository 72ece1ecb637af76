//! What stands before the webhooks of an operator: they can be down or slow for a while. It counts who comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::lag::AFTERWARDS;

/// How long there is trouble that nobody ends.
pub(crate) const TROUBLE: Duration = Duration::from_secs(30);
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

/// A call of a webhook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WebhookCall {
    /// Counts all calls from 0: time stands still while much happens.
    pub(crate) number: u64,
    pub(crate) at: Instant,
}

/// Whether webhooks are called. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebhookGate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What is wrong, and until when; until it is ended if `None`.
    trouble: Option<(WebhookTrouble, Option<Instant>)>,
    /// How many calls met the trouble.
    hits: u64,
    /// How often webhooks were called.
    count: u64,
    /// Those calls at which nobody has looked yet.
    calls: Vec<WebhookCall>,
}

impl WebhookGate {
    /// There is trouble from now on, for a while.
    pub(crate) fn trouble(&self, trouble: WebhookTrouble) {
        self.0.lock().trouble = Some((trouble, Some(Instant::now() + TROUBLE)));
    }

    /// There is trouble from now on, until it is ended.
    pub(crate) fn begin_trouble(&self, trouble: WebhookTrouble) {
        self.0.lock().trouble = Some((trouble, None));
    }

    /// All is well from now on.
    pub(crate) fn end_trouble(&self) {
        self.0.lock().trouble = None;
    }

    /// Whether a call has met the trouble.
    pub(crate) fn is_hit(&self) -> bool {
        self.0.lock().hits > 0
    }

    /// Whether who watches may be behind: events that cannot be converted do not come, nor does the list that replaces them.
    pub(crate) fn may_be_behind(&self) -> bool {
        let state = self.0.lock();
        let is_recent = |until: Option<Instant>| until.is_none_or(|until| Instant::now() < until + AFTERWARDS);
        state.hits > 0 && state.trouble.is_some_and(|(_, until)| is_recent(until))
    }

    /// How often webhooks were called.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().count
    }

    /// The calls since this was asked last.
    pub(crate) fn take_calls(&self) -> Vec<WebhookCall> {
        std::mem::take(&mut self.0.lock().calls)
    }

    /// Notes a call, and says what happens to it.
    fn note(&self) -> Option<WebhookTrouble> {
        let now = Instant::now();
        let mut state = self.0.lock();
        let number = state.count;
        state.count += 1;
        state.calls.push(WebhookCall { number, at: now });
        let is_on = |until: Option<Instant>| until.is_none_or(|until| now < until);
        let (trouble, _) = state.trouble.filter(|(_, until)| is_on(*until))?;
        state.hits += 1;
        Some(trouble)
    }

    /// Calls a webhook, unless there is trouble.
    pub(crate) async fn call(self, webhook: impl Future<Output = Response<Bytes>>) -> Response<Bytes> {
        match self.note() {
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
