//! How parts of a record are written as JSON and read again: names as text, times as seconds.

use std::sync::Arc;

use crate::object::{Kind, ObjectKey};

/// What is written as its own text.
pub(super) trait FromText {
    fn from_text(text: &str) -> Self;
}

impl FromText for Arc<str> {
    fn from_text(text: &str) -> Self {
        text.into()
    }
}

impl FromText for ObjectKey {
    fn from_text(text: &str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => ObjectKey::namespaced(namespace, name),
            None => ObjectKey::cluster(text),
        }
    }
}

/// The text is the name and the group. Version, plural name and scope are not written, so they are not read.
impl FromText for Kind {
    fn from_text(text: &str) -> Self {
        let (name, group) = text.split_once('.').unwrap_or((text, ""));
        Kind::named(group, "", name, "", false)
    }
}

pub(super) mod text {
    use std::borrow::Cow;
    use std::fmt;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::FromText;

    pub(in crate::trace) fn serialize<S: Serializer>(
        value: &impl fmt::Display,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(in crate::trace) fn deserialize<'de, D: Deserializer<'de>, T: FromText>(reader: D) -> Result<T, D::Error> {
        Cow::<str>::deserialize(reader).map(|text| T::from_text(&text))
    }
}

pub(super) mod seconds {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::trace) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.as_secs_f64())
    }

    pub(in crate::trace) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(reader)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

pub(super) mod maybe_seconds {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
    pub(in crate::trace) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|value| value.as_secs_f64()).serialize(serializer)
    }

    pub(in crate::trace) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(reader)?;
        let duration = seconds.map(Duration::try_from_secs_f64).transpose();
        duration.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::Value;

    use super::*;
    use crate::trace::{
        ApiCall, CacheRead, Cause, Change, FieldChange, Found, LogLevel, LogLine, ObjectChange, Outcome, ReadTarget,
        ReconcileId, TraceEvent, TraceRecord, WebhookCall,
    };

    fn change(change: Change) -> ObjectChange {
        ObjectChange {
            kind: Kind::of::<Deployment>(),
            key: ObjectKey::namespaced("shop", "web"),
            uid: "8c5d".into(),
            revision: Some(u64::MAX),
            change,
        }
    }

    fn queued(cause: Cause, after: Option<Duration>) -> TraceEvent {
        TraceEvent::Queued {
            controller: "web".into(),
            key: ObjectKey::cluster("web"),
            cause,
            after,
        }
    }

    fn read(target: ReadTarget, found: Found) -> TraceEvent {
        TraceEvent::Read(CacheRead {
            kind: Kind::of::<ConfigMap>(),
            target,
            found,
            cache: matches!(found, Found::Objects(1..)).then_some(7),
        })
    }

    fn ended(outcome: Outcome, error: Option<&str>) -> TraceEvent {
        TraceEvent::Ended {
            controller: "web".into(),
            key: ObjectKey::namespaced("shop", "web"),
            outcome,
            error: error.map(str::to_owned),
            is_terminal: error.is_some_and(|error| error.contains('\n')),
            took: Duration::from_micros(1500),
        }
    }

    fn field() -> FieldChange {
        FieldChange {
            path: "spec.replicas".to_owned(),
            before: "1".to_owned(),
            after: "2".to_owned(),
        }
    }

    fn called() -> ApiCall {
        ApiCall {
            verb: "patch".into(),
            target: "Deployment.apps shop/web".to_owned(),
            dry_run: false,
            sent: Some("{\"a\":\"\\n\"}".to_owned()),
            code: Some(200),
            error: None,
            cached: Some(7),
            revision: Some(8),
            changes: vec![field()],
            took: Duration::from_millis(3),
        }
    }

    fn judged() -> WebhookCall {
        WebhookCall {
            path: "/judge".into(),
            operation: "UPDATE".to_owned(),
            kind: "Deployment.apps".to_owned(),
            subresource: "scale".to_owned(),
            object: "shop/web".to_owned(),
            user: "ann".to_owned(),
            dry_run: true,
            sent: Some("{}".to_owned()),
            allowed: true,
            code: 200,
            message: "fine".to_owned(),
            warnings: vec!["late".to_owned()],
            patched: 1,
            changes: vec![field()],
            took: Duration::from_millis(1),
        }
    }

    /// At least one of each kind, and of each form of its parts.
    fn events() -> Vec<TraceEvent> {
        let key = || ReadTarget::Key(ObjectKey::cluster("node-1"));
        let list = |namespace: Option<&str>| ReadTarget::List {
            namespace: namespace.map(str::to_owned),
            selector: "app=web".to_owned(),
        };
        let changes = [
            Change::Listed,
            Change::Resynced,
            Change::Created,
            Change::Updated,
            Change::Deleted,
        ];
        let outcomes = [Outcome::Success, Outcome::RequeueAfter, Outcome::Requeue];
        let levels = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug];
        let mut events = vec![
            queued(Cause::Object(change(Change::Created)), None),
            queued(Cause::Source, None),
            queued(Cause::Again(Outcome::Error), Some(Duration::from_millis(250))),
            TraceEvent::Began {
                controller: "web".into(),
                key: ObjectKey::namespaced("shop", "web"),
                waited: Duration::from_nanos(1),
            },
            read(key(), Found::Nothing),
            read(key(), Found::Object(None)),
            read(key(), Found::Object(Some(7))),
            read(list(Some("shop")), Found::Objects(3)),
            read(list(None), Found::Objects(0)),
            TraceEvent::Called(called()),
            TraceEvent::Called(ApiCall {
                sent: None,
                code: None,
                error: Some("no route".to_owned()),
                cached: None,
                revision: None,
                changes: Vec::new(),
                ..called()
            }),
            ended(Outcome::Error, Some("no\nroute")),
            TraceEvent::Webhook(judged()),
        ];
        events.extend(changes.map(|kind| TraceEvent::Observed(change(kind))));
        events.extend(outcomes.map(|outcome| ended(outcome, None)));
        events.extend(levels.map(|level| {
            TraceEvent::Logged(LogLine {
                level,
                target: "web::reconcile".into(),
                message: "done".to_owned(),
            })
        }));
        events
    }

    fn record(sequence: usize, event: TraceEvent) -> TraceRecord {
        TraceRecord {
            sequence: sequence as u64,
            at: Duration::from_millis(sequence as u64),
            reconcile: sequence.is_multiple_of(2).then_some(ReconcileId(7)),
            server: sequence.is_multiple_of(3).then_some(9),
            event,
        }
    }

    #[test]
    fn every_record_that_is_written_can_be_read_again() {
        for (sequence, event) in events().into_iter().enumerate() {
            let written = serde_json::to_string(&record(sequence, event)).unwrap();
            let read: TraceRecord = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
            // From a value, too, as readers have it that look at a part first.
            let value: Value = serde_json::from_str(&written).unwrap();
            assert_eq!(serde_json::from_value::<TraceRecord>(value).unwrap(), read);
        }
    }

    #[test]
    fn what_is_read_is_what_was_recorded() {
        let calls = [
            TraceEvent::Called(called()),
            TraceEvent::Webhook(judged()),
            ended(Outcome::Requeue, Some("no")),
        ];
        for event in calls {
            let written = record(0, event);
            let read: TraceRecord = serde_json::from_value(serde_json::to_value(&written).unwrap()).unwrap();
            assert_eq!(read, written);
        }
        let observed = record(1, TraceEvent::Observed(change(Change::Updated)));
        let read: TraceRecord = serde_json::from_value(serde_json::to_value(&observed).unwrap()).unwrap();
        let TraceEvent::Observed(read) = read.event else {
            panic!("{read:?}");
        };
        assert_eq!((read.kind.kind(), read.kind.group()), ("Deployment", "apps"));
        assert_eq!(
            (read.key.namespace(), read.key.name(), read.revision),
            (Some("shop"), "web", Some(u64::MAX))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_nothing_panics() {
        let line = |at: &str, event: &str| format!("{{\"sequence\":1,\"at\":{at},\"reconcile\":null,{event}}}");
        let logged = "\"event\":\"logged\",\"level\":\"INFO\",\"target\":\"a\",\"message\":\"b\"";
        assert!(serde_json::from_str::<TraceRecord>(&line("1.5", logged)).is_ok());
        for wrong in [
            line("-1", logged),
            line("1e300", logged),
            line("1", "\"event\":\"later\""),
            line("1", &logged.replace("INFO", "LOUD")),
        ] {
            assert!(serde_json::from_str::<TraceRecord>(&wrong).is_err(), "{wrong}");
        }
    }
}
