//! The task that writes events to the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout_at};

use super::record::Shared;
use super::series::{Event, EventAction, EventKey, EventWrite, FINISH, REFRESH, Series};
use super::sink::{KubeSink, Refusal, Sink};
use crate::client::Client;
use crate::stop::Stop;

/// client-go's: how often an event is tried while the server cannot be reached,
const TRIES: u32 = 12;
/// and the pause between.
const PAUSE: Duration = Duration::from_secs(10);
const JITTER: f64 = 0.25;
/// So many events are on their way at once.
const IN_FLIGHT: usize = 16;
/// A request that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends what recorders take. Run it as a task; see [`EventRecorder`](super::EventRecorder).
pub struct EventWriter {
    events: mpsc::Receiver<Event>,
    shared: Arc<Shared>,
    flush: Duration,
}

impl EventWriter {
    pub(super) fn new(events: mpsc::Receiver<Event>, shared: Arc<Shared>) -> Self {
        EventWriter {
            events,
            shared,
            flush: Duration::from_secs(5),
        }
    }

    /// How long it may take at the end to tell what is left. Default: 5 s.
    pub(crate) fn flush_within(mut self, flush: Duration) -> Self {
        self.flush = flush;
        self
    }

    /// Runs until asked to stop, or until all recorders are dropped; then writes the remaining events and the counts of all series.
    pub async fn run(self, client: Client, stop: Stop) {
        self.run_with(client.kube().clone(), stop).await;
    }

    /// The same through `kube`'s client.
    pub async fn run_with(self, client: kube::Client, stop: Stop) {
        run(self.events, KubeSink(client), self.shared, stop, self.flush).await;
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter")
            .field("flush", &self.flush)
            .finish_non_exhaustive()
    }
}

/// What is known and what is on its way.
struct Writing<S> {
    series: Series,
    sink: Arc<S>,
    shared: Arc<Shared>,
    sends: JoinSet<EventKey>,
    epoch: Instant,
}

pub(super) async fn run<S: Sink>(
    mut events: mpsc::Receiver<Event>,
    sink: S,
    shared: Arc<Shared>,
    stop: Stop,
    flush: Duration,
) {
    let epoch = Instant::now();
    let mut writing = Writing {
        series: Series::default(),
        sink: Arc::new(sink),
        shared,
        sends: JoinSet::new(),
        epoch,
    };
    let ticks = |period| {
        let mut ticks = interval_at(epoch + period, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut finish, mut refresh) = (ticks(FINISH), ticks(REFRESH));
    let mut stopped = std::pin::pin!(stop.stopped());
    loop {
        tokio::select! {
            biased;
            () = &mut stopped => break,
            Some(done) = writing.sends.join_next() => writing.done(done.ok()),
            _ = refresh.tick() => {
                let sends = writing.series.refresh();
                writing.send_all(sends);
            }
            _ = finish.tick() => {
                let sends = writing.series.finish(epoch.elapsed());
                writing.send_all(sends);
            }
            event = events.recv(), if writing.sends.len() < IN_FLIGHT => match event {
                Some(event) => writing.take(event),
                None => break,
            },
        }
    }
    events.close();
    let _ = timeout_at(Instant::now() + flush, writing.finish(&mut events)).await;
    let unsent = events.len() + writing.sends.len();
    for _ in 0..unsent {
        writing.shared.count("unsent");
    }
}

impl<S: Sink> Writing<S> {
    fn take(&mut self, event: Event) {
        match self.series.observe(event, self.epoch.elapsed()) {
            EventAction::Send(send) => self.send(*send),
            EventAction::Counted => {}
            EventAction::Limited => self.shared.count("limited"),
        }
    }

    fn send(&mut self, send: EventWrite) {
        let EventWrite { key, event } = send;
        let (sink, shared) = (Arc::clone(&self.sink), Arc::clone(&self.shared));
        self.sends.spawn(async move {
            shared.count(tell(&*sink, &shared, &event).await);
            key
        });
    }

    fn send_all(&mut self, sends: Vec<EventWrite>) {
        for send in sends {
            self.send(send);
        }
    }

    fn done(&mut self, key: Option<EventKey>) {
        if let Some(next) = key.and_then(|key| self.series.done(&key)) {
            self.send(next);
        }
    }

    /// Tells everything that is left.
    async fn finish(&mut self, events: &mut mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            self.take(event);
            while self.sends.len() >= IN_FLIGHT {
                let done = self.sends.join_next().await;
                self.done(done.and_then(Result::ok));
            }
        }
        let sends = self.series.flush();
        self.send_all(sends);
        while let Some(done) = self.sends.join_next().await {
            self.done(done.ok());
        }
    }
}

/// Tells of one event until the server has said something about it. The result is for the metric.
async fn tell<S: Sink>(sink: &S, shared: &Shared, event: &Event) -> &'static str {
    for tries in 1..=TRIES {
        let answer = tokio::time::timeout(PATIENCE, attempt(sink, event)).await;
        match answer.unwrap_or_else(|_| Err(Refusal::Unreachable("no answer in time".to_owned()))) {
            Ok(()) => return "sent",
            // It was gone when it was patched and there when it was created: patch again.
            Err(Refusal::Exists) if event.series.is_some() => {}
            Err(Refusal::Exists) => {
                tracing::debug!(event = event.name, "the event exists already");
                return "rejected";
            }
            Err(Refusal::NotFound) => {
                tracing::warn!(
                    event = event.name,
                    namespace = event.namespace,
                    "there is no such namespace for the event"
                );
                return "rejected";
            }
            Err(Refusal::Rejected(reason)) => {
                tracing::warn!(
                    event = event.name,
                    namespace = event.namespace,
                    reason,
                    "the server rejected an event"
                );
                return "rejected";
            }
            Err(Refusal::Unreachable(reason)) => {
                tracing::debug!(event = event.name, reason, "an event was not told");
            }
        }
        if tries < TRIES {
            sleep(shared.random().jittered(PAUSE, JITTER)).await;
        }
    }
    tracing::warn!(
        event = event.name,
        namespace = event.namespace,
        "an event was not told: tried often enough"
    );
    "unsent"
}

async fn attempt<S: Sink>(sink: &S, event: &Event) -> Result<(), Refusal> {
    if event.series.is_none() {
        return sink.create(event).await;
    }
    match sink.patch(event).await {
        // The server forgets events after an hour.
        Err(Refusal::NotFound) => sink.create(event).await,
        answer => answer,
    }
}
