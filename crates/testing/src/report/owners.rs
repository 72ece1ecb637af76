//! The owners of an object, and the objects that it owns.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::Value;

use super::line;
use crate::TestEnv;

/// More objects than this are not shown, and owners further up neither.
const MOST: usize = 30;

/// The tree an object is in.
#[derive(Default)]
pub(super) struct Tree {
    /// Its owners above it, what it owns below it. Empty for an object that is alone.
    pub(super) lines: Vec<String>,
    /// What it owns, and what that owns.
    pub(super) owned: Vec<Value>,
}

/// The tree an object is in.
pub(super) async fn tree(env: &TestEnv, object: &Value) -> Tree {
    let owners = owners(env, object).await;
    let candidates = candidates(env, object).await;
    let mut tree = Tree::default();
    for owner in owners.iter().rev() {
        tree.lines.push(indented(tree.lines.len(), owner));
    }
    let depth = tree.lines.len();
    tree.lines.push(format!("{} <- this one", indented(depth, object)));
    tree.below(object, &candidates, depth + 1);
    if tree.lines.len() == 1 {
        tree.lines.clear();
    }
    tree
}

impl Tree {
    fn below(&mut self, owner: &Value, candidates: &[Value], depth: usize) {
        let uid = &owner["metadata"]["uid"];
        let is_owned = |object: &&Value| {
            let references = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
            references.into_iter().any(|reference| reference["uid"] == *uid)
        };
        for object in candidates.iter().filter(is_owned) {
            // Owner references may form a cycle.
            if self.lines.len() >= MOST || depth > MOST {
                return;
            }
            self.lines.push(indented(depth, object));
            self.owned.push(object.clone());
            self.below(object, candidates, depth + 1);
        }
    }
}

fn indented(depth: usize, object: &Value) -> String {
    format!("{}{}", "  ".repeat(depth), line(object))
}

/// The controllers above an object, the nearest first.
async fn owners(env: &TestEnv, object: &Value) -> Vec<Value> {
    let mut owners: Vec<Value> = Vec::new();
    let namespace = object["metadata"]["namespace"].as_str();
    let mut current = object.clone();
    while owners.len() < MOST {
        let references = current["metadata"]["ownerReferences"].as_array();
        let Some(reference) = references.and_then(|references| references.first()) else {
            break;
        };
        let text = |name: &str| reference[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let Ok(kind) = env.mapper().kind(group, version, text("kind")).await else {
            break;
        };
        let key = ObjectKey::new(namespace.filter(|_| kind.is_namespaced()), text("name"));
        let Ok(Some(owner)) = env.client().dynamic(kind.clone()).get_opt(&key).await else {
            break;
        };
        let owner = value(&owner, &kind);
        if owners
            .iter()
            .any(|known| known["metadata"]["uid"] == owner["metadata"]["uid"])
        {
            break;
        }
        current = owner.clone();
        owners.push(owner);
    }
    owners
}

/// Everything in the namespace of the kinds the operator looks at, and of those that Kubernetes' own controllers make for them.
async fn candidates(env: &TestEnv, object: &Value) -> Vec<Value> {
    let own = env.with_manager(|manager| {
        let informers = manager.client.cache().informers();
        informers
            .map(|informer| informer.store().kind().clone())
            .collect::<Vec<_>>()
    });
    let mut kinds = own.unwrap_or_default();
    for kind in [Kind::of::<ReplicaSet>(), Kind::of::<Job>(), Kind::of::<Pod>()] {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut found = Vec::new();
    for kind in kinds {
        let mut query = Query::all();
        if let Some(namespace) = object["metadata"]["namespace"]
            .as_str()
            .filter(|_| kind.is_namespaced())
        {
            query = query.in_namespace(namespace);
        }
        if let Ok(objects) = env.client().dynamic(kind.clone()).list(&query).await {
            found.extend(objects.iter().map(|object| value(object, &kind)));
        }
    }
    found
}

fn value(object: &DynamicObject, kind: &Kind) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["kind"] = kind.kind().into();
    value
}
