//! What a test says of an exploration, and how it ends.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_runtime::operator::Operator;

use super::accepted::{Accepted, Sightings};
use super::again;
use super::base::Base;
use super::class::Class;
use super::cluster::Cluster;
use super::command::Wanted;
use super::external::{External, ExternalSystem};
use super::outcome_json::Ended;
use super::output;
use super::plan::{self, Plan};
use super::report::{self, Summary};
use super::samples;
use super::scenario::{Invariant, Scenario, Step};
use super::search::{Extent, References, Search, search};
use super::shrink::shrink;
use crate::fail::or_fail;
use crate::{Builder, Error, TestEnv};

/// How many pairs the command tries, unless the test or the time says how many.
const COMMANDED_PAIRS: usize = 50;

/// Explores an operator. `operator` is called for every run: what one of them remembers, no other knows. See the
/// [module](crate::explore).
pub fn explore(operator: impl Fn() -> Operator + Send + Sync + 'static) -> Exploration {
    Exploration {
        scenario: Scenario {
            operator: Arc::new(operator),
            external: None,
            environment: Arc::new(|builder| builder),
            steps: Vec::new(),
            invariants: Vec::new(),
            seed: 0,
            accepted: Accepted::default(),
            base: Base::default(),
        },
        classes: Class::ALL.to_vec(),
        replay: None,
        commanded: None,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        time: None,
        pairs: None,
        repeats: 2,
        samples: None,
    }
}

/// Explores an operator that works with a system outside the cluster, by a fake of it. Every run has a fake of its own, made by
/// `system`; steps reach it by [`TestEnv::external`].
pub fn explore_with<E: External>(
    system: impl Fn() -> E + Send + Sync + 'static,
    operator: impl Fn(Arc<E>) -> Operator + Send + Sync + 'static,
) -> Exploration {
    let (system, operator) = (Arc::new(system), Arc::new(operator));
    let make = Arc::clone(&system);
    let with = Arc::clone(&operator);
    let mut exploration = explore(move || with(Arc::new(make())));
    exploration.scenario.external = Some(ExternalSystem::new(move || system(), operator));
    exploration
}

/// An exploration that is not run yet. Made by [`explore`].
#[must_use = "nothing is explored until it runs"]
pub struct Exploration {
    scenario: Scenario,
    classes: Vec<Class>,
    replay: Option<String>,
    /// The classes that the command wants instead.
    commanded: Option<Vec<Class>>,
    jobs: usize,
    time: Option<Duration>,
    pairs: Option<usize>,
    repeats: usize,
    samples: Option<PathBuf>,
}

impl Exploration {
    /// A step of the scenario: something that users do. Each run takes it in an environment of its own, in virtual time, and the
    /// cluster settles after it. Names are unique.
    pub fn step<F, Fut>(mut self, name: impl Into<String>, action: F) -> Self
    where
        F: Fn(Arc<TestEnv>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        self.scenario.steps.push(Step {
            name: name.into(),
            action: Arc::new(move |env| Box::pin(action(env))),
        });
        self
    }

    /// Steps from the samples of a project: each file of the folder is created, in the order of their names, and in the end all are
    /// deleted. They come before the steps that the test has itself. A folder is relative to the crate that is tested.
    pub fn samples(mut self, folder: impl Into<PathBuf>) -> Self {
        self.samples = Some(folder.into());
        self
    }

    /// Something that holds at every revision of every run.
    pub fn invariant(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&Cluster) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.scenario.invariants.push(Invariant {
            name: name.into(),
            holds: Arc::new(holds),
        });
        self
    }

    /// Changes the environment of each run: which of Kubernetes' controllers run, how many nodes there are. Its operator, seed and
    /// server are the exploration's.
    pub fn environment(mut self, change: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        self.scenario.environment = Arc::new(change);
        self
    }

    /// Another seed than 0: other uids and generated names, other jitter.
    pub fn seed(mut self, seed: u64) -> Self {
        self.scenario.seed = seed;
        self
    }

    /// Only these classes of disturbances. Default: all.
    pub fn classes(mut self, classes: impl IntoIterator<Item = Class>) -> Self {
        self.classes = classes.into_iter().collect();
        self
    }

    /// Lets a difference pass. `difference` is its name in the report, as `missing secrets/token`; a name that ends with `*` stands for
    /// all that begin so. Runs go on after it, that without disturbance as well, so that other mistakes are still found; only after an
    /// operator that never comes to rest no run can go on. An accepted difference that no run shows any more is told on stderr and in
    /// the summary, if all was tried that could show it.
    pub fn accept(mut self, difference: impl Into<String>, reason: impl Into<String>) -> Self {
        self.scenario.accepted.add(difference.into(), reason.into());
        self
    }

    /// Runs this plan alone, as a report has it.
    pub fn replay(mut self, plan: impl Into<String>) -> Self {
        self.replay = Some(plan.into());
        self
    }

    /// How many runs there are at the same time. Default: as many as cores.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Begins no further run after this time. Default: all plans are tried.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// When no single disturbance has shown anything, so many pairs of them are tried, chosen by the seed. Default: none; with a
    /// [`time`](Self::time), as many as there is time for; 50 in `kubewright explore`. The summary counts the others.
    pub fn pairs(mut self, most: usize) -> Self {
        self.pairs = Some(most);
        self
    }

    /// How often the run without disturbance is made. Two of them that differ have nondeterminism of the operator's own, which is
    /// reported as such. Default: 2. `KUBEWRIGHT_EXPLORE_REPEATS` says it for every exploration of a test program.
    pub fn repeats(mut self, repeats: usize) -> Self {
        self.repeats = repeats.max(1);
        self
    }

    /// Runs it. A difference fails the test with its story. The runs have threads of their own; the one that calls waits for them.
    #[track_caller]
    pub fn run(self) -> impl Future<Output = Summary> {
        let at = Location::caller();
        async move {
            let explored = self.try_run().await;
            match (explored, Wanted::from_environment()) {
                // The command tells it, from what was written for it.
                (Err(_), Ok(wanted)) if wanted.report.is_some() => std::panic::resume_unwind(Box::new("explored")),
                (explored, _) => or_fail(at, std::future::ready(explored)).await,
            }
        }
    }

    /// As [`run`](Self::run), but returns the report as an error instead of failing the test.
    #[expect(clippy::unused_async, reason = "tests await it, as everything that may fail them")]
    pub async fn try_run(mut self) -> Result<Summary, Error> {
        let began = Instant::now();
        let wanted = Wanted::from_environment()?;
        let commanded = wanted.report.clone();
        let result = match self.prepare(wanted) {
            Ok(()) => self.explored(began, commanded.as_deref()),
            Err(error) => Err(error),
        };
        if let (Err(error), Some(folder)) = (&result, &commanded) {
            output::write_error(folder, &error.text());
        }
        result
    }

    /// Takes what the command wants, and the steps of samples.
    fn prepare(&mut self, wanted: Wanted) -> Result<(), Error> {
        self.commanded = wanted.classes;
        self.scenario.seed = wanted.seed.unwrap_or(self.scenario.seed);
        self.jobs = wanted.jobs.unwrap_or(self.jobs).max(1);
        self.time = wanted.time.or(self.time);
        // Who starts the command waits for it.
        if wanted.report.is_some() && self.time.is_none() {
            self.pairs = self.pairs.or(Some(COMMANDED_PAIRS));
        }
        self.replay = wanted.replay.or_else(|| self.replay.take());
        self.repeats = wanted.repeats.unwrap_or(self.repeats).max(1);
        if let Some(folder) = &self.samples {
            let own = std::mem::take(&mut self.scenario.steps);
            self.scenario.steps = samples::steps(folder, &(self.scenario.operator)())?;
            self.scenario.steps.extend(own);
        }
        Ok(())
    }

    fn explored(&self, began: Instant, commanded: Option<&Path>) -> Result<Summary, Error> {
        self.check()?;
        let classes = self.wanted_classes();
        let (mut found, references) = if let Some(text) = &self.replay {
            (self.replayed(text)?, None)
        } else {
            let extent = Extent {
                classes: classes.to_vec(),
                jobs: self.jobs,
                time: self.time,
                repeats: self.repeats,
                pairs: self.pairs,
            };
            let (found, references) = search(&self.scenario, &extent);
            (found, Some(references))
        };
        if let Some(parted) = &found.parted {
            return Err(Error::Unmet(format!(
                "two runs with seed {} differ without any disturbance: {}?\n  {}",
                self.scenario.seed,
                report::CHANCE,
                parted.join("\n  ")
            )));
        }
        let Sightings { seen, unseen } = self.sightings(&found);
        let mut findings = std::mem::take(&mut found.findings);
        findings.retain(|finding| !self.scenario.accepted.has(&finding.difference.name));
        let has_edits = classes.contains(&Class::Edits);
        let summary = Summary {
            runs: found.runs.clone(),
            unreached: found.unreached,
            skipped: found.skipped,
            untried_pairs: found.untried_pairs,
            beyond: found.beyond * usize::from(has_edits),
            unread_rules: found.unread_rules * usize::from(has_edits),
            seed: self.scenario.seed,
            accepted: seen,
            disappeared: unseen,
        };
        if findings.is_empty() && summary.runs() == 0 && !classes.is_empty() {
            return Err(Error::Unmet(self.untried(&summary)));
        }
        if let Some(references) = references {
            for finding in findings.iter_mut().take(report::MOST_FINDINGS) {
                again::check(&self.scenario, &references, finding);
                // Of what chance decides, nothing can be left out.
                if finding.parted.is_none() {
                    shrink(&self.scenario, finding);
                }
            }
        }
        let report = (!findings.is_empty()).then(|| report::text(&found, &findings, &summary));
        let ended = Ended {
            name: &output::name(),
            search: &found,
            findings: &findings,
            summary: &summary,
            took: began.elapsed(),
            report: report.as_deref(),
        };
        // A plan alone does not take the place of all that was tried.
        output::write(&ended, self.replay.is_none(), commanded);
        match report {
            Some(report) => Err(Error::Unmet(report)),
            None => Ok(summary),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let mut names: Vec<&str> = self.scenario.steps.iter().map(|step| step.name.as_str()).collect();
        if names.is_empty() {
            return Err(Error::Unmet(
                "an exploration needs a step: `.step(\"create\", |env| async move { … })`".to_owned(),
            ));
        }
        names.sort_unstable();
        if let Some([name, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Unmet(format!("two steps have the name {name:?}")));
        }
        let own = |name: &&&str| !plan::can_name(name, &[(**name).to_owned()]);
        match names.iter().find(own) {
            Some(name) => Err(Error::Unmet(format!(
                "no plan can name the step {name:?}: leave out \" of \", \", \", \" in step \", \" after step \", \" before step \" and \
                 spaces at its ends"
            ))),
            None => Ok(()),
        }
    }

    /// One plan alone.
    fn replayed(&self, text: &str) -> Result<Search, Error> {
        let plan: Plan = text
            .parse()
            .map_err(|error: super::plan::PlanError| Error::Unmet(error.to_string()))?;
        let scenario = match &plan.steps {
            Some(steps) => self.scenario.with_steps(steps),
            None => self.scenario.clone(),
        };
        let references = References::of(&scenario, |step| step == plan.step);
        let mut found = Search {
            step_names: scenario.steps.iter().map(|step| step.name.clone()).collect(),
            ..Search::default()
        };
        found.tolerated = references.tolerated();
        found.add(None, references.whole.problems.clone(), &references.whole);
        if !found.findings.is_empty() {
            return Ok(found);
        }
        let Some((run, differences)) = references.try_plan(&scenario, &plan) else {
            return Err(Error::Unmet(format!("{text:?}: there is no step {:?}", plan.step)));
        };
        found.runs.insert(plan.class(), 1);
        found.unreached = usize::from(!run.reached);
        found.tolerated.extend(run.tolerated.iter().cloned());
        found.add(Some(&plan), differences, &run);
        Ok(found)
    }

    /// The classes that are tried: the command's, or else the test's.
    fn wanted_classes(&self) -> &[Class] {
        self.commanded.as_deref().unwrap_or(&self.classes)
    }

    /// What of the accepted differences was seen. That one was not seen is told only if all was tried to the end in which the test's
    /// classes could have shown it.
    fn sightings(&self, found: &Search) -> Sightings {
        let names = found.findings.iter().map(|finding| finding.difference.name.as_str());
        let names = names.chain(found.tolerated.iter().map(String::as_str));
        let mut sightings = self.scenario.accepted.sightings(&names);
        let classes = self.wanted_classes();
        let is_all = self.classes.iter().all(|class| classes.contains(class));
        if !(is_all && found.is_complete && found.skipped == 0) {
            sightings.unseen.clear();
        }
        for unseen in &sightings.unseen {
            eprintln!("explore: nothing shows what is accepted any more: {unseen}");
        }
        sightings
    }

    /// Why no plan was tried.
    fn untried(&self, summary: &Summary) -> String {
        let why = if !summary.accepted.is_empty() {
            format!(
                "the run without disturbance cannot go on after what is accepted: {}",
                summary.accepted.join("; ")
            )
        } else if summary.skipped > 0 {
            "the time was over before the first run: give it more".to_owned()
        } else {
            let classes: Vec<String> = self.wanted_classes().iter().map(ToString::to_string).collect();
            format!(
                "the scenario has nothing that a disturbance of these classes could happen to: {}",
                classes.join(", ")
            )
        };
        format!("explore tried nothing: {why}")
    }
}

impl std::fmt::Debug for Exploration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps: Vec<&str> = self.scenario.steps.iter().map(|step| step.name.as_str()).collect();
        f.debug_struct("Exploration")
            .field("steps", &steps)
            .field("classes", &self.classes)
            .field("seed", &self.scenario.seed)
            .finish_non_exhaustive()
    }
}
