//! The definitions a server has: read by every request as one immutable set, replaced as a whole when one changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_store::{Record, ResourceId, Revision, Store};
use kubewright_structural::crd::{self, Definition};
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard, RwLock};
use serde_json::{Value, json};

use super::kind::CustomKind;
use super::version::Version;
use crate::object;
use crate::registry::name::Name;
use crate::registry::{BuiltInId, Registry, Resource};

/// The tables of custom resources come behind those of the built-ins.
const FIRST_TABLE: u64 = 1 << 16;

/// The table of the objects of a definition that was created at a revision. It follows from what is stored, so that it is the same
/// in every fork, and one that is deleted and made anew has nothing to do with the old one's objects.
fn table_of(created: Revision) -> ResourceId {
    ResourceId(FIRST_TABLE + created.0)
}

/// The definitions of one server.
#[derive(Default)]
pub(crate) struct Definitions {
    served: RwLock<Arc<ServedResources>>,
    /// Held while what follows from a definition's write is worked out, so that names are given one at a time. Deleting a
    /// definition deletes its objects, the last of which asks for the definition again: the same thread may enter twice.
    turn: ReentrantMutex<()>,
    /// The names every definition has or waits for, by the definition's name.
    claims: Mutex<BTreeMap<String, NameClaim>>,
    /// The verbs that are served, by the definition's name, where those are not all.
    limited_verbs: Mutex<BTreeMap<String, Vec<&'static str>>>,
}

/// What others of its group need to know of a definition.
#[derive(Clone)]
pub(super) struct NameClaim {
    /// The definition, reduced to its group and the names it was given.
    pub(super) named: Value,
    /// A name that it wants belongs to another.
    pub(super) waits: bool,
    /// The revision of the definition that was worked out.
    pub(super) settled: Revision,
}

impl NameClaim {
    pub(super) fn of(definition: &Value, settled: Revision) -> NameClaim {
        let at = |pointer: &str| definition.pointer(pointer).cloned().unwrap_or_default();
        NameClaim {
            named: json!({
                "spec": { "group": at("/spec/group") },
                "status": { "acceptedNames": at("/status/acceptedNames") },
            }),
            waits: !crd::names::are_accepted(definition),
            settled,
        }
    }
}

/// What the definitions serve, at one moment.
#[derive(Default)]
pub(crate) struct ServedResources {
    /// The served versions, by their paths.
    pub(crate) registry: Registry,
    /// By the definition's name.
    defined: BTreeMap<String, Defined>,
    /// Whether the kinds of Kubernetes itself are left out, as by the server of an aggregated API.
    pub(crate) without_built_ins: bool,
    /// Another number means another set: what was made from the old one is out of date.
    pub(crate) generation: u64,
}

#[derive(Clone)]
struct Defined {
    kind: Arc<CustomKind>,
    /// Every version, served or not, in the order of the definition.
    resources: Vec<Arc<Resource>>,
}

impl Definitions {
    pub(crate) fn served(&self) -> Arc<ServedResources> {
        Arc::clone(&self.served.read())
    }

    /// One at a time.
    pub(super) fn lock_for_change(&self) -> ReentrantMutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Serves no more than these verbs of a definition that is still to be made.
    pub(crate) fn limit_verbs(&self, name: &str, verbs: Vec<&'static str>) {
        self.limited_verbs.lock().insert(name.to_owned(), verbs);
    }

    /// From now on, only what is defined is routed to, discovered and published.
    pub(crate) fn hide_built_ins(&self) {
        let current = self.served();
        let mut served = ServedResources::of(&current, current.defined.clone());
        served.without_built_ins = true;
        *self.served.write() = Arc::new(served);
    }

    /// The definitions of a fork of the server, as they are in its store: of those that were written otherwise since, nothing is known,
    /// and what is still to be done for them is for [`Server::settle_all`](crate::server::Server::settle_all).
    pub(crate) fn fork(&self, store: &Store) -> Definitions {
        let _turn = self.lock_for_change();
        let fork = Definitions {
            served: RwLock::new(self.served()),
            turn: ReentrantMutex::new(()),
            claims: Mutex::new(self.claims.lock().clone()),
            limited_verbs: Mutex::new(self.limited_verbs.lock().clone()),
        };
        let resource = BuiltInId::CustomResourceDefinitions.resource();
        let snapshot = store.snapshot(resource.table);
        let known: Vec<String> = fork.claims.lock().keys().cloned().collect();
        for name in known.iter().filter(|name| snapshot.get(name).is_none()) {
            fork.remove(name);
            fork.claim(name, None);
        }
        let records = snapshot.records(None, None);
        let changed: Vec<_> = records
            .filter(|record| !fork.is_settled(&record.key, record.revision))
            .map(|record| (record, object::to_value(resource, record, record.revision)))
            .collect();
        // All names are known before any is given, and all versions are served before one is taken for obsolete.
        for (record, object) in &changed {
            fork.claim(&record.key, Some(NameClaim::of(object, Revision::default())));
        }
        for (record, object) in &changed {
            match Definition::of(object) {
                Some(definition) => {
                    fork.put(definition, record);
                }
                None => {
                    fork.remove(&record.key);
                }
            }
        }
        fork
    }

    /// Notes what a definition claims. Returns whether its names are others than before.
    pub(super) fn claim(&self, name: &str, claim: Option<NameClaim>) -> bool {
        let mut claims = self.claims.lock();
        let named = claim.as_ref().map(|claim| claim.named.clone());
        let before = match claim {
            Some(claim) => claims.insert(name.to_owned(), claim),
            None => claims.remove(name),
        };
        before.map(|before| before.named) != named
    }

    /// Whether a definition has been worked out as it was written at `revision`.
    pub(super) fn is_settled(&self, name: &str, revision: Revision) -> bool {
        self.claims
            .lock()
            .get(name)
            .is_some_and(|claim| claim.settled == revision)
    }

    /// The other definitions of a group, reduced to their names.
    pub(super) fn names_of_group(&self, group: &str, except: &str) -> Vec<Value> {
        self.of_group(group, except, |_, claim| Some(claim.named.clone()))
    }

    /// The other definitions of a group that wait for a name.
    pub(super) fn waiting_in_group(&self, group: &str, except: &str) -> Vec<String> {
        self.of_group(group, except, |name, claim| claim.waits.then(|| name.to_owned()))
    }

    fn of_group<T>(&self, group: &str, except: &str, pick: impl Fn(&str, &NameClaim) -> Option<T>) -> Vec<T> {
        let claims = self.claims.lock();
        claims
            .iter()
            .filter(|(name, _)| *name != except && name.split_once('.').is_some_and(|(_, of)| of == group))
            .filter_map(|(name, claim)| pick(name, claim))
            .collect()
    }

    /// Serves a definition from now on, as its record has it. Returns what it replaces.
    pub(super) fn put(
        &self,
        mut definition: Definition,
        record: &Record,
    ) -> (Arc<CustomKind>, Option<Arc<CustomKind>>) {
        definition.limited_verbs = self.limited_verbs.lock().get(&definition.name).cloned();
        let current = self.served();
        let before = current
            .defined
            .get(&definition.name)
            .map(|defined| Arc::clone(&defined.kind));
        let table = table_of(record.created);
        let same = before.as_deref().filter(|kind| kind.table == table);
        let name = definition.name.clone();
        let kind = Arc::new(CustomKind::new(definition, table, record.revision, same));
        let mut defined = current.defined.clone();
        defined.insert(
            name,
            Defined {
                resources: resources(&kind),
                kind: Arc::clone(&kind),
            },
        );
        *self.served.write() = Arc::new(ServedResources::of(&current, defined));
        (kind, before)
    }

    /// The kind that a definition defined which is gone, in its storage version.
    pub(crate) fn former(record: &Record) -> Option<Arc<Resource>> {
        let resource = BuiltInId::CustomResourceDefinitions.resource();
        let definition = Definition::of(&object::to_value(resource, record, record.revision))?;
        let kind = CustomKind::new(definition, table_of(record.created), record.revision, None);
        let at = kind.storage()?;
        resources(&Arc::new(kind)).into_iter().nth(at)
    }

    /// Stops serving a definition.
    pub(super) fn remove(&self, name: &str) -> Option<Arc<CustomKind>> {
        let current = self.served();
        let mut defined = current.defined.clone();
        let removed = defined.remove(name)?;
        *self.served.write() = Arc::new(ServedResources::of(&current, defined));
        Some(removed.kind)
    }
}

impl ServedResources {
    /// The next set after another one.
    fn of(before: &ServedResources, defined: BTreeMap<String, Defined>) -> ServedResources {
        let mut registry = Registry::default();
        for defined in defined.values() {
            let versions = defined.resources.iter().zip(&defined.kind.definition.versions);
            for (resource, _) in versions.filter(|(_, version)| version.served) {
                registry.add(Arc::clone(resource));
            }
        }
        ServedResources {
            registry,
            defined,
            without_built_ins: before.without_built_ins,
            generation: before.generation + 1,
        }
    }

    /// The kinds, by the names of their definitions.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<CustomKind>> {
        self.defined.values().map(|defined| &defined.kind)
    }

    /// What the definitions say.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.kinds().map(|kind| &kind.definition)
    }

    /// The kind that a definition of this name defines.
    pub(super) fn kind(&self, name: &str) -> Option<&Arc<CustomKind>> {
        self.defined.get(name).map(|defined| &defined.kind)
    }

    /// The kind that a definition defines, with the resource in its storage version.
    pub(crate) fn storage(&self, name: &str) -> Option<&Arc<Resource>> {
        let defined = self.defined.get(name)?;
        let at = defined
            .kind
            .definition
            .versions
            .iter()
            .position(|version| version.storage)?;
        defined.resources.get(at)
    }
}

fn resources(kind: &Arc<CustomKind>) -> Vec<Arc<Resource>> {
    let definition = &kind.definition;
    let name = |text: &str| Name::Defined(text.into());
    let (group, plural) = (name(&definition.group), name(&definition.names.plural));
    let (kind_name, list_kind) = (name(&definition.names.kind), name(&definition.names.list_kind));
    (0..definition.versions.len())
        .map(|at| {
            Arc::new(Resource::custom_version(
                kind.table,
                [group.clone(), name(&definition.versions[at].name), plural.clone()],
                [kind_name.clone(), list_kind.clone()],
                definition.namespaced,
                Version::new(Arc::clone(kind), at),
            ))
        })
        .collect()
}
