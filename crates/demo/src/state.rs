//! The objects of the cluster as the watcher has reported them, the lines that follow from a change, and what chapters wait for.

use std::collections::BTreeMap;

use kubewright_runtime::cache::Event;
use kubewright_runtime::object::Kind;
use serde_json::Value;

use super::line::{Change, ConditionChange, Content, ObjectChange, Pods};

/// The kind, namespace and name of an object.
type Id = (String, String, String);

/// The objects, by kind and name.
#[derive(Debug, Default)]
pub(super) struct ClusterState {
    objects: BTreeMap<Id, Value>,
    /// How many owners are above an object. An object that outlives its owner keeps its depth.
    depths: BTreeMap<Id, usize>,
}

impl ClusterState {
    /// Records a change, and returns the lines to print for it.
    pub(super) fn take(&mut self, kind: &Kind, event: &Event) -> Vec<Content> {
        let key = event.key();
        let id = (
            kind.kind().to_owned(),
            key.namespace().unwrap_or_default().to_owned(),
            key.name().to_owned(),
        );
        let before = self.objects.remove(&id);
        // The API server wrote it, so it can be read.
        let after: Value = serde_json::from_slice(event.object().json()).unwrap_or_default();
        let is_gone = matches!(event, Event::Deleted { .. });
        if !is_gone {
            self.objects.insert(id.clone(), after.clone());
        }
        self.changes(&id, before.as_ref(), (!is_gone).then_some(&after))
    }

    fn changes(&mut self, id: &Id, before: Option<&Value>, after: Option<&Value>) -> Vec<Content> {
        let (kind, namespace, name) = id;
        if is_of_the_cluster(kind, namespace, name) {
            return Vec::new();
        }
        let Some(object) = after.or(before) else {
            return Vec::new();
        };
        let depth = self.depth(id, object);
        let change_of = |change, detail: String| ObjectChange {
            change,
            kind: kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            owner: owner(object).map(|(kind, name)| format!("{kind}/{name}")),
            depth,
            detail,
            pods: None,
        };
        let mut changes = Vec::new();
        let Some(after) = after else {
            self.depths.remove(id);
            changes.push(change_of(Change::Deleted, String::new()));
            return self.with_pods(changes);
        };
        if before.is_none() && kind != "Node" {
            changes.push(change_of(Change::Created, introduction(kind, after)));
        }
        if let Some(before) = before {
            let differences = differences(kind, before, after);
            if !differences.is_empty() {
                changes.push(change_of(Change::Changed, differences.join(", ")));
            }
            if is_leaving(after) && !is_leaving(before) {
                changes.push(change_of(Change::Leaving, patience(after)));
            }
        }
        if let Some(detail) = readiness(kind, after)
            && before.is_none_or(|before| readiness(kind, before).is_none())
        {
            changes.push(change_of(Change::Ready, detail));
        }
        let mut changes = self.with_pods(changes);
        // The conditions of built-in kinds follow from what is printed already.
        if kind == "MarkdownView" {
            changes.extend(condition_changes(id, depth, before, after));
        }
        changes
    }

    /// Adds the numbers of Pods of the same Deployment to changes of Pods.
    fn with_pods(&self, changes: Vec<ObjectChange>) -> Vec<Content> {
        let counted = |mut change_of: ObjectChange| {
            if change_of.kind == "Pod" && change_of.depth > 0 {
                change_of.pods = Some(self.pods(&change_of));
            }
            Content::Object(change_of)
        };
        changes.into_iter().map(counted).collect()
    }

    /// How many owners are above an object.
    fn depth(&mut self, id: &Id, object: &Value) -> usize {
        if let Some(depth) = self.depths.get(id) {
            return *depth;
        }
        let depth = owner(object).map_or(0, |(kind, name)| {
            let above = self.depths.get(&(kind.to_owned(), id.1.clone(), name.to_owned()));
            above.copied().unwrap_or_default() + 1
        });
        self.depths.insert(id.clone(), depth);
        depth
    }

    /// The Pods of the Deployment that a Pod belongs to.
    fn pods(&self, pod: &ObjectChange) -> Pods {
        let set = pod.owner.as_deref().and_then(|owner| owner.strip_prefix("ReplicaSet/"));
        let deployment = set.and_then(|set| self.deployment_of(&pod.namespace, set));
        deployment.map_or_else(Pods::default, |name| self.pods_of(&pod.namespace, &name).count())
    }

    fn deployment_of(&self, namespace: &str, set: &str) -> Option<String> {
        let (kind, name) = owner(self.get("ReplicaSet", namespace, set)?)?;
        (kind == "Deployment").then(|| name.to_owned())
    }

    fn pods_of<'a>(&'a self, namespace: &'a str, deployment: &str) -> DeploymentPods<'a> {
        let spec = self
            .get("Deployment", namespace, deployment)
            .map(|deployment| &deployment["spec"]["template"]["spec"]);
        let image = spec.and_then(image_of);
        let own = self.all("Pod", namespace).filter(|pod| {
            owner(pod).is_some_and(|(kind, set)| {
                kind == "ReplicaSet" && self.deployment_of(namespace, set).as_deref() == Some(deployment)
            })
        });
        let (leaving, staying): (Vec<_>, Vec<_>) = own.partition(|pod| is_leaving(pod));
        let (new, old) = staying.into_iter().partition(|pod| image_of(&pod["spec"]) == image);
        DeploymentPods { old, new, leaving }
    }

    fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.objects
            .get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    fn all<'a>(&'a self, kind: &'a str, namespace: &'a str) -> impl Iterator<Item = &'a Value> {
        let objects = self.objects.iter();
        objects
            .filter(move |((its_kind, its_namespace, _), _)| its_kind == kind && its_namespace == namespace)
            .map(|(_, object)| object)
    }
}

/// What chapters wait for.
impl ClusterState {
    /// How many nodes are ready.
    pub(super) fn ready_nodes(&self) -> usize {
        self.all("Node", "").filter(|node| is_true(node, "Ready")).count()
    }

    /// Whether the API server calls every webhook on this machine.
    pub(super) fn webhooks_are_here(&self) -> bool {
        let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
        let is_here = |object: &Value| {
            let webhooks = object["webhooks"].as_array().into_iter().flatten();
            webhooks.clone().count() > 0
                && webhooks
                    .into_iter()
                    .all(|webhook| webhook["clientConfig"]["url"].is_string())
        };
        kinds
            .iter()
            .all(|kind| self.all(kind, "").count() > 0 && self.all(kind, "").all(is_here))
    }

    /// Whether a view has `replicas` ready viewers of `image` and no others, and its status says so.
    pub(super) fn shows(&self, namespace: &str, view: &str, replicas: usize, image: &str) -> bool {
        let name = format!("viewer-{view}");
        let (Some(object), Some(deployment)) = (
            self.get("MarkdownView", namespace, view),
            self.get("Deployment", namespace, &name),
        ) else {
            return false;
        };
        let pods = self.pods_of(namespace, &name);
        let endpoints = self
            .all("EndpointSlice", namespace)
            .filter(|slice| owner(slice) == Some(("Service", name.as_str())))
            .flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten())
            .filter(|endpoint| endpoint["conditions"]["ready"] == true);
        is_true(object, "Available")
            && is_rolled_out(deployment)
            && image_of(&deployment["spec"]["template"]["spec"]) == Some(image)
            && pods.old.is_empty()
            && pods.leaving.is_empty()
            && pods.new.len() == replicas
            && pods.new.iter().all(|pod| is_true(pod, "Ready"))
            && endpoints.count() == replicas
    }

    /// Whether there is a Service of this name with another uid.
    pub(super) fn has_another_service(&self, namespace: &str, name: &str, uid: &str) -> bool {
        let service = self.get("Service", namespace, name);
        service.is_some_and(|service| service["metadata"]["uid"] != uid)
    }

    /// The uid of an object.
    pub(super) fn uid(&self, kind: &str, namespace: &str, name: &str) -> Option<&str> {
        self.get(kind, namespace, name)?["metadata"]["uid"].as_str()
    }

    /// Whether a namespace holds nothing but what every namespace holds.
    pub(super) fn is_empty(&self, namespace: &str) -> bool {
        let mut left = self.objects.keys().filter(|(_, its, _)| its == namespace);
        left.all(|(kind, namespace, name)| is_of_the_cluster(kind, namespace, name))
    }
}

/// The Pods of a Deployment: with an older image, with its image, and those being deleted.
struct DeploymentPods<'a> {
    old: Vec<&'a Value>,
    new: Vec<&'a Value>,
    leaving: Vec<&'a Value>,
}

impl DeploymentPods<'_> {
    fn count(&self) -> Pods {
        Pods {
            old: self.old.len(),
            new: self.new.len(),
            ready: self.new.iter().filter(|pod| is_true(pod, "Ready")).count(),
            leaving: self.leaving.len(),
        }
    }
}

/// Whether an object is part of every cluster, or is watched only for what chapters wait for.
fn is_of_the_cluster(kind: &str, namespace: &str, name: &str) -> bool {
    match kind {
        "Node" | "MarkdownView" => false,
        "ConfigMap" if name == "kube-root-ca.crt" => true,
        "Service" | "EndpointSlice" if name == "kubernetes" && namespace == "default" => true,
        // The operator's own objects are printed as one line when it is installed.
        _ => namespace.is_empty() || namespace.ends_with("-system"),
    }
}

/// The controller of an object: its kind and name.
fn owner(object: &Value) -> Option<(&str, &str)> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((controller["kind"].as_str()?, controller["name"].as_str()?))
}

fn image_of(spec: &Value) -> Option<&str> {
    spec["containers"][0]["image"].as_str()
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == name)
}

fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| condition["status"] == "True")
}

/// Whether all Pods of a Deployment are updated and available, and its status is current.
fn is_rolled_out(deployment: &Value) -> bool {
    let (status, wanted) = (&deployment["status"], deployment["spec"]["replicas"].as_i64());
    let has = |field: &str| status[field].as_i64().or(Some(0)) == wanted;
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
            .into_iter()
            .all(has)
}

/// The detail that is printed when an object is created.
fn introduction(kind: &str, object: &Value) -> String {
    let replicas = || object["spec"]["replicas"].as_i64().unwrap_or_default();
    match kind {
        "MarkdownView" | "Deployment" | "ReplicaSet" => format!("replicas {}", replicas()),
        "ConfigMap" => match object["data"].as_object().map_or(0, serde_json::Map::len) {
            1 => "1 document".to_owned(),
            count => format!("{count} documents"),
        },
        _ => String::new(),
    }
}

/// The changed fields of an object that are worth printing.
fn differences(kind: &str, before: &Value, after: &Value) -> Vec<String> {
    let paths: &[(&str, &str)] = match kind {
        "MarkdownView" => &[("replicas", "/spec/replicas"), ("viewerImage", "/spec/viewerImage")],
        "Deployment" => &[
            ("replicas", "/spec/replicas"),
            ("image", "/spec/template/spec/containers/0/image"),
        ],
        "ReplicaSet" => &[("replicas", "/spec/replicas")],
        _ => &[],
    };
    let different = |(name, path): &(&str, &str)| {
        let (before, after) = (before.pointer(path)?, after.pointer(path)?);
        (before != after).then(|| match (before.as_str(), after.as_str()) {
            (Some(before), Some(after)) => image_change(name, before, after),
            _ => format!("{name} {before} → {after}"),
        })
    };
    paths.iter().filter_map(different).collect()
}

/// If only the tag of an image changes, only tags are printed.
fn image_change(field: &str, before: &str, after: &str) -> String {
    match (before.rsplit_once(':'), after.rsplit_once(':')) {
        (Some((name, old)), Some((same, new))) if name == same => format!("{field} {old} → {new}"),
        _ => format!("{field} {before} → {after}"),
    }
}

/// What an object that is being deleted waits for.
fn patience(object: &Value) -> String {
    let mut finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    if finalizers.any(|finalizer| finalizer == "foregroundDeletion") {
        "waits for what it owns".to_owned()
    } else {
        String::new()
    }
}

/// What makes an object ready, if it is.
fn readiness(kind: &str, object: &Value) -> Option<String> {
    match kind {
        _ if is_leaving(object) => None,
        "Node" => is_true(object, "Ready").then(String::new),
        "Pod" => {
            let node = object["spec"]["nodeName"].as_str().unwrap_or_default();
            is_true(object, "Ready").then(|| format!("ready on {node}"))
        }
        "Deployment" => {
            let replicas = object["spec"]["replicas"].as_i64().unwrap_or_default();
            is_rolled_out(object).then(|| format!("rolled out, {replicas} of {replicas}"))
        }
        _ => None,
    }
}

/// The conditions whose status or reason changed.
fn condition_changes(id: &Id, depth: usize, before: Option<&Value>, after: &Value) -> Vec<Content> {
    let conditions = after["status"]["conditions"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let changed = conditions.filter(|now| {
        let was = before.and_then(|before| condition(before, now["type"].as_str().unwrap_or_default()));
        was.is_none_or(|was| was["status"] != now["status"] || was["reason"] != now["reason"])
    });
    let lines = changed.map(|now| {
        Content::Condition(ConditionChange {
            kind: id.0.clone(),
            namespace: id.1.clone(),
            name: id.2.clone(),
            depth,
            condition: text(&now["type"]),
            status: text(&now["status"]),
            reason: text(&now["reason"]),
            message: text(&now["message"]),
        })
    });
    lines.collect()
}
