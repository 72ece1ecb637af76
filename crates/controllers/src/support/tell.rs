//! Events for people as kube-controller-manager writes them: one per message, counted when repeated, combined when too many.
//! The pure part decides what is written; the shell writes it off the controllers' way.

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

/// client-go's numbers: so many different messages about the same within this time are told one by one,
const MOST_SIMILAR: usize = 10;
const SIMILAR_WITHIN: Duration = Duration::from_mins(10);
/// and so many events about one object at once, and one more each time this has passed.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_mins(5);
/// So much is remembered of each sort.
const MOST_REMEMBERED: usize = 4096;
/// So many events wait to be written; those that are too many are dropped.
const QUEUE: usize = 10_000;

/// An event on its way.
#[derive(Clone, Debug)]
struct Told {
    component: Arc<str>,
    about: Reference,
    note: EventNote,
    at: Timestamp,
}

/// Where controllers tell people what they do. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    sender: mpsc::Sender<Told>,
    component: Arc<str>,
    clock: Clock,
}

impl Teller {
    /// Takes an event about an object.
    pub(crate) fn tell(&self, about: &impl Referable, note: EventNote) {
        let told = Told {
            component: Arc::clone(&self.component),
            about: about.reference(),
            note,
            at: self.clock.now(),
        };
        if self.sender.try_send(told).is_err() {
            tracing::debug!("an event is dropped");
        }
    }
}

/// From where tellers come; and the writer behind them, which runs once.
#[derive(Clone, Debug)]
pub(crate) struct Tellers {
    sender: mpsc::Sender<Told>,
    receiver: Arc<Mutex<Option<mpsc::Receiver<Told>>>>,
}

impl Default for Tellers {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Tellers {
            sender,
            receiver: Arc::new(Mutex::new(Some(receiver))),
        }
    }
}

impl Tellers {
    /// A teller in the name of a component.
    pub(crate) fn teller(&self, component: &str, clock: Clock) -> Teller {
        Teller {
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

async fn write(mut receiver: mpsc::Receiver<Told>, context: RunContext) {
    let mut memory = Memory::default();
    loop {
        tokio::select! {
            biased;
            told = receiver.recv() => match told {
                Some(told) => send(&context.client, &mut memory, told).await,
                None => return,
            },
            () = context.stop.stopped() => break,
        }
    }
    while let Ok(told) = receiver.try_recv() {
        send(&context.client, &mut memory, told).await;
    }
}

async fn send(client: &Client, memory: &mut Memory, told: Told) {
    let Some(write) = memory.decide(&told) else {
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
struct Memory {
    /// The messages about the same of late.
    similar: HashMap<Group, (HashSet<String>, Timestamp)>,
    /// What was written, and how often.
    written: HashMap<(Group, String), (ObjectKey, u32)>,
    buckets: HashMap<(Arc<str>, Reference), (f64, Timestamp)>,
    /// The number in the last name: no two are alike.
    last: i128,
}

impl Memory {
    fn decide(&mut self, told: &Told) -> Option<Write> {
        let mut about = told.about.clone();
        about.resource_version.clear();
        let reason = told.note.reason.clone();
        let group: Group = (
            Arc::clone(&told.component),
            about.clone(),
            told.note.kind.as_str(),
            reason,
        );
        let message = self.combined(&group, told);
        if !self.admits((Arc::clone(&told.component), about), told.at) {
            return None;
        }
        let time = whole(told.at).0.to_string();
        if self.written.len() > MOST_REMEMBERED {
            self.written.clear();
        }
        if let Some((key, count)) = self.written.get_mut(&(group.clone(), message.clone())) {
            *count += 1;
            let patch = json!({ "count": count, "lastTimestamp": time, "message": message_of(&message, told) });
            return Some(Write::Patch(key.clone(), patch));
        }
        let namespace = told.about.namespace.clone().unwrap_or_else(|| "default".to_owned());
        self.last = told.at.as_nanosecond().max(self.last + 1);
        let name = format!("{}.{:x}", told.about.name, self.last);
        let key = ObjectKey::namespaced(&namespace, &name);
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "involvedObject": told.about,
            "reason": told.note.reason, "message": message_of(&message, told), "type": told.note.kind.as_str(),
            "source": { "component": &*told.component }, "reportingComponent": &*told.component,
            "reportingInstance": "",
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        self.written.insert((group, message), (key, 1));
        Some(Write::Create(event))
    }

    /// The message by which an event is known: its own, or the one of all that are too many.
    fn combined(&mut self, group: &Group, told: &Told) -> String {
        if self.similar.len() > MOST_REMEMBERED {
            self.similar.clear();
        }
        let (messages, last) = self
            .similar
            .entry(group.clone())
            .or_insert_with(|| (HashSet::new(), told.at));
        if since(*last, told.at) > SIMILAR_WITHIN {
            messages.clear();
        }
        *last = told.at;
        if messages.len() < MOST_SIMILAR {
            messages.insert(told.note.text.clone());
        }
        if messages.len() < MOST_SIMILAR {
            told.note.text.clone()
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

fn message_of(known_by: &str, told: &Told) -> String {
    if known_by.is_empty() {
        format!("(combined from similar events): {}", told.note.text)
    } else {
        told.note.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, second: i64) -> Told {
        Told {
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
        let mut memory = Memory::default();
        let Some(Write::Create(event)) = memory.decide(&told("one", 0)) else {
            panic!("not created");
        };
        assert_eq!(
            (event["count"].as_u64(), event["message"].as_str()),
            (Some(1), Some("one"))
        );
        assert!(matches!(memory.decide(&told("two", 0)), Some(Write::Create(_))));
        let Some(Write::Patch(key, patch)) = memory.decide(&told("one", 5)) else {
            panic!("not counted");
        };
        assert_eq!(key.name(), event["metadata"]["name"].as_str().unwrap());
        assert_eq!(patch["count"], 2);
    }

    #[test]
    fn too_many_similar_messages_are_combined() {
        let mut memory = Memory::default();
        let writes: Vec<_> = (0..12)
            .filter_map(|number| memory.decide(&told(&number.to_string(), 0)))
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
        let mut memory = Memory::default();
        let heard = (0..100).filter(|_| memory.decide(&told("same", 0)).is_some()).count();
        assert_eq!(heard, 25);
        assert!(memory.decide(&told("same", 301)).is_some());
    }
}
