//! The parts around the logic: handlers put keys into the queue, workers take them out, and keys that fail are retried later.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::cache::{Event, Lister, Registration};
use kubewright::events::EventRecorder;
use kubewright::object::{ObjectKey, Record};
use kubewright::queue::{Backoff, QueueOptions, TokenBucket, WorkQueue};
use kubewright::stop::Stop;
use tokio::task::JoinSet;

use crate::api::Foo;
use crate::informer::SharedInformer;

/// How long a worker that panicked is away.
const RECOVERY: Duration = Duration::from_secs(1);

/// How the status of a `Foo` is written; which of the two works depends on its definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StatusBy {
    /// By the status subresource, which changes nothing but the status.
    #[default]
    Subresource,
    /// By an update of the whole object, where a definition has no status subresource.
    Update,
}

/// Why the controller ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It was stopped before it had seen the cluster.
    #[error("failed to wait for caches to sync")]
    NotSynced,
}

/// Keeps the Deployments of all Foos as they should be.
pub struct Controller {
    pub(crate) kube: kube::Client,
    pub(crate) foos: Lister<Foo>,
    pub(crate) deployments: Lister<Deployment>,
    pub(crate) recorder: EventRecorder,
    pub(crate) status_by: StatusBy,
    queue: WorkQueue<ObjectKey>,
    /// As long as they are there, the handlers are called.
    _handlers: [Registration; 2],
}

impl Controller {
    /// A controller whose queue is fed from now on.
    pub fn new(
        kube: kube::Client,
        foos: &SharedInformer<Foo>,
        deployments: &SharedInformer<Deployment>,
        recorder: EventRecorder,
        status_by: StatusBy,
    ) -> Self {
        let queue = WorkQueue::new(rate_limits());
        tracing::info!("Setting up event handlers");
        let on_foo = foos.add_event_handler({
            let queue = queue.clone();
            move |event: &Event| match event {
                Event::Added { object, .. } | Event::Updated { new: object, .. } => queue.add(object.key().clone()),
                // Nothing is left to do: what the Foo made goes with it.
                Event::Deleted { .. } => {}
            }
        });
        let on_deployment = deployments.add_event_handler({
            let (queue, foos) = (queue.clone(), foos.lister());
            move |event: &Event| match event {
                Event::Updated { old, new } if old.resource_version() == new.resource_version() => {
                    // A resync tells of every Deployment; two versions of one always differ.
                }
                Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                    handle_object(object, &foos, &queue);
                }
                Event::Deleted { last, known } => {
                    if !known {
                        // It went while nobody watched: this is its tombstone, with the last state that was seen.
                        tracing::debug!(object = %last.key(), "Recovered deleted object");
                    }
                    handle_object(last, &foos, &queue);
                }
            }
        });
        Controller {
            kube,
            foos: foos.lister(),
            deployments: deployments.lister(),
            recorder,
            status_by,
            queue,
            _handlers: [on_foo, on_deployment],
        }
    }

    /// Waits for the caches, then works until asked to stop, and finishes what it is at.
    pub async fn run(
        self,
        foos: &SharedInformer<Foo>,
        deployments: &SharedInformer<Deployment>,
        workers: usize,
        stop: Stop,
    ) -> Result<(), RunError> {
        tracing::info!("Starting Foo controller");
        tracing::info!("Waiting for informer caches to sync");
        tokio::select! {
            () = async { foos.synced().await; deployments.synced().await } => {}
            () = stop.stopped() => return Err(RunError::NotSynced),
        }
        tracing::info!(count = workers, "Starting workers");
        let controller = Arc::new(self);
        let mut running = JoinSet::new();
        for _ in 0..workers {
            running.spawn(Arc::clone(&controller).run_worker());
        }
        tracing::info!("Started workers");
        loop {
            tokio::select! {
                () = stop.stopped() => break,
                // Before the queue is shut down, only a panic ends a worker. Its key is free again, but nobody asked for it to be
                // tried again: that happens with the next event, or the next resync.
                Some(Err(error)) = running.join_next() => {
                    tracing::error!(%error, "A worker panicked; starting another");
                    let controller = Arc::clone(&controller);
                    running.spawn(async move {
                        tokio::time::sleep(RECOVERY).await;
                        controller.run_worker().await;
                    });
                }
            }
        }
        tracing::info!("Shutting down workers");
        controller.queue.shut_down();
        while running.join_next().await.is_some() {}
        Ok(())
    }

    async fn run_worker(self: Arc<Self>) {
        while self.process_next_work_item().await {}
    }

    /// Takes one key and works on it; `false` once the queue is shut down. Two workers never have the same key: the queue gives it
    /// out again only when the job is dropped.
    async fn process_next_work_item(&self) -> bool {
        let Some(job) = self.queue.get().await else {
            return false;
        };
        let key = job.key();
        match self.sync_handler(key).await {
            Ok(()) => {
                // Its next failure waits the shortest time again.
                self.queue.forget(key);
                tracing::info!(object = %key, "Successfully synced");
            }
            Err(error) => {
                tracing::error!(object = %key, %error, "Error syncing; requeuing for later retry");
                self.queue.add_rate_limited(key.clone());
            }
        }
        true
    }
}

/// Each key waits longer with each of its failures, from 5 ms to 1000 s; and all keys together are retried no more than 50 times a
/// second, after a burst of 300. The longer of the two counts.
fn rate_limits() -> QueueOptions {
    let burst = NonZeroU32::new(300).unwrap_or(NonZeroU32::MIN);
    QueueOptions {
        backoff: Backoff {
            base: Duration::from_millis(5),
            max: Duration::from_secs(1000),
        },
        bucket: Some(TokenBucket::new(Duration::from_millis(20), burst)),
        ..QueueOptions::default()
    }
}

/// Wakes the Foo that controls an object, if there is one.
fn handle_object(object: &Arc<Record>, foos: &Lister<Foo>, queue: &WorkQueue<ObjectKey>) {
    tracing::debug!(object = %object.key(), "Processing object");
    let Some(owner) = object.controller().filter(|owner| owner.kind == "Foo") else {
        return;
    };
    let foo = ObjectKey::new(object.key().namespace(), &owner.name);
    if foos.store().get(foo.as_str()).is_none() {
        tracing::debug!(object = %object.key(), foo = %foo, "Ignore orphaned object");
        return;
    }
    queue.add(foo);
}
