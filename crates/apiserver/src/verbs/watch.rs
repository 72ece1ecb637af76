//! `watch`: a cursor into the log, written as frames (V1–V9).

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, Response, header};
use kubewright_schema::{self as schema, protobuf};
use kubewright_store::{Event, EventKind, Record, Revision, WatchEnd, Watcher};
use kubewright_system::clock::Clock;
use kubewright_tables::Table;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::custom::conversion::{ConversionCache, NeededConversions, Unfinished, with_conversions};
use crate::extension::Following;
use crate::object;
use crate::registry::{Resource, Verb};
use crate::request::call::{Call, record_text};
use crate::request::list_options::ListOptions;
use crate::request::select::Selection;
use crate::server::Server;
use crate::server::metrics::LongRunning;
use crate::stream::websocket::{self, Demand, Form};
use crate::wire::body::Body;
use crate::wire::negotiate::{Encoding, Output, PROTOBUF_STREAM, STREAM_TYPES, View};
use crate::wire::respond::{self, GoTypes};
use crate::wire::status::{Result, Status};
use crate::wire::table;

/// How many events are read in one go.
const BATCH: usize = 256;
/// How often an idle watch that asked for bookmarks gets one (V6).
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// The last bookmark comes this long before the deadline.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// No watch lasts longer, whatever it asks for.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(365 * 24);
/// How many bytes are written in one go; a single object may be larger. A client that does not read keeps a few of these.
const CHUNK_BYTES: usize = 64 * 1024;

pub(crate) async fn watch(call: &Call<'_>) -> Result<Response<Body>> {
    let options = ListOptions::parse(call.query, call.target, true)?;
    let requested = options.revision()?;
    if let Some(revision) = requested
        && options.send_initial_events.is_some()
    {
        call.server.wait_for_revision(revision).await?;
    }
    let timeout = match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds).min(LONGEST_TIMEOUT),
        _ => call
            .server
            .random
            .jittered(call.server.timeouts.watch, 1.0)
            .min(LONGEST_TIMEOUT),
    };
    let handshake = call.websocket();
    let now = Instant::now();
    let mut frames = Frames {
        server: call.server.me.clone(),
        resource: Arc::clone(&call.target.resource),
        output: call.output,
        table: table::wanted(call.target, call.output, call.query)?.map(Box::new),
        columns_told: false,
        clock: call.server.clock,
        selection: options.selection.clone(),
        bookmarks: options.bookmarks,
        queue: VecDeque::new(),
        // Every event is a message of its own.
        chunk: if handshake.is_some() { 1 } else { CHUNK_BYTES },
        source: None,
        initial_end: None,
        next_bookmark: now + bookmark_delay(timeout),
        deadline: now + timeout,
        _following: match call.server.mirror_of(call.resource()) {
            Some(mirror) => Some(mirror.follow(call.server, call.resource())?),
            None => None,
        },
        _running: call.server.metrics.long_running(call.target, Verb::Watch),
    };
    frames.open(call, &options, requested).await?;
    // The events of a watch have no form in YAML.
    if call.output.encoding == Encoding::Yaml {
        return Err(Status::not_acceptable(STREAM_TYPES));
    }
    let chunks = stream::unfold(frames, |mut frames| async move {
        let chunk = frames.next().await?;
        Some((chunk, frames))
    });
    if let Some(handshake) = handshake {
        let encoding = call.output.encoding;
        let messages = chunks.map(move |frame| message(encoding, &frame));
        let form = match encoding {
            Encoding::Protobuf => Form::Binary,
            Encoding::Json | Encoding::Yaml => Form::Text,
        };
        return Ok(websocket::send_all(handshake, Demand::Origin, form, messages));
    }
    let mut response = Response::new(Body::stream(chunks));
    let content_type = match call.output.encoding {
        Encoding::Protobuf => PROTOBUF_STREAM,
        Encoding::Json | Encoding::Yaml => "application/json",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// A frame without what tells it from the next one in a stream of bytes.
fn message(encoding: Encoding, frame: &Bytes) -> Bytes {
    match encoding {
        Encoding::Protobuf => frame.slice(protobuf::WATCH_FRAME_LENGTH..),
        Encoding::Json | Encoding::Yaml => frame.clone(),
    }
}

fn bookmark_delay(remaining: Duration) -> Duration {
    match remaining.checked_sub(BOOKMARK_BEFORE_END) {
        Some(before_end) if !before_end.is_zero() => BOOKMARK_EVERY.min(before_end),
        _ => BOOKMARK_EVERY,
    }
}

/// What a watch has still to say.
struct Frames {
    /// Weak, so that an open watch does not keep a server alive.
    server: Weak<Server>,
    resource: Arc<Resource>,
    output: Output,
    /// What makes Tables of the objects, if the client wants those.
    table: Option<Box<Table>>,
    /// Whether a Table has named the columns; the later ones do not.
    columns_told: bool,
    clock: Clock,
    selection: Selection,
    bookmarks: bool,
    /// What is sent before the cursor moves: the initial state, events that were read, a final error.
    queue: VecDeque<QueuedFrame>,
    /// How many bytes are written in one go: no more frames are added to a chunk that has as many.
    chunk: usize,
    /// The cursor; gone once the watch has ended.
    source: Option<Watcher>,
    /// The revision of the bookmark that ends the initial events (V7).
    initial_end: Option<Revision>,
    next_bookmark: Instant,
    deadline: Instant,
    /// Keeps rows that live elsewhere followed.
    _following: Option<Arc<Following>>,
    _running: LongRunning,
}

enum QueuedFrame {
    Initial(Arc<Record>),
    Event(Event),
    Error(Box<Status>),
}

/// Whether a frame could be written, or needs its object converted first.
type FrameResult = std::result::Result<(), Unfinished>;

impl Frames {
    /// Places the cursor (V2): behind the requested revision, or behind the present state, which is sent first.
    async fn open(&mut self, call: &Call<'_>, options: &ListOptions, requested: Option<Revision>) -> Result<()> {
        let store = &call.server.store;
        let namespace = Some(call.target.namespace).filter(|namespace| !namespace.is_empty());
        let table = self.resource.table;
        let wants_state = options.send_initial_events.unwrap_or(requested.is_none());
        if wants_state {
            let (snapshot, watcher) = store.snapshot_and_watch(table, namespace);
            let selected = with_conversions(call.server, &self.resource, |cache| {
                let (mut selected, mut gathered) = (VecDeque::new(), NeededConversions::default());
                for record in snapshot.records(namespace, None) {
                    if gathered.take(self.selection.matches(record, cache)) == Some(true) {
                        selected.push_back(QueuedFrame::Initial(Arc::clone(record)));
                    }
                }
                gathered.check().map(|()| selected)
            });
            self.queue = selected.await?;
            self.source = Some(watcher);
            if options.send_initial_events == Some(true) && self.bookmarks {
                self.initial_end = Some(snapshot.revision());
            }
            return Ok(());
        }
        let after = requested.unwrap_or_else(|| store.revision());
        match store.watch(table, namespace, after) {
            Ok(watcher) => self.source = Some(watcher),
            Err(compacted) => {
                let message = format!("too old resource version: {after} ({})", compacted.oldest);
                self.queue.push_back(QueuedFrame::Error(Status::expired(message)));
            }
        }
        Ok(())
    }

    /// The next frames, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(chunk) = self.queued().await {
            return Some(chunk);
        }
        if let Some(revision) = self.initial_end.take() {
            let mut out = Vec::new();
            self.bookmark(&mut out, revision, true);
            let remaining = self.deadline - Instant::now();
            if remaining <= 2 * BOOKMARK_BEFORE_END {
                self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
            }
            return Some(out.into());
        }
        loop {
            let (bookmarks, next_bookmark, deadline) = (self.bookmarks, self.next_bookmark, self.deadline);
            let source = self.source.as_mut()?;
            match source.try_next(BATCH) {
                Ok(batch) if !batch.events.is_empty() => {
                    self.queue.extend(batch.events.into_iter().map(QueuedFrame::Event));
                    match self.queued().await {
                        Some(chunk) => return Some(chunk),
                        None => continue,
                    }
                }
                Ok(_) => {}
                Err(WatchEnd::Closed) => {
                    self.source = None;
                    return None;
                }
                Err(WatchEnd::Compacted(_)) => {
                    self.source = None;
                    let status = Status::expired("The resourceVersion for the provided watch is too old.");
                    self.queue.push_back(QueuedFrame::Error(status));
                    return self.queued().await;
                }
            }
            let wake = if bookmarks {
                next_bookmark.min(deadline)
            } else {
                deadline
            };
            tokio::select! {
                biased;
                () = source.ready() => {}
                () = tokio::time::sleep_until(wake) => {
                    if Instant::now() >= deadline {
                        self.source = None;
                        return None;
                    }
                    let seen = source.seen();
                    self.next_bookmark = Instant::now() + bookmark_delay(deadline - Instant::now());
                    let mut out = Vec::new();
                    self.bookmark(&mut out, seen, false);
                    return Some(out.into());
                }
            }
        }
    }

    async fn queued(&mut self) -> Option<Bytes> {
        let mut out = Vec::new();
        while out.len() < self.chunk {
            let Some(pending) = self.queue.pop_front() else {
                break;
            };
            let server = self.server.upgrade()?;
            let written = out.len();
            if self.pending(&mut out, &pending, &ConversionCache::default()).is_err() {
                out.truncate(written);
                // Boxed, because a watch waits nearly always and would keep the room of a conversion.
                Box::pin(self.converted(&server, &mut out, &pending)).await;
            }
        }
        (!out.is_empty()).then(|| out.into())
    }

    /// Writes a frame whose object a webhook may have to convert.
    async fn converted(&mut self, server: &Server, out: &mut Vec<u8>, pending: &QueuedFrame) {
        let (resource, written) = (Arc::clone(&self.resource), out.len());
        let frame = with_conversions(server, &resource, |cache| {
            out.truncate(written);
            self.pending(out, pending, cache)
        });
        // What cannot be converted cannot be shown, and the watch must not go on as if nothing had been there.
        if let Err(status) = frame.await {
            out.truncate(written);
            self.value_frame(out, "ERROR", &status.to_value());
            self.end();
        }
    }

    fn pending(&mut self, out: &mut Vec<u8>, pending: &QueuedFrame, cache: &ConversionCache) -> FrameResult {
        match pending {
            QueuedFrame::Initial(record) => self.frame(out, "ADDED", (record, record.revision), cache),
            QueuedFrame::Event(event) => self.event(out, event, cache),
            QueuedFrame::Error(status) => {
                self.value_frame(out, "ERROR", &status.to_value());
                Ok(())
            }
        }
    }

    /// An event as this watch's selectors see it: entering is ADDED, leaving is DELETED with the last state that
    /// matched (V4).
    fn event(&mut self, out: &mut Vec<u8>, event: &Event, cache: &ConversionCache) -> FrameResult {
        let mut gathered = NeededConversions::default();
        let mut matches = |record: &Record| gathered.take(self.selection.matches(record, cache)) == Some(true);
        let after = event.kind != EventKind::Deleted && matches(&event.record);
        let previous = event.previous.as_ref().filter(|previous| matches(previous));
        gathered.check()?;
        match (previous, after) {
            (None, true) => self.frame(out, "ADDED", (&event.record, event.revision), cache),
            (Some(_), true) => self.frame(out, "MODIFIED", (&event.record, event.revision), cache),
            (Some(previous), false) => self.frame(out, "DELETED", (previous, event.revision), cache),
            (None, false) => Ok(()),
        }
    }

    fn frame(
        &mut self,
        out: &mut Vec<u8>,
        kind: &str,
        (record, revision): (&Record, Revision),
        cache: &ConversionCache,
    ) -> FrameResult {
        if self.output == Output::JSON && self.resource.serves_as_stored(record) {
            frame_head(out, kind);
            object::splice(out, &self.resource.type_meta, revision, record);
            out.extend_from_slice(b"}\n");
            return Ok(());
        }
        if let (Encoding::Json, View::Metadata { version }) = (self.output.encoding, self.output.view)
            && self.resource.serves_as_stored(record)
            // Conversion gives them an annotation that their metadata does not have.
            && *self.resource.kind != *"DaemonSet"
        {
            let before = out.len();
            frame_head(out, kind);
            if object::splice_metadata(out, &self.resource, version, revision, record) {
                out.extend_from_slice(b"}\n");
                return Ok(());
            }
            out.truncate(before);
        }
        let text = record_text(&self.resource, record, revision, cache)?;
        let value = object::parsed(&text);
        // An event is one object, so that the metadata of a list cannot be made of it: upstream ends the watch without a word.
        match respond::view(value, self.output.view, GoTypes::default()) {
            Ok(value) => self.object_frame(out, kind, &value),
            Err(_) => self.end(),
        }
        Ok(())
    }

    /// Ends the watch behind what has been written.
    fn end(&mut self) {
        self.queue.clear();
        self.source = None;
        self.initial_end = None;
    }

    /// An object, as a Table where that is wanted.
    fn object_frame(&mut self, out: &mut Vec<u8>, kind: &str, object: &Value) {
        let Some(table) = &self.table else {
            self.value_frame(out, kind, object);
            return;
        };
        let mut text = Vec::new();
        let with_columns = !std::mem::replace(&mut self.columns_told, true);
        match table.write_object(&mut text, object, with_columns, self.clock.now()) {
            Ok(()) if self.output.encoding == Encoding::Protobuf => self.value_frame(out, kind, &object::parsed(&text)),
            Ok(()) => {
                frame_head(out, kind);
                out.extend_from_slice(text.trim_ascii_end());
                out.extend_from_slice(b"}\n");
            }
            Err(error) => self.value_frame(out, "ERROR", &table::refusal(error).to_value()),
        }
    }

    /// Nothing but a revision: everything up to it has been sent (V6).
    fn bookmark(&mut self, out: &mut Vec<u8>, revision: Revision, ends_initial: bool) {
        let mut object = crate::wire::bookmark::empty(&self.resource, self.output.view);
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        if ends_initial {
            object["metadata"]["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        self.object_frame(out, "BOOKMARK", &object);
    }

    fn value_frame(&self, out: &mut Vec<u8>, kind: &str, object: &Value) {
        match self.output.encoding {
            Encoding::Protobuf => match respond::to_protobuf(object) {
                Ok(object) => out.extend(protobuf::watch_frame(kind, &object)),
                Err(status) => {
                    let status = respond::to_protobuf(&status.to_value()).unwrap_or_default();
                    out.extend(protobuf::watch_frame("ERROR", &status));
                }
            },
            Encoding::Json | Encoding::Yaml => {
                frame_head(out, kind);
                schema::write_object_json(schema::Types::builtin(), object, out);
                out.extend_from_slice(b"}\n");
            }
        }
    }
}

fn frame_head(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(br#"{"type":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","object":"#);
}
