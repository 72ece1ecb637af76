//! One run: a thread with a runtime of its own, whose clock is paused, and the steps in it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use kubewright_apiserver::ApiServer;
use kubewright_runtime::clock::Clock;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::base::Base;
use super::canonical;
use super::class::Class;
use super::cluster::{Cluster, Followed};
use super::compare::Difference;
use super::external::ExternalInstance;
use super::hold::{LONG_OUTAGE, SHORT_OUTAGE};
use super::observation::{Boundary, Checkpoint, ClusterChange, Ledger, Observation};
use super::plan::{Disturbance, ObjectName, Plan, Propagation};
use super::rest;
use super::scenario::Scenario;
use super::spec_run;
use super::truth;
use super::world;
use crate::env::Resumed;
use crate::fail::QUIET_THREAD;
use crate::traffic::{Journal, Lag, Lateness, Right, Signal, Traffic, WebhookCall};
use crate::{Error, TestEnv, TestRuntime};

/// How much time passes after each step, so that what an operator does later is seen.
pub(super) const REST: Duration = Duration::from_mins(1);
/// How long a disturbed run may take to come to where the reference is.
const PATIENCE: Duration = Duration::from_mins(10);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_secs(30);
/// How many writes within a minute a disturbed run may make where the reference makes few.
const FEW_WRITES: usize = 100;
/// How many times the writes of the reference.
const TIMES_THE_WRITES: usize = 4;
/// How long a reconcile that asks to be called again is waited for while nothing changes: what it waits for does not come.
const ASKING: Duration = REST;

/// What a run is asked for.
pub(super) struct RunRequest<'a> {
    pub(super) scenario: &'a Scenario,
    /// Where it begins; at the very beginning if `None`.
    pub(super) from: Option<(usize, &'a Checkpoint)>,
    pub(super) plan: Option<&'a Plan>,
    /// What the run is compared with: it is waited for.
    pub(super) reference: Option<&'a Observation>,
    pub(super) keep_checkpoints: bool,
}

impl RunRequest<'_> {
    /// Runs in a thread of its own.
    pub(super) fn run(&self) -> Observation {
        let name = match self.plan {
            Some(plan) => plan.to_string(),
            None => "reference".to_owned(),
        };
        let ended = match Base::of(self.scenario) {
            Ok(base) => in_thread(&name, || drive(self, base))
                .map_err(|panic| Difference::new(0, "the run panicked", vec![panic])),
            Err(problem) => Err(problem.clone()),
        };
        ended.unwrap_or_else(|problem| Observation {
            problems: vec![problem],
            reached: true,
            ..Observation::default()
        })
    }

    fn first(&self) -> usize {
        self.from.map_or(0, |(first, _)| first)
    }

    /// How many writes within a minute are a loop, if the reference tells. What makes an object with each of its retries would make
    /// hundreds before anybody stops it, each with all that the cluster's controllers make for it. An edit may ask for anything.
    fn most_writes(&self) -> Option<u64> {
        let plan = self.plan.filter(|plan| plan.class() != Class::Edits)?;
        let reference = self.reference.filter(|_| plan.disturbance != Disturbance::Restart)?;
        let most = (TIMES_THE_WRITES * reference.writes.len()).max(FEW_WRITES);
        u64::try_from(most).ok()
    }
}

/// Waits for a future in a thread of its own, in virtual time. An error is the text of a panic.
pub(super) fn in_thread<F: Future<Output: Send>>(
    name: &str,
    work: impl FnOnce() -> F + Send,
) -> Result<F::Output, String> {
    std::thread::scope(|scope| {
        let work = || TestRuntime::new().virtual_time().run(work());
        let thread = std::thread::Builder::new().name(format!("{QUIET_THREAD}{name}"));
        match thread.spawn_scoped(scope, work) {
            Ok(running) => running.join().map_err(|panic| text_of(&*panic)),
            Err(error) => Err(format!("no thread: {error}")),
        }
    })
}

/// The seed of a server that goes on at a step: its uids and names are others than the ones that were given before.
pub(super) fn seed_after(seed: u64, step: usize) -> u64 {
    let step = u64::try_from(step).unwrap_or(u64::MAX);
    seed ^ step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The text of a panic.
fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without text")
        .to_owned()
}

async fn drive(request: &RunRequest<'_>, base: &Checkpoint) -> Observation {
    let mut observation = Observation {
        first: request.first(),
        ..Observation::default()
    };
    match Box::pin(Run::start(request, base)).await {
        Ok(mut run) => {
            Box::pin(run.steps(&mut observation)).await;
            run.finish(&mut observation);
        }
        Err(error) => {
            let details = vec![error.text()];
            observation.problems.push(Difference::new(
                observation.first,
                "the operator does not start",
                details,
            ));
            observation.reached = true;
        }
    }
    observation
}

pub(super) struct Run<'a> {
    request: &'a RunRequest<'a>,
    pub(super) env: Arc<TestEnv>,
    server: ApiServer,
    signals: UnboundedReceiver<Signal>,
    pub(super) cluster: Cluster,
    pub(super) ledger: Ledger,
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
    pub(super) foreign: Option<(ObjectName, Value)>,
    refused_edit: Option<usize>,
    /// Whether the object that a plan changes was created.
    is_created_so: Option<Arc<AtomicBool>>,
    external: Option<ExternalInstance>,
    /// As in an observation.
    webhook_calls: Vec<(usize, WebhookCall)>,
    users_call_webhooks: BTreeSet<usize>,
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
                let (rewrite, done) = spec_run::rewrite(edit, &from.namespace);
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
            users_call_webhooks: BTreeSet::new(),
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
        observation.users_call_webhooks = self.users_call_webhooks;
        observation.reads_in_steps = self.reads_in_steps;
        observation.watched = self.env.traffic().watched();
        observation.problems = self.problems;
        observation.tolerated = self.tolerated;
        observation.reached = self.reached;
        observation.refused_edit = self.refused_edit;
    }

    /// Counts the panics of a manager that has come to its end.
    pub(super) fn count_panics(&mut self) {
        let panics = self.env.with_manager(|manager| {
            let stats = manager.stats.iter();
            stats.map(|(_, stats)| stats.snapshot().panics).sum::<u64>()
        });
        self.panics += panics.unwrap_or_default();
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub(super) fn server(&self) -> &ApiServer {
        &self.server
    }

    /// The number of the step that is taken.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// Whether the test itself has changed something since a revision.
    pub(super) fn has_change_of_the_test(&self, since: u64) -> bool {
        let new = self.changes.iter().filter(|change| change.revision > since);
        new.into_iter().any(ClusterChange::is_of_the_test)
    }

    /// The step cannot be taken as planned, and nothing can be said of it.
    pub(super) fn give_up(&mut self) {
        self.reached = false;
        self.is_given_up = true;
    }

    /// What was planned has happened.
    pub(super) fn note_reached(&mut self) {
        self.reached = true;
    }

    /// An edit was made.
    pub(super) fn note_edit(&mut self, is_changed: bool) {
        self.reached |= is_changed;
    }

    /// The server refused an edit.
    pub(super) fn note_refusal(&mut self, at: usize) {
        self.reached = true;
        self.refused_edit.get_or_insert(at);
    }

    /// Settles, and goes on to the newest revision.
    pub(super) async fn rest(&mut self) {
        self.settle(None).await;
        self.follow();
    }

    pub(super) fn journal(&self) -> &Journal {
        let journal = self.env.traffic().journal();
        journal.expect("the traffic of a run has a journal")
    }

    pub(super) fn problem(&mut self, name: impl Into<String>, details: Vec<String>) {
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
    pub(super) fn state(&self) -> canonical::State {
        let mut state = canonical::state(&self.cluster);
        if let Some(external) = &self.external {
            canonical::add_external(&mut state, &self.cluster, &external.snapshot());
        }
        state
    }

    /// The plan, if it is about the step that is taken.
    fn plan_of_step(&self) -> Option<&'a Plan> {
        let step = &self.request.scenario.steps[self.step];
        self.request.plan.filter(|plan| plan.step == step.name)
    }

    async fn take_step(&mut self) {
        let plan = self.plan_of_step();
        if let Some(Disturbance::Foreign(name)) = plan.map(|plan| &plan.disturbance) {
            self.make_foreign(name).await;
        }
        let strikes = plan.map(Plan::strikes).unwrap_or_default();
        let is_armed = !strikes.is_empty();
        if let Some(Disturbance::Forbid(right)) = plan.map(|plan| &plan.disturbance) {
            self.journal().forbid(right.clone());
        }
        let lag = plan.and_then(Plan::lag).cloned();
        self.journal().begin_step(self.step, strikes, lag.clone());
        if !is_armed && let Some(lag) = lag {
            self.env.traffic().lags().begin(lag);
        }
        if let Some(Disturbance::Read(strike, address)) = plan.map(|plan| &plan.disturbance) {
            self.journal().arm_read(address.clone(), *strike);
        }
        if matches!(plan, Some(plan) if plan.disturbance == Disturbance::Down) {
            return self.take_step_while_down().await;
        }
        if matches!(plan, Some(plan) if plan.disturbance == Disturbance::WebhooksDown) {
            if !self.take_step_without_webhooks().await {
                return;
            }
        } else if let Err(panic) = self.act().await {
            self.problem("the step fails", vec![panic]);
        }
        self.settle(None).await;
        // What is read later is read for the checks.
        let step = self.step;
        let reads = self.journal().reads().into_iter().filter(|((at, _), _)| *at == step);
        self.reads_in_steps.extend(reads);
        if is_armed {
            let is_met = !plan.is_some_and(Plan::needs_webhooks) || self.env.traffic().webhooks().is_hit();
            self.reached = !self.journal().is_armed() && is_met;
        }
        self.follow();
        match plan.map(|plan| &plan.disturbance) {
            Some(Disturbance::Restart | Disturbance::Clock(_)) => self.reached = true,
            Some(Disturbance::Read(..)) => self.reached = self.journal().disarm_read(),
            Some(Disturbance::Late(..)) => self.reached = self.env.traffic().lags().has_held(),
            Some(Disturbance::Recreate(name)) => self.recreate(name).await,
            Some(Disturbance::Delete(name)) => {
                if let Some((name, object)) = world::find(&self.cluster, name) {
                    self.reached = world::delete(&self.server, name, object).await;
                }
            }
            Some(Disturbance::Edit(name)) => {
                if let Some((name, object)) = world::find(&self.cluster, name)
                    && let Some(patch) = world::edit(object)
                {
                    self.reached = world::patch(&self.server, name, object, &patch).await;
                }
            }
            Some(Disturbance::Hold(name)) => self.hold(name).await,
            Some(Disturbance::FailNode(name)) => self.fail_node(name, SHORT_OUTAGE).await,
            Some(Disturbance::LoseNode(name)) => self.fail_node(name, LONG_OUTAGE).await,
            Some(Disturbance::Spec(edit)) => self.edit_spec(edit).await,
            Some(Disturbance::CreatedSo(_)) => {
                let done = self.is_created_so.as_ref();
                self.reached = done.is_some_and(|done| done.load(Ordering::Relaxed));
            }
            Some(Disturbance::Foreign(_)) => {
                self.pass(REST).await;
                self.settle(None).await;
                self.check_foreign();
                self.delete_owners(Propagation::Background).await;
            }
            Some(Disturbance::Forbid(_)) => {
                self.pass(REST).await;
                self.reached = self.journal().permit() > 0;
            }
            _ => {}
        }
    }

    /// Does what users do in the step. An error is the text of a panic.
    pub(super) async fn act(&mut self) -> Result<(), String> {
        let action = (self.request.scenario.steps[self.step].action)(Arc::clone(&self.env));
        // What was called before is not of this step.
        self.env.traffic().webhooks().take_calls();
        let (done, _) = self.guarded(AssertUnwindSafe(action).catch_unwind()).await;
        if self.note_webhook_calls() {
            self.users_call_webhooks.insert(self.step);
        }
        done.map_err(|panic| text_of(&*panic))
    }

    /// Notes when webhooks were called. Whether they were.
    fn note_webhook_calls(&mut self) -> bool {
        let calls = self.env.traffic().webhooks().take_calls();
        self.webhook_calls.extend(calls.iter().map(|call| (self.step, *call)));
        !calls.is_empty()
    }

    /// Lets the cluster come to rest after a step, and looks at it.
    async fn boundary(&mut self) -> Boundary {
        self.settle(None).await;
        let before = self.journal().len();
        // Who waited in vain for what an operator asks for has seen a minute pass already.
        if self.unchanged_for() <= REST {
            self.pass(REST).await;
        }
        let reference = self.request.reference.and_then(|reference| reference.after(self.step));
        let ends_elsewhere = self.plan_of_step().is_some_and(Plan::changes_the_end) || self.refused_edit.is_some();
        let expected = reference.filter(|_| !ends_elsewhere);
        let failing = self.settle(expected).await;
        self.follow();
        self.check_foreign();
        let may_leave = self.request.plan.is_some_and(Plan::leaves_orphans);
        let left: Vec<String> = self
            .ledger
            .left_behind(&self.cluster)
            .iter()
            .filter(|_| !may_leave)
            .map(ToString::to_string)
            .collect();
        for name in left {
            self.problem(
                format!("left behind {name}"),
                vec!["all that the steps made is gone".to_owned()],
            );
        }
        let mut boundary = Boundary {
            state: self.state(),
            made: self.ledger.made(&self.cluster).cloned().collect(),
            given: self
                .ledger
                .owners(&self.cluster)
                .map(|(name, _)| name.clone())
                .collect(),
            owners: self.owners_without_finalizers(),
            cluster: self.cluster.clone(),
            failing,
            at_rest: self
                .journal()
                .read(|writes| rest::count(writes.get(before..).unwrap_or_default())),
        };
        // Where a run is not as the reference, that is what is told of it.
        let is_as_expected = expected.is_none_or(|expected| expected.state == boundary.state);
        if self.problems.is_empty() && boundary.failing.is_empty() && is_as_expected {
            self.check_generations();
            self.check_rest(&mut boundary, reference).await;
            self.check_again().await;
        }
        boundary
    }

    /// Waits until nothing moves and nothing is retried; if there is a boundary to come to, until it is reached. Returns what fails
    /// on and on.
    pub(super) async fn settle(&mut self, expected: Option<&Boundary>) -> Vec<String> {
        let began = Instant::now();
        loop {
            if self.is_restless {
                return Vec::new();
            }
            let env = Arc::clone(&self.env);
            let (settled, disturbed) = self.guarded(Box::pin(env.try_settle())).await;
            let settled = match settled {
                Ok(settled) => settled,
                Err(error) => {
                    self.unsettled(&error);
                    return Vec::new();
                }
            };
            if disturbed {
                continue;
            }
            let is_late = began.elapsed() > PATIENCE;
            let failing = || settled.delayed.iter().map(ToString::to_string).collect();
            self.follow();
            // Where others do not ask to be called again, it is waited for as for a failure.
            let asks_in_vain =
                self.unchanged_for() > ASKING && expected.is_none_or(|expected| !expected.failing.is_empty());
            let awaited = settled
                .delayed
                .iter()
                .filter(|delayed| delayed.error.is_some() || !asks_in_vain);
            match awaited.map(|delayed| delayed.due).min() {
                Some(_) if is_late => return failing(),
                Some(due) => self.pass(due + Duration::from_millis(1)).await,
                None => {
                    let Some(expected) = expected else { return failing() };
                    if is_late || self.state() == expected.state {
                        return failing();
                    }
                    self.pass(LOOK).await;
                }
            }
        }
    }

    /// How long nothing has changed in the cluster, as far as that was looked at.
    fn unchanged_for(&mut self) -> Duration {
        let (revision, now) = (self.cluster.revision(), Instant::now());
        if self.newest.0 != revision {
            self.newest = (revision, now);
        }
        now - self.newest.1
    }

    /// Lets time pass, unless the operator writes on and on: then it would never pass.
    pub(super) async fn pass(&mut self, by: Duration) {
        if self.is_restless {
            return;
        }
        let env = Arc::clone(&self.env);
        let (passed, _) = self.guarded(Box::pin(env.try_advance(by))).await;
        if let Err(error) = passed {
            self.unsettled(&error);
        }
    }

    fn unsettled(&mut self, error: &Error) {
        self.is_restless = true;
        let text = error.text();
        let name = if text.contains("writes on and on") {
            "writes on and on"
        } else {
            "does not settle"
        };
        self.problem(name, text.lines().map(str::to_owned).collect());
    }

    /// Waits for `work`, and does meanwhile what the plan wants at its write. Returns whether there was something.
    async fn guarded<T>(&mut self, work: impl Future<Output = T>) -> (T, bool) {
        let mut work = std::pin::pin!(work);
        let mut disturbed = false;
        loop {
            tokio::select! {
                biased;
                signal = self.signals.recv() => match signal {
                    Some(signal) => {
                        disturbed = true;
                        self.answer(signal).await;
                    }
                    None => return (work.await, disturbed),
                },
                done = &mut work => return (done, disturbed),
            }
        }
    }

    async fn answer(&mut self, signal: Signal) {
        match signal {
            Signal::Crashed => {
                self.count_panics();
                self.env.kill_manager();
                if self.env.promote_standby() {
                    return;
                }
                if let Err(error) = Box::pin(self.env.try_start_manager()).await {
                    self.problem("the operator does not start again", vec![error.text()]);
                }
            }
            Signal::Paused(go_on) => {
                let propagation = match self.request.plan.map(|plan| &plan.disturbance) {
                    Some(Disturbance::DeleteOwners(propagation, _)) => *propagation,
                    _ => Propagation::Background,
                };
                self.delete_owners(propagation).await;
                let _ = go_on.send(());
            }
        }
    }

    /// Goes on to the newest revision, and holds the invariants against each on the way.
    pub(super) fn follow(&mut self) {
        let scenario = self.request.scenario;
        let newest = self.server.revision();
        // It is looked much more often than something is written.
        if newest == self.followed && self.learned == self.journal().len() {
            return;
        }
        self.followed = newest;
        let mut broken: BTreeMap<&str, u64> = BTreeMap::new();
        let mut written: Vec<Followed> = Vec::new();
        let (changes, ledger) = (&mut self.changes, &mut self.ledger);
        self.cluster.follow(&self.server, |cluster, followed| {
            changes.push(ClusterChange::of(cluster.revision(), followed));
            if let Some(after) = &followed.after {
                if followed.before.is_none() {
                    ledger.learn_created(&followed.name, after);
                }
                written.push(followed.clone());
            }
            for invariant in &scenario.invariants {
                if !(invariant.holds)(cluster) {
                    broken.entry(&invariant.name).or_insert_with(|| cluster.revision());
                }
            }
        });
        let (ledger, cluster) = (&mut self.ledger, &self.cluster);
        let journal = self.env.traffic().journal();
        if let Some(journal) = journal {
            self.learned = journal.read(|writes| {
                ledger.learn(&writes[self.learned.min(writes.len())..], cluster);
                // The last ones may be unanswered yet.
                writes
                    .iter()
                    .position(|write| write.code.is_none())
                    .unwrap_or(writes.len())
            });
        }
        // Looked at for those alone whose status is the operator's: the others' need not be decoded. A clock that is wrong writes wrong
        // times, which is the plan's doing.
        let is_clock_right = !matches!(self.request.plan, Some(plan) if plan.class() == Class::Clock);
        written.retain(|followed| is_clock_right && self.ledger.has_status_of_the_operator(&followed.name));
        for Followed { name, before, after } in written {
            let found = after.map(|after| truth::transitions(before.as_deref(), &after));
            if let Some(found) = found.filter(|found| !found.is_empty()) {
                self.problem(format!("untrue conditions of {name}"), found);
            }
        }
        for (name, revision) in broken {
            self.problem(
                format!("invariant broken: {name}"),
                vec![format!("at revision {revision}")],
            );
        }
    }

    async fn delete_owners(&mut self, propagation: Propagation) {
        self.follow();
        let owners = self.ledger.owners(&self.cluster);
        let owners: Vec<_> = owners.map(|(name, object)| (name.clone(), object.clone())).collect();
        for (name, object) in owners {
            world::delete_with(&self.server, &name, &object, propagation.policy()).await;
        }
    }

    fn owners_without_finalizers(&self) -> Vec<ObjectName> {
        let owners = self.ledger.owners(&self.cluster);
        let free = owners.filter(|(_, object)| object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty));
        free.map(|(name, _)| name.clone()).collect()
    }

    /// Deletes what a step made and makes it again, while the operator does not look.
    async fn recreate(&mut self, name: &ObjectName) {
        let Some(object) = self.cluster.objects().get(name).cloned() else {
            return;
        };
        let Some(created) = self.ledger.created(name).cloned() else {
            return;
        };
        self.env.traffic().lags().begin(Lag {
            resource: name.resource.clone(),
            lateness: Lateness::Missed,
        });
        self.reached = world::delete(&self.server, name, &object).await
            && world::make_again(&self.server, name, &object, &created["metadata"]).await;
    }

    async fn make_foreign(&mut self, name: &ObjectName) {
        let reference = self.request.reference.and_then(|reference| reference.after(self.step));
        let Some((name, object)) = reference.and_then(|boundary| world::find(&boundary.cluster, name)) else {
            return;
        };
        self.reached = world::make_foreign(&self.server, name, object).await;
        self.follow();
        if self.reached {
            let made = self.cluster.objects().get(name).map(|object| world::essence(object));
            self.foreign = made.map(|made| (name.clone(), made));
        }
    }
}
