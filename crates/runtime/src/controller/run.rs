//! A running controller: events into the queue, requests out of it, one span around each reconcile.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::action::{Action, Failure, Next};
use super::builder::Controller;
use super::handler::Mapping;
use super::reconciler::{AnyReconciler, Context, Request};
use super::stats::ControllerStats;
use super::watch::{Trigger, Watch};
use crate::cache::{Event, Registration, UnknownIndex};
use crate::client::Client;
use crate::events::EventRecorder;
use crate::metrics::{QueueTimes, Registry};
use crate::object::Kind;
use crate::queue::{Add, Job, LOW_PRIORITY, When, WorkQueue};
use crate::random::Random;
use crate::stop::Stop;
use crate::trace::{Outcome, RawCause, RawChange, RawEvent, Trace, in_reconcile};

/// What a controller runs in.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Reads and writes.
    pub client: Client,
    /// Where reconcile ids come from.
    pub random: Random,
    /// When to end.
    pub stop: Stop,
    /// Where it counts.
    pub stats: ControllerStats,
    /// Where its events go.
    pub events: EventRecorder,
    /// Where a reconciler finds metrics of its own.
    pub registry: Registry,
    /// Where it records what happens.
    pub trace: Trace,
}

impl Controller {
    /// Runs until it is asked to stop; then finishes the reconciles that are under way. Dropping it ends them at once.
    ///
    /// It begins to reconcile when the cache has seen everything the controller watches or reads. A kind that is not served yet
    /// is waited for. A reconciler that wants an index which nobody declares is an error before anything is reconciled.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
    /// # let kube = server.client();
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_runtime::random::Random;
    /// use kubewright_runtime::client::Client;
    /// use kubewright_runtime::controller::{Action, Controller, ControllerStats, Environment, Request};
    /// use kubewright_runtime::events::EventRecorder;
    /// use kubewright_runtime::informer::{Cache, Declarations};
    /// use kubewright_runtime::metrics::Registry;
    /// use kubewright_runtime::stop::Stopper;
    /// use kubewright_runtime::trace::Trace;
    /// use std::time::Duration;
    ///
    /// let controller = Controller::of::<Namespace>()
    ///     .reconcile_with(|_| |request: Request| async move { println!("{request}"); Ok(Action::done()) });
    /// let mut declarations = Declarations::default();
    /// controller.declare(&mut declarations);
    /// let cache = Cache::new(declarations)?;
    /// let random = Random::seeded(1);
    /// let _watches = cache.start(&kube, &random);
    /// let (stopper, stop) = Stopper::new();
    /// let stats = ControllerStats::default();
    /// let environment = Environment {
    ///     client: Client::new(kube, cache),
    ///     random,
    ///     stop,
    ///     stats: stats.clone(),
    ///     events: EventRecorder::discarding(),
    ///     registry: Registry::new(),
    ///     trace: Trace::off(),
    /// };
    /// let running = tokio::spawn(async move { controller.run(environment).await });
    /// tokio::time::sleep(Duration::from_secs(1)).await;
    /// assert!(stats.snapshot().success >= 4); // the namespaces of every cluster
    /// stopper.stop();
    /// running.await??;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run(&self, environment: Environment) -> Result<(), UnknownIndex> {
        let queue = WorkQueue::new(self.queue);
        self.run_when(environment, queue, None, std::future::ready(())).await
    }

    /// The same with a queue that others look at; `times` are its metrics. Nothing is reconciled before `may_work` ends: until
    /// then sources run and the queue fills. This is how a standby replica warms up.
    pub(crate) async fn run_when(
        &self,
        environment: Environment,
        queue: WorkQueue<Request>,
        times: Option<QueueTimes>,
        may_work: impl Future<Output = ()> + Send,
    ) -> Result<(), UnknownIndex> {
        let Some(factory) = &self.factory else {
            tracing::error!(
                controller = self.name,
                "the controller has no reconciler: use `reconcile_with`"
            );
            return Ok(());
        };
        let client = environment.client.field_owner(self.name.as_str());
        let mut tasks = JoinSet::new();
        let name: Arc<str> = self.name.as_str().into();
        let traced = (Arc::clone(&name), environment.trace.clone());
        let _registrations = self.register(&client, &queue, &traced, &mut tasks);
        let ready = async {
            for kind in self.needs() {
                if let Some(informer) = client.cache().informer(kind) {
                    informer.store().synced().await;
                }
            }
        };
        tokio::select! {
            biased;
            () = environment.stop.stopped() => return Ok(()),
            () = ready => {}
        }
        for source in &self.sources {
            let trigger = Trigger {
                queue: queue.clone(),
                controller: Arc::clone(&name),
                trace: environment.trace.clone(),
            };
            tasks.spawn(source.run(trigger, client.clone()));
        }
        tokio::select! {
            biased;
            () = environment.stop.stopped() => return Ok(()),
            () = may_work => {}
        }
        // Only now: a reconciler may register with what its sources have left for it, and one that stands by does nothing.
        let context = Context {
            client,
            events: environment.events.named(&self.name),
            registry: environment.registry.clone(),
            missing: Arc::default(),
        };
        let reconciler = factory(&context);
        if let Some(missing) = context.missing.lock().pop() {
            return Err(missing);
        }
        let worker = Arc::new(Worker {
            controller: name,
            kind: self.kind.to_string(),
            reconciler,
            timeout: self.timeout,
            random: environment.random.clone(),
            stats: environment.stats.clone(),
            trace: environment.trace.clone(),
            times,
        });
        tracing::info!(controller = self.name, workers = self.concurrency, "started");
        let mut workers = JoinSet::new();
        for _ in 0..self.concurrency.get() {
            workers.spawn(Arc::clone(&worker).work(queue.clone(), environment.stop.clone()));
        }
        while workers.join_next().await.is_some() {}
        tracing::info!(controller = self.name, "stopped");
        Ok(())
    }

    /// Connects the stores to the queue.
    fn register(
        &self,
        client: &Client,
        queue: &WorkQueue<Request>,
        (name, trace): &(Arc<str>, Trace),
        tasks: &mut JoinSet<()>,
    ) -> Vec<Registration> {
        let mut registrations = Vec::new();
        for watch in &self.watches {
            let Some(informer) = client.cache().informer(&watch.kind) else {
                tracing::error!(controller = self.name, kind = %watch.kind, "watched, but not declared");
                continue;
            };
            let feed = StoreHandler {
                watch: watch.clone(),
                watched: Arc::clone(informer.store().shared_kind()),
                controller: self.clone(),
                kind: self.kind.clone(),
                queue: queue.clone(),
                name: Arc::clone(name),
                trace: trace.clone(),
            };
            if matches!(watch.mapping, Mapping::Later(_)) {
                let mut events = informer.store().subscribe();
                let client = client.clone();
                tasks.spawn(async move {
                    while let Some(event) = events.next().await {
                        feed.take_later(&client, &event).await;
                    }
                });
            } else {
                let handler = move |event: &Event| feed.take(event);
                registrations.push(informer.store().add_handler(Arc::new(handler)));
            }
        }
        registrations
    }
}

/// A handler of a store's events that adds requests to the controller's queue.
struct StoreHandler {
    watch: Watch,
    /// The kind that is watched.
    watched: Arc<Kind>,
    controller: Controller,
    kind: Kind,
    queue: WorkQueue<Request>,
    name: Arc<str>,
    trace: Trace,
}

impl StoreHandler {
    fn admits(&self, event: &Event) -> bool {
        self.watch.admits(event)
            && self
                .controller
                .predicate
                .as_ref()
                .is_none_or(|predicate| predicate.admits(event))
    }

    fn take(&self, event: &Event) {
        if self.admits(event) {
            self.add(
                event,
                self.watch.mapping.requests(&self.kind, event).unwrap_or_default(),
            );
        }
    }

    async fn take_later(&self, client: &Client, event: &Event) {
        if self.admits(event) {
            self.add(
                event,
                self.watch.mapping.requests_later(&self.kind, client, event).await,
            );
        }
    }

    fn add(&self, event: &Event, requests: Vec<Request>) {
        let priority = if event.is_background() { LOW_PRIORITY } else { 0 };
        for request in requests {
            let now = Instant::now();
            // Recorded before the request is queued; otherwise its reconcile might begin first.
            self.trace.record_at(now, || RawEvent::Queued {
                controller: Arc::clone(&self.name),
                key: request.key().clone(),
                cause: RawCause::Object(RawChange::of(&self.watched, event)),
            });
            let add = Add {
                priority,
                when: When::Now,
            };
            self.queue.add_at(request, add, now);
        }
    }
}

struct Worker {
    controller: Arc<str>,
    kind: String,
    reconciler: Arc<dyn AnyReconciler>,
    timeout: Option<Duration>,
    random: Random,
    stats: ControllerStats,
    trace: Trace,
    times: Option<QueueTimes>,
}

impl Worker {
    async fn work(self: Arc<Self>, queue: WorkQueue<Request>, stop: Stop) {
        loop {
            let job = tokio::select! {
                biased;
                () = stop.stopped() => return,
                job = queue.get() => job,
            };
            let Some(job) = job else {
                return;
            };
            let request = job.key();
            let span = tracing::info_span!(
                "reconcile",
                controller = &*self.controller,
                kind = self.kind,
                namespace = request.namespace().unwrap_or_default(),
                // Not `name`: lines in JSON have the span's own name there.
                object = request.name(),
                reconcile_id = self.random.uuid(),
            );
            in_reconcile(&self.trace, self.reconcile(&job).instrument(span)).await;
        }
    }

    async fn reconcile(&self, job: &Job<Request>) {
        let began = Instant::now();
        self.stats.began();
        self.trace.record_at(began, || RawEvent::Began {
            controller: Arc::clone(&self.controller),
            key: job.key().key().clone(),
            waited: job.waited(),
        });
        if let Some(times) = &self.times {
            times.waited.observe_duration(job.waited());
        }
        let mut timer = ReconcileTimer {
            stats: &self.stats,
            began,
            ended: None,
        };
        let result = self.attempt(job.key().clone()).await;
        let now = Instant::now();
        let took = now.duration_since(began);
        if let Some(times) = &self.times {
            times.worked.observe_duration(took);
        }
        let failure = result.as_ref().err();
        let is_terminal = failure.is_some_and(Failure::is_terminal);
        let error = failure.filter(|_| self.trace.is_on());
        let error = error.map(|error| error.redacted().into());
        let outcome = self.conclude(job, result);
        self.trace.record_at(now, || RawEvent::Ended {
            controller: Arc::clone(&self.controller),
            key: job.key().key().clone(),
            outcome,
            error,
            is_terminal,
            took,
        });
        timer.end(outcome, took);
    }

    /// One call of the reconciler. A panic and a timeout are failures like others.
    async fn attempt(&self, request: Request) -> Result<Action, Failure> {
        let reconcile = AssertUnwindSafe(async { self.reconciler.reconcile_any(request).await }).catch_unwind();
        let result = match self.timeout {
            None => Ok(reconcile.await),
            Some(timeout) => tokio::time::timeout(timeout, reconcile).await.map_err(|_| timeout),
        };
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => {
                self.stats.panicked();
                Err(Failure::message(format!("panic: {} [recovered]", panic_text(&*panic))))
            }
            Err(timeout) => {
                self.stats.timed_out();
                Err(Failure::message(format!("the reconcile took longer than {timeout:?}")))
            }
        }
    }

    /// Decides what happens to the request.
    fn conclude(&self, job: &Job<Request>, result: Result<Action, Failure>) -> Outcome {
        let (request, queue, priority) = (job.key(), job.queue(), job.priority());
        let again = |when, outcome| {
            let after = queue.add_with(request.clone(), Add { priority, when });
            // Recorded when the delay is known: the key is still running, so that its next reconcile cannot begin before this.
            if let Some(after) = after {
                self.trace.record(|| RawEvent::Queued {
                    controller: Arc::clone(&self.controller),
                    key: request.key().clone(),
                    cause: RawCause::Again { outcome, after },
                });
            }
        };
        match result {
            Ok(Action(Next::Done)) => {
                queue.forget(request);
                tracing::debug!("reconciled");
                Outcome::Success
            }
            Ok(Action(Next::After(delay))) => {
                queue.forget(request);
                again(When::After(delay), Outcome::RequeueAfter);
                tracing::debug!(?delay, "reconciled; again after a delay");
                Outcome::RequeueAfter
            }
            Ok(Action(Next::RateLimited)) => {
                again(When::RateLimited, Outcome::Requeue);
                tracing::debug!("reconciled; again soon");
                Outcome::Requeue
            }
            Err(failure) => {
                self.stats.failed(format!("{request}: {}", failure.redacted()));
                if failure.is_terminal() {
                    queue.forget(request);
                    self.stats.failed_for_good();
                    tracing::error!(error = %failure, "the reconcile failed and is not tried again");
                } else {
                    again(When::RateLimited, Outcome::Error);
                    tracing::error!(error = %failure, failures = queue.num_requeues(request), "the reconcile failed");
                }
                Outcome::Error
            }
        }
    }
}

/// Reports the outcome and the duration of a reconcile when it is dropped, so that a cancelled one counts, too.
struct ReconcileTimer<'a> {
    stats: &'a ControllerStats,
    began: Instant,
    /// `None`: not yet.
    ended: Option<(Outcome, Duration)>,
}

impl ReconcileTimer<'_> {
    fn end(&mut self, outcome: Outcome, took: Duration) {
        self.ended = Some((outcome, took));
    }
}

impl Drop for ReconcileTimer<'_> {
    fn drop(&mut self) {
        let (outcome, took) = self.ended.unwrap_or_else(|| (Outcome::Error, self.began.elapsed()));
        self.stats.ended(outcome, took);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("of unknown kind")
}
