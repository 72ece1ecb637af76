//! The garbage collector: what has lost its owners goes; foreground and orphaning deletion, for every kind there is (D7).
//! [`graph`] knows who owns whom, [`verdict`] decides; here everything is watched, asked and done.

mod graph;
mod monitors;
mod verdict;

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::core::DynamicObject;
use kubewright_runtime::client::{Client, DeleteOptions, Error, Patch};
use kubewright_runtime::controller::Failure;
use kubewright_runtime::events::{EventNote, Reference};
use kubewright_runtime::manager::RunContext;
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::queue::WorkQueue;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::Settings;
use crate::support::tell::Teller;
use graph::{Consequences, FOREGROUND, Graph, ORPHAN};
use monitors::Monitors;
use verdict::{Owner, Verdict};

/// How many objects are looked at side by side.
const WORKERS: usize = 8;

/// Adds the collector.
pub(crate) fn add_to(operator: Operator, settings: &Settings) -> Operator {
    let settings = settings.clone();
    monitors::declare(operator).runnable("garbage-collector", move |context: RunContext| async move {
        let collector = Arc::new(Collector {
            teller: settings.teller("garbage-collector-controller", &context.client),
            client: context.client.field_owner("garbage-collector-controller").live(),
            graph: Mutex::default(),
            queue: WorkQueue::default(),
        });
        let monitors = Arc::new(Monitors::new(Arc::clone(&collector), settings.chance.clone()));
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
        match collector.attend(job.key(), &monitors).await {
            Ok(()) => collector.queue.forget(job.key()),
            Err(error) => {
                tracing::debug!(%error, uid = job.key(), "an object is looked at again");
                collector.queue.add_rate_limited(job.key().clone());
            }
        }
    }
}

struct Collector {
    client: Client,
    teller: Teller,
    graph: Mutex<Graph>,
    queue: WorkQueue<String>,
}

/// An object as the server has it.
struct Live {
    kind: Kind,
    key: ObjectKey,
    meta: ObjectMeta,
}

impl Collector {
    fn observe(&self, kind: &Kind, key: &ObjectKey, meta: &ObjectMeta) {
        let consequences = self.graph.lock().observe(kind, key, meta);
        self.follow(consequences);
    }

    fn forget(&self, uid: &str) {
        let consequences = self.graph.lock().forget(uid);
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
            .and_then(|node| node.owners.iter().find(|named| named.uid == owner).cloned());
        let OwnerReference {
            api_version,
            kind: owner_kind,
            name,
            ..
        } = named.unwrap_or_default();
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
        self.teller
            .tell(&about, EventNote::warning("OwnerRefInvalidNamespace", "Collect", text));
    }

    /// Looks at an object and does what is to be done.
    async fn attend(&self, uid: &str, monitors: &Monitors) -> Result<(), Failure> {
        let Some(node) = self.graph.lock().get(uid).cloned() else {
            return Ok(());
        };
        let Some((kind, key)) = node.seen else {
            return self.look_for(uid, node.named, monitors).await;
        };
        if node.deleting && !node.foreground && !node.orphaning {
            return Ok(());
        }
        let Some(live) = self.live(&kind, &key, uid).await? else {
            self.forget(uid);
            return Ok(());
        };
        if node.orphaning {
            return Ok(self.orphan(uid, &live).await?);
        }
        if node.foreground {
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
        let blocking = self.graph.lock().blocking(uid);
        let in_circle = {
            let graph = self.graph.lock();
            blocking
                .iter()
                .any(|dependent| graph.get(dependent).is_some_and(|node| node.foreground))
        };
        let has_dependents = self
            .graph
            .lock()
            .get(uid)
            .is_some_and(|node| !node.dependents.is_empty());
        match verdict::decide(&live.meta, &owners, has_dependents, in_circle) {
            Verdict::Keep => Ok(()),
            Verdict::Drop(gone) => Ok(self.drop_owners(&live, &gone).await?),
            Verdict::Delete { policy, unblock } => {
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

    /// An owner that nobody has seen: if it is not there, its dependents are looked at.
    async fn look_for(&self, uid: &str, named: Option<graph::Named>, monitors: &Monitors) -> Result<(), Failure> {
        let Some(named) = named else {
            return Ok(());
        };
        let Some(kind) = monitors.kind(&named.api_version, &named.kind) else {
            return Err(Failure::message(format!("nobody serves {}", named.kind)));
        };
        if kind.is_namespaced() && named.namespace.is_none() {
            return Ok(());
        }
        let namespace = named.namespace.as_deref().filter(|_| kind.is_namespaced());
        let key = ObjectKey::new(namespace, &named.name);
        if self.live(&kind, &key, uid).await?.is_none() {
            self.forget(uid);
        }
        Ok(())
    }

    async fn live(&self, kind: &Kind, key: &ObjectKey, uid: &str) -> Result<Option<Live>, Error> {
        let found = self.client.dynamic(kind.clone()).get_opt(key).await?;
        let same = found.filter(|found| found.metadata.uid.as_deref() == Some(uid));
        Ok(same.map(|found| Live {
            kind: kind.clone(),
            key: key.clone(),
            meta: found.metadata.clone(),
        }))
    }

    async fn state_of(&self, owner: &OwnerReference, of: &Live, monitors: &Monitors) -> Result<Option<Owner>, Failure> {
        let Some(kind) = monitors.kind(&owner.api_version, &owner.kind) else {
            return Err(Failure::message(format!("nobody serves {}", owner.kind)));
        };
        let namespace = of.key.namespace().filter(|_| kind.is_namespaced());
        if kind.is_namespaced() && namespace.is_none() {
            return Ok(None);
        }
        let key = ObjectKey::new(namespace, &owner.name);
        Ok(Some(match self.live(&kind, &key, &owner.uid).await? {
            None => Owner::Absent,
            Some(live) => {
                let waits = live
                    .meta
                    .finalizers
                    .iter()
                    .flatten()
                    .any(|finalizer| finalizer == FOREGROUND);
                if live.meta.deletion_timestamp.is_some() && waits {
                    Owner::Waiting
                } else {
                    Owner::Solid
                }
            }
        }))
    }

    async fn drop_owners(&self, live: &Live, gone: &[String]) -> Result<(), Error> {
        let owners = live.meta.owner_references.iter().flatten();
        let left: Vec<_> = owners.filter(|owner| !gone.contains(&owner.uid)).collect();
        self.patch(live, json!({ "ownerReferences": left })).await
    }

    async fn unblock(&self, live: &Live) -> Result<(), Error> {
        let owners = live.meta.owner_references.iter().flatten().map(|owner| OwnerReference {
            block_owner_deletion: Some(false),
            ..owner.clone()
        });
        self.patch(live, json!({ "ownerReferences": owners.collect::<Vec<_>>() }))
            .await
    }

    /// Takes the owner out of all its dependents, and then lets it go.
    async fn orphan(&self, uid: &str, live: &Live) -> Result<(), Error> {
        let dependents: Vec<_> = {
            let graph = self.graph.lock();
            let dependents = graph.get(uid).into_iter().flat_map(|node| node.dependents.clone());
            dependents
                .filter_map(|dependent| {
                    graph
                        .get(&dependent)?
                        .seen
                        .clone()
                        .map(|(kind, key)| (dependent, kind, key))
                })
                .collect()
        };
        for (dependent, kind, key) in dependents {
            if let Some(dependent) = self.live(&kind, &key, &dependent).await? {
                self.drop_owners(&dependent, &[uid.to_owned()]).await?;
            }
        }
        self.remove_finalizer(live, ORPHAN).await
    }

    /// Lets an owner go when nobody holds it up, or else sees to those who do.
    async fn finish_foreground(&self, uid: &str, live: &Live) -> Result<(), Error> {
        let blocking = self.graph.lock().blocking(uid);
        if blocking.is_empty() {
            return self.remove_finalizer(live, FOREGROUND).await;
        }
        let graph = self.graph.lock();
        for dependent in blocking {
            if !graph.get(&dependent).is_some_and(|node| node.foreground) {
                self.queue.add(dependent);
            }
        }
        Ok(())
    }

    async fn remove_finalizer(&self, live: &Live, finalizer: &str) -> Result<(), Error> {
        let left = live.meta.finalizers.iter().flatten().filter(|own| *own != finalizer);
        let left: Vec<_> = left.collect();
        self.patch(live, json!({ "finalizers": left })).await
    }

    /// Changes the metadata of an object that is still as it was.
    async fn patch(&self, live: &Live, mut change: serde_json::Value) -> Result<(), Error> {
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
