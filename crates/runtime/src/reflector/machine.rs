//! The list/watch machine: one enum of states, one step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;

use super::failure::Failure;
use super::health::{Health, Trouble};
use super::source::{Frames as _, ListRequest, Source, WatchRequest};
use super::target::Target;
use crate::cache::Writer;
use crate::object::{Frame, FrameKind, FrameObject, Page, Record, RecordError};
use crate::queue::Backoff;
use crate::random::Random;

/// Pages of this many objects, as client-go.
const PAGE: u32 = 500;
/// Back-off between failures of one watch; up to twice as long by chance.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(200),
    max: Duration::from_secs(30),
};
/// How long discovery is left alone at most while a kind is not served; a tenth longer by chance.
const MISSING_MAX: Duration = Duration::from_secs(10);
const MISSING_JITTER: f64 = 0.1;
/// A watch that lived this long was a success, even if it had nothing to say.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// Where discovery cannot be asked, this many answers of 404 in a row mean that the kind is gone, and its objects with it.
const GONE_AFTER: u32 = 2;
/// A server that knows how to begin a watch with the state says something within this time, or that it has said all. One that
/// does not know, and does not say so either, is silent after the last object.
const STATE_SILENCE: Duration = Duration::from_secs(10);

/// No more room than this is kept between two frames.
const SCRATCH_MAX: usize = 64 << 10;

/// What the machine is about to do.
pub(super) enum State<F> {
    /// Nothing is known, or what is known is too old: get the state.
    Start,
    /// The state arrives as the beginning of a watch.
    Streaming { frames: F },
    /// The state arrives in pages.
    Listing { continue_token: String },
    /// The state is known; the changes after it are wanted.
    Resume { from: String },
    /// Changes arrive.
    Watching {
        frames: F,
        from: String,
        progress: Progress,
    },
    /// The server says that it has no such kind: ask discovery, which costs less and knows better.
    Missing,
    /// Something failed.
    Waiting { until: Instant, then: Box<State<F>> },
}

/// Whether a watch was worth opening.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    opened: Instant,
    told_something: bool,
}

impl Progress {
    fn new() -> Self {
        Progress {
            opened: Instant::now(),
            told_something: false,
        }
    }

    fn was_useful(self) -> bool {
        self.told_something || self.opened.elapsed() >= LONG_ENOUGH
    }
}

pub(super) struct Machine<S> {
    source: S,
    target: Target,
    type_meta: String,
    /// Room to read frames in.
    scratch: Vec<u8>,
    writer: Writer,
    random: Random,
    health: watch::Sender<Health>,
    /// Failures in a row.
    failures: u32,
    /// Answers in a row that the kind is not served.
    missing: u32,
    /// Whether its objects were forgotten since then.
    forgotten: bool,
    /// Whether the server may know how to stream the state.
    may_stream: bool,
    /// Whether a list in pages expired on the way: the next one asks for all at once.
    unpaged: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

impl Bookmark {
    fn ends_the_state(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.get("k8s.io/initial-events-end").is_some_and(|end| end == "true"))
    }
}

impl<S: Source> Machine<S> {
    pub(super) fn new(
        source: S,
        target: Target,
        writer: Writer,
        random: Random,
        health: watch::Sender<Health>,
    ) -> Self {
        Machine {
            source,
            type_meta: target.kind.type_meta(),
            scratch: Vec::new(),
            target,
            writer,
            random,
            health,
            failures: 0,
            missing: 0,
            forgotten: false,
            may_stream: true,
            unpaged: false,
        }
    }

    pub(super) async fn run(&mut self) {
        let mut state = State::Start;
        loop {
            state = self.step(state).await;
        }
    }

    /// Does one thing and says what is to be done next.
    pub(super) async fn step(&mut self, state: State<S::Frames>) -> State<S::Frames> {
        match state {
            State::Start => self.start().await,
            State::Streaming { frames } => self.stream(frames).await,
            State::Listing { continue_token } => self.list(continue_token).await,
            State::Resume { from } => self.resume(from).await,
            State::Watching { frames, from, progress } => self.watch(frames, from, progress).await,
            State::Missing => self.look_for_kind().await,
            State::Waiting { until, then } => {
                tokio::time::sleep_until(until).await;
                *then
            }
        }
    }

    async fn start(&mut self) -> State<S::Frames> {
        self.writer.begin();
        if !self.may_stream {
            return State::Listing {
                continue_token: String::new(),
            };
        }
        match self.source.watch(&WatchRequest::State).await {
            Ok(frames) => State::Streaming { frames },
            Err(failure) if failure.refuses_streaming() => {
                self.may_stream = false;
                State::Start
            }
            Err(failure) => self.retry(failure, State::Start),
        }
    }

    async fn stream(&mut self, mut frames: S::Frames) -> State<S::Frames> {
        let line = match tokio::time::timeout(STATE_SILENCE, frames.next()).await {
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(failure))) => return self.retry(failure, State::Start),
            Ok(None) => {
                return self.retry(
                    Failure::transport("the watch ended before the state was complete"),
                    State::Start,
                );
            }
            Err(_) => {
                tracing::debug!(watched = %self.target, "the server does not say where the state ends; listing it");
                self.may_stream = false;
                return State::Start;
            }
        };
        match self.read_frame(&line) {
            Ok(FrameEvent::Changed(record)) => self.writer.listed(record),
            Ok(FrameEvent::Deleted(record)) => self.writer.unlisted(record),
            Ok(FrameEvent::Bookmark(bookmark)) if bookmark.ends_the_state() => {
                let from = bookmark.metadata.resource_version;
                self.writer.finish(&from);
                self.succeeded();
                let progress = Progress::new();
                return State::Watching { frames, from, progress };
            }
            Ok(FrameEvent::Bookmark(_) | FrameEvent::Nothing) => {}
            Err(failure) => return self.retry(failure, State::Start),
        }
        State::Streaming { frames }
    }

    async fn list(&mut self, continue_token: String) -> State<S::Frames> {
        let request = ListRequest {
            limit: (!self.unpaged).then_some(PAGE),
            continue_token,
        };
        let page = match self.source.list(&request).await {
            Ok(text) => Page::parse(&text, &self.type_meta).map_err(Failure::transport),
            Err(failure) => {
                self.unpaged = failure.is_expired() && !request.continue_token.is_empty();
                Err(failure)
            }
        };
        let page = match page {
            Ok(page) => page,
            Err(failure) => return self.retry(failure, State::Start),
        };
        if let Some((count, error)) = page.broken {
            tracing::warn!(watched = %self.target, count, %error, "objects of a list are skipped");
        }
        for record in page.items {
            self.writer.listed(self.transformed(record));
        }
        if !page.continue_token.is_empty() {
            return State::Listing {
                continue_token: page.continue_token,
            };
        }
        self.unpaged = false;
        self.writer.finish(&page.resource_version);
        State::Resume {
            from: page.resource_version,
        }
    }

    async fn resume(&mut self, from: String) -> State<S::Frames> {
        match self.source.watch(&WatchRequest::After(from.clone())).await {
            Ok(frames) => {
                self.succeeded();
                let progress = Progress::new();
                State::Watching { frames, from, progress }
            }
            Err(failure) => self.watch_failed(failure, from, false),
        }
    }

    async fn watch(&mut self, mut frames: S::Frames, from: String, mut progress: Progress) -> State<S::Frames> {
        let told = match next_frame(&mut frames).await {
            Ok(Some(line)) => self.read_frame(&line),
            Ok(None) if progress.was_useful() => {
                self.failures = 0;
                return State::Resume { from };
            }
            Ok(None) => Err(Failure::transport("the watch ended as soon as it began")),
            Err(failure) => Err(failure),
        };
        let from = match told {
            Ok(FrameEvent::Changed(record)) => {
                let version = record.resource_version().into_owned();
                self.writer.changed(record);
                version
            }
            Ok(FrameEvent::Deleted(record)) => {
                let version = record.resource_version().into_owned();
                self.writer.deleted(record);
                version
            }
            Ok(FrameEvent::Bookmark(bookmark)) => {
                self.writer.bookmark(&bookmark.metadata.resource_version);
                bookmark.metadata.resource_version
            }
            Ok(FrameEvent::Nothing) => from,
            Err(failure) => return self.watch_failed(failure, from, progress.was_useful()),
        };
        progress.told_something = true;
        State::Watching { frames, from, progress }
    }

    /// A watch could not be opened, or broke.
    fn watch_failed(&mut self, failure: Failure, from: String, was_useful: bool) -> State<S::Frames> {
        if was_useful {
            self.failures = 0;
        }
        if failure.is_expired() && was_useful {
            tracing::debug!(watched = %self.target, %failure, "listing again");
            return State::Start;
        }
        let then = if failure.is_expired() || failure.is_missing() {
            State::Start
        } else {
            State::Resume { from }
        };
        self.retry(failure, then)
    }

    fn retry(&mut self, failure: Failure, then: State<S::Frames>) -> State<S::Frames> {
        if failure.is_missing() {
            self.missing = self.missing.saturating_add(1);
            let (trouble, until) = self.trouble(failure, true);
            self.report(Health::Failing(trouble));
            return State::Waiting {
                until,
                then: Box::new(State::Missing),
            };
        }
        self.missing = 0;
        let (trouble, until) = self.trouble(failure, false);
        self.report(Health::Failing(trouble));
        State::Waiting {
            until,
            then: Box::new(then),
        }
    }

    /// The server said that there is no such kind. That may be one of several servers that is behind the others, so nothing is
    /// forgotten before discovery says the same.
    async fn look_for_kind(&mut self) -> State<S::Frames> {
        match self.source.is_served().await {
            Ok(true) => State::Start,
            Ok(false) => {
                self.forget();
                let failure = match self.health.borrow().trouble() {
                    Some(trouble) => trouble.failure.clone(),
                    None => Failure::not_served(),
                };
                let (trouble, until) = self.trouble(failure, true);
                self.report(Health::Missing(trouble));
                State::Waiting {
                    until,
                    then: Box::new(State::Missing),
                }
            }
            // Without permission for discovery, the reflector lists the objects themselves.
            Err(_) => {
                if self.missing >= GONE_AFTER {
                    self.forget();
                }
                State::Start
            }
        }
    }

    /// The kind is gone, and its objects with it.
    fn forget(&mut self) {
        if !self.forgotten {
            self.forgotten = true;
            self.writer.clear();
        }
    }

    /// One more failure, and when to try again.
    fn trouble(&mut self, failure: Failure, missing: bool) -> (Trouble, Instant) {
        let (backoff, jitter) = if missing {
            let max = MISSING_MAX;
            (Backoff { max, ..BACKOFF }, MISSING_JITTER)
        } else {
            (BACKOFF, 1.0)
        };
        let retry_in = self
            .random
            .jittered(backoff.delay(self.failures), jitter)
            .max(failure.retry_after());
        self.failures = self.failures.saturating_add(1);
        let trouble = Trouble {
            target: self.target.to_string(),
            failure,
            attempts: self.failures,
            retry_in,
            missing,
        };
        (trouble, Instant::now() + retry_in)
    }

    fn report(&self, health: Health) {
        if let Some(trouble) = health.trouble() {
            let known = self.health.borrow().trouble().map(|known| known.failure.clone());
            if known.as_ref() != Some(&trouble.failure) {
                tracing::warn!("{trouble}");
            }
        }
        self.health.send_replace(health);
    }

    fn succeeded(&mut self) {
        if self.health.borrow().trouble().is_some() {
            tracing::info!(watched = %self.target, "watching again");
        }
        self.missing = 0;
        self.forgotten = false;
        self.health.send_replace(Health::Watching);
    }

    fn read_frame(&mut self, line: &[u8]) -> Result<FrameEvent, Failure> {
        if self.scratch.capacity() > SCRATCH_MAX {
            self.scratch = Vec::new();
        }
        let frame = Frame::parse(line, &self.type_meta, &mut self.scratch).map_err(Failure::transport)?;
        match frame.kind {
            FrameKind::Added | FrameKind::Modified => Ok(self
                .read(frame.object)?
                .map_or(FrameEvent::Nothing, FrameEvent::Changed)),
            FrameKind::Deleted => Ok(self
                .read(frame.object)?
                .map_or(FrameEvent::Nothing, FrameEvent::Deleted)),
            FrameKind::Bookmark => {
                let bookmark = said(&frame.object)?;
                Ok(FrameEvent::Bookmark(bookmark))
            }
            FrameKind::Error => {
                let status = said(&frame.object)?;
                Err(Failure::Status(status))
            }
            FrameKind::Unknown => Ok(FrameEvent::Nothing),
        }
    }

    fn read(&self, object: FrameObject<'_>) -> Result<Option<Record>, Failure> {
        match object.into_record(&self.target.kind) {
            Ok(record) => Ok(Some(self.transformed(record))),
            Err(RecordError::Scan(error)) => Err(Failure::transport(error)),
            Err(error) => {
                tracing::warn!(watched = %self.target, %error, "an object is skipped");
                Ok(None)
            }
        }
    }

    /// The record after the transform. A transform that panics or spoils the object leaves it as it was.
    fn transformed(&self, record: Record) -> Record {
        let Some(transform) = &self.target.transform else {
            return record;
        };
        let changed = catch_unwind(AssertUnwindSafe(|| {
            let mut object = serde_json::from_slice(record.json()).ok()?;
            transform.apply(&mut object);
            let changed = Record::parse(&serde_json::to_vec(&object).ok()?, &self.target.kind).ok()?;
            (changed.key() == record.key() && changed.resource_version() == record.resource_version())
                .then_some(changed)
        }));
        if let Ok(Some(changed)) = changed {
            return changed;
        }
        tracing::error!(watched = %self.target, object = %record.key(), "a transform failed; the object is kept whole");
        record
    }
}

/// What a frame said.
enum FrameEvent {
    Changed(Record),
    Deleted(Record),
    Bookmark(Bookmark),
    /// Something we do not know, or cannot keep.
    Nothing,
}

/// The message for a frame whose object is not of the watched kind.
fn said<T: DeserializeOwned>(object: &FrameObject<'_>) -> Result<T, Failure> {
    match object {
        FrameObject::Text(text) => serde_json::from_slice(text).map_err(Failure::transport),
        FrameObject::Record(_) => Err(Failure::transport("a frame says two things at once")),
    }
}

/// The next frame, unless the connection is dead.
async fn next_frame(frames: &mut impl super::source::Frames) -> Result<Option<bytes::Bytes>, Failure> {
    let next = match frames.longest_silence() {
        Some(silence) => tokio::time::timeout(silence, frames.next()).await,
        None => Ok(frames.next().await),
    };
    match next {
        Ok(Some(Ok(line))) => Ok(Some(line)),
        Ok(Some(Err(failure))) => Err(failure),
        Ok(None) => Ok(None),
        Err(_) => Err(Failure::transport("the watch went silent")),
    }
}
