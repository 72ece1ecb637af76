//! The graph of owners and dependents by uid, kept from events. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kubewright_runtime::object::{Kind, ObjectKey, Record};

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

/// What an object is known by.
pub(super) type Uid = Arc<str>;

/// An owner as a dependent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnerRef {
    pub(super) uid: Uid,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    /// Whether the dependent holds up the deletion of the owner.
    pub(super) blocks: bool,
}

/// What and where an object is. Several dependents may disagree about one owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ObjectIdentity {
    pub(super) kind: String,
    pub(super) api_version: String,
    /// The dependent's namespace, until it is known whether the kind is namespaced.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl ObjectIdentity {
    fn named_by(reference: &OwnerRef, key: &ObjectKey) -> Self {
        ObjectIdentity {
            kind: reference.kind.clone(),
            api_version: reference.api_version.clone(),
            namespace: key.namespace().map(str::to_owned),
            name: reference.name.clone(),
        }
    }
}

/// What the garbage collector reads of an object in an event.
#[derive(Clone, Debug)]
pub(super) struct ObservedObject {
    pub(super) uid: Uid,
    pub(super) owners: Vec<OwnerRef>,
    pub(super) deleting: bool,
    pub(super) foreground: bool,
    pub(super) orphaning: bool,
}

impl ObservedObject {
    /// Reads it from the text of an object.
    pub(super) fn of(record: &Record) -> Self {
        let owners = record.owners().into_iter().map(|owner| OwnerRef {
            uid: owner.uid.into(),
            api_version: owner.api_version.into_owned(),
            kind: owner.kind.into_owned(),
            name: owner.name.into_owned(),
            blocks: owner.block_owner_deletion,
        });
        let deleting = record.is_deleting();
        let finalizers = if deleting { record.finalizers() } else { Vec::new() };
        let has = |finalizer: &str| finalizers.iter().any(|own| own == finalizer);
        ObservedObject {
            uid: record.uid().into(),
            owners: owners.collect(),
            deleting,
            foreground: has(FOREGROUND),
            orphaning: has(ORPHAN),
        }
    }
}

/// An object, or an owner that a dependent names and that was never observed.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// What and where it is, if it was seen.
    pub(super) seen: Option<(Kind, ObjectKey)>,
    /// Where it is looked for, if it was not seen.
    pub(super) sought: Option<ObjectIdentity>,
    pub(super) owners: Vec<OwnerRef>,
    /// Those that name it as their owner, and whether they hold up its deletion.
    dependents: BTreeMap<Uid, bool>,
    /// How many of them do. Counted, since it is asked whenever one goes.
    blocking: usize,
    pub(super) deleting: bool,
    /// Being deleted after its dependents.
    pub(super) foreground: bool,
    /// Being deleted without its dependents.
    pub(super) orphaning: bool,
}

impl Node {
    /// Those that name it as their owner.
    pub(super) fn dependents(&self) -> impl Iterator<Item = &Uid> {
        self.dependents.keys()
    }

    /// Whether it has dependents.
    pub(super) fn has_dependents(&self) -> bool {
        !self.dependents.is_empty()
    }

    /// Whether a dependent blocks its deletion.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocking > 0
    }

    fn set_dependent(&mut self, uid: &Uid, blocks: bool) {
        let before = self.dependents.insert(Arc::clone(uid), blocks);
        self.blocking += usize::from(blocks);
        self.blocking -= usize::from(before == Some(true));
    }

    fn remove_dependent(&mut self, uid: &str) {
        let before = self.dependents.remove(uid);
        self.blocking -= usize::from(before == Some(true));
    }
}

/// What follows from an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Consequences {
    /// Objects to look at, by uid.
    pub(super) look_at: BTreeSet<Uid>,
    /// References to owners in another namespace: the uid of the dependent, and of the owner.
    pub(super) strange: Vec<(Uid, Uid)>,
    /// The place of an object that is gone and had dependents.
    pub(super) absent: Option<ObjectIdentity>,
}

/// The graph of owners and dependents.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<Uid, Node>,
}

impl Graph {
    /// The object with a uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// An object is there, or changed.
    pub(super) fn observe(&mut self, kind: &Kind, key: &ObjectKey, sighting: ObservedObject) -> Consequences {
        let mut consequences = Consequences::default();
        let uid = sighting.uid;
        let node = self.nodes.entry(Arc::clone(&uid)).or_default();
        let is_new = node.seen.is_none();
        node.seen = Some((kind.clone(), key.clone()));
        node.sought = None;
        node.deleting = sighting.deleting;
        let begins_orphaning = !std::mem::replace(&mut node.orphaning, sighting.orphaning) && sighting.orphaning;
        let begins_foreground = !std::mem::replace(&mut node.foreground, sighting.foreground) && sighting.foreground;
        if begins_orphaning || begins_foreground {
            consequences.look_at.insert(Arc::clone(&uid));
        }
        if begins_foreground {
            consequences.look_at.extend(node.dependents.keys().cloned());
        }
        if is_new && node.has_dependents() {
            self.check_dependents(&uid, kind, key, &mut consequences);
        }
        self.set_owners(&uid, key, &sighting.owners, &mut consequences);
        consequences
    }

    /// An owner is seen for the first time: those who name it otherwise are looked at.
    fn check_dependents(&self, uid: &Uid, kind: &Kind, key: &ObjectKey, consequences: &mut Consequences) {
        let Some(node) = self.nodes.get(uid) else {
            return;
        };
        for dependent in node.dependents.keys() {
            let Some(from) = self.nodes.get(dependent) else {
                continue;
            };
            let Some((_, at)) = &from.seen else {
                continue;
            };
            let is_elsewhere = kind.is_namespaced() && at.namespace() != key.namespace();
            let mut own = from.owners.iter().filter(|owner| owner.uid == *uid);
            if is_elsewhere {
                consequences.strange.push((Arc::clone(dependent), Arc::clone(uid)));
            }
            if is_elsewhere || !own.all(|owner| is_named(owner, kind, key)) {
                consequences.look_at.insert(Arc::clone(dependent));
            }
        }
    }

    fn set_owners(&mut self, uid: &Uid, key: &ObjectKey, owners: &[OwnerRef], consequences: &mut Consequences) {
        let Some(node) = self.nodes.get_mut(uid) else {
            return;
        };
        if node.owners == owners {
            return;
        }
        let former = std::mem::replace(&mut node.owners, owners.to_vec());
        for owner in &former {
            if !owners.iter().any(|now| now.uid == owner.uid) {
                self.unlink(&owner.uid, uid);
            }
        }
        for (identity, owner) in owners.iter().enumerate() {
            let is_added = !former.iter().any(|former| former.uid == owner.uid);
            if !owners[..identity].iter().any(|other| other.uid == owner.uid) {
                let blocks = owners.iter().any(|other| other.uid == owner.uid && other.blocks);
                let node = self.nodes.entry(Arc::clone(&owner.uid)).or_default();
                node.set_dependent(uid, blocks);
            }
            if is_added {
                self.meet(owner, uid, key, consequences);
            }
        }
        // An owner that is not blocked any more may be deleted.
        for owner in former.iter().filter(|owner| owner.blocks) {
            self.release(&owner.uid, consequences);
        }
        let waits = |owner: &OwnerRef| self.nodes.get(&owner.uid).is_some_and(|owner| owner.foreground);
        if !owners.is_empty() && (!former.is_empty() || owners.iter().any(waits)) {
            consequences.look_at.insert(Arc::clone(uid));
        }
    }

    /// A dependent names an owner for the first time.
    fn meet(&mut self, owner: &OwnerRef, uid: &Uid, key: &ObjectKey, consequences: &mut Consequences) {
        let Some(node) = self.nodes.get_mut(&owner.uid) else {
            return;
        };
        let Some((kind, own)) = &node.seen else {
            node.sought.get_or_insert_with(|| ObjectIdentity::named_by(owner, key));
            consequences.look_at.insert(Arc::clone(&owner.uid));
            return;
        };
        if kind.is_namespaced() && own.namespace() != key.namespace() {
            consequences.strange.push((Arc::clone(uid), Arc::clone(&owner.uid)));
            consequences.look_at.insert(Arc::clone(uid));
        } else if !is_named(owner, kind, own) {
            consequences.look_at.insert(Arc::clone(uid));
        }
    }

    /// An owner that waits for its dependents is looked at when the last that holds it up does so no more.
    fn release(&self, owner: &Uid, consequences: &mut Consequences) {
        let node = self.nodes.get(owner);
        if node.is_some_and(|owner| owner.foreground && !owner.is_blocked()) {
            consequences.look_at.insert(Arc::clone(owner));
        }
    }

    fn unlink(&mut self, owner: &Uid, dependent: &str) {
        if let Some(node) = self.nodes.get_mut(owner) {
            node.remove_dependent(dependent);
            if node.dependents.is_empty() && node.seen.is_none() {
                self.nodes.remove(owner);
            }
        }
    }

    /// An object is gone.
    pub(super) fn forget(&mut self, uid: &str) -> Consequences {
        let mut consequences = Consequences::default();
        let Some(node) = self.nodes.remove(uid) else {
            return consequences;
        };
        for owner in &node.owners {
            self.unlink(&owner.uid, uid);
            self.release(&owner.uid, &mut consequences);
        }
        if let Some((kind, key)) = node.seen.filter(|_| !node.dependents.is_empty()) {
            consequences.absent = Some(ObjectIdentity {
                kind: kind.kind().to_owned(),
                api_version: kind.api_version(),
                namespace: key.namespace().map(str::to_owned),
                name: key.name().to_owned(),
            });
        }
        consequences.look_at.extend(node.dependents.into_keys());
        consequences
    }

    /// An owner that nobody has seen is not where it was looked for. If some dependents say that it is elsewhere, it is looked
    /// for there next; otherwise it is not there at all.
    pub(super) fn not_found(&mut self, uid: &Uid, at: &ObjectIdentity) -> Consequences {
        let mut consequences = Consequences::default();
        let Some(node) = self.nodes.get(uid) else {
            return consequences;
        };
        let mut elsewhere = BTreeSet::new();
        for dependent in node.dependents.keys() {
            let Some(from) = self.nodes.get(dependent) else {
                continue;
            };
            let Some((_, key)) = &from.seen else {
                continue;
            };
            for owner in from.owners.iter().filter(|owner| owner.uid == *uid) {
                let identity = ObjectIdentity::named_by(owner, key);
                if identity == *at {
                    consequences.look_at.insert(Arc::clone(dependent));
                } else {
                    elsewhere.insert(identity);
                }
            }
        }
        if node.seen.is_some() {
            return consequences;
        }
        // The next in order, from the first again after the last: each is asked about, whatever comes and goes meanwhile.
        let next = elsewhere
            .range::<ObjectIdentity, _>(at..)
            .next()
            .or_else(|| elsewhere.first())
            .cloned();
        let Some(next) = next else {
            return self.forget(uid);
        };
        if let Some(node) = self.nodes.get_mut(uid) {
            node.sought = Some(next);
        }
        consequences
    }

    /// The dependents of an object that hold up its deletion.
    pub(super) fn blocking(&self, uid: &str) -> impl Iterator<Item = (&Uid, &Node)> {
        let dependents = self.nodes.get(uid).into_iter().flat_map(|node| &node.dependents);
        dependents
            .filter(|(_, blocks)| **blocks)
            .filter_map(|(dependent, _)| Some((dependent, self.nodes.get(dependent)?)))
    }
}

/// Whether a reference names an object as what it is. The version does not matter to who it is.
fn is_named(owner: &OwnerRef, kind: &Kind, key: &ObjectKey) -> bool {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    group == kind.group() && owner.kind == kind.kind() && owner.name == key.name()
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
