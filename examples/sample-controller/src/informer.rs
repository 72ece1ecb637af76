//! One kind, kept in memory: a reflector fills a store, handlers hear of its changes, listers read it.
//! client-go calls it a shared informer; `kubewright::informer::Cache` is a factory of ready-made ones.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use kubewright::cache::{EventHandler, Indexes, Lister, Registration, Store};
use kubewright::object::{Kind, Object};
use kubewright::random::Random;
use kubewright::reflector::{Reflector, Target};
use tokio::task::JoinSet;

/// Everything there is of one kind.
#[derive(Debug)]
pub struct SharedInformer<K> {
    store: Store,
    resync: Duration,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> SharedInformer<K> {
    /// One that has not begun. Every `resync` its handlers are told of everything again.
    pub fn new(resync: Duration) -> Self {
        SharedInformer {
            store: Store::new(Kind::of::<K>(), Indexes::default()),
            resync,
            kind: PhantomData,
        }
    }

    /// The cached objects as Rust values. They are shared: who wants to change one clones it.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.store.clone())
    }

    /// Tells a handler of every object there is and of every change from then on, until the registration is dropped.
    pub fn add_event_handler(&self, handler: impl EventHandler + 'static) -> Registration {
        self.store.add_handler(Arc::new(handler))
    }

    /// Begins to list and watch. It goes on until the tasks are dropped, whatever the server does.
    pub fn start(&self, kube: &kube::Client, random: Random, tasks: &mut JoinSet<()>) {
        let target = Target::new(self.store.kind().clone());
        let reflector = Reflector::new(kube.clone(), target, self.store.writer(None), random);
        tasks.spawn(reflector.run());
        let (store, resync) = (self.store.clone(), self.resync);
        tasks.spawn(async move {
            store.synced().await;
            loop {
                tokio::time::sleep(resync).await;
                store.resync();
            }
        });
    }

    /// Waits until the first list is in the store.
    pub async fn synced(&self) {
        self.store.synced().await;
    }
}
