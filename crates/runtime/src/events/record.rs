//! Recording events: never waits, never fails.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::name::{Ticks, event_name};
use super::note::{EventNote, cut};
use super::reference::Referable;
use super::series::Event;
use super::writer::EventWriter;
use crate::clock::Clock;
use crate::metrics::EventMetrics;
use crate::random::Random;

/// So many events may wait to be looked at; more are dropped.
const QUEUE: usize = 1000;
/// The server accepts no longer names of instances.
const LONGEST_INSTANCE: usize = 128;

/// What recorders need; the default is the machine's time, a source that differs from run to run, and no metrics.
#[derive(Clone, Debug)]
pub(crate) struct EventParts {
    /// When things happen.
    pub(crate) clock: Clock,
    /// Where names and jitter come from.
    pub(crate) random: Random,
    /// Where to count what became of events.
    pub(crate) metrics: Option<EventMetrics>,
}

impl Default for EventParts {
    fn default() -> Self {
        EventParts {
            clock: Clock::system(),
            random: Random::from_entropy(),
            metrics: None,
        }
    }
}

pub(super) struct Shared {
    parts: EventParts,
    ticks: Mutex<Ticks>,
}

impl Shared {
    pub(super) fn count(&self, result: &str) {
        if let Some(metrics) = &self.parts.metrics {
            metrics.events.with([result]).inc();
        }
    }

    pub(super) fn random(&self) -> &Random {
        &self.parts.random
    }
}

/// Takes events about objects. Cheap to clone. It never waits and never fails: what cannot be told is dropped and counted in
/// `kubewright_events_total`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let client = server.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::events::{EventNote, EventRecorder};
/// use kubewright_runtime::stop::Stopper;
///
/// let (recorder, writer) = EventRecorder::new("shop-controller", "shop-controller-replica-1");
/// let (stopper, stop) = Stopper::new();
/// let writing = tokio::spawn(writer.run_with(client, stop));
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".to_owned());
/// settings.metadata.namespace = Some("default".to_owned());
/// recorder.record(&settings, EventNote::normal("Synced", "Sync", "the shop is open"));
/// recorder.record(&settings, EventNote::warning("Late", "Sync", format!("{} orders wait", 7)));
///
/// stopper.stop(); // what was recorded is told before it ends
/// writing.await.unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct EventRecorder {
    sender: mpsc::Sender<Event>,
    shared: Arc<Shared>,
    controller: Arc<str>,
    instance: Arc<str>,
}

impl EventRecorder {
    /// A recorder, and the writer that sends what it takes. `instance` is this replica.
    pub fn new(controller: &str, instance: &str) -> (Self, EventWriter) {
        Self::with(controller, instance, EventParts::default())
    }

    /// The same with a clock and random numbers of your own: the times and names of events repeat themselves if those do.
    pub fn repeatable(controller: &str, instance: &str, clock: Clock, random: Random) -> (Self, EventWriter) {
        let parts = EventParts {
            clock,
            random,
            metrics: None,
        };
        Self::with(controller, instance, parts)
    }

    /// The same with a clock, randomness and metrics of your own.
    pub(crate) fn with(controller: &str, instance: &str, parts: EventParts) -> (Self, EventWriter) {
        let (recorder, events) = Self::queue(controller, instance, parts);
        let writer = EventWriter::new(events, Arc::clone(&recorder.shared));
        (recorder, writer)
    }

    pub(super) fn queue(controller: &str, instance: &str, parts: EventParts) -> (Self, mpsc::Receiver<Event>) {
        let (sender, events) = mpsc::channel(QUEUE);
        let mut instance = instance.to_owned();
        cut(&mut instance, LONGEST_INSTANCE);
        let recorder = EventRecorder {
            sender,
            shared: Arc::new(Shared {
                parts,
                ticks: Mutex::default(),
            }),
            controller: controller.into(),
            instance: instance.into(),
        };
        (recorder, events)
    }

    /// A recorder whose events go nowhere.
    pub fn discarding() -> Self {
        Self::new("nobody", "nowhere").0
    }

    /// The same recorder for another controller: events say that it reported them.
    pub fn named(&self, controller: &str) -> Self {
        EventRecorder {
            controller: controller.into(),
            ..self.clone()
        }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Takes an event about an object.
    pub fn record(&self, regarding: &impl Referable, note: EventNote) {
        let EventParts { clock, random, .. } = &self.shared.parts;
        let regarding = regarding.reference();
        let time = clock.now();
        let nanoseconds = self.shared.ticks.lock().next(time);
        tracing::debug!(
            kind = regarding.kind,
            namespace = regarding.namespace,
            name = regarding.name,
            r#type = note.kind.as_str(),
            reason = note.reason,
            action = note.action,
            "{}",
            note.text
        );
        let event = Event {
            name: event_name(&regarding.name, nanoseconds, random),
            namespace: regarding.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            time,
            controller: self.controller.to_string(),
            instance: self.instance.to_string(),
            regarding,
            note,
            series: None,
        };
        if self.sender.try_send(event).is_err() {
            self.shared.count("dropped");
        }
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder")
            .field("controller", &self.controller)
            .field("waiting", &(QUEUE - self.sender.capacity()))
            .finish_non_exhaustive()
    }
}
