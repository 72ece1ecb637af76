//! What everything looks like, without times, ids and letters of chance.

use std::collections::BTreeSet;

use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use serde_json::{Map, Value, json};

use super::{Driver, KINDS, certificate};

/// Taken out: they differ from run to run.
const LEFT_OUT: [&str; 14] = [
    "creationTimestamp",
    "uid",
    "resourceVersion",
    "managedFields",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "startTime",
    "completionTime",
    "finishedAt",
    "selfLink",
    "namespace",
    // When a change was first seen, for measuring how long it takes to reach the network. There is no network here.
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// Times of which it matters whether they are there.
const TIMES: [&str; 5] = [
    "lastPhaseTransitionTime",
    "lastScheduleTime",
    "lastSuccessfulTime",
    "timeAdded",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
];

impl Driver {
    /// How everything looks after a step; `refused` is what the server said if it did not want it.
    pub(crate) async fn look(&self, refused: Option<String>) -> Value {
        let mut state = Map::new();
        if let Some(refused) = refused {
            state.insert("refused".to_owned(), refused.into());
        }
        for (_, kind, plural, _) in KINDS {
            let mut shown: Vec<Value> = Vec::new();
            if kind == "Event" {
                state.insert(plural.to_owned(), json!(self.events().await));
                continue;
            }
            for object in self.all(kind).await {
                if self.is_shown(kind, object.key().name()) {
                    let mut object = serde_json::to_value(&*object).unwrap();
                    if let Some(certificate) = object.pointer_mut("/status/certificate") {
                        *certificate = certificate::described(certificate);
                    }
                    shown.push(plain(object));
                }
            }
            shown.sort_by_key(Value::to_string);
            if !shown.is_empty() {
                state.insert(plural.to_owned(), json!(shown));
            }
        }
        Value::Object(state)
    }

    /// Whether an object is part of the scenario.
    fn is_shown(&self, kind: &str, name: &str) -> bool {
        let asked = |what: &str| self.shows.contains(&what);
        match kind {
            "ConfigMap" if name == "kube-root-ca.crt" => asked(name),
            "ServiceAccount" => asked(kind),
            "Namespace" => asked(kind) && name == self.namespace,
            "Node"
            | "ClusterRole"
            | "ClusterRoleBinding"
            | "PersistentVolume"
            | "StorageClass"
            | "VolumeAttributesClass"
            | "CertificateSigningRequest"
            | "ValidatingAdmissionPolicy" => name.starts_with(&self.namespace),
            "CustomResourceDefinition" => false,
            _ => true,
        }
    }

    /// What people were told. What is about nodes and volumes is told in the namespace `default`.
    async fn events(&self) -> BTreeSet<String> {
        let own = self.all("Event").await;
        let mut told: BTreeSet<String> = own.iter().map(|event| tell(&event.data)).collect();
        let query = Query::all().in_namespace("default");
        let others = self.client.dynamic(Self::kind("Event")).list(&query).await.unwrap();
        let is_ours = |event: &DynamicObject| {
            let about = &event.data["involvedObject"];
            about["namespace"].is_null()
                && about["name"]
                    .as_str()
                    .is_some_and(|name| name.starts_with(&self.namespace))
        };
        told.extend(
            others
                .iter()
                .filter(|event| is_ours(event))
                .map(|event| tell(&event.data)),
        );
        told
    }

    /// What changes whenever anything does.
    #[allow(dead_code, reason = "the recorder waits until it is quiet; a replay knows")]
    pub(crate) async fn versions(&self) -> Vec<String> {
        // Not how often something was said: a claim that nothing fits is told so as long as it is there.
        let mut versions: Vec<String> = self.events().await.into_iter().collect();
        for (_, kind, ..) in KINDS.into_iter().filter(|(_, kind, ..)| *kind != "Event") {
            for object in self.all(kind).await {
                if self.is_shown(kind, object.key().name()) {
                    versions.push(format!("{} {:?}", object.key(), object.metadata.resource_version));
                }
            }
        }
        versions
    }
}

fn tell(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["involvedObject"];
    let line = format!(
        "{}/{} {} {}: {}",
        text(&about["kind"]),
        text(&about["name"]),
        text(&event["type"]),
        text(&event["reason"]),
        text(&event["message"])
    );
    let missed = "Missed scheduled time to start a job: ";
    match line.split_once(missed) {
        Some((before, _)) => format!("{before}{missed}TIME"),
        None => without_chance(&line),
    }
}

/// Takes out what differs from run to run.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .filter(|(key, value)| !LEFT_OUT.contains(&key.as_str()) && !value.is_null());
            let plain = kept.map(|(key, value)| match key.as_str() {
                "deletionTimestamp" => (key, json!(true)),
                time if TIMES.contains(&time) => (key, json!("TIME")),
                "batch.kubernetes.io/controller-uid" | "controller-uid" => (key, json!("UID")),
                "clusterIP" if value != "None" => (key, json!("ADDRESS")),
                "clusterIPs" if value != json!(["None"]) => (key, json!(["ADDRESS"])),
                "ca.crt" if value != "" => (key, json!("CERTIFICATES")),
                "warning" => (key, json!(without_moments(value.as_str().unwrap_or_default()))),
                // In no order there.
                "endpoints" | "ports" => (key, sorted(plain(value))),
                _ => (key, plain(value)),
            });
            // Annotations of which nothing is left are as good as none.
            let plain = plain.filter(|(key, value)| key != "annotations" || *value != json!({}));
            Value::Object(plain.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::String(text) => Value::String(without_chance(&text)),
        other => other,
    }
}

/// Replaces the moments by which type checks tell apart the types of kinds: numbers right after a letter that are
/// long, or that a dot follows.
fn without_moments(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, tail) = rest.split_at(at);
        let end = tail.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(tail.len());
        let is_last = end > 2 || tail[end..].starts_with('.');
        let is_moment = is_last && before.ends_with(|letter: char| letter.is_ascii_alphabetic());
        shown.push_str(before);
        shown.push_str(if is_moment { "MOMENT" } else { &tail[..end] });
        rest = &tail[end..];
    }
    shown + rest
}

fn sorted(mut value: Value) -> Value {
    if let Value::Array(items) = &mut value {
        items.sort_by_key(Value::to_string);
    }
    value
}

/// Replaces the five letters at the end of generated names, the minute in the names of Jobs, and uids.
pub(super) fn without_chance(text: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        shown.push_str(&word_without_chance(word));
        let next = tail.find(is_word).unwrap_or(tail.len());
        let (between, tail) = tail.split_at(next);
        shown.push_str(between);
        rest = tail;
    }
    shown
}

fn word_without_chance(word: &str) -> String {
    const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
    if word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]) {
        return "UID".to_owned();
    }
    let parts: Vec<&str> = word.split('-').collect();
    let shown = parts.iter().enumerate().map(|(place, part)| {
        let (is_first, is_last) = (place == 0, place + 1 == parts.len());
        if !is_first && is_last && part.len() == 5 && part.chars().all(|letter| LETTERS.contains(letter)) {
            "?????"
        } else if !is_first && part.len() == 8 && part.chars().all(|letter| letter.is_ascii_digit()) {
            "MINUTE"
        } else {
            part
        }
    });
    shown.collect::<Vec<_>>().join("-")
}
