//! Runs the state machine of an election on tokio's clock and a real lease.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::kube_lock::KubeLock;
use super::leadership::{Leadership, Role, Status};
use super::lock::{Lock, Problem};
use super::machine::{Command, Input, Machine, StepInstant};
use super::options::{ElectionOptions, OptionsError, identity};
use crate::client::Fence;
use crate::clock::Clock;
use crate::events::{EventNote, EventRecorder};
use crate::metrics::LeaderMetrics;
use crate::random::Random;
use crate::stop::Stop;

/// The lease could not be renewed in time, or another candidate holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("leader election lost")]
pub struct Lost;

/// One candidate of an election. Nothing happens until it [runs](Self::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let client = server.client();
/// use kubewright_runtime::lease::{Election, ElectionOptions};
/// use kubewright_runtime::stop::Stopper;
///
/// let (stopper, stop) = Stopper::new();
/// let election = Election::new(client, ElectionOptions::new("default", "shop-leader")).unwrap();
/// let (leadership, fence) = (election.leadership(), election.fence());
/// assert!(fence.check().is_err());
/// let running = tokio::spawn(election.run(stop));
///
/// assert!(leadership.elected().await);
/// assert!(fence.check().is_ok());
/// stopper.stop();
/// running.await.unwrap().unwrap(); // the lease is given back
/// assert!(fence.check().is_err());
/// # }
/// ```
pub struct Election {
    client: kube::Client,
    options: ElectionOptions,
    identity: String,
    parts: ElectionParts,
}

/// The dependencies of an election.
pub(super) struct ElectionParts {
    pub(super) clock: Clock,
    pub(super) random: Random,
    pub(super) fence: Fence,
    pub(super) metrics: Option<LeaderMetrics>,
    pub(super) events: Option<EventRecorder>,
    pub(super) status: watch::Sender<Status>,
}

impl Election {
    /// A candidate.
    pub fn new(client: kube::Client, options: ElectionOptions) -> Result<Self, OptionsError> {
        options.check()?;
        let random = Random::from_entropy();
        let identity = options.identity.clone().unwrap_or_else(|| identity(&random));
        Ok(Election {
            client,
            options,
            parts: ElectionParts::new(&identity, random),
            identity,
        })
    }

    /// The clock whose time is written into the lease. Default: the machine's.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Where pauses take their jitter from, and the identity if none was given. Default: entropy.
    pub(crate) fn with_random(mut self, random: Random) -> Self {
        if self.options.identity.is_none() {
            self.identity = identity(&random);
            self.parts
                .status
                .send_modify(|status| status.identity.clone_from(&self.identity));
        }
        self.parts.random = random;
        self
    }

    /// The fence to open and close, if there is one already. It is closed at once.
    pub(crate) fn with_fence(mut self, fence: Fence) -> Self {
        fence.close();
        self.parts.fence = fence;
        self
    }

    /// Where to show who leads.
    pub(crate) fn with_metrics(mut self, metrics: LeaderMetrics) -> Self {
        metrics.master_status.with([&self.options.name]).set(0.0);
        self.parts.metrics = Some(metrics);
        self
    }

    /// Where to record that we became leader or stopped leading.
    pub(crate) fn with_events(mut self, events: EventRecorder) -> Self {
        self.parts.events = Some(events);
        self
    }

    /// Lets writes pass while we lead.
    pub fn fence(&self) -> Fence {
        self.parts.fence.clone()
    }

    /// Tells how it stands.
    pub fn leadership(&self) -> Leadership {
        self.parts.leadership(&self.options)
    }

    /// The identity of this candidate.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Tries to become leader, then stays it, until asked to stop or until the lease is lost.
    ///
    /// Ask it to stop when everything that writes has stopped: the fence closes then, and the lease is given back.
    pub async fn run(self, stop: Stop) -> Result<(), Lost> {
        let lock = KubeLock::new(self.client, &self.options);
        run(lock, self.options, self.identity, self.parts, stop).await
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election")
            .field("options", &self.options)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl ElectionParts {
    pub(super) fn new(identity: &str, random: Random) -> Self {
        let (status, _) = watch::channel(Status {
            role: Role::Standby,
            identity: identity.to_owned(),
            leader: None,
            transitions: 0,
            renewed: None,
        });
        ElectionParts {
            clock: Clock::system(),
            random,
            fence: Fence::closed(),
            metrics: None,
            events: None,
            status,
        }
    }

    pub(super) fn leadership(&self, options: &ElectionOptions) -> Leadership {
        Leadership {
            status: self.status.subscribe(),
            lease: options.name.clone(),
            lease_duration: options.lease_duration,
        }
    }
}

/// A running election.
struct Running<L> {
    machine: Machine,
    lock: L,
    options: ElectionOptions,
    identity: String,
    parts: ElectionParts,
    /// Where the machine's moments count from.
    epoch: Instant,
    slow_paths: u64,
}

pub(super) async fn run<L: Lock>(
    lock: L,
    options: ElectionOptions,
    identity: String,
    parts: ElectionParts,
    stop: Stop,
) -> Result<(), Lost> {
    let mut running = Running {
        machine: Machine::new(options.clone(), identity.clone()),
        lock,
        options,
        identity,
        parts,
        epoch: Instant::now(),
        slow_paths: 0,
    };
    tracing::info!(
        lease = running.options.name,
        identity = running.identity,
        "attempting to acquire leader lease"
    );
    let result = tokio::select! {
        biased;
        () = stop.stopped() => Ok(()),
        lost = running.drive() => Err(lost),
    };
    running.end().await;
    result
}

impl<L: Lock> Running<L> {
    async fn drive(&mut self) -> Lost {
        let mut input = Input::Awake;
        loop {
            let command = self.machine.step(self.now(), input);
            self.show();
            input = match command {
                Command::GiveUp => return Lost,
                Command::WaitUntil(moment) => {
                    sleep_until(self.epoch + moment).await;
                    Input::Awake
                }
                request => self.send(request).await,
            };
        }
    }

    /// Sends a request. Its timeout leaves time for another attempt, and does not exceed the wait of the state machine.
    async fn send(&mut self, request: Command) -> Input {
        let patience = Instant::now() + self.options.request_timeout();
        let patience = match self.machine.deadline() {
            Some(deadline) => patience.min(self.epoch + deadline),
            None => patience,
        };
        let lock = &mut self.lock;
        let answer = async {
            match &request {
                Command::Create(record) => lock.create(record).await.map(|()| Input::Written),
                Command::Update(record) => lock.update(record).await.map(|()| Input::Written),
                _ => lock.read().await.map(Input::Read),
            }
        };
        let answer = timeout_at(patience, answer).await;
        answer
            .unwrap_or_else(|_| Err(Problem("no answer in time".to_owned())))
            .unwrap_or_else(|problem| {
                tracing::debug!(lease = self.options.name, %problem, "the lease was not read or written");
                Input::Failed
            })
    }

    fn now(&self) -> StepInstant {
        StepInstant {
            moment: self.epoch.elapsed(),
            wall: self.parts.clock.now(),
            random: self.parts.random.jittered(Duration::from_secs(1), 1.0).as_secs_f64() - 1.0,
        }
    }

    /// Lets everybody know what the machine knows; the fence first.
    fn show(&mut self) {
        match self.machine.writes_until() {
            Some(moment) => self.parts.fence.open_until(self.epoch + moment),
            None => self.parts.fence.close(),
        }
        let slow_paths = self.machine.slow_paths();
        if let Some(metrics) = &self.parts.metrics
            && slow_paths > self.slow_paths
        {
            metrics
                .slowpath
                .with([&self.options.name])
                .inc_by((slow_paths - self.slow_paths) as f64);
        }
        self.slow_paths = slow_paths;
        let was = self.parts.status.borrow().clone();
        let leads = self.machine.is_leader();
        let renewed = self
            .machine
            .writes_until()
            .map(|until| self.epoch + until - self.options.renew_deadline);
        let status = Status {
            role: if leads { Role::Leading } else { was.role },
            leader: Some(self.machine.holder().to_owned()).filter(|holder| !holder.is_empty()),
            transitions: self.machine.transitions(),
            renewed: renewed.or(was.renewed),
            identity: was.identity,
        };
        if status.leader != was.leader
            && let Some(leader) = &status.leader
        {
            tracing::info!(lease = self.options.name, leader, "new leader");
        }
        let began = leads && was.role != Role::Leading;
        self.parts.status.send_replace(status);
        if began {
            tracing::info!(lease = self.options.name, identity = self.identity, "became leader");
            self.record("became leader");
            if let Some(metrics) = &self.parts.metrics {
                metrics.master_status.with([&self.options.name]).set(1.0);
            }
        }
    }

    /// Closes the fence, reports that the election ended, then releases the lease if this candidate holds it.
    async fn end(&mut self) {
        self.parts.fence.close();
        let led = self.parts.status.borrow().role == Role::Leading;
        self.parts.status.send_modify(|status| status.role = Role::Ended);
        if let Some(metrics) = &self.parts.metrics {
            metrics.master_status.with([&self.options.name]).set(0.0);
        }
        if led {
            tracing::info!(lease = self.options.name, identity = self.identity, "stopped leading");
            self.record("stopped leading");
        }
        if self.options.release_on_exit {
            // Not only if we led: the request that would have made us leader may have been cut off.
            let patience = Instant::now() + self.options.renew_deadline;
            match timeout_at(patience, self.release()).await {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => tracing::warn!(lease = self.options.name, %problem, "the lease was not released"),
                Err(_) => tracing::warn!(lease = self.options.name, "the lease was not released in time"),
            }
        }
    }

    async fn release(&mut self) -> Result<(), Problem> {
        let Some(lease) = self.lock.read().await? else {
            return Ok(());
        };
        match self.machine.release(self.parts.clock.now(), &lease) {
            Some(released) => self.lock.update(&released).await,
            None => Ok(()),
        }
    }

    fn record(&self, what: &str) {
        if let Some(events) = &self.parts.events {
            let lease = crate::events::Reference {
                api_version: "coordination.k8s.io/v1".to_owned(),
                kind: "Lease".to_owned(),
                name: self.options.name.clone(),
                namespace: Some(self.options.namespace.clone()),
                ..Default::default()
            };
            events.record(
                &lease,
                EventNote::normal("LeaderElection", "LeaderElection", format!("{} {what}", self.identity)),
            );
        }
    }
}
