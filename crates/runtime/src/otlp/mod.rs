//! The trace as OpenTelemetry has it: reconciles as spans, requests to the API server as their children, sent to a collector by OTLP over HTTP, in
//! protobuf or JSON.
//!
//! An operator that finds `OTEL_EXPORTER_OTLP_ENDPOINT` in its environment exports by itself, see [`ExportSettings::from_environment`]; [`Exporter`] is for
//! programs that run a [`Manager`](crate::manager::Manager) of their own. The exporter is a reader of the trace like any other: what it cannot send in time
//! is dropped and counted, and the operator waits for nothing.

mod answer;
mod json;
mod protobuf;
mod protocol;
mod settings;
mod span;
mod spans;
mod wire;

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, OptionFuture};
use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::time::Instant;

pub use settings::{ExportError, ExportSettings};

use crate::stop::Stop;
use crate::trace::{Follower, Trace};
use answer::{Failure, Retry};
use span::Span;
use spans::Spans;

/// The spans of a request, and why they did not arrive.
type Sent = (Vec<Span>, Result<(), Failure>);

/// Name and version of what makes the spans.
const SCOPE: (&str, &str) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));

/// How long the last spans may take at the end.
const FLUSHED_WITHIN: Duration = Duration::from_secs(3);
/// Failures are told at most so often.
const TOLD_EVERY: Duration = Duration::from_mins(1);
/// A collector that has no time is asked again after so long, and then after twice as long each time.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(30);

/// As many bytes does a trace keep that is on only to be exported.
pub(crate) const TRACE_BYTES: usize = 8 << 20;

/// Sends the spans of a trace to a collector.
pub struct Exporter {
    settings: ExportSettings,
    client: kube::Client,
    trace: Follower,
    spans: Spans,
    waiting: VecDeque<Span>,
    /// How long the collector is left alone after it had no time once more.
    back_off: Duration,
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
        let context = trace.export_context(settings.sampler);
        let elapsed = trace.elapsed();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Exporter {
            client,
            trace: trace.follow(),
            spans: Spans::new(context, now.saturating_sub(elapsed)),
            waiting: VecDeque::new(),
            back_off: FIRST_BACK_OFF,
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
        // While the collector has no time nothing is sent before it is due, however much there is.
        let mut is_backing_off = false;
        loop {
            let is_full = self.waiting.len() >= self.settings.batch && !is_backing_off;
            tokio::select! {
                biased;
                () = stop.stopped() => break,
                Some(outcome) = &mut sending, if is_sending => {
                    is_sending = false;
                    let again = self.sent(outcome);
                    is_backing_off = again.is_some();
                    due = Instant::now() + again.unwrap_or(self.settings.delay);
                    continue;
                }
                () = std::future::ready(()), if is_full && !is_sending => {}
                () = tokio::time::sleep_until(due), if !is_sending && !self.waiting.is_empty() => {}
                records = self.trace.next_up_to(256) => {
                    let spans: Vec<Span> = records.iter().flat_map(|record| self.spans.take(record)).collect();
                    self.keep(spans);
                    continue;
                }
            }
            sending = Some(self.send_batch()).into();
            is_sending = true;
        }
        while let Some(records) = self.trace.next_up_to(usize::MAX).now_or_never() {
            let spans: Vec<Span> = records.iter().flat_map(|record| self.spans.take(record)).collect();
            self.keep(spans);
        }
        // What is under way first, then the rest, until the collector has no time.
        let rest = async {
            if is_sending && let Some(outcome) = sending.await {
                is_backing_off = self.sent(outcome).is_some();
            }
            while !self.waiting.is_empty() && !is_backing_off {
                let outcome = self.send_batch().await;
                is_backing_off = self.sent(outcome).is_some();
            }
        };
        let _ = tokio::time::timeout(FLUSHED_WITHIN, rest).await;
    }

    /// Keeps spans until they are sent, as many as there is room for.
    fn keep(&mut self, spans: Vec<Span>) {
        for span in spans {
            if self.waiting.len() >= self.settings.queue {
                self.dropped += 1;
            } else {
                self.waiting.push_back(span);
            }
        }
    }

    /// Sends as much as one request takes.
    fn send_batch(&mut self) -> BoxFuture<'static, Sent> {
        let batch: Vec<Span> = self
            .waiting
            .drain(..self.waiting.len().min(self.settings.batch))
            .collect();
        let (client, timeout, protocol) = (self.client.clone(), self.settings.timeout, self.settings.protocol);
        let request = self.request(&batch);
        Box::pin(async move {
            let sent = async {
                let request = request.map_err(|error| Failure::new(error.to_string(), Retry::Never))?;
                let broken = |error: kube::Error| Failure::new(error.to_string(), Retry::Later);
                let (head, body) = client.send(request).await.map_err(broken)?.into_parts();
                let body = body.collect().await.map_err(broken)?.to_bytes();
                protocol.arrived(head.status, &head.headers, &body)
            };
            let outcome = tokio::time::timeout(timeout, sent).await;
            let late = || Err(Failure::new("it does not answer", Retry::Never));
            (batch, outcome.unwrap_or_else(|_| late()))
        })
    }

    fn request(&self, spans: &[Span]) -> Result<Request<Body>, http::Error> {
        let protocol = self.settings.protocol;
        let mut request = Request::post(&self.settings.path).header(header::CONTENT_TYPE, protocol.content_type());
        for (name, value) in &self.settings.headers {
            let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
            if let (Ok(name), Ok(mut value)) = pair {
                value.set_sensitive(true);
                request = request.header(name, value);
            }
        }
        request.body(Body::from(protocol.request(&self.settings.resource(), spans)))
    }

    /// Counts what did not arrive, and says so from time to time. Spans that may arrive another time wait again: returned is when.
    fn sent(&mut self, (batch, outcome): Sent) -> Option<Duration> {
        let Err(failure) = outcome else {
            self.back_off = FIRST_BACK_OFF;
            return None;
        };
        let count = batch.len() as u64;
        let again = match failure.retry {
            Retry::Never => None,
            Retry::Later => Some(self.back_off),
            Retry::After(wait) => Some(wait.min(LONGEST_BACK_OFF)),
        };
        if again.is_some() {
            self.back_off = (self.back_off * 2).min(LONGEST_BACK_OFF);
            // What came meanwhile has to go if there is no room for both.
            let room = self.settings.queue.saturating_sub(batch.len());
            self.dropped += self.waiting.len().saturating_sub(room) as u64;
            self.waiting.truncate(room);
            batch.into_iter().rev().for_each(|span| self.waiting.push_front(span));
        } else {
            self.dropped += failure.rejected.unwrap_or(count);
        }
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            self.told = Some(Instant::now());
            let (why, dropped, missed) = (failure.why, self.dropped, self.trace.missed());
            tracing::warn!(why, dropped, missed, "spans cannot be exported");
        }
        again
    }
}
