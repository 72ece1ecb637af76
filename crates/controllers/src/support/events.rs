//! Events as client-go's recorder writes them: one per message, counted when repeated, combined when too many are similar.
//! The correlator decides what is written, without I/O; a task of its own writes it, so that controllers do not wait.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_runtime::client::Client;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::events::{EventNote, Referable, Reference};
use kubewright_runtime::manager::RunContext;
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::time::{since, whole};

/// client-go's numbers: so many different messages about the same within this time are written one by one,
const MOST_SIMILAR: usize = 10;
const SIMILAR_WITHIN: Duration = Duration::from_mins(10);
/// and so many events about one object at once, and one more each time this has passed.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_mins(5);
/// How many entries of each kind the correlator remembers.
const MOST_REMEMBERED: usize = 4096;
/// How many events wait to be written at most.
const QUEUE: usize = 10_000;

/// An event that is to be written.
#[derive(Clone, Debug)]
struct PendingEvent {
    component: Arc<str>,
    about: Reference,
    note: EventNote,
    at: Timestamp,
}

/// Records the events of one component. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct EventRecorder {
    sender: mpsc::Sender<PendingEvent>,
    component: Arc<str>,
    clock: Clock,
}

impl EventRecorder {
    /// Queues an event about an object. It is dropped when the queue is full.
    pub(crate) fn record(&self, about: &impl Referable, note: EventNote) {
        let event = PendingEvent {
            component: Arc::clone(&self.component),
            about: about.reference(),
            note,
            at: self.clock.now(),
        };
        if self.sender.try_send(event).is_err() {
            tracing::debug!("an event is dropped");
        }
    }
}

/// Makes event recorders, and writes what they record.
#[derive(Clone, Debug)]
pub(crate) struct EventBroadcaster {
    sender: mpsc::Sender<PendingEvent>,
    receiver: Arc<Mutex<Option<mpsc::Receiver<PendingEvent>>>>,
}

impl Default for EventBroadcaster {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        EventBroadcaster {
            sender,
            receiver: Arc::new(Mutex::new(Some(receiver))),
        }
    }
}

impl EventBroadcaster {
    /// The recorder of a component.
    pub(crate) fn recorder(&self, component: &str, clock: Clock) -> EventRecorder {
        EventRecorder {
            sender: self.sender.clone(),
            component: component.into(),
            clock,
        }
    }

    /// Adds the writer.
    pub(crate) fn add_to(&self, operator: Operator) -> Operator {
        let receiver = Arc::clone(&self.receiver);
        operator.runnable("events", move |context: RunContext| {
            let receiver = receiver.lock().take();
            async move {
                if let Some(receiver) = receiver {
                    write(receiver, context).await;
                }
                Ok(())
            }
        })
    }
}

async fn write(mut receiver: mpsc::Receiver<PendingEvent>, context: RunContext) {
    let mut correlator = EventCorrelator::default();
    loop {
        tokio::select! {
            biased;
            event = receiver.recv() => match event {
                Some(event) => send(&context.client, &mut correlator, event).await,
                None => return,
            },
            () = context.stop.stopped() => break,
        }
    }
    while let Ok(event) = receiver.try_recv() {
        send(&context.client, &mut correlator, event).await;
    }
}

async fn send(client: &Client, correlator: &mut EventCorrelator, event: PendingEvent) {
    let Some(write) = correlator.decide(&event) else {
        return;
    };
    let kind = Kind::named("", "v1", "Event", "events", true);
    let events = client.live().dynamic(kind);
    let result = match write {
        Write::Create(event) => match serde_json::from_value(event) {
            Ok(event) => events.create(&event).await.map(drop),
            Err(error) => return tracing::debug!(%error, "an event makes no sense"),
        },
        Write::Patch(key, patch) => {
            let patch = kubewright_runtime::client::Patch::Merge(patch);
            events.patch(&key, &patch).await.map(drop)
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "an event is not written");
    }
}

/// What is to be written of an event.
#[derive(Clone, Debug, PartialEq)]
enum Write {
    Create(Value),
    Patch(ObjectKey, Value),
}

type Group = (Arc<str>, Reference, &'static str, String);

#[derive(Debug, Default)]
struct EventCorrelator {
    /// Recent messages that differ in nothing but their text.
    similar: HashMap<Group, (HashSet<String>, Timestamp)>,
    /// What was written, and how often.
    written: HashMap<(Group, String), (ObjectKey, u32)>,
    buckets: HashMap<(Arc<str>, Reference), (f64, Timestamp)>,
    /// The number in the name of the last event, so that names are unique.
    last: i128,
}

impl EventCorrelator {
    fn decide(&mut self, event: &PendingEvent) -> Option<Write> {
        let mut about = event.about.clone();
        about.resource_version.clear();
        let reason = event.note.reason.clone();
        let group: Group = (
            Arc::clone(&event.component),
            about.clone(),
            event.note.kind.as_str(),
            reason,
        );
        let message = self.combined(&group, event);
        if !self.admits((Arc::clone(&event.component), about), event.at) {
            return None;
        }
        let time = whole(event.at).0.to_string();
        if self.written.len() > MOST_REMEMBERED {
            self.written.clear();
        }
        if let Some((key, count)) = self.written.get_mut(&(group.clone(), message.clone())) {
            *count += 1;
            let patch = json!({ "count": count, "lastTimestamp": time, "message": message_of(&message, event) });
            return Some(Write::Patch(key.clone(), patch));
        }
        let namespace = event.about.namespace.clone().unwrap_or_else(|| "default".to_owned());
        self.last = event.at.as_nanosecond().max(self.last + 1);
        let name = format!("{}.{:x}", event.about.name, self.last);
        let key = ObjectKey::namespaced(&namespace, &name);
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "involvedObject": event.about,
            "reason": event.note.reason, "message": message_of(&message, event), "type": event.note.kind.as_str(),
            "source": { "component": &*event.component }, "reportingComponent": &*event.component,
            "reportingInstance": "",
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        self.written.insert((group, message), (key, 1));
        Some(Write::Create(event))
    }

    /// The message by which an event is known: its own, or the one of all that are too many.
    fn combined(&mut self, group: &Group, event: &PendingEvent) -> String {
        if self.similar.len() > MOST_REMEMBERED {
            self.similar.clear();
        }
        let (messages, last) = self
            .similar
            .entry(group.clone())
            .or_insert_with(|| (HashSet::new(), event.at));
        if since(*last, event.at) > SIMILAR_WITHIN {
            messages.clear();
        }
        *last = event.at;
        if messages.len() < MOST_SIMILAR {
            messages.insert(event.note.text.clone());
        }
        if messages.len() < MOST_SIMILAR {
            event.note.text.clone()
        } else {
            String::new()
        }
    }

    fn admits(&mut self, key: (Arc<str>, Reference), now: Timestamp) -> bool {
        if self.buckets.len() > MOST_REMEMBERED {
            self.buckets.clear();
        }
        let (tokens, at) = self.buckets.entry(key).or_insert((BURST, now));
        *tokens = (*tokens + since(*at, now).as_secs_f64() / REFILL.as_secs_f64()).min(BURST);
        *at = now;
        let admitted = *tokens >= 1.0;
        if admitted {
            *tokens -= 1.0;
        }
        admitted
    }
}

fn message_of(known_by: &str, event: &PendingEvent) -> String {
    if known_by.is_empty() {
        format!("(combined from similar events): {}", event.note.text)
    } else {
        event.note.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(text: &str, second: i64) -> PendingEvent {
        PendingEvent {
            component: "tester".into(),
            about: Reference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                namespace: Some("shop".to_owned()),
                name: "a".to_owned(),
                uid: "1".to_owned(),
                ..Reference::default()
            },
            note: EventNote::normal("Done", "Do", text),
            at: Timestamp::from_second(1_000_000 + second).unwrap(),
        }
    }

    #[test]
    fn a_message_is_written_once_and_then_counted() {
        let mut correlator = EventCorrelator::default();
        let Some(Write::Create(event)) = correlator.decide(&pending("one", 0)) else {
            panic!("not created");
        };
        assert_eq!(
            (event["count"].as_u64(), event["message"].as_str()),
            (Some(1), Some("one"))
        );
        assert!(matches!(correlator.decide(&pending("two", 0)), Some(Write::Create(_))));
        let Some(Write::Patch(key, patch)) = correlator.decide(&pending("one", 5)) else {
            panic!("not counted");
        };
        assert_eq!(key.name(), event["metadata"]["name"].as_str().unwrap());
        assert_eq!(patch["count"], 2);
    }

    #[test]
    fn too_many_similar_messages_are_combined() {
        let mut correlator = EventCorrelator::default();
        let writes: Vec<_> = (0..12)
            .filter_map(|number| correlator.decide(&pending(&number.to_string(), 0)))
            .collect();
        assert_eq!(
            writes.iter().filter(|write| matches!(write, Write::Create(_))).count(),
            10
        );
        let Write::Patch(_, patch) = &writes[11] else {
            panic!("not combined");
        };
        assert_eq!(patch["message"], "(combined from similar events): 11");
    }

    #[test]
    fn a_chatterbox_is_silenced() {
        let mut correlator = EventCorrelator::default();
        let heard = (0..100)
            .filter(|_| correlator.decide(&pending("same", 0)).is_some())
            .count();
        assert_eq!(heard, 25);
        assert!(correlator.decide(&pending("same", 301)).is_some());
    }
}
