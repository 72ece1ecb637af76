//! What is shown of an object: who owns it, how it stands, and its contents without what must stay secret.

use serde::Serialize;
use serde_json::Value;

use super::Standing;
use crate::actions::ObjectName;

/// What stands for something that is left out.
const REDACTED: &str = "(redacted)";

/// An object without the contents of Secrets.
pub(super) fn redacted(mut object: Value) -> Value {
    let is_secret = object["kind"] == "Secret" && object["apiVersion"] == "v1";
    if let Some(metadata) = object["metadata"].as_object_mut() {
        // What kubectl keeps there is the whole object.
        if let Some(annotations) = metadata.get_mut("annotations").filter(|_| is_secret) {
            redact(annotations);
        }
    }
    if is_secret {
        for member in ["data", "stringData"] {
            if let Some(values) = object.get_mut(member) {
                redact(values);
            }
        }
    }
    object
}

/// Names stay, values go.
fn redact(values: &mut Value) {
    for value in values
        .as_object_mut()
        .into_iter()
        .flat_map(|values| values.values_mut())
    {
        *value = REDACTED.into();
    }
}

/// An object as the tree shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) uid: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    /// The uids of its owners.
    pub(crate) owners: Vec<String>,
    /// How it stands, in a word; empty if nothing says.
    pub(crate) state: &'static str,
    pub(crate) standing: Standing,
    pub(crate) why: String,
    /// Whether a `CustomResourceDefinition` has its kind, which is what an operator is about: groups of Kubernetes have no dot, or end so.
    pub(crate) is_defined: bool,
}

impl Summary {
    /// `Deployment shop/web`
    pub(crate) fn label(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }

    /// Which object it is, for the API server.
    pub(crate) fn object_name(&self) -> ObjectName {
        ObjectName {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// `None`: it is no object of an API server.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        let owners = metadata["ownerReferences"].as_array();
        let (state, why) = state(object);
        let api_version = text(&object["apiVersion"]);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Some(Summary {
            is_defined: group.contains('.') && !group.ends_with(".k8s.io"),
            uid: metadata["uid"].as_str()?.to_owned(),
            api_version,
            kind: text(&object["kind"]),
            namespace: metadata["namespace"].as_str().map(str::to_owned),
            name: text(&metadata["name"]),
            owners: owners.into_iter().flatten().map(|owner| text(&owner["uid"])).collect(),
            state,
            standing: match state {
                "ready" => Standing::Good,
                "failed" => Standing::Bad,
                "" => Standing::Neutral,
                _ => Standing::Busy,
            },
            why,
        })
    }
}

/// How an object stands, in a word, and why.
fn state(object: &Value) -> (&'static str, String) {
    if !object["metadata"]["deletionTimestamp"].is_null() {
        let finalizers = object["metadata"]["finalizers"].as_array();
        let waits: Vec<&str> = finalizers.into_iter().flatten().filter_map(Value::as_str).collect();
        let why = if waits.is_empty() {
            String::new()
        } else {
            format!("waits for {}", waits.join(", "))
        };
        return ("deleting", why);
    }
    let status = &object["status"];
    let (seen, generation) = (&status["observedGeneration"], &object["metadata"]["generation"]);
    if seen.is_number() && generation.is_number() && seen != generation {
        let why = format!("generation {generation} is not observed yet, but {seen}");
        return ("progressing", why);
    }
    if let Some(phase) = status["phase"].as_str() {
        match phase {
            "Failed" => return ("failed", text(&status["reason"])),
            "Succeeded" => return ("ready", phase.to_owned()),
            "Pending" => return ("progressing", waiting(status).unwrap_or_else(|| phase.to_owned())),
            _ => {}
        }
    }
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let find = |kinds: &[&str], is: &str| {
        let mut all = conditions.iter();
        all.find(|condition| condition["status"] == is && kinds.iter().any(|kind| condition["type"] == *kind))
            .map(told)
    };
    if let Some(why) = find(&["Failed", "ReplicaFailure", "Degraded", "Stalled"], "True") {
        return ("failed", why);
    }
    if let Some(why) = find(&["Ready", "Available", "Complete", "Established"], "False") {
        return ("progressing", waiting(status).unwrap_or(why));
    }
    if let Some(why) = find(&["Ready", "Available", "Complete", "Established"], "Unknown") {
        return ("progressing", why);
    }
    match find(&["Ready", "Available", "Complete", "Established"], "True") {
        Some(why) => ("ready", why),
        None => ("", String::new()),
    }
}

/// Why a container of a Pod does not run.
fn waiting(status: &Value) -> Option<String> {
    let containers = status["containerStatuses"].as_array()?;
    let reason = containers
        .iter()
        .find_map(|container| container["state"]["waiting"]["reason"].as_str())?;
    Some(reason.to_owned())
}

/// `Available: MinimumReplicasAvailable: Deployment has minimum availability.`
fn told(condition: &Value) -> String {
    let parts = ["type", "reason", "message"].map(|field| text(&condition[field]));
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_defined_is_told_from_what_kubernetes_has() {
        let is_defined = |api_version: &str| {
            let object = json!({ "apiVersion": api_version, "kind": "K", "metadata": { "uid": "u" } });
            Summary::of(&object).unwrap().is_defined
        };
        assert!(is_defined("web.example.com/v1"));
        for api_version in ["v1", "apps/v1", "coordination.k8s.io/v1"] {
            assert!(!is_defined(api_version), "{api_version}");
        }
    }

    #[test]
    fn the_contents_of_a_secret_are_nowhere() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "door", "uid": "1",
                "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "{\"data\":{\"key\":\"c2VzYW1l\"}}" },
            },
            "data": { "key": "c2VzYW1l" }, "stringData": { "key": "sesame" },
        });
        let shown = redacted(secret);
        let text = shown.to_string();
        assert!(!text.contains("c2VzYW1l") && !text.contains("sesame"), "{text}");
        assert_eq!(shown["data"]["key"], REDACTED);
    }

    #[test]
    fn other_objects_keep_what_they_hold() {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "annotations": { "a": "b" } }, "data": { "key": "value" } });
        assert_eq!(redacted(map.clone()), map);
    }

    #[test]
    fn a_state_is_what_people_would_say_of_it() {
        let told = |object: Value| {
            let (state, why) = state(&object);
            format!("{state} {why}").trim().to_owned()
        };
        let condition = |kind: &str, status: &str| json!({ "conditions": [{ "type": kind, "status": status, "reason": "Because" }] });
        assert_eq!(
            told(json!({ "status": condition("Available", "True") })),
            "ready Available: Because"
        );
        assert_eq!(
            told(json!({ "status": condition("Ready", "False") })),
            "progressing Ready: Because"
        );
        assert_eq!(
            told(json!({ "status": condition("ReplicaFailure", "True") })),
            "failed ReplicaFailure: Because"
        );
        assert_eq!(
            told(json!({ "metadata": { "deletionTimestamp": "now", "finalizers": ["a.example/b"] } })),
            "deleting waits for a.example/b"
        );
        assert_eq!(
            told(json!({ "metadata": { "generation": 2 }, "status": { "observedGeneration": 1 } })),
            "progressing generation 2 is not observed yet, but 1"
        );
        let pod = json!({ "status": { "phase": "Pending", "containerStatuses": [{ "state": { "waiting": { "reason": "ErrImagePull" } } }] } });
        assert_eq!(told(pod), "progressing ErrImagePull");
        assert_eq!(told(json!({ "data": {} })), "");
    }
}
