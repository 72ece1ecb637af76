//! Who owns whom: a graph of all objects by uid, kept from events. Pure.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubewright_runtime::object::{Kind, ObjectKey};

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

/// An object, or an owner that somebody names and nobody has seen.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// What and where it is, if it was seen.
    pub(super) seen: Option<(Kind, ObjectKey)>,
    /// How a dependent names it, if it was not seen: group and version, kind, namespace of the dependent, name.
    pub(super) named: Option<Named>,
    pub(super) owners: Vec<OwnerReference>,
    pub(super) dependents: BTreeSet<String>,
    pub(super) deleting: bool,
    /// Being deleted after its dependents.
    pub(super) foreground: bool,
    /// Being deleted without its dependents.
    pub(super) orphaning: bool,
}

/// An owner by the words of a dependent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

/// What follows from an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Consequences {
    /// Objects to look at, by uid.
    pub(super) look_at: BTreeSet<String>,
    /// References to owners in another namespace: the uid of the dependent, and of the owner.
    pub(super) strange: Vec<(String, String)>,
}

/// Who owns whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<String, Node>,
}

impl Graph {
    /// The object with a uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// An object is there, or changed.
    pub(super) fn observe(&mut self, kind: &Kind, key: &ObjectKey, meta: &ObjectMeta) -> Consequences {
        let mut consequences = Consequences::default();
        let uid = meta.uid.clone().unwrap_or_default();
        let owners = meta.owner_references.clone().unwrap_or_default();
        let has = |finalizer: &str| meta.finalizers.iter().flatten().any(|own| own == finalizer);
        let deleting = meta.deletion_timestamp.is_some();
        let before = self.nodes.get(&uid).cloned();
        let node = self.nodes.entry(uid.clone()).or_insert_with(Node::unseen);
        node.seen = Some((kind.clone(), key.clone()));
        node.named = None;
        node.owners.clone_from(&owners);
        node.deleting = deleting;
        node.foreground = deleting && has(FOREGROUND);
        node.orphaning = deleting && has(ORPHAN);
        let (foreground, orphaning) = (node.foreground, node.orphaning);
        let dependents = node.dependents.clone();
        let before = before.filter(|before| before.seen.is_some());
        if orphaning && !before.as_ref().is_some_and(|before| before.orphaning) {
            consequences.look_at.insert(uid.clone());
        }
        if foreground && !before.as_ref().is_some_and(|before| before.foreground) {
            consequences.look_at.insert(uid.clone());
            consequences.look_at.extend(dependents);
        }
        let former = before.map(|before| before.owners).unwrap_or_default();
        for owner in &former {
            let now = owners.iter().find(|now| now.uid == owner.uid);
            if now.is_none() {
                self.unlink(&owner.uid, &uid);
            }
            // Whoever does not hold up an owner any more may let it go.
            let unblocked = owner.block_owner_deletion == Some(true)
                && now.is_none_or(|now| now.block_owner_deletion != Some(true));
            if unblocked && self.nodes.get(&owner.uid).is_some_and(|owner| owner.foreground) {
                consequences.look_at.insert(owner.uid.clone());
            }
        }
        for owner in &owners {
            if !former.iter().any(|former| former.uid == owner.uid) {
                self.link(owner, &uid, key, &mut consequences);
            }
        }
        if former != owners && !owners.is_empty() {
            let goes = |owner: &OwnerReference| self.nodes.get(&owner.uid).is_some_and(|owner| owner.foreground);
            if !former.is_empty() || owners.iter().any(goes) {
                consequences.look_at.insert(uid);
            }
        }
        consequences
    }

    fn link(&mut self, owner: &OwnerReference, uid: &str, key: &ObjectKey, consequences: &mut Consequences) {
        let node = self.nodes.entry(owner.uid.clone()).or_insert_with(Node::unseen);
        node.dependents.insert(uid.to_owned());
        let Some((kind, own)) = &node.seen else {
            node.named.get_or_insert_with(|| Named {
                api_version: owner.api_version.clone(),
                kind: owner.kind.clone(),
                namespace: key.namespace().map(str::to_owned),
                name: owner.name.clone(),
            });
            consequences.look_at.insert(owner.uid.clone());
            return;
        };
        if kind.is_namespaced() && own.namespace() != key.namespace() {
            consequences.strange.push((uid.to_owned(), owner.uid.clone()));
            consequences.look_at.insert(uid.to_owned());
        }
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(node) = self.nodes.get_mut(owner) {
            node.dependents.remove(dependent);
            if node.dependents.is_empty() && node.seen.is_none() {
                self.nodes.remove(owner);
            }
        }
    }

    /// An object is gone, or was never there.
    pub(super) fn forget(&mut self, uid: &str) -> Consequences {
        let mut consequences = Consequences::default();
        let Some(node) = self.nodes.remove(uid) else {
            return consequences;
        };
        for owner in &node.owners {
            self.unlink(&owner.uid, uid);
            if self.nodes.get(&owner.uid).is_some_and(|owner| owner.foreground) {
                consequences.look_at.insert(owner.uid.clone());
            }
        }
        consequences.look_at.extend(node.dependents);
        consequences
    }

    /// The dependents of an object that hold up its deletion.
    pub(super) fn blocking(&self, uid: &str) -> Vec<String> {
        let dependents = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        dependents
            .filter(|dependent| {
                let owners = self.nodes.get(*dependent).into_iter().flat_map(|node| &node.owners);
                owners
                    .into_iter()
                    .any(|owner| owner.uid == uid && owner.block_owner_deletion == Some(true))
            })
            .cloned()
            .collect()
    }
}

impl Node {
    fn unseen() -> Self {
        Node {
            seen: None,
            named: None,
            owners: Vec::new(),
            dependents: BTreeSet::new(),
            deleting: false,
            foreground: false,
            orphaning: false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kind() -> Kind {
        Kind::named("", "v1", "ConfigMap", "configmaps", true)
    }

    fn see(graph: &mut Graph, name: &str, change: Value) -> Vec<String> {
        let mut meta = change;
        meta["name"] = name.into();
        meta["uid"] = name.into();
        let meta = serde_json::from_value(meta).unwrap();
        let consequences = graph.observe(&kind(), &ObjectKey::namespaced("shop", name), &meta);
        consequences.look_at.into_iter().collect()
    }

    fn owned_by(owner: &str) -> Value {
        json!({ "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": true,
        }] })
    }

    #[test]
    fn dependents_are_looked_at_when_their_owner_goes() {
        let mut graph = Graph::default();
        assert!(see(&mut graph, "owner", json!({})).is_empty());
        assert!(see(&mut graph, "child", owned_by("owner")).is_empty());
        assert_eq!(graph.forget("owner").look_at, ["child".to_owned()].into());
    }

    #[test]
    fn an_owner_nobody_has_seen_is_looked_for() {
        let mut graph = Graph::default();
        assert_eq!(see(&mut graph, "child", owned_by("ghost")), ["ghost"]);
        assert!(graph.get("ghost").unwrap().seen.is_none());
        assert_eq!(graph.forget("ghost").look_at, ["child".to_owned()].into());
    }

    #[test]
    fn foreground_deletion_looks_at_dependents_and_their_end_at_the_owner() {
        let mut graph = Graph::default();
        see(&mut graph, "owner", json!({}));
        see(&mut graph, "child", owned_by("owner"));
        let deleting = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FOREGROUND] });
        assert_eq!(see(&mut graph, "owner", deleting), ["child", "owner"]);
        assert_eq!(graph.blocking("owner"), ["child"]);
        assert_eq!(graph.forget("child").look_at, ["owner".to_owned()].into());
        assert!(graph.blocking("owner").is_empty());
    }

    #[test]
    fn an_owner_in_another_namespace_is_strange() {
        let mut graph = Graph::default();
        see(&mut graph, "owner", json!({}));
        let meta = serde_json::from_value({
            let mut meta = owned_by("owner");
            meta["uid"] = "child".into();
            meta
        })
        .unwrap();
        let consequences = graph.observe(&kind(), &ObjectKey::namespaced("other", "child"), &meta);
        assert_eq!(consequences.strange, [("child".to_owned(), "owner".to_owned())]);
    }
}
