//! Carries out a scenario on any server, and writes down what its objects look like after each step.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, DeleteOptions, Patch, Propagation};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::{Kind, ObjectKey, View};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One thing to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Act {
    /// Make an object.
    Create(Value),
    /// Change an object: kind, name, merge patch.
    Patch(String, String, Value),
    /// Delete an object: kind, name, what becomes of its dependents.
    Delete(String, String, String),
    /// Say that so many Pods that are not ready are.
    Ready(usize),
    /// Say that so many Pods that have not ended have, in this phase.
    End(usize, String),
    /// Label a Pod that is not labelled so yet.
    Label(String, String),
    /// Let seconds pass.
    Wait(u64),
}

/// What was done, and how everything looked afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) act: Act,
    pub(crate) state: Value,
}

/// A scenario as it went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// The kinds that are looked at.
const KINDS: [(&str, &str, &str); 6] = [
    ("apps", "Deployment", "deployments"),
    ("apps", "ReplicaSet", "replicasets"),
    ("batch", "Job", "jobs"),
    ("", "Pod", "pods"),
    ("", "ConfigMap", "configmaps"),
    ("", "Event", "events"),
];

/// A user of a server, in a namespace of its own.
pub(crate) struct Driver {
    client: Client,
    namespace: String,
}

impl Driver {
    pub(crate) async fn new(kube: kube::Client, namespace: &str) -> Self {
        let client = Client::new(kube, Cache::default()).live();
        let kind = Kind::named("", "v1", "Namespace", "namespaces", false);
        let namespaced = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        client
            .dynamic(kind)
            .create(&serde_json::from_value(namespaced).unwrap())
            .await
            .unwrap();
        Driver {
            client,
            namespace: namespace.to_owned(),
        }
    }

    fn kind(name: &str) -> Kind {
        let (group, kind, plural) = KINDS
            .iter()
            .find(|(_, kind, _)| *kind == name)
            .expect("a kind that is looked at");
        Kind::named(group, "v1", kind, plural, true)
    }

    fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::namespaced(&self.namespace, name)
    }

    async fn all(&self, kind: &str) -> Vec<View<DynamicObject>> {
        let query = Query::all().in_namespace(&self.namespace);
        self.client.dynamic(Self::kind(kind)).list(&query).await.unwrap()
    }

    /// Does one thing. Time is for others to pass.
    pub(crate) async fn act(&self, act: &Act, now: Timestamp) {
        match act {
            Act::Create(object) => {
                let kind = Self::kind(object["kind"].as_str().unwrap());
                let mut object = object.clone();
                object["apiVersion"] = kind.api_version().into();
                object["metadata"]["namespace"] = self.namespace.as_str().into();
                let object = serde_json::from_value(object).unwrap();
                self.client.dynamic(kind).create(&object).await.unwrap();
            }
            Act::Patch(kind, name, patch) => {
                let patch = Patch::Merge(patch.clone());
                self.client
                    .dynamic(Self::kind(kind))
                    .patch(&self.key(name), &patch)
                    .await
                    .unwrap();
            }
            Act::Delete(kind, name, policy) => {
                let options = DeleteOptions {
                    propagation_policy: Some(match policy.as_str() {
                        "Foreground" => Propagation::Foreground,
                        "Orphan" => Propagation::Orphan,
                        _ => Propagation::Background,
                    }),
                    ..DeleteOptions::default()
                };
                let objects = self.client.dynamic(Self::kind(kind));
                objects.delete_with(&self.key(name), &options).await.unwrap();
            }
            Act::Ready(count) => {
                let ready = |pod: &DynamicObject| pod.data.to_string().contains(r#""type":"Ready""#);
                let status = json!({ "phase": "Running", "conditions": [
                    { "type": "Ready", "status": "True", "lastTransitionTime": whole(now) },
                ] });
                self.set_status(*count, |pod| !ready(pod) && !has_ended(pod), &status)
                    .await;
            }
            Act::End(count, phase) => {
                let code = i32::from(phase == "Failed");
                let status = json!({ "phase": phase, "conditions": null, "containerStatuses": [{
                    "name": "main", "image": "busybox", "imageID": "", "ready": false, "restartCount": 0,
                    "state": { "terminated": { "exitCode": code, "finishedAt": whole(now) } },
                }] });
                self.set_status(*count, |pod| !has_ended(pod), &status).await;
            }
            Act::Label(label, value) => {
                let pods = self.all("Pod").await;
                let labelled =
                    |pod: &DynamicObject| pod.metadata.labels.as_ref().and_then(|all| all.get(label)) == Some(value);
                let pod = pods.iter().find(|pod| !labelled(pod)).expect("a Pod to label");
                let patch = Patch::Merge(json!({ "metadata": { "labels": { label: value } } }));
                self.client
                    .dynamic(Self::kind("Pod"))
                    .patch(pod.key(), &patch)
                    .await
                    .unwrap();
            }
            Act::Wait(_) => {}
        }
    }

    async fn set_status(&self, count: usize, wants: impl Fn(&DynamicObject) -> bool, status: &Value) {
        let mut pods = self.all("Pod").await;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none() && wants(pod));
        // The older first: of equal ones it does not matter which.
        pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone());
        assert!(pods.len() >= count, "only {} of {count} Pods are there", pods.len());
        for pod in pods.iter().take(count) {
            let patch = Patch::Merge(json!({ "status": status }));
            let pods = self.client.dynamic(Self::kind("Pod"));
            pods.status().patch(pod.key(), &patch).await.unwrap();
        }
    }

    /// How everything looks: without times, ids and letters of chance.
    pub(crate) async fn look(&self) -> Value {
        let mut state = Map::new();
        for (_, kind, plural) in KINDS {
            let objects = self.all(kind).await;
            if kind == "Event" {
                let told: BTreeSet<String> = objects.iter().map(|event| told(&event.data)).collect();
                state.insert(plural.to_owned(), json!(told));
                continue;
            }
            let mut shown: Vec<Value> = objects
                .iter()
                .filter(|object| object.key().name() != "kube-root-ca.crt")
                .map(|object| plain(serde_json::to_value(&**object).unwrap()))
                .collect();
            shown.sort_by_key(Value::to_string);
            if !shown.is_empty() {
                state.insert(plural.to_owned(), json!(shown));
            }
        }
        Value::Object(state)
    }

    /// What changes whenever anything does.
    #[allow(dead_code, reason = "the recorder waits until it is quiet; a replay knows")]
    pub(crate) async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for (_, kind, _) in KINDS {
            for object in self.all(kind).await {
                versions.push(format!("{} {:?}", object.key(), object.metadata.resource_version));
            }
        }
        versions
    }
}

fn whole(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn has_ended(pod: &DynamicObject) -> bool {
    matches!(pod.data["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

fn told(event: &Value) -> String {
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
    without_chance(&line)
}

/// Takes out what differs from run to run.
fn plain(value: Value) -> Value {
    const TIMES: [&str; 12] = [
        "creationTimestamp",
        "uid",
        "resourceVersion",
        "managedFields",
        "lastTransitionTime",
        "lastUpdateTime",
        "lastProbeTime",
        "startTime",
        "completionTime",
        "finishedAt",
        "selfLink",
        "namespace",
    ];
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .filter(|(key, value)| !TIMES.contains(&key.as_str()) && !value.is_null());
            let plain = kept.map(|(key, value)| match key.as_str() {
                "deletionTimestamp" => (key, json!(true)),
                "batch.kubernetes.io/controller-uid" | "controller-uid" => (key, json!("UID")),
                _ => (key, plain(value)),
            });
            Value::Object(plain.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        Value::String(text) => Value::String(without_chance(&text)),
        other => other,
    }
}

/// Replaces the five letters at the end of generated names.
fn without_chance(text: &str) -> String {
    const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        let generated = word
            .rsplit_once('-')
            .filter(|(_, last)| last.len() == 5 && last.chars().all(|letter| LETTERS.contains(letter)));
        match generated {
            Some((stem, _)) => {
                shown.push_str(stem);
                shown.push_str("-?????");
            }
            None => shown.push_str(word),
        }
        let next = tail.find(is_word).unwrap_or(tail.len());
        let (between, tail) = tail.split_at(next);
        shown.push_str(between);
        rest = tail;
    }
    shown
}
