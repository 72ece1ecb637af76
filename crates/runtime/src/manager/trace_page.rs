//! `/debug/kubewright/trace`: the trace of a manager, as JSON, and as server-sent events that go on as things happen.
//!
//! A reader has a cursor into the trace and nothing else: one that is slow misses records and is told how many, and the operator waits for
//! nobody. Both pages take `?since=N`, the sequence number to begin with; a browser that comes back says it as `Last-Event-ID`.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::serve::{Handler, HttpResponse, ResponseBody, error, page, refusal};
use crate::stop::Stop;
use crate::trace::{Follower, Trace, TraceRecord};

/// As many records are one piece of the stream: what a reader that has stopped reading keeps from being forgotten.
const MOST_AT_ONCE: usize = 64;
/// After so much silence a comment is sent, so that a reader that is gone is noticed.
const SILENCE: Duration = Duration::from_secs(15);

/// All records that the trace still has.
pub(super) fn trace_page(trace: Trace) -> impl Handler {
    move |request: Request<Incoming>| {
        let answer = refused(&request, &trace).unwrap_or_else(|| {
            let since = query(&request, "since").unwrap_or(0);
            page(
                StatusCode::OK,
                "application/json",
                records(&trace, since).to_string() + "\n",
            )
        });
        async move { answer }
    }
}

/// The same as server-sent events, and what follows, until the server stops.
pub(super) fn trace_events(trace: Trace, stop: Stop) -> impl Handler {
    move |request: Request<Incoming>| {
        let answer = refused(&request, &trace).unwrap_or_else(|| {
            let last = request.headers().get("last-event-id");
            let last = last.and_then(|last| last.to_str().ok()?.parse::<u64>().ok());
            let since = last
                .map(|last| last.saturating_add(1))
                .or_else(|| query(&request, "since"));
            let mut answer = HttpResponse::new(ResponseBody::stream(events(&trace, since.unwrap_or(0), stop.clone())));
            let headers = answer.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            answer
        });
        async move { answer }
    }
}

fn refused(request: &Request<Incoming>, trace: &Trace) -> Option<HttpResponse> {
    refusal(request).or_else(|| {
        let off = "the trace is off: --debug-trace-bytes=8388608 keeps the last 8 MiB of it";
        (!trace.is_on()).then(|| error(StatusCode::NOT_FOUND, off))
    })
}

fn query(request: &Request<Incoming>, name: &str) -> Option<u64> {
    let mut pairs = request
        .uri()
        .query()?
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name)?.1.parse().ok()
}

fn records(trace: &Trace, since: u64) -> Value {
    let (records, missed) = trace.since(start(trace, since), usize::MAX);
    let records: Vec<&TraceRecord> = records.iter().map(|record| &**record).collect();
    let mut page = begin(trace);
    page["missed"] = missed.into();
    page["records"] = json!(records);
    page
}

/// What a reader has to know of the whole: which process it is, and on which second of the trace.
fn begin(trace: &Trace) -> Value {
    json!({ "version": 1, "process": std::process::id(), "elapsed": trace.elapsed().as_secs_f64() })
}

/// Where to begin. A number that was not reached yet is one of an operator that ran before this one.
fn start(trace: &Trace, since: u64) -> u64 {
    if since > trace.count() { 0 } else { since }
}

struct Reader {
    follower: Follower,
    /// How many missed records the reader was told of.
    told: u64,
    /// What is sent before anything else.
    first: Option<Bytes>,
    stop: Stop,
}

fn events(trace: &Trace, since: u64, stop: Stop) -> impl Stream<Item = Bytes> + Send + use<> {
    let reader = Reader {
        follower: trace.follow_from(start(trace, since)),
        told: 0,
        first: Some(format!("event: begin\ndata: {}\n\n", begin(trace)).into()),
        stop,
    };
    unfold(reader, |mut reader| async move {
        let piece = reader.next().await?;
        Some((piece, reader))
    })
}

impl Reader {
    /// The next piece; `None` when the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let records = tokio::select! {
            biased;
            () = self.stop.stopped() => return None,
            records = self.follower.next_up_to(MOST_AT_ONCE) => records,
            () = tokio::time::sleep(SILENCE) => return Some(Bytes::from_static(b":\n\n")),
        };
        let mut text = String::new();
        let missed = self.follower.missed();
        if missed > self.told {
            let event = json!({ "count": missed - self.told });
            let _ = write!(text, "event: missed\ndata: {event}\n\n");
            self.told = missed;
        }
        for record in records {
            // JSON has no line ends outside of strings, and escapes those inside.
            if let Ok(data) = serde_json::to_string(&*record) {
                let _ = write!(text, "id: {}\ndata: {data}\n\n", record.sequence);
            }
        }
        Some(text.into())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::StreamExt as _;

    use super::*;
    use crate::stop::Stopper;
    use crate::trace::{LogLevel, RawEvent, RawLine};

    fn say(trace: &Trace, message: &str) {
        trace.record(|| {
            RawEvent::Logged(RawLine {
                level: LogLevel::Info,
                target: "test",
                message: message.into(),
            })
        });
    }

    fn text(piece: Option<Bytes>) -> String {
        String::from_utf8(piece.unwrap().to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_misses_records_and_is_told_how_many() {
        let trace = Trace::bounded(4096);
        let (_stopper, stop) = Stopper::new();
        let mut events = pin!(events(&trace, 0, stop));
        assert!(text(events.next().await).starts_with("event: begin\ndata: {"));
        say(&trace, "first\nof two lines");
        let piece = text(events.next().await);
        assert!(
            piece.starts_with("id: 0\ndata: {") && piece.contains("first\\nof two lines"),
            "{piece}"
        );
        // Nobody reads meanwhile, and nothing waits.
        for number in 1..=1000 {
            say(&trace, &number.to_string());
        }
        let forgotten = trace.forgotten() - 1;
        let piece = text(events.next().await);
        assert!(
            piece.starts_with(&format!("event: missed\ndata: {{\"count\":{forgotten}}}\n\n")),
            "{piece}"
        );
        assert!(piece.ends_with("\n\n") && piece.contains("\nid: 1000\n"), "{piece}");
        assert!(trace.bytes() <= 4096);
    }

    #[tokio::test(start_paused = true)]
    async fn one_piece_is_small_however_much_there_is() {
        let trace = Trace::bounded(1 << 20);
        for number in 0..200 {
            say(&trace, &number.to_string());
        }
        let (stopper, stop) = Stopper::new();
        let mut events = pin!(events(&trace, 0, stop));
        events.next().await;
        for expected in [64, 64, 64, 8] {
            assert_eq!(text(events.next().await).matches("\nid: ").count() + 1, expected);
        }
        assert_eq!(text(events.next().await), ":\n\n");
        stopper.stop();
        assert_eq!(events.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_goes_on_where_it_was_unless_the_operator_is_another() {
        let trace = Trace::bounded(1 << 20);
        for number in 0..5 {
            say(&trace, &number.to_string());
        }
        let sequences = |since| {
            let records = records(&trace, since)["records"].take();
            let records = records.as_array().unwrap().iter();
            records
                .map(|record| record["sequence"].as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(sequences(3), [3, 4]);
        assert_eq!(sequences(5), Vec::<u64>::new());
        assert_eq!(sequences(900), [0, 1, 2, 3, 4]);
    }
}
