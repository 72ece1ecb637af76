//! The garbage collector: what has lost its owners goes; foreground and orphaning deletion, for every kind there is (D7).
//! [`graph`] knows who owns whom, [`decision`] decides; here everything is watched, asked and done.

mod absent;
mod decision;
mod definitions;
mod graph;
mod monitors;

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::DynamicObject;
use kubewright_runtime::client::{Client, DeleteOptions, Error, Patch};
use kubewright_runtime::controller::Failure;
use kubewright_runtime::events::{EventNote, Reference};
use kubewright_runtime::manager::RunContext;
use kubewright_runtime::object::{Kind, ObjectKey, Record};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::queue::WorkQueue;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::Settings;
use crate::support::events::EventRecorder;
use absent::AbsentOwners;
use decision::{Decision, OwnerState};
use graph::{Consequences, FOREGROUND, Graph, ORPHAN, ObjectIdentity, ObservedObject, Uid};
use monitors::Monitors;

/// How many objects are looked at side by side.
const WORKERS: usize = 8;
/// How often an object is handled again at once after a conflict, before it is requeued.
const CONFLICTS: usize = 3;

/// Adds the collector.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    definitions::declare(operator).runnable("garbage-collector", move |context: RunContext| async move {
        let collector = Arc::new(Collector {
            teller: settings.recorder("garbage-collector-controller", &context.client),
            client: context.client.field_owner("garbage-collector-controller").live(),
            graph: Mutex::default(),
            absent: Mutex::default(),
            queue: WorkQueue::default(),
        });
        let monitors = Arc::new(Monitors::new(Arc::clone(&collector), settings.random.clone()));
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&monitors).run(context.client.clone()));
        for _ in 0..WORKERS {
            tasks.spawn(work(Arc::clone(&collector), Arc::clone(&monitors)));
        }
        context.stop.stopped().await;
        collector.queue.shut_down();
        tasks.abort_all();
        Ok(())
    })
}

async fn work(collector: Arc<Collector>, monitors: Arc<Monitors>) {
    while let Some(job) = collector.queue.get().await {
        // Nothing is decided while a kind is not known yet: it may have dependents.
        let _complete = monitors.complete().await;
        match collector.settle(job.key(), &monitors).await {
            Ok(()) => collector.queue.forget(job.key()),
            Err(error) => {
                tracing::debug!(%error, uid = %job.key(), "an object is looked at again");
                collector.queue.add_rate_limited(job.key().clone());
            }
        }
    }
}

fn is_conflict(failure: &Failure) -> bool {
    failure.error().downcast_ref::<Error>().is_some_and(Error::is_conflict)
}

struct Collector {
    client: Client,
    teller: EventRecorder,
    graph: Mutex<Graph>,
    absent: Mutex<AbsentOwners>,
    queue: WorkQueue<Uid>,
}

/// An object as the graph has it.
enum GraphState {
    /// No event has shown it; a dependent says that it is this.
    Unseen(ObjectIdentity),
    /// It is being deleted, and needs nothing more.
    Going,
    Seen {
        kind: Kind,
        key: ObjectKey,
        foreground: bool,
        orphaning: bool,
    },
}

/// An object as the server has it.
struct LiveObject {
    kind: Kind,
    key: ObjectKey,
    meta: ObjectMeta,
}

impl Collector {
    fn observe(&self, kind: &Kind, record: &Record) {
        let consequences = self
            .graph
            .lock()
            .observe(kind, record.key(), ObservedObject::of(record));
        self.follow(consequences);
    }

    /// An object is gone.
    fn forget(&self, uid: &Uid) {
        let mut consequences = self.graph.lock().forget(uid);
        if let Some(identity) = consequences.absent.take() {
            self.absent.lock().add(uid, identity);
        }
        self.follow(consequences);
    }

    fn follow(&self, consequences: Consequences) {
        for (dependent, owner) in consequences.strange {
            self.tell_of_strange_owner(&dependent, &owner);
        }
        for uid in consequences.look_at {
            self.queue.add(uid);
        }
    }

    fn tell_of_strange_owner(&self, dependent: &str, owner: &str) {
        let graph = self.graph.lock();
        let Some((kind, key)) = graph.get(dependent).and_then(|node| node.seen.clone()) else {
            return;
        };
        let named = graph
            .get(dependent)
            .and_then(|node| node.owners.iter().find(|named| &*named.uid == owner));
        let Some(graph::OwnerRef {
            api_version,
            kind: owner_kind,
            name,
            ..
        }) = named
        else {
            return;
        };
        let namespace = key.namespace().unwrap_or_default();
        let text = format!(
            "ownerRef [{api_version}/{owner_kind}, namespace: {namespace}, name: {name}, uid: {owner}] does not exist in \
             namespace {namespace:?}"
        );
        let about = Reference {
            api_version: kind.api_version(),
            kind: kind.kind().to_owned(),
            namespace: key.namespace().map(str::to_owned),
            name: key.name().to_owned(),
            uid: dependent.to_owned(),
            ..Reference::default()
        };
        drop(graph);
        self.teller
            .record(&about, EventNote::warning("OwnerRefInvalidNamespace", "Collect", text));
    }

    /// Handles an object, and once more at once after a conflict.
    async fn settle(&self, uid: &Uid, monitors: &Monitors) -> Result<(), Failure> {
        for _ in 0..CONFLICTS {
            match self.attend(uid, monitors).await {
                Err(failure) if is_conflict(&failure) => {}
                done => return done,
            }
        }
        self.attend(uid, monitors).await
    }

    async fn attend(&self, uid: &Uid, monitors: &Monitors) -> Result<(), Failure> {
        let Some(glance) = self.glance(uid) else {
            return Ok(());
        };
        let (kind, key, foreground, orphaning) = match glance {
            GraphState::Unseen(sought) => return self.look_for(uid, sought, monitors).await,
            // It is on its way: its end is an event.
            GraphState::Going => return Ok(()),
            GraphState::Seen {
                kind,
                key,
                foreground,
                orphaning,
            } => (kind, key, foreground, orphaning),
        };
        let Some(live) = self.live(&kind, &key, uid).await? else {
            self.forget(uid);
            return Ok(());
        };
        if orphaning {
            return Ok(self.orphan(uid, &live).await?);
        }
        if foreground {
            return Ok(self.finish_foreground(uid, &live).await?);
        }
        let mut owners = Vec::new();
        for owner in live.meta.owner_references.iter().flatten() {
            match self.state_of(owner, &live, monitors).await? {
                Some(state) => owners.push((owner.clone(), state)),
                // An owner that cannot be what it says it is decides nothing.
                None => return Ok(()),
            }
        }
        let (has_dependents, in_circle) = self.below(uid);
        match decision::decide(&live.meta, &owners, has_dependents, in_circle) {
            Decision::Keep => Ok(()),
            Decision::Drop(gone) => Ok(self.drop_owners(&live, &gone).await?),
            Decision::Delete { policy, unblock } => {
                let version = if unblock {
                    None
                } else {
                    live.meta.resource_version.clone()
                };
                if unblock {
                    self.unblock(&live).await?;
                }
                let options = DeleteOptions {
                    propagation_policy: Some(policy),
                    uid: live.meta.uid.clone(),
                    resource_version: version,
                    ..DeleteOptions::default()
                };
                match self
                    .client
                    .dynamic(live.kind.clone())
                    .delete_with(&live.key, &options)
                    .await
                {
                    Err(error) if !error.is_not_found() => Err(error.into()),
                    _ => Ok(()),
                }
            }
        }
    }

    fn glance(&self, uid: &Uid) -> Option<GraphState> {
        let graph = self.graph.lock();
        let node = graph.get(uid)?;
        let Some((kind, key)) = &node.seen else {
            return node.sought.clone().map(GraphState::Unseen);
        };
        if node.deleting && !node.foreground && !node.orphaning {
            return Some(GraphState::Going);
        }
        Some(GraphState::Seen {
            kind: kind.clone(),
            key: key.clone(),
            foreground: node.foreground,
            orphaning: node.orphaning,
        })
    }

    /// Whether an object has dependents, and whether one of them waits for its own.
    fn below(&self, uid: &Uid) -> (bool, bool) {
        let graph = self.graph.lock();
        let Some(node) = graph.get(uid) else {
            return (false, false);
        };
        let waits = |dependent: &Uid| graph.get(dependent).is_some_and(|node| node.foreground);
        (node.has_dependents(), node.dependents().any(waits))
    }

    /// Looks up an owner that was never observed. If it does not exist, its dependents are enqueued.
    async fn look_for(&self, uid: &Uid, sought: ObjectIdentity, monitors: &Monitors) -> Result<(), Failure> {
        let Some(kind) = monitors.kind(&sought.api_version, &sought.kind) else {
            return Err(Failure::message(format!("nobody serves {}", sought.kind)));
        };
        if kind.is_namespaced() && sought.namespace.is_none() {
            return Ok(());
        }
        let namespace = sought.namespace.as_deref().filter(|_| kind.is_namespaced());
        let key = ObjectKey::new(namespace, &sought.name);
        if self.live(&kind, &key, uid).await?.is_some() {
            // It may come and go before its watch begins: it is asked for until it was seen.
            return Err(Failure::message(format!("{key} is there and was not seen yet")));
        }
        let mut identity = sought.clone();
        identity.namespace = namespace.map(str::to_owned);
        self.absent.lock().add(uid, identity);
        let (consequences, is_sought) = {
            let mut graph = self.graph.lock();
            let consequences = graph.not_found(uid, &sought);
            (consequences, graph.get(uid).is_some_and(|node| node.sought.is_some()))
        };
        self.follow(consequences);
        if is_sought {
            return Err(Failure::message("an owner is looked for elsewhere"));
        }
        Ok(())
    }

    async fn live(&self, kind: &Kind, key: &ObjectKey, uid: &str) -> Result<Option<LiveObject>, Error> {
        let found = self.client.dynamic(kind.clone()).get_opt(key).await?;
        let same = found.filter(|found| found.metadata.uid.as_deref() == Some(uid));
        Ok(same.map(|found| LiveObject {
            kind: kind.clone(),
            key: key.clone(),
            meta: found.metadata.clone(),
        }))
    }

    async fn state_of(
        &self,
        owner: &OwnerReference,
        of: &LiveObject,
        monitors: &Monitors,
    ) -> Result<Option<OwnerState>, Failure> {
        let uid: Uid = owner.uid.as_str().into();
        let mut identity = ObjectIdentity {
            kind: owner.kind.clone(),
            api_version: owner.api_version.clone(),
            namespace: None,
            name: owner.name.clone(),
        };
        let is_absent = |identity: &ObjectIdentity| self.absent.lock().has(&uid, identity);
        if is_absent(&identity) {
            return Ok(Some(OwnerState::Dangling));
        }
        identity.namespace = of.key.namespace().map(str::to_owned);
        if is_absent(&identity) {
            return Ok(Some(OwnerState::Dangling));
        }
        let Some(kind) = monitors.kind(&owner.api_version, &owner.kind) else {
            return Err(Failure::message(format!("nobody serves {}", owner.kind)));
        };
        let namespace = of.key.namespace().filter(|_| kind.is_namespaced());
        if kind.is_namespaced() && namespace.is_none() {
            return Ok(None);
        }
        let key = ObjectKey::new(namespace, &owner.name);
        Ok(Some(match self.live(&kind, &key, &owner.uid).await? {
            None => {
                identity.namespace = namespace.map(str::to_owned);
                self.absent.lock().add(&uid, identity);
                OwnerState::Dangling
            }
            Some(live) => {
                let waits = live
                    .meta
                    .finalizers
                    .iter()
                    .flatten()
                    .any(|finalizer| finalizer == FOREGROUND);
                if live.meta.deletion_timestamp.is_some() && waits {
                    OwnerState::Waiting
                } else {
                    OwnerState::Solid
                }
            }
        }))
    }

    async fn drop_owners(&self, live: &LiveObject, gone: &[String]) -> Result<(), Error> {
        let owners = live.meta.owner_references.iter().flatten();
        let left: Vec<_> = owners.filter(|owner| !gone.contains(&owner.uid)).collect();
        self.patch(live, json!({ "ownerReferences": left })).await
    }

    async fn unblock(&self, live: &LiveObject) -> Result<(), Error> {
        let owners = live.meta.owner_references.iter().flatten().map(|owner| OwnerReference {
            block_owner_deletion: Some(false),
            ..owner.clone()
        });
        self.patch(live, json!({ "ownerReferences": owners.collect::<Vec<_>>() }))
            .await
    }

    /// Takes the owner out of all its dependents, and then lets it go.
    async fn orphan(&self, uid: &Uid, live: &LiveObject) -> Result<(), Error> {
        let dependents: Vec<_> = {
            let graph = self.graph.lock();
            let dependents = graph.get(uid).into_iter().flat_map(graph::Node::dependents);
            dependents
                .filter_map(|dependent| {
                    let (kind, key) = graph.get(dependent)?.seen.clone()?;
                    Some((Arc::clone(dependent), kind, key))
                })
                .collect()
        };
        let gone = [uid.to_string()];
        let releases = dependents.into_iter().map(|(dependent, kind, key)| {
            let gone = &gone;
            async move {
                match self.live(&kind, &key, &dependent).await? {
                    Some(dependent) => self.drop_owners(&dependent, gone).await,
                    None => Ok(()),
                }
            }
        });
        stream::iter(releases)
            .buffer_unordered(WORKERS)
            .try_collect::<()>()
            .await?;
        self.remove_finalizer(live, ORPHAN).await
    }

    /// Removes the finalizer of an owner without blocking dependents, or else enqueues those.
    async fn finish_foreground(&self, uid: &Uid, live: &LiveObject) -> Result<(), Error> {
        let blocking: Option<Vec<Uid>> = {
            let graph = self.graph.lock();
            let is_blocked = graph.get(uid).is_some_and(graph::Node::is_blocked);
            is_blocked.then(|| {
                let stay = graph.blocking(uid).filter(|(_, node)| !node.deleting);
                stay.map(|(dependent, _)| Arc::clone(dependent)).collect()
            })
        };
        let Some(blocking) = blocking else {
            return self.remove_finalizer(live, FOREGROUND).await;
        };
        for dependent in blocking {
            self.queue.add(dependent);
        }
        Ok(())
    }

    async fn remove_finalizer(&self, live: &LiveObject, finalizer: &str) -> Result<(), Error> {
        let left = live.meta.finalizers.iter().flatten().filter(|own| *own != finalizer);
        let left: Vec<_> = left.collect();
        self.patch(live, json!({ "finalizers": left })).await
    }

    /// Changes the metadata of an object that is still as it was.
    async fn patch(&self, live: &LiveObject, mut change: serde_json::Value) -> Result<(), Error> {
        change["uid"] = json!(live.meta.uid);
        change["resourceVersion"] = json!(live.meta.resource_version);
        let objects: kubewright_runtime::client::Objects<DynamicObject> = self.client.dynamic(live.kind.clone());
        match objects
            .patch(&live.key, &Patch::Merge(json!({ "metadata": change })))
            .await
        {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}
