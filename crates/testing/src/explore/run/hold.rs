//! What takes its time: an object that is being deleted and kept by somebody else's finalizer, and a node that is away.

use std::collections::BTreeMap;
use std::time::Duration;

use kubewright_controllers::FAILED_ANNOTATION;
use serde_json::{Value, json};

use super::{REST, Run};
use crate::explore::plan::{ObjectName, Propagation};
use crate::explore::world;

/// How long a node is away that is noticed, and whose Pods stay.
pub(super) const SHORT_OUTAGE: Duration = REST;
/// Longer than it takes to notice that a node is away, and than Pods tolerate it unless they say something else.
pub(super) const LONG_OUTAGE: Duration = Duration::from_secs(50 + 300 + 30);

/// The finalizer of somebody else.
const FINALIZER: &str = "kubewright.dev/explore";

impl Run<'_> {
    /// Deletes what a step made in the foreground, so that all it owns is collected, and keeps it itself for a while. What was collected
    /// stays away: whoever makes it again does not look whether its owner is being deleted.
    pub(super) async fn hold(&mut self, name: &ObjectName) {
        let Some(object) = self.cluster.objects().get(name).cloned() else {
            return;
        };
        let owned = self.owned_by(&object["metadata"]["uid"]);
        let mut finalizers = finalizers(&object);
        finalizers.push(FINALIZER.into());
        let server = self.server.clone();
        if !world::patch(&server, name, &object, &with_finalizers(&finalizers)).await {
            return;
        }
        let is_deleted = world::delete_with(&server, name, &object, Propagation::Foreground.policy()).await;
        self.note_edit(is_deleted);
        self.rest().await;
        self.pass(REST).await;
        self.rest().await;
        for (child, uid) in self.owned_by(&object["metadata"]["uid"]) {
            if owned.get(&child).is_some_and(|before| *before != uid) {
                let details = vec![format!("{name} owns it, is being deleted, and had it collected before")];
                self.problem(format!("made again {child}"), details);
            }
        }
        if let Some(now) = self.cluster.objects().get(name).cloned() {
            let mut finalizers = self::finalizers(&now);
            finalizers.retain(|finalizer| finalizer != FINALIZER);
            world::patch(&server, name, &now, &with_finalizers(&finalizers)).await;
        }
        self.rest().await;
    }

    /// Has a node say and do nothing for a while.
    pub(super) async fn fail_node(&mut self, name: &ObjectName, outage: Duration) {
        let Some(node) = self.cluster.objects().get(name).cloned() else {
            return;
        };
        let server = self.server.clone();
        let failed = |failed: Value| json!({ "metadata": { "annotations": { FAILED_ANNOTATION: failed } } });
        let is_failed = world::patch(&server, name, &node, &failed(json!("true"))).await;
        self.note_edit(is_failed);
        self.pass(outage).await;
        self.rest().await;
        world::patch(&server, name, &node, &failed(Value::Null)).await;
        self.rest().await;
    }

    /// What an object owns, with the uids.
    fn owned_by(&self, owner: &Value) -> BTreeMap<ObjectName, Value> {
        let objects = self.cluster.objects().iter();
        let dependents = objects.filter(|(_, object)| {
            let references = object["metadata"]["ownerReferences"].as_array();
            references.is_some_and(|references| references.iter().any(|reference| reference["uid"] == *owner))
        });
        dependents
            .map(|(name, object)| (name.clone(), object["metadata"]["uid"].clone()))
            .collect()
    }
}

fn finalizers(object: &Value) -> Vec<Value> {
    object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default()
}

fn with_finalizers(finalizers: &[Value]) -> Value {
    json!({ "metadata": { "finalizers": finalizers } })
}
