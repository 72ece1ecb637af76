//! The list/watch machine: one enum of states, one step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::failure::Failure;
use super::health::{Health, Trouble};
use super::source::{ListRequest, Source, WatchRequest};
use super::target::Target;
use crate::cache::Writer;
use crate::chance::Chance;
use crate::object::{Frame, FrameKind, Page, Record, RecordError};
use crate::queue::Backoff;

/// Pages of this many objects, as client-go.
const PAGE: u32 = 500;
/// Back-off between failures of one watch; up to twice as long by chance.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(200),
    max: Duration::from_secs(30),
};
/// How often a kind that is not served is asked for, at most.
const MISSING_MAX: Duration = Duration::from_secs(10);
/// The server ends a watch after 290 s; one that says nothing for longer is dead.
const DEAD_AFTER: Duration = Duration::from_secs(305);
/// A watch that lived this long was a success, even if it had nothing to say.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// This many answers of 404 in a row mean that the kind is gone, and its objects with it.
const GONE_AFTER: u32 = 2;

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
    writer: Writer,
    chance: Chance,
    health: watch::Sender<Health>,
    /// Failures in a row.
    failures: u32,
    /// Answers in a row that the kind is not served.
    missing: u32,
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
        chance: Chance,
        health: watch::Sender<Health>,
    ) -> Self {
        Machine {
            source,
            type_meta: target.kind.type_meta(),
            target,
            writer,
            chance,
            health,
            failures: 0,
            missing: 0,
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
        let line = match next_frame(&mut frames).await {
            Ok(Some(line)) => line,
            Ok(None) => {
                return self.retry(
                    Failure::transport("the watch ended before the state was complete"),
                    State::Start,
                );
            }
            Err(failure) => return self.retry(failure, State::Start),
        };
        match self.read_frame(&line) {
            Ok(Told::Changed(record)) => self.writer.listed(record),
            Ok(Told::Deleted(record)) => self.writer.unlisted(record),
            Ok(Told::Bookmark(bookmark)) if bookmark.ends_the_state() => {
                let from = bookmark.metadata.resource_version;
                self.writer.finish(&from);
                self.succeeded();
                let progress = Progress::new();
                return State::Watching { frames, from, progress };
            }
            Ok(Told::Bookmark(_) | Told::Nothing) => {}
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
            tracing::warn!(target = %self.target, count, %error, "objects of a list are skipped");
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
            Ok(Told::Changed(record)) => {
                let version = record.resource_version().into_owned();
                self.writer.changed(record);
                version
            }
            Ok(Told::Deleted(record)) => {
                let version = record.resource_version().into_owned();
                self.writer.deleted(record);
                version
            }
            Ok(Told::Bookmark(bookmark)) => {
                self.writer.bookmark(&bookmark.metadata.resource_version);
                bookmark.metadata.resource_version
            }
            Ok(Told::Nothing) => from,
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
            tracing::debug!(target = %self.target, %failure, "listing again");
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
        let missing = failure.is_missing();
        let mut backoff = BACKOFF;
        if missing {
            backoff.max = MISSING_MAX;
        }
        let delay = self
            .chance
            .jittered(backoff.delay(self.failures), 1.0)
            .max(failure.retry_after());
        self.failures = self.failures.saturating_add(1);
        self.missing = if missing { self.missing.saturating_add(1) } else { 0 };
        if self.missing == GONE_AFTER {
            self.writer.clear();
        }
        let trouble = Trouble {
            target: self.target.to_string(),
            failure,
            attempts: self.failures,
            retry_in: delay,
            missing,
        };
        let is_news = self
            .health
            .borrow()
            .trouble()
            .is_none_or(|known| known.failure != trouble.failure);
        if is_news {
            tracing::warn!("{trouble}");
        }
        self.health.send_replace(Health::Failing(trouble));
        State::Waiting {
            until: Instant::now() + delay,
            then: Box::new(then),
        }
    }

    fn succeeded(&mut self) {
        if self.health.borrow().trouble().is_some() {
            tracing::info!(target = %self.target, "watching again");
        }
        self.missing = 0;
        self.health.send_replace(Health::Watching);
    }

    fn read_frame(&self, line: &[u8]) -> Result<Told, Failure> {
        let frame = Frame::parse(line).map_err(Failure::transport)?;
        match frame.kind {
            FrameKind::Added | FrameKind::Modified => Ok(self.read(frame.object)?.map_or(Told::Nothing, Told::Changed)),
            FrameKind::Deleted => Ok(self.read(frame.object)?.map_or(Told::Nothing, Told::Deleted)),
            FrameKind::Bookmark => {
                let bookmark = serde_json::from_slice(frame.object).map_err(Failure::transport)?;
                Ok(Told::Bookmark(bookmark))
            }
            FrameKind::Error => {
                let status = serde_json::from_slice(frame.object).map_err(Failure::transport)?;
                Err(Failure::Status(status))
            }
            FrameKind::Unknown => Ok(Told::Nothing),
        }
    }

    fn read(&self, object: &[u8]) -> Result<Option<Record>, Failure> {
        match Record::parse(object, &self.target.kind) {
            Ok(record) => Ok(Some(self.transformed(record))),
            Err(RecordError::Scan(error)) => Err(Failure::transport(error)),
            Err(error) => {
                tracing::warn!(target = %self.target, %error, "an object is skipped");
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
        tracing::error!(target = %self.target, object = %record.key(), "a transform failed; the object is kept whole");
        record
    }
}

/// What a frame said.
enum Told {
    Changed(Record),
    Deleted(Record),
    Bookmark(Bookmark),
    /// Something we do not know, or cannot keep.
    Nothing,
}

/// The next frame, unless the connection is dead.
async fn next_frame(frames: &mut impl super::source::Frames) -> Result<Option<bytes::Bytes>, Failure> {
    match tokio::time::timeout(DEAD_AFTER, frames.next()).await {
        Ok(Some(Ok(line))) => Ok(Some(line)),
        Ok(Some(Err(failure))) => Err(failure),
        Ok(None) => Ok(None),
        Err(_) => Err(Failure::transport("the watch went silent")),
    }
}
