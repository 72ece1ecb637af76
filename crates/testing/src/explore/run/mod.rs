//! One run: the steps of a scenario, and what a plan does to them. Everything here is about [`Run`]: how it is [asked for](request), how
//! it takes a [`step`], [settles](settle), [follows](follow) the cluster, and looks at what there is at a [`boundary`].

mod boundary;
mod checks;
mod down;
mod edit;
mod follow;
mod hold;
mod request;
mod settle;
mod step;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kubewright_apiserver::ApiServer;
use kubewright_runtime::clock::Clock;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

pub(super) use self::request::{RunRequest, in_thread, seed_after};
use super::canonical;
use super::cluster::Cluster;
use super::compare::Difference;
use super::external::ExternalInstance;
use super::observation::{Checkpoint, ClusterChange, Ledger, Observation};
use super::plan::{Disturbance, ObjectName, Plan};
use crate::env::Resumed;
use crate::traffic::{Journal, Right, Signal, Traffic, WebhookCall};
use crate::{Error, TestEnv};

/// How much time passes after each step, so that what an operator does later is seen.
const REST: Duration = Duration::from_mins(1);

struct Run<'a> {
    request: &'a RunRequest<'a>,
    env: Arc<TestEnv>,
    server: ApiServer,
    signals: UnboundedReceiver<Signal>,
    cluster: Cluster,
    ledger: Ledger,
    problems: Vec<Difference>,
    /// How often reconciles panicked, in managers that have ended.
    panics: u64,
    /// The names of problems that are accepted: the run goes on after them.
    tolerated: BTreeSet<String>,
    /// Whether the step could not be taken: what comes after it says nothing.
    is_given_up: bool,
    /// Whether the operator was seen to come to no rest. It is not waited for any more: it would only make more and more.
    is_restless: bool,
    /// The step that is taken.
    step: usize,
    reached: bool,
    changes: Vec<ClusterChange>,
    /// The newest revision, and since when it is that.
    newest: (u64, Instant),
    /// The server's revision up to which the cluster was followed.
    followed: u64,
    /// How many writes the ledger knows for good.
    learned: usize,
    foreign: Option<(ObjectName, Value)>,
    refused_edit: Option<usize>,
    /// Whether the object that a plan changes was created.
    is_created_so: Option<Arc<AtomicBool>>,
    external: Option<ExternalInstance>,
    /// As in an observation.
    webhook_calls: Vec<(usize, WebhookCall)>,
    reads_in_steps: BTreeMap<(usize, Right), u64>,
}

impl<'a> Run<'a> {
    async fn start(request: &'a RunRequest<'a>, base: &'a Checkpoint) -> Result<Self, Error> {
        let scenario = request.scenario;
        let (from, seed, starts) = match request.from {
            Some((first, from)) => (from, seed_after(scenario.seed, first), first + 1),
            None => (base, scenario.seed, 0),
        };
        let now = from.now;
        let server = from.server.fork_at(now, seed);
        let clock = Clock::starting_at(now);
        let (rewrite, is_created_so) = match request.plan.map(|plan| &plan.disturbance) {
            Some(Disturbance::CreatedSo(edit)) => {
                let (rewrite, done) = edit::rewrite(edit, &from.namespace);
                (Some(rewrite), Some(done))
            }
            _ => (None, None),
        };
        let external = scenario.external.as_ref();
        let external = external.map(|external| external.start(from.external.as_ref()));
        let operator = match &external {
            Some(external) => Arc::clone(&external.operator),
            None => Arc::clone(&scenario.operator),
        };
        let revision = server.clone();
        let (journal, signals) = Journal::new(move || revision.revision());
        let resumed = Resumed {
            server: server.clone(),
            clock,
            traffic: Traffic::journaled(journal),
            namespace: Some(from.namespace.clone()),
            rewrite,
            starts: u64::try_from(starts).unwrap_or(u64::MAX),
            is_idle: false,
            operator: Arc::clone(&operator),
            operator_clock: match request.plan.map(|plan| &plan.disturbance) {
                Some(Disturbance::Clock(skew)) => skew.clock(now),
                _ => clock,
            },
            replicated: request.plan.is_some_and(Plan::needs_replicas),
        };
        let mut builder = (scenario.environment)(TestEnv::builder());
        if let Some(most) = request.most_writes() {
            builder = builder.write_budget_at_most(most);
        }
        let builder = builder
            .operator(operator())
            .external(external.as_ref().map(|external| Arc::clone(&external.system)))
            .seed(scenario.seed)
            .tolerate_refusals();
        let env = Arc::new(Box::pin(builder.resume(resumed).try_start()).await?);
        let mut run = Run {
            request,
            server,
            signals,
            cluster: from.cluster.clone(),
            ledger: from.ledger.clone(),
            problems: Vec::new(),
            panics: 0,
            tolerated: BTreeSet::new(),
            is_given_up: false,
            is_restless: false,
            step: request.first(),
            reached: request.plan.is_none(),
            foreign: None,
            changes: Vec::new(),
            newest: (0, Instant::now()),
            followed: 0,
            learned: 0,
            refused_edit: None,
            is_created_so,
            external,
            webhook_calls: Vec::new(),
            reads_in_steps: BTreeMap::new(),
            env,
        };
        run.settle(None).await;
        run.follow();
        if request.from.is_none() {
            run.cluster.set_base();
            run.ledger = Ledger::new(&run.cluster);
        }
        Ok(run)
    }

    async fn steps(&mut self, observation: &mut Observation) {
        if matches!(self.request.plan, Some(plan) if plan.disturbance == Disturbance::Restart) {
            self.check_restart();
        }
        for step in self.request.first()..self.request.scenario.steps.len() {
            self.step = step;
            if self.request.keep_checkpoints {
                observation.checkpoints.push(self.checkpoint());
            }
            observation.began.push(self.cluster.revision());
            let is_disturbed = self.plan_of_step().is_some();
            self.take_step().await;
            self.note_webhook_calls();
            if self.is_given_up {
                break;
            }
            let boundary = self.boundary().await;
            observation.boundaries.push(boundary);
            if !self.problems.is_empty() || (is_disturbed && self.request.plan.is_some_and(Plan::is_the_last)) {
                break;
            }
        }
    }

    fn finish(mut self, observation: &mut Observation) {
        self.count_panics();
        if self.panics > 0 {
            self.problem("a reconcile panicked", Vec::new());
        }
        // A cache that is behind because of the plan may fail reads; they are tried again.
        let may_be_late = self.request.plan.is_some_and(Plan::makes_reads_late);
        if let Err(error) = self.env.check_reads()
            && !may_be_late
        {
            self.problem("a read times out", vec![error.text()]);
        }
        for refusal in self.env.take_refusals() {
            self.problem(format!("refused: {}", refusal.rbac), vec![refusal.message]);
        }
        observation.writes = self.journal().take_writes();
        observation.reads = self.journal().reads();
        observation.changes = std::mem::take(&mut self.changes);
        observation.trace = self.env.trace().records();
        self.env.namespace().clone_into(&mut observation.namespace);
        let has_webhooks = self.env.with_manager(|manager| manager.has_webhooks);
        observation.has_webhooks = has_webhooks.unwrap_or_default();
        observation.webhook_calls = self.webhook_calls;
        observation.reads_in_steps = self.reads_in_steps;
        observation.watched = self.env.traffic().watched();
        observation.problems = self.problems;
        observation.tolerated = self.tolerated;
        observation.reached = self.reached;
        observation.refused_edit = self.refused_edit;
    }

    /// Counts the panics of a manager that has come to its end.
    fn count_panics(&mut self) {
        let panics = self.env.with_manager(|manager| {
            let stats = manager.stats.iter();
            stats.map(|(_, stats)| stats.snapshot().panics).sum::<u64>()
        });
        self.panics += panics.unwrap_or_default();
    }

    /// Whether the test itself has changed something since a revision.
    fn has_change_of_the_test(&self, since: u64) -> bool {
        let new = self.changes.iter().filter(|change| change.revision > since);
        new.into_iter().any(ClusterChange::is_of_the_test)
    }

    /// The step cannot be taken as planned, and nothing can be said of it.
    fn give_up(&mut self) {
        self.reached = false;
        self.is_given_up = true;
    }

    /// What was planned has happened.
    fn note_reached(&mut self) {
        self.reached = true;
    }

    /// An edit was made.
    fn note_edit(&mut self, is_changed: bool) {
        self.reached |= is_changed;
    }

    /// The server refused an edit.
    fn note_refusal(&mut self, at: usize) {
        self.reached = true;
        self.refused_edit.get_or_insert(at);
    }

    /// Settles, and goes on to the newest revision.
    async fn rest(&mut self) {
        self.settle(None).await;
        self.follow();
    }

    fn journal(&self) -> &Journal {
        let journal = self.env.traffic().journal();
        journal.expect("the traffic of a run has a journal")
    }

    fn problem(&mut self, name: impl Into<String>, details: Vec<String>) {
        let difference = Difference::new(self.step, name, details);
        // After what never rests, nothing can go on.
        if !self.is_restless && self.request.scenario.accepted.has(&difference.name) {
            self.tolerated.insert(difference.name);
            return;
        }
        if self.problems.iter().all(|problem| problem.name != difference.name) {
            self.problems.push(difference);
        }
    }

    fn checkpoint(&self) -> Checkpoint {
        let now = self.server.now();
        Checkpoint {
            server: self.server.fork_at(now, self.request.scenario.seed),
            now,
            namespace: self.env.namespace().to_owned(),
            cluster: self.cluster.clone(),
            ledger: self.ledger.clone(),
            external: self.external.as_ref().map(ExternalInstance::snapshot),
        }
    }

    /// The objects of the cluster and what the system outside holds, in a form in which equal runs are equal.
    fn state(&self) -> canonical::State {
        let mut state = canonical::state(&self.cluster);
        if let Some(external) = &self.external {
            canonical::add_external(&mut state, &self.cluster, &external.snapshot());
        }
        state
    }
}
