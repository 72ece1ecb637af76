//! Decides which events are written to the server, and when: a state machine without clock and network.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::limit::{LimitKey, Limits};
use super::note::{EventNote, EventType};
use super::reference::Reference;

/// A moment on this process's own steady clock.
pub(super) type Moment = Duration;

/// How long after its last event a series ends, and a single event is forgotten.
pub(super) const FINISH: Duration = Duration::from_mins(6);
/// How often a series that goes on is written, so that the server does not expire it.
pub(super) const REFRESH: Duration = Duration::from_mins(30);
/// How many events are remembered.
const MOST_EVENTS: usize = 4096;

/// The fields that are equal in all events of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventKey {
    event_type: EventType,
    action: String,
    reason: String,
    controller: String,
    instance: String,
    regarding: Reference,
    related: Option<Reference>,
}

/// An event as it was recorded.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) time: Timestamp,
    pub(super) controller: String,
    pub(super) instance: String,
    pub(super) regarding: Reference,
    pub(super) note: EventNote,
    pub(super) series: Option<SeriesCount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeriesCount {
    pub(super) count: u32,
    pub(super) last: Timestamp,
}

/// An event to write. The writer calls [`Series::done`] afterwards.
#[derive(Clone, Debug)]
pub(super) struct EventWrite {
    pub(super) key: EventKey,
    /// An event without a series is created. One with a series is patched, or created if it does not exist any more.
    pub(super) event: Event,
}

/// What to do with a recorded event.
#[derive(Debug)]
pub(super) enum EventAction {
    /// Write it now.
    Send(Box<EventWrite>),
    /// Do nothing: it is counted, and the count is written later.
    Counted,
    /// Drop it: there were too many events of its object.
    Limited,
}

#[derive(Debug)]
struct Entry {
    event: Event,
    /// When it last happened.
    at: Moment,
    /// The count that was written, including that of a request in flight.
    told: u32,
    /// Whether a request for this event is in flight. There is at most one, so that requests do not overtake one another.
    in_flight: bool,
    /// Whether to write it once no request is in flight.
    due: bool,
    /// Whether the series ends with the next request.
    finished: bool,
}

/// All events that can still become a series.
#[derive(Debug, Default)]
pub(super) struct Series {
    entries: BTreeMap<EventKey, Entry>,
    limits: Limits,
}

impl Series {
    /// Adds an event.
    pub(super) fn observe(&mut self, event: Event, now: Moment) -> EventAction {
        let key = event.key();
        if let Some(entry) = self.entries.get_mut(&key) {
            let count = entry.count().saturating_add(1);
            entry.event.series = Some(SeriesCount {
                count,
                last: event.time,
            });
            entry.at = now;
            entry.finished = false;
            // The second event is written at once; the count of further ones when the series ends or is refreshed.
            if count > 2 || !self.limits.admit(event.limit_key(), now) {
                return EventAction::Counted;
            }
            entry.due = true;
            return entry
                .send(key)
                .map_or(EventAction::Counted, |send| EventAction::Send(Box::new(send)));
        }
        if !self.limits.admit(event.limit_key(), now) {
            return EventAction::Limited;
        }
        if self.entries.len() >= MOST_EVENTS {
            self.forget_oldest();
        }
        let mut entry = Entry {
            event,
            at: now,
            told: 0,
            in_flight: false,
            due: true,
            finished: false,
        };
        let send = entry.send(key.clone());
        self.entries.insert(key, entry);
        send.map_or(EventAction::Counted, |send| EventAction::Send(Box::new(send)))
    }

    /// A request is done, with or without success. What waited for it comes back.
    pub(super) fn done(&mut self, key: &EventKey) -> Option<EventWrite> {
        let entry = self.entries.get_mut(key)?;
        entry.in_flight = false;
        if let Some(next) = entry.send(key.clone()) {
            return Some(next);
        }
        if entry.finished {
            self.entries.remove(key);
        }
        None
    }

    /// Ends series without recent events: forgets single events, and writes the final count of series.
    pub(super) fn finish(&mut self, now: Moment) -> Vec<EventWrite> {
        let silent = |entry: &Entry| now.saturating_sub(entry.at) >= FINISH;
        self.entries
            .retain(|_, entry| entry.event.series.is_some() || entry.in_flight || !silent(entry));
        self.tell(|entry| {
            entry.finished = entry.event.series.is_some() && silent(entry);
            entry.finished
        })
    }

    /// Tells of all series, so that the server keeps them.
    pub(super) fn refresh(&mut self) -> Vec<EventWrite> {
        self.tell(|entry| entry.event.series.is_some())
    }

    /// Tells the counts that the server does not know yet. For the end.
    pub(super) fn flush(&mut self) -> Vec<EventWrite> {
        self.tell(|entry| entry.count() > entry.told)
    }

    fn tell(&mut self, mut which: impl FnMut(&mut Entry) -> bool) -> Vec<EventWrite> {
        let mut sends = Vec::new();
        for (key, entry) in &mut self.entries {
            if which(entry) {
                entry.due = true;
                sends.extend(entry.send(key.clone()));
            }
        }
        sends
    }

    fn forget_oldest(&mut self) {
        let idle = self.entries.iter().filter(|(_, entry)| !entry.in_flight);
        if let Some(oldest) = idle.min_by_key(|(_, entry)| entry.at).map(|(key, _)| key.clone()) {
            self.entries.remove(&oldest);
        }
    }
}

impl Entry {
    fn count(&self) -> u32 {
        self.event.series.map_or(1, |series| series.count)
    }

    fn send(&mut self, key: EventKey) -> Option<EventWrite> {
        if self.in_flight || !self.due {
            return None;
        }
        self.in_flight = true;
        self.due = false;
        self.told = self.count();
        Some(EventWrite {
            key,
            event: self.event.clone(),
        })
    }
}

impl Event {
    pub(super) fn key(&self) -> EventKey {
        EventKey {
            event_type: self.note.kind,
            action: self.note.action.clone(),
            reason: self.note.reason.clone(),
            controller: self.controller.clone(),
            instance: self.instance.clone(),
            regarding: self.regarding.clone(),
            related: self.note.related.clone(),
        }
    }

    fn limit_key(&self) -> LimitKey {
        let Reference {
            api_version,
            kind,
            namespace,
            name,
            uid,
            ..
        } = self.regarding.clone();
        LimitKey {
            controller: self.controller.clone(),
            api_version,
            kind,
            namespace,
            name,
            uid,
            event_type: self.note.kind.as_str(),
        }
    }

    /// The whole event, as it is created.
    pub(super) fn object(&self) -> Value {
        let mut metadata = json!({ "name": self.name, "namespace": self.namespace });
        if !self.note.annotations.is_empty() {
            metadata["annotations"] = json!(self.note.annotations);
        }
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": metadata,
            "eventTime": micro_time(self.time),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": self.note.action,
            "reason": self.note.reason,
            "regarding": self.regarding,
            "note": self.note.text,
            "type": self.note.kind.as_str(),
        });
        if let Some(related) = &self.note.related {
            event["related"] = json!(related);
        }
        if let Some(series) = self.series_object() {
            event["series"] = series;
        }
        event
    }

    /// What changes in the course of a series.
    pub(super) fn patch(&self) -> Value {
        let mut patch = Map::new();
        patch.extend(self.series_object().map(|series| ("series".to_owned(), series)));
        Value::Object(patch)
    }

    fn series_object(&self) -> Option<Value> {
        let SeriesCount { count, last } = self.series?;
        Some(json!({ "count": count, "lastObservedTime": micro_time(last) }))
    }
}

fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(reason: &str) -> Event {
        Event {
            name: "web.1".to_owned(),
            namespace: "default".to_owned(),
            time: Timestamp::UNIX_EPOCH,
            controller: "shop".to_owned(),
            instance: "shop-host".to_owned(),
            regarding: Reference {
                name: "web".to_owned(),
                ..Reference::default()
            },
            note: EventNote::normal(reason, "Act", "text"),
            series: None,
        }
    }

    fn sent(verdict: EventAction) -> EventWrite {
        match verdict {
            EventAction::Send(send) => *send,
            other => panic!("not sent: {other:?}"),
        }
    }

    fn count(send: &EventWrite) -> Option<u32> {
        send.event.series.map(|series| series.count)
    }

    const START: Moment = Moment::ZERO;

    #[test]
    fn the_first_is_created_the_second_patched_and_the_others_counted() {
        let mut series = Series::default();
        let first = sent(series.observe(event("A"), START));
        assert_eq!(count(&first), None);
        assert!(series.done(&first.key).is_none());
        let second = sent(series.observe(event("A"), START));
        assert_eq!(count(&second), Some(2));
        series.done(&second.key);
        for _ in 0..100 {
            assert!(matches!(series.observe(event("A"), START), EventAction::Counted));
        }
        let told = series.refresh();
        assert_eq!(told.iter().map(count).collect::<Vec<_>>(), [Some(102)]);
    }

    #[test]
    fn a_patch_never_overtakes_its_create() {
        let mut series = Series::default();
        let first = sent(series.observe(event("A"), START));
        assert!(matches!(series.observe(event("A"), START), EventAction::Counted));
        assert!(matches!(series.observe(event("A"), START), EventAction::Counted));
        let second = series.done(&first.key).unwrap();
        assert_eq!(count(&second), Some(3));
        assert!(series.done(&second.key).is_none());
    }

    #[test]
    fn a_series_ends_with_its_final_count_after_six_minutes_of_silence() {
        let mut series = Series::default();
        for _ in 0..5 {
            if let EventAction::Send(send) = series.observe(event("A"), START) {
                series.done(&send.key);
            }
        }
        assert!(series.finish(FINISH.saturating_sub(Duration::from_secs(1))).is_empty());
        let last = series.finish(FINISH);
        assert_eq!(last.iter().map(count).collect::<Vec<_>>(), [Some(5)]);
        assert!(series.done(&last[0].key).is_none());
        assert!(series.entries.is_empty());
        // What comes next is a new event.
        assert_eq!(count(&sent(series.observe(event("A"), FINISH))), None);
    }

    #[test]
    fn an_event_during_the_final_request_keeps_the_series_alive() {
        let mut series = Series::default();
        for _ in 0..2 {
            if let EventAction::Send(send) = series.observe(event("A"), START) {
                series.done(&send.key);
            }
        }
        let last = series.finish(FINISH);
        series.observe(event("A"), FINISH);
        series.done(&last[0].key);
        assert_eq!(series.flush().iter().map(count).collect::<Vec<_>>(), [Some(3)]);
    }

    #[test]
    fn a_single_event_is_forgotten_after_six_minutes() {
        let mut series = Series::default();
        let first = sent(series.observe(event("A"), START));
        series.done(&first.key);
        assert!(series.finish(FINISH).is_empty());
        assert!(series.entries.is_empty());
    }

    #[test]
    fn too_many_different_events_about_one_object_are_limited_and_those_in_series_still_counted() {
        let mut series = Series::default();
        for number in 0..25 {
            let send = sent(series.observe(event(&format!("R{number}")), START));
            series.done(&send.key);
        }
        assert!(matches!(series.observe(event("R25"), START), EventAction::Limited));
        // No token is left for the patch, but the count is not lost.
        assert!(matches!(series.observe(event("R0"), START), EventAction::Counted));
        assert_eq!(series.flush().iter().map(count).collect::<Vec<_>>(), [Some(2)]);
    }

    #[test]
    fn flushing_tells_only_what_the_server_does_not_know() {
        let mut series = Series::default();
        for _ in 0..2 {
            if let EventAction::Send(send) = series.observe(event("A"), START) {
                series.done(&send.key);
            }
        }
        assert!(series.flush().is_empty());
        series.observe(event("A"), START);
        assert_eq!(series.flush().len(), 1);
        assert!(series.flush().is_empty());
    }

    #[test]
    fn memory_is_bounded_however_many_events_there_are() {
        let mut series = Series::default();
        for number in 0..5000 {
            let mut event = event("A");
            event.regarding.name = number.to_string();
            let send = sent(series.observe(event, Moment::from_millis(number)));
            series.done(&send.key);
        }
        assert!(series.entries.len() <= MOST_EVENTS);
    }
}
