//! What a story is made of: a line that people read, and the facts of it for who plays the story step by step.

use std::fmt;

use kubewright_apiserver::StoredObject;
use serde_json::{Value, json};

/// Something that happened in a run.
#[derive(Clone, Debug)]
pub(super) struct StoryEvent {
    /// How far below the step it belongs to.
    pub(super) depth: usize,
    pub(super) is: StoryEventKind,
    pub(super) text: String,
    /// The object that it is about, as `configmaps/x`, with what it was before and is after it.
    pub(super) object: Option<ObjectStory>,
    /// What a reconcile had read, if it is that.
    pub(super) reads: Vec<ReadStory>,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoryEventKind {
    Step,
    /// The plan strikes, and not at a write.
    Strike,
    Reconcile,
    Read,
    /// A write of the operator.
    Write,
    /// A change that others made.
    Change,
    Failure,
    /// Lines that are left out.
    LeftOut,
}

/// What became of an object.
#[derive(Clone, Debug)]
pub(super) struct ObjectStory {
    pub(super) name: String,
    pub(super) revision: u64,
    pub(super) before: Option<StoredObject>,
    pub(super) after: Option<StoredObject>,
}

/// A read, and what the server had instead if that was something else.
#[derive(Clone, Debug)]
pub(super) struct ReadStory {
    pub(super) text: String,
    pub(super) missed: Option<ObjectStory>,
}

impl StoryEvent {
    pub(super) fn new(depth: usize, is: StoryEventKind, text: impl Into<String>) -> Self {
        StoryEvent {
            depth,
            is,
            text: text.into(),
            object: None,
            reads: Vec::new(),
        }
    }

    pub(super) fn about(mut self, object: Option<ObjectStory>) -> Self {
        self.object = object;
        self
    }

    pub(super) fn json(&self) -> Value {
        let mut value = json!({ "is": self.is.as_str(), "depth": self.depth, "text": self.text });
        if let Some(object) = &self.object {
            value["object"] = object.json();
        }
        if !self.reads.is_empty() {
            value["reads"] = self.reads.iter().map(ReadStory::json).collect();
        }
        value
    }
}

/// The line as a report has it.
impl fmt::Display for StoryEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:indent$}{}", "", self.text, indent = 2 * self.depth)
    }
}

impl StoryEventKind {
    fn as_str(self) -> &'static str {
        match self {
            StoryEventKind::Step => "step",
            StoryEventKind::Strike => "strike",
            StoryEventKind::Reconcile => "reconcile",
            StoryEventKind::Read => "read",
            StoryEventKind::Write => "write",
            StoryEventKind::Change => "change",
            StoryEventKind::Failure => "failure",
            StoryEventKind::LeftOut => "leftOut",
        }
    }
}

impl ObjectStory {
    fn json(&self) -> Value {
        json!({ "name": self.name, "revision": self.revision, "before": told(self.before.as_ref()), "after": told(self.after.as_ref()) })
    }
}

impl ReadStory {
    fn json(&self) -> Value {
        let mut value = json!({ "text": self.text });
        if let Some(missed) = &self.missed {
            value["missed"] = missed.json();
        }
        value
    }
}

/// An object as a file may have it that is kept: of a Secret only its name.
fn told(object: Option<&StoredObject>) -> Value {
    let Some(object) = object else {
        return Value::Null;
    };
    if object.kind() == "Secret" {
        let metadata = json!({ "name": object.name(), "namespace": object.namespace() });
        return json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata });
    }
    let mut told = Value::clone(object);
    if let Some(metadata) = told["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    told
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::Api;
    use kube::api::PostParams;
    use kubewright_apiserver::{ApiServer, Options};

    use super::*;

    /// The newest object of a resource, as a report has it.
    fn newest(server: &ApiServer, resource: &str) -> String {
        let changes = server.history(0, |_, found| found == resource);
        let newest = changes.into_iter().last().unwrap();
        told(Some(&newest.object)).to_string()
    }

    #[tokio::test]
    async fn a_report_has_objects_but_of_secrets_only_their_names() {
        let server = ApiServer::new(Options::new());
        let secret = json!({ "metadata": { "name": "door" }, "stringData": { "key": "sesame" } });
        let map = json!({ "metadata": { "name": "plain" }, "data": { "key": "value" } });
        let secrets: Api<Secret> = Api::namespaced(server.client(), "default");
        secrets
            .create(&PostParams::default(), &serde_json::from_value(secret).unwrap())
            .await
            .unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(server.client(), "default");
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap())
            .await
            .unwrap();
        let secret = newest(&server, "secrets");
        assert!(
            secret.contains("door") && !secret.contains("key") && !secret.contains("c2VzYW1l"),
            "{secret}"
        );
        let map = newest(&server, "configmaps");
        assert!(map.contains("value") && !map.contains("managedFields"), "{map}");
    }

    #[test]
    fn an_event_is_the_line_of_a_report_below_its_step() {
        let event = StoryEvent::new(2, StoryEventKind::Failure, "fails: no");
        assert_eq!(event.to_string(), "    fails: no");
    }
}
