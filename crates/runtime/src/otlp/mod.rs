//! The trace as OpenTelemetry has it: reconciles as spans, requests to the API server as their children, sent to a collector by OTLP over HTTP in JSON.
//!
//! An operator that finds `OTEL_EXPORTER_OTLP_ENDPOINT` in its environment exports by itself, see [`ExportSettings::from_environment`]; [`Exporter`] is for
//! programs that run a [`Manager`](crate::manager::Manager) of their own. The exporter is a reader of the trace like any other: what it cannot send in time
//! is dropped and counted, and the operator waits for nothing.

mod settings;
mod spans;

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, OptionFuture};
use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use settings::{ExportError, ExportSettings};

use crate::stop::Stop;
use crate::trace::{Follower, Trace};
use spans::Spans;

/// How many spans were in a request, and why they did not arrive.
type Sent = (usize, Result<(), String>);

/// How long the last spans may take at the end.
const FLUSHED_WITHIN: Duration = Duration::from_secs(3);
/// Failures are told at most so often.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// As many bytes does a trace keep that is on only to be exported.
pub(crate) const TRACE_BYTES: usize = 8 << 20;

/// Sends the spans of a trace to a collector.
pub struct Exporter {
    settings: ExportSettings,
    client: kube::Client,
    trace: Follower,
    spans: Spans,
    waiting: VecDeque<Value>,
    /// How many spans were dropped so far.
    dropped: u64,
    told: Option<Instant>,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter")
            .field("settings", &self.settings)
            .field("waiting", &self.waiting.len())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

impl Exporter {
    /// An exporter of a trace, which has to be on. From now on requests to the API server carry the W3C context of the reconcile that sends them.
    pub fn new(settings: ExportSettings, trace: &Trace) -> Result<Self, ExportError> {
        let client = settings.client()?;
        let context = trace.export_context();
        let elapsed = trace.elapsed();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Exporter {
            client,
            trace: trace.follow(),
            spans: Spans::new(context, now.saturating_sub(elapsed)),
            waiting: VecDeque::new(),
            dropped: 0,
            told: None,
            settings,
        })
    }

    /// Exports until asked to stop, and then what is left for a moment.
    pub async fn run(mut self, stop: Stop) {
        let mut due = Instant::now() + self.settings.delay;
        let mut sending: OptionFuture<BoxFuture<'static, Sent>> = None.into();
        let mut is_sending = false;
        loop {
            let is_full = self.waiting.len() >= self.settings.batch;
            tokio::select! {
                biased;
                () = stop.stopped() => break,
                Some(outcome) = &mut sending, if is_sending => {
                    is_sending = false;
                    self.sent(outcome);
                    continue;
                }
                () = std::future::ready(()), if is_full && !is_sending => {}
                () = tokio::time::sleep_until(due), if !is_sending && !self.waiting.is_empty() => {}
                records = self.trace.next_up_to(256) => {
                    let spans: Vec<Value> = records.iter().flat_map(|record| self.spans.take(record)).collect();
                    self.keep(spans);
                    continue;
                }
            }
            due = Instant::now() + self.settings.delay;
            sending = Some(self.send_batch()).into();
            is_sending = true;
        }
        while let Some(records) = self.trace.next_up_to(usize::MAX).now_or_never() {
            let spans: Vec<Value> = records.iter().flat_map(|record| self.spans.take(record)).collect();
            self.keep(spans);
        }
        // What is under way first, then the rest.
        let rest = async {
            if is_sending && let Some(outcome) = sending.await {
                self.sent(outcome);
            }
            while !self.waiting.is_empty() {
                let outcome = self.send_batch().await;
                self.sent(outcome);
            }
        };
        let _ = tokio::time::timeout(FLUSHED_WITHIN, rest).await;
    }

    /// Keeps spans until they are sent, as many as there is room for.
    fn keep(&mut self, spans: Vec<Value>) {
        for span in spans {
            if self.waiting.len() >= self.settings.queue {
                self.dropped += 1;
            } else {
                self.waiting.push_back(span);
            }
        }
    }

    /// Sends as much as one request takes. How many spans that were, and why they did not arrive.
    fn send_batch(&mut self) -> BoxFuture<'static, Sent> {
        let batch: Vec<Value> = self
            .waiting
            .drain(..self.waiting.len().min(self.settings.batch))
            .collect();
        let (count, client, timeout) = (batch.len(), self.client.clone(), self.settings.timeout);
        let request = self.request(&batch);
        Box::pin(async move {
            let sent = async {
                let request = request.map_err(|error| error.to_string())?;
                let answer = client.send(request).await.map_err(|error| error.to_string())?;
                let status = answer.status();
                let body = answer
                    .into_body()
                    .collect()
                    .await
                    .map_err(|error| error.to_string())?
                    .to_bytes();
                if status.is_success() {
                    return Ok(());
                }
                let text: String = String::from_utf8_lossy(&body).chars().take(200).collect();
                Err(format!("{status}: {text}"))
            };
            let outcome = tokio::time::timeout(timeout, sent).await;
            (count, outcome.unwrap_or_else(|_| Err("it does not answer".to_owned())))
        })
    }

    fn request(&self, spans: &[Value]) -> Result<Request<Body>, http::Error> {
        let scope = json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") });
        let body = json!({
            "resourceSpans": [{
                "resource": { "attributes": self.settings.resource() },
                "scopeSpans": [{ "scope": scope, "spans": spans }],
            }],
        });
        let mut request = Request::post(&self.settings.path).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in &self.settings.headers {
            let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
            if let (Ok(name), Ok(mut value)) = pair {
                value.set_sensitive(true);
                request = request.header(name, value);
            }
        }
        request.body(Body::from(body.to_string().into_bytes()))
    }

    /// Counts what did not arrive, and says so from time to time.
    fn sent(&mut self, (count, outcome): Sent) {
        let Err(why) = outcome else {
            return;
        };
        self.dropped += count as u64;
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            self.told = Some(Instant::now());
            let missed = self.trace.missed();
            let dropped = self.dropped;
            tracing::warn!(why, dropped, missed, "spans cannot be exported");
        }
    }
}
