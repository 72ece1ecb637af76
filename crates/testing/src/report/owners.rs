//! Whom an object belongs to, and what belongs to it.

use kube::core::DynamicObject;
use kubewright_runtime::cache::Query;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::Value;

use super::line;
use crate::TestEnv;

/// More objects than this are not shown, and owners further up neither.
const MOST: usize = 30;

/// The tree an object is in: its owners above it, what it owns below it. Empty for an object that is alone.
pub(super) async fn tree(env: &TestEnv, object: &Value) -> Vec<String> {
    let owners = owners(env, object).await;
    let owned = candidates(env, object).await;
    let mut lines = Vec::new();
    for owner in owners.iter().rev() {
        lines.push(indented(lines.len(), owner));
    }
    let depth = lines.len();
    lines.push(format!("{} <- this one", indented(depth, object)));
    below(object, &owned, depth + 1, &mut lines);
    if lines.len() == 1 { Vec::new() } else { lines }
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

fn below(owner: &Value, candidates: &[Value], depth: usize, lines: &mut Vec<String>) {
    let uid = &owner["metadata"]["uid"];
    let is_owned = |object: &&Value| {
        let references = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        references.into_iter().any(|reference| reference["uid"] == *uid)
    };
    for object in candidates.iter().filter(is_owned) {
        // Owners may go round in circles.
        if lines.len() >= MOST || depth > MOST {
            return;
        }
        lines.push(indented(depth, object));
        below(object, candidates, depth + 1, lines);
    }
}

/// Everything in the namespace of the kinds the operator looks at: who knows of no others owns none.
async fn candidates(env: &TestEnv, object: &Value) -> Vec<Value> {
    let Some(kinds) = env.with_manager(|manager| {
        let informers = manager.client.cache().informers();
        informers
            .map(|informer| informer.store().kind().clone())
            .collect::<Vec<_>>()
    }) else {
        return Vec::new();
    };
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
