//! Carries out a scenario on any server, as its user, its kubelet and its clock; [`look`] writes down what came of it.

mod certificate;
mod look;

use jiff::{SignedDuration, Timestamp};
use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::{Client, DeleteOptions, Error, Patch, Propagation};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::{Kind, ObjectKey, View};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One thing to do. In objects and patches `$now` is the time, and `$uid:Kind/name` the uid of an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Act {
    /// Make an object.
    Create(Value),
    /// Change an object: kind, name, merge patch.
    Patch(String, String, Value),
    /// Change an object's status: kind, name, merge patch.
    Status(String, String, Value),
    /// Make an object as somebody else: name, groups.
    CreateAs(String, Vec<String>, Value),
    /// Approve or deny a request for a certificate: name, condition.
    Approval(String, Value),
    /// Delete an object: kind, name, what becomes of its dependents.
    Delete(String, String, String),
    /// Say that so many Pods that are not ready are.
    Ready(usize),
    /// Say that so many Pods that have not ended have, in this phase.
    End(usize, String),
    /// Say this of so many Pods that have not ended, of this index if one is given.
    Report(usize, Option<i32>, Value),
    /// Say that so many Pods that are being deleted have stopped: they go.
    Gone(usize),
    /// Delete so many Pods, as their user: the older first.
    Kill(usize),
    /// Label a Pod that is not labelled so yet.
    Label(String, String),
    /// Do all of this before anybody looks.
    All(Vec<Act>),
    /// Let seconds pass.
    Wait(u64),
    /// Let time pass until shortly after the next full minute.
    Tick,
}

impl Act {
    /// How long it takes by itself.
    pub(crate) fn lasts(&self, now: Timestamp) -> Option<u64> {
        match self {
            Act::Wait(seconds) => Some(*seconds),
            Act::All(acts) => Some(acts.iter().filter_map(|act| act.lasts(now)).sum()),
            Act::Tick => u64::try_from(60 - now.as_second().rem_euclid(60) + 3).ok(),
            // The real controller begins with a namespace after five seconds, and looks at nodes every five.
            Act::Delete(kind, ..) if kind == "Namespace" => Some(9),
            Act::Create(object) if object["kind"] == "Node" => Some(7),
            Act::Patch(kind, ..) | Act::Status(kind, ..) if kind == "Node" => Some(7),
            _ => None,
        }
    }
}

/// What was done, and how everything looked afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedStep {
    pub(crate) act: Act,
    pub(crate) state: Value,
}

/// A scenario as it went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) steps: Vec<RecordedStep>,
}

/// A kind that is used or looked at: group, kind, plural, whether its objects are in namespaces.
type KindRow = (&'static str, &'static str, &'static str, bool);

/// The kinds that are looked at.
const KINDS: [KindRow; 22] = [
    ("apps", "Deployment", "deployments", true),
    ("apps", "ReplicaSet", "replicasets", true),
    ("batch", "Job", "jobs", true),
    ("batch", "CronJob", "cronjobs", true),
    ("", "Pod", "pods", true),
    ("", "ConfigMap", "configmaps", true),
    ("", "Service", "services", true),
    ("discovery.k8s.io", "EndpointSlice", "endpointslices", true),
    ("", "ServiceAccount", "serviceaccounts", true),
    ("", "Namespace", "namespaces", false),
    ("", "Node", "nodes", false),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
    ),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", true),
    ("", "PersistentVolume", "persistentvolumes", false),
    ("storage.k8s.io", "StorageClass", "storageclasses", false),
    (
        "storage.k8s.io",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        false,
    ),
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        false,
    ),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
    ),
    ("", "ResourceQuota", "resourcequotas", true),
    ("", "Event", "events", true),
];

/// A user of a server, in a namespace of its own.
pub(crate) struct Driver {
    client: Client,
    namespace: String,
    /// What is looked at besides what every scenario looks at.
    shows: &'static [&'static str],
}

impl Driver {
    /// Begins a scenario: its name is that of its namespace.
    pub(crate) async fn new(kube: kube::Client, namespace: &str, shows: &'static [&'static str]) -> Self {
        let client = Client::new(kube, Cache::default()).live();
        let namespaced = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        client
            .dynamic(Self::kind("Namespace"))
            .create(&serde_json::from_value(namespaced).unwrap())
            .await
            .unwrap();
        Driver {
            client,
            namespace: namespace.to_owned(),
            shows,
        }
    }

    fn kind(name: &str) -> Kind {
        let (group, kind, plural, namespaced) = KINDS
            .iter()
            .find(|(_, kind, ..)| *kind == name)
            .expect("a kind that is looked at");
        Kind::named(group, "v1", kind, plural, *namespaced)
    }

    /// The key of an object by its name, or by `namespace/name` if it is in another namespace.
    fn key(&self, kind: &Kind, name: &str) -> ObjectKey {
        match name.split_once('/') {
            Some((namespace, name)) => ObjectKey::namespaced(namespace, name),
            None if kind.is_namespaced() => ObjectKey::namespaced(&self.namespace, name),
            None => ObjectKey::cluster(name),
        }
    }

    async fn all(&self, kind: &str) -> Vec<View<DynamicObject>> {
        let kind = Self::kind(kind);
        let mut query = Query::all();
        if kind.is_namespaced() {
            query = query.in_namespace(&self.namespace);
        }
        self.client.dynamic(kind).list(&query).await.unwrap()
    }

    /// Does one thing, and says what the server said if it refused. Time is for others to pass.
    pub(crate) async fn act(&self, act: &Act, now: Timestamp) -> Option<String> {
        let done = match act {
            Act::Create(object) => self.create(self.filled(object, now).await).await,
            Act::Patch(kind, name, patch) => {
                let patch = Patch::Merge(self.filled(patch, now).await);
                let kind = Self::kind(kind);
                let key = self.key(&kind, name);
                self.client.dynamic(kind).patch(&key, &patch).await.map(drop)
            }
            Act::Status(kind, name, patch) => {
                let patch = Patch::Merge(json!({ "status": self.filled(patch, now).await }));
                let kind = Self::kind(kind);
                let key = self.key(&kind, name);
                self.client.dynamic(kind).status().patch(&key, &patch).await.map(drop)
            }
            Act::CreateAs(user, groups, object) => {
                let object = self.filled(object, now).await;
                self.create_as(user, groups, object).await
            }
            Act::Approval(name, condition) => {
                let patch = json!({ "status": { "conditions": [self.filled(condition, now).await] } });
                let kind = Self::kind("CertificateSigningRequest");
                let key = self.key(&kind, name);
                let approval = self.client.dynamic(kind).subresource("approval");
                approval.patch(&key, &Patch::Merge(patch)).await.map(drop)
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
                let kind = Self::kind(kind);
                let key = self.key(&kind, name);
                self.client.dynamic(kind).delete_with(&key, &options).await.map(drop)
            }
            Act::Ready(count) => {
                let ready = |pod: &DynamicObject| pod.data.to_string().contains(r#""type":"Ready""#);
                let status = json!({ "phase": "Running", "conditions": [
                    { "type": "Ready", "status": "True", "lastTransitionTime": whole(now) },
                ] });
                self.set_status(*count, |pod| !ready(pod) && !has_ended(pod), &status)
                    .await
            }
            Act::End(count, phase) => {
                let code = i32::from(phase == "Failed");
                let status = json!({ "phase": phase, "conditions": null, "containerStatuses": [{
                    "name": "main", "image": "busybox", "imageID": "", "ready": false, "restartCount": 0,
                    "state": { "terminated": { "exitCode": code, "finishedAt": whole(now) } },
                }] });
                self.set_status(*count, |pod| !has_ended(pod), &status).await
            }
            Act::Report(count, index, status) => {
                let status = self.filled(status, now).await;
                let wanted = index.map(|index| index.to_string());
                let has_index = |pod: &DynamicObject| {
                    let labels = pod.metadata.labels.as_ref();
                    let index = labels.and_then(|all| all.get("batch.kubernetes.io/job-completion-index"));
                    wanted.is_none() || index == wanted.as_ref()
                };
                self.set_status(*count, |pod| has_index(pod) && !has_ended(pod), &status)
                    .await
            }
            Act::Gone(count) => self.delete_pods(*count, true).await,
            Act::Kill(count) => self.delete_pods(*count, false).await,
            Act::Label(label, value) => self.label(label, value).await,
            Act::All(acts) => {
                for act in acts {
                    if let Some(refused) = Box::pin(self.act(act, now)).await {
                        return Some(refused);
                    }
                }
                Ok(())
            }
            Act::Wait(_) | Act::Tick => Ok(()),
        };
        match done {
            Ok(()) => None,
            Err(Error::Api { status, .. }) => Some(look::without_chance(&status.message)),
            Err(error) => panic!("{}: {error}", self.namespace),
        }
    }

    async fn create(&self, mut object: Value) -> Result<(), Error> {
        let kind = Self::kind(object["kind"].as_str().unwrap());
        object["apiVersion"] = kind.api_version().into();
        if kind.is_namespaced() && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = self.namespace.as_str().into();
        }
        let object = serde_json::from_value(object).unwrap();
        self.client.dynamic(kind).create(&object).await.map(drop)
    }

    /// Makes an object in the name of somebody else, whom the server has to believe to be asking.
    async fn create_as(&self, user: &str, groups: &[String], mut object: Value) -> Result<(), Error> {
        let kind = Self::kind(object["kind"].as_str().unwrap());
        object["apiVersion"] = kind.api_version().into();
        let path = format!("/apis/{}/{}", kind.api_version(), kind.plural());
        let mut request = http::Request::post(path)
            .header("content-type", "application/json")
            .header("impersonate-user", user);
        for group in groups {
            request = request.header("impersonate-group", group);
        }
        let request = request.body(object.to_string().into_bytes()).unwrap();
        let made: Result<Value, _> = self.client.kube().request(request).await;
        made.map(drop).map_err(|error| panic!("{}: {error}", self.namespace))
    }

    /// Puts in what is known only now.
    async fn filled(&self, value: &Value, now: Timestamp) -> Value {
        match value {
            Value::Object(members) => {
                let mut filled = serde_json::Map::new();
                for (key, value) in members {
                    filled.insert(key.clone(), Box::pin(self.filled(value, now)).await);
                }
                Value::Object(filled)
            }
            Value::Array(items) => {
                let mut filled = Vec::new();
                for item in items {
                    filled.push(Box::pin(self.filled(item, now)).await);
                }
                Value::Array(filled)
            }
            Value::String(text) => match (text.strip_prefix("$now"), text.strip_prefix("$uid:")) {
                (Some(seconds), _) => {
                    let seconds = seconds.parse().unwrap_or(0);
                    json!(whole(now + SignedDuration::from_secs(seconds)))
                }
                (_, Some(object)) => json!(self.uid(object).await),
                _ => value.clone(),
            },
            other => other.clone(),
        }
    }

    /// The uid of `Kind/name`, or of `Kind/namespace/name`.
    async fn uid(&self, object: &str) -> String {
        let mut words = object.split('/');
        let kind = Self::kind(words.next().unwrap());
        let key = match (words.next().unwrap(), words.next()) {
            (name, None) => self.key(&kind, name),
            (namespace, Some(name)) => ObjectKey::namespaced(namespace, name),
        };
        let found = self.client.dynamic(kind).get(&key).await.unwrap();
        found.metadata.uid.clone().unwrap()
    }

    async fn label(&self, label: &str, value: &str) -> Result<(), Error> {
        let pods = self.all("Pod").await;
        let labelled = |pod: &DynamicObject| {
            let own = pod.metadata.labels.as_ref().and_then(|all| all.get(label));
            own.map(String::as_str) == Some(value)
        };
        let pod = pods.iter().find(|pod| !labelled(pod)).expect("a Pod to label");
        let patch = Patch::Merge(json!({ "metadata": { "labels": { label: value } } }));
        let pods = self.client.dynamic(Self::kind("Pod"));
        pods.patch(pod.key(), &patch).await.map(drop)
    }

    /// Pods that are chosen, the older first: of equal ones it does not matter which.
    async fn chosen(&self, count: usize, wants: impl Fn(&DynamicObject) -> bool) -> Vec<ObjectKey> {
        let mut pods = self.all("Pod").await;
        pods.retain(|pod| wants(pod));
        pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone());
        assert!(
            pods.len() >= count,
            "{}: only {} of {count} Pods are there",
            self.namespace,
            pods.len()
        );
        pods.iter().take(count).map(|pod| pod.key().clone()).collect()
    }

    async fn set_status(
        &self,
        count: usize,
        wants: impl Fn(&DynamicObject) -> bool,
        status: &Value,
    ) -> Result<(), Error> {
        let stays = |pod: &DynamicObject| pod.metadata.deletion_timestamp.is_none() && wants(pod);
        for key in self.chosen(count, stays).await {
            let patch = Patch::Merge(json!({ "status": status }));
            let pods = self.client.dynamic(Self::kind("Pod"));
            pods.status().patch(&key, &patch).await?;
        }
        Ok(())
    }

    async fn delete_pods(&self, count: usize, going: bool) -> Result<(), Error> {
        let options = DeleteOptions {
            grace_period_seconds: going.then_some(0),
            ..DeleteOptions::default()
        };
        let wants = |pod: &DynamicObject| pod.metadata.deletion_timestamp.is_some() == going;
        for key in self.chosen(count, wants).await {
            let pods = self.client.dynamic(Self::kind("Pod"));
            pods.delete_with(&key, &options).await?;
        }
        Ok(())
    }
}

fn whole(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn has_ended(pod: &DynamicObject) -> bool {
    matches!(pod.data["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}
