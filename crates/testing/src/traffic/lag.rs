//! Watch events of one resource that come late, as a cache that is behind sees them.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

/// How late events are at most that others follow, and events that a relist replaces. Shorter than a read waits for what its own client wrote.
const SHORT: Duration = Duration::from_secs(4);
/// How late all events are.
const LONG: Duration = Duration::from_secs(30);

/// How long a cache may be behind afterwards: who is told that a watch is too old pauses before the list that replaces it.
pub(super) const AFTERWARDS: Duration = Duration::from_mins(1);

/// How events are late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lateness {
    /// Each comes with the next one.
    ByOne,
    /// All come together, much later.
    Long,
    /// None comes: the watch ends with 410 Gone, and what is there then is listed.
    Missed,
}

/// `late by one`
impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lateness::ByOne => "late by one",
            Lateness::Long => "late",
            Lateness::Missed => "missed",
        })
    }
}

impl Lateness {
    fn time(self) -> Duration {
        match self {
            Lateness::Long => LONG,
            Lateness::ByOne | Lateness::Missed => SHORT,
        }
    }
}

/// Which events are late, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lag {
    /// With its group: `deployments.apps`.
    pub(crate) resource: String,
    pub(crate) lateness: Lateness,
}

/// `events of configmaps late`
impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events of {} {}", self.resource, self.lateness)
    }
}

/// The lag that there is. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lags(Arc<Mutex<Option<Active>>>);

#[derive(Debug)]
struct Active {
    lag: Lag,
    since: Instant,
    until: Instant,
    /// Whether an event was held back.
    has_held: bool,
}

impl Lags {
    /// Events of watches that are open are late from now on.
    pub(crate) fn begin(&self, lag: Lag) {
        let since = Instant::now();
        let until = since + lag.lateness.time();
        *self.0.lock() = Some(Active {
            lag,
            since,
            until,
            has_held: false,
        });
    }

    /// Whether events are late, or a cache may still be behind because they were.
    pub(crate) fn may_be_behind(&self) -> bool {
        self.0
            .lock()
            .as_ref()
            .is_some_and(|active| Instant::now() < active.until + AFTERWARDS)
    }

    /// Whether an event was late.
    pub(crate) fn has_held(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|active| active.has_held)
    }

    /// How an event is late that comes now, and until when, for a watch that was opened at a time.
    fn hold(&self, resource: &str, opened: Instant) -> Option<(Lateness, Instant)> {
        let mut active = self.0.lock();
        let active = active.as_mut()?;
        // What was opened afterwards begins with what is there.
        let holds = active.lag.resource == resource && opened <= active.since && Instant::now() < active.until;
        active.has_held |= holds;
        holds.then_some((active.lag.lateness, active.until))
    }
}

/// The events of one watch that are held back.
pub(super) struct HeldEvents {
    lags: Lags,
    resource: String,
    opened: Instant,
    held: VecDeque<Bytes>,
    /// While events are held: how, and until when.
    holding: Option<(Lateness, Pin<Box<Sleep>>)>,
}

/// What a watch does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Hands this on.
    Event(Bytes),
    /// Ends as too old.
    Expired,
    /// Asks for the next event.
    Nothing,
}

impl HeldEvents {
    pub(super) fn new(lags: Lags, resource: String) -> Self {
        HeldEvents {
            lags,
            resource,
            opened: Instant::now(),
            held: VecDeque::new(),
            holding: None,
        }
    }

    /// What comes before anything that the server says now.
    pub(super) fn poll_release(&mut self, context: &mut Context<'_>) -> Release {
        if let Some((lateness, until)) = &mut self.holding {
            if until.as_mut().poll(context).is_pending() {
                let follows = *lateness == Lateness::ByOne && self.held.len() > 1;
                return match self.held.pop_front() {
                    Some(event) if follows => Release::Event(event),
                    Some(event) => {
                        self.held.push_front(event);
                        Release::Nothing
                    }
                    None => Release::Nothing,
                };
            }
            let is_missed = *lateness == Lateness::Missed;
            self.holding = None;
            if is_missed {
                self.held.clear();
                return Release::Expired;
            }
        }
        self.held.pop_front().map_or(Release::Nothing, Release::Event)
    }

    /// Takes what the server said. Returns it if it is not held.
    pub(super) fn take(&mut self, said: Bytes) -> Option<Bytes> {
        if self.holding.is_none() {
            let Some((lateness, until)) = self.lags.hold(&self.resource, self.opened) else {
                return Some(said);
            };
            self.holding = Some((lateness, Box::pin(tokio::time::sleep_until(until))));
        }
        self.held.extend(lines(&said));
        None
    }
}

/// The events of a piece of a stream, one on each line.
fn lines(said: &Bytes) -> impl Iterator<Item = Bytes> {
    let mut rest = said.clone();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(rest.len(), |at| at + 1);
        Some(rest.split_to(end))
    })
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    fn held(lateness: Lateness) -> HeldEvents {
        let lags = Lags::default();
        let held = HeldEvents::new(lags.clone(), "configmaps".to_owned());
        lags.begin(Lag {
            resource: "configmaps".to_owned(),
            lateness,
        });
        held
    }

    async fn release(held: &mut HeldEvents) -> Release {
        std::future::poll_fn(|context| Poll::Ready(held.poll_release(context))).await
    }

    #[tokio::test(start_paused = true)]
    async fn all_events_come_in_order_when_the_time_is_over() {
        let mut held = held(Lateness::Long);
        assert_eq!(held.take(Bytes::from_static(b"a\nb\n")), None);
        assert_eq!(release(&mut held).await, Release::Nothing);
        tokio::time::sleep(LONG).await;
        assert_eq!(release(&mut held).await, Release::Event(Bytes::from_static(b"a\n")));
        assert_eq!(release(&mut held).await, Release::Event(Bytes::from_static(b"b\n")));
        assert_eq!(held.take(Bytes::from_static(b"c\n")), Some(Bytes::from_static(b"c\n")));
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_that_is_late_by_one_comes_with_the_next() {
        let mut held = held(Lateness::ByOne);
        assert_eq!(held.take(Bytes::from_static(b"a\n")), None);
        assert_eq!(release(&mut held).await, Release::Nothing);
        assert_eq!(held.take(Bytes::from_static(b"b\n")), None);
        assert_eq!(release(&mut held).await, Release::Event(Bytes::from_static(b"a\n")));
        assert_eq!(release(&mut held).await, Release::Nothing);
        tokio::time::sleep(SHORT).await;
        assert_eq!(release(&mut held).await, Release::Event(Bytes::from_static(b"b\n")));
    }

    #[tokio::test(start_paused = true)]
    async fn missed_events_never_come_and_a_later_watch_misses_nothing() {
        let mut held = held(Lateness::Missed);
        assert_eq!(held.take(Bytes::from_static(b"a\n")), None);
        tokio::time::sleep(SHORT / 2).await;
        let mut later = HeldEvents::new(held.lags.clone(), "configmaps".to_owned());
        assert_eq!(later.take(Bytes::from_static(b"a\n")), Some(Bytes::from_static(b"a\n")));
        tokio::time::sleep(SHORT / 2).await;
        assert_eq!(release(&mut held).await, Release::Expired);
        assert!(held.lags.has_held());
    }
}
