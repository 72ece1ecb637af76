//! Objects without what no two runs share: uids, revisions, times, generated names and addresses.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use serde_json::{Map, Value};

use super::cluster::Cluster;
use super::plan::ObjectName;

/// The objects of a cluster that are not as before the first step, in a form in which equal runs are equal; `null` for those that were
/// there and are gone.
pub(super) type State = BTreeMap<ObjectName, Value>;

/// What every write changes, or what says when and by whom something was written.
const METADATA: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "generation",
    "selfLink",
];
/// Fields that simulated or real machines fill in, or the scheduler.
const MACHINES: [&str; 5] = [
    "containerID",
    "nodeName",
    "nodePort",
    "healthCheckNodePort",
    "restartCount",
];
/// Annotations that count the past.
const COUNTERS: [&str; 2] = [
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
];

/// What the names of a cluster become.
#[derive(Default)]
struct Names<'c> {
    /// By uid.
    owners: HashMap<&'c str, (&'c ObjectName, &'c Value)>,
    /// Generated names.
    generated: BTreeMap<String, String>,
}

pub(super) fn state(cluster: &Cluster) -> State {
    let names = Names::of(cluster);
    let mut generated: BTreeMap<ObjectName, Vec<Value>> = BTreeMap::new();
    let mut state = State::new();
    // What is as before the first step is as everywhere.
    for name in cluster.gone() {
        state.insert(name.clone(), Value::Null);
    }
    for (name, object, before) in cluster.changed() {
        if is_of_the_past(name, object) {
            continue;
        }
        let canonical = names.object(object);
        if before.is_some_and(|before| names.object(before) == canonical) {
            continue;
        }
        let family = ObjectName {
            resource: name.resource.clone(),
            name: names.shown(name, object),
        };
        if family == *name {
            state.insert(family, canonical);
        } else {
            generated.entry(family).or_default().push(canonical);
        }
    }
    for (family, mut objects) in generated {
        // Those of one family have no names; their order must not come from the names that they had.
        objects.sort_by_cached_key(Value::to_string);
        for (at, object) in objects.into_iter().enumerate() {
            let name = if at == 0 {
                family.clone()
            } else {
                ObjectName {
                    resource: family.resource.clone(),
                    name: format!("{}{}", family.name, at + 1),
                }
            };
            state.insert(name, object);
        }
    }
    state
}

/// Adds what a system outside the cluster holds.
pub(super) fn add_external(state: &mut State, cluster: &Cluster, snapshot: &Value) {
    let name = ObjectName {
        resource: "external".to_owned(),
        name: "system".to_owned(),
    };
    state.insert(name, Names::of(cluster).value("", snapshot, None));
}

/// What Kubernetes' own controllers keep of the past: the `ReplicaSets` of former templates, and revisions.
fn is_of_the_past(name: &ObjectName, object: &Value) -> bool {
    let is_owned_by = |kind: &str| {
        let owners = object["metadata"]["ownerReferences"].as_array();
        owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == kind))
    };
    match name.resource.as_str() {
        "replicasets.apps" => object["spec"]["replicas"] == 0 && is_owned_by("Deployment"),
        "controllerrevisions.apps" => true,
        _ => false,
    }
}

/// The body of a write, for comparing two runs.
pub(super) fn body(body: &Value) -> Value {
    Names::default().object(body)
}

/// The prefix of a generated name.
fn prefix(object: &Value) -> Option<&str> {
    let metadata = &object["metadata"];
    let (prefix, name) = (metadata["generateName"].as_str()?, metadata["name"].as_str()?);
    (!prefix.is_empty() && name.starts_with(prefix)).then_some(prefix)
}

impl<'c> Names<'c> {
    fn of(cluster: &'c Cluster) -> Self {
        let mut names = Names::default();
        for (name, object) in cluster.objects() {
            if let Some(prefix) = prefix(object) {
                names
                    .generated
                    .insert(own_name(object).to_owned(), format!("{prefix}*"));
            }
            if let Some(uid) = object["metadata"]["uid"].as_str() {
                names.owners.insert(uid, (name, object));
            }
        }
        // What is named after something with a generated name has one, too: an EndpointSlice after its Service.
        let shown: Vec<_> = names
            .generated
            .iter()
            .map(|(name, shown)| (name.clone(), names.without_generated(shown)))
            .collect();
        names.generated = shown.into_iter().collect();
        names
    }

    /// The name of an object, without what was generated of it.
    fn shown(&self, name: &ObjectName, object: &Value) -> String {
        match self.generated.get(own_name(object)) {
            Some(shown) => shown.clone(),
            // Those of an IPAddress are addresses.
            None if is_address(&name.name) => "<address>".to_owned(),
            None => self.without_generated(&name.name),
        }
    }

    /// A text with `prefix*` in place of generated names.
    fn without_generated(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Longer names come later in their order, and contain the shorter ones.
        for (name, shown) in self.generated.iter().rev() {
            if text.contains(name.as_str()) {
                text = text.replace(name.as_str(), shown);
            }
        }
        text
    }

    fn object(&self, object: &Value) -> Value {
        let generation = object["metadata"]["generation"].as_i64();
        let Value::Object(members) = object else {
            return self.value("", object, generation);
        };
        let mut canonical = self.members(members.iter().filter(|(name, _)| *name != "metadata"), generation);
        if let Some(metadata) = members.get("metadata") {
            canonical.insert("metadata".to_owned(), self.metadata(metadata, generation));
        }
        Value::Object(canonical)
    }

    /// What is left out is not looked at: managedFields are mostly the largest part of an object.
    fn metadata(&self, metadata: &Value, generation: Option<i64>) -> Value {
        let Value::Object(members) = metadata else {
            return self.value("metadata", metadata, generation);
        };
        let kept = members.iter().filter(|(name, _)| !METADATA.contains(&name.as_str()));
        let mut canonical = self.members(kept, generation);
        if let Some(annotations) = canonical.get_mut("annotations").and_then(Value::as_object_mut) {
            for counter in COUNTERS {
                annotations.remove(counter);
            }
            if annotations.is_empty() {
                canonical.remove("annotations");
            }
        }
        Value::Object(canonical)
    }

    fn members<'v>(
        &self,
        members: impl Iterator<Item = (&'v String, &'v Value)>,
        generation: Option<i64>,
    ) -> Map<String, Value> {
        let kept = members.filter(|(name, _)| !MACHINES.contains(&name.as_str()));
        kept.map(|(name, value)| (self.text(name), self.value(name, value, generation)))
            .collect()
    }

    fn value(&self, field: &str, value: &Value, generation: Option<i64>) -> Value {
        match value {
            Value::Object(members) => {
                // Who refers to an object may say at which revision it was: `claimRef` of a volume.
                let is_reference = members.contains_key("uid");
                let kept = members
                    .iter()
                    .filter(|(name, _)| !is_reference || *name != "resourceVersion");
                Value::Object(self.members(kept, generation))
            }
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.value(field, item, generation)).collect();
                // Sets in Kubernetes' eyes: whose entry came first says nothing.
                if matches!(
                    field,
                    "conditions" | "ownerReferences" | "finalizers" | "podIPs" | "addresses"
                ) {
                    items.sort_by_cached_key(Value::to_string);
                }
                Value::Array(items)
            }
            Value::Number(number) if field == "observedGeneration" => match (number.as_i64(), generation) {
                (Some(observed), Some(current)) if observed == current => "<current>".into(),
                (Some(_), Some(_)) => "<not current>".into(),
                _ => value.clone(),
            },
            Value::String(text) => self.text(text).into(),
            _ => value.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        if let Some(name) = self.generated.get(text) {
            return name.clone();
        }
        if is_uid(text) {
            return match self.owners.get(text) {
                Some((name, object)) => format!("<uid of {}/{}>", name.resource, self.shown(name, object)),
                None => "<uid of nothing that is there>".to_owned(),
            };
        }
        let without = self.without_generated(text);
        if without != text {
            return without;
        }
        if is_time(text) {
            return "<time>".to_owned();
        }
        if is_address(text) {
            return "<address>".to_owned();
        }
        without
    }
}

fn is_address(text: &str) -> bool {
    text.contains(['.', ':']) && text.parse::<IpAddr>().is_ok_and(|address| !address.is_unspecified())
}

fn own_name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn is_uid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// `2026-01-01T00:00:00Z`, with or without a fraction.
fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T' && text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_two_runs_share_is_left_out() {
        let object = |uid: &str, address: &str, generation: i64| {
            json!({
                "metadata": {
                    "name": "a", "uid": uid, "resourceVersion": uid, "creationTimestamp": "2026-01-01T00:00:00Z",
                    "generation": generation, "managedFields": [{ "manager": uid }],
                },
                "spec": {
                    "claimRef": { "name": "c", "uid": uid, "resourceVersion": uid },
                    "clusterIP": address, "ports": [{ "port": 80, "nodePort": generation }],
                },
                "status": {
                    "observedGeneration": generation,
                    "conditions": [{ "type": "Ready", "lastTransitionTime": format!("2026-01-0{generation}T00:00:00Z") }],
                },
            })
        };
        let one = object("3b1c1f5e-0a6e-4a55-8a55-000000000001", "10.96.0.1", 1);
        let other = object("3b1c1f5e-0a6e-4a55-8a55-000000000002", "10.96.0.2", 2);
        assert_eq!(body(&one), body(&other));
    }

    #[test]
    fn an_observed_generation_that_is_behind_is_kept() {
        let object =
            |observed: i64| json!({ "metadata": { "generation": 2 }, "status": { "observedGeneration": observed } });
        assert_ne!(body(&object(1)), body(&object(2)));
        assert_eq!(body(&object(2))["status"]["observedGeneration"], "<current>");
    }

    #[test]
    fn versions_and_words_are_no_addresses_and_no_times() {
        for text in ["1.36", "nginx:1.2", "2026-01-01", "cafe", "0.0.0.0"] {
            assert_eq!(body(&json!({ "image": text }))["image"], text);
        }
    }
}
