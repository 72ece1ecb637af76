//! All runs of an exploration: the reference, restarted references, and the plans, on several threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kubewright_runtime::random::Random;

use super::accepted::Accepted;
use super::class::Class;
use super::compare::{self, Difference};
use super::enumerate;
use super::observation::Observation;
use super::plan::{Disturbance, Plan};
use super::progress::Progress;
use super::repeat;
use super::results::Results;
use super::run::RunRequest;
use super::scenario::Scenario;
use super::story;
use super::story_event::StoryEvent;
use super::tried::{Outcome, Tried};

/// A plan whose run is not as it should be.
pub(super) struct Finding {
    /// `None` if the reference itself is wrong.
    pub(super) plan: Option<Plan>,
    pub(super) difference: Difference,
    /// What happened, event by event. Findings of one run share it.
    pub(super) story: Arc<[StoryEvent]>,
    /// How many other plans show the same.
    pub(super) others: usize,
    /// Where two runs of the plan parted, if they did.
    pub(super) parted: Option<Vec<String>>,
}

/// What came of all runs.
#[derive(Default)]
pub(super) struct Search {
    pub(super) findings: Vec<Finding>,
    pub(super) runs: BTreeMap<Class, usize>,
    /// Plans whose place was not reached.
    pub(super) unreached: usize,
    pub(super) skipped: usize,
    /// Pairs that there are more than are tried.
    pub(super) untried_pairs: usize,
    /// Edits of the schema that there are too many of.
    pub(super) beyond: usize,
    /// CEL rules from which no edit comes.
    pub(super) unread_rules: usize,
    /// Where two runs of the same seed parted.
    pub(super) parted: Option<Vec<String>>,
    pub(super) step_names: Vec<String>,
    pub(super) tried: Vec<Tried>,
    /// The names of accepted problems that some run has shown.
    pub(super) tolerated: BTreeSet<String>,
    /// Whether all plans were tried that there was time for.
    pub(super) is_complete: bool,
}

impl Search {
    /// Keeps what came of a plan.
    pub(super) fn note(&mut self, plan: &Plan, outcome: Outcome) {
        let plan = plan.clone();
        self.tried.push(Tried { plan, outcome });
    }

    pub(super) fn add(&mut self, plan: Option<&Plan>, differences: Vec<Difference>, run: &Observation) {
        if !differences.is_empty() {
            let story = story::events(run, &self.step_names, plan).into();
            self.add_told(plan, differences, &story);
        }
    }

    fn add_told(&mut self, plan: Option<&Plan>, differences: Vec<Difference>, story: &Arc<[StoryEvent]>) {
        for difference in differences {
            let known = self
                .findings
                .iter_mut()
                .find(|finding| finding.difference.name == difference.name);
            match known {
                Some(finding) => finding.others += 1,
                None => self.findings.push(Finding {
                    plan: plan.cloned(),
                    difference,
                    story: Arc::clone(story),
                    others: 0,
                    parted: None,
                }),
            }
        }
    }
}

/// How much is tried.
pub(super) struct Extent {
    pub(super) classes: Vec<Class>,
    pub(super) jobs: usize,
    pub(super) time: Option<Duration>,
    pub(super) repeats: usize,
    /// How many pairs are tried after all others; as many as there is time for if `None`.
    pub(super) pairs: Option<usize>,
}

/// A scenario that nothing disturbed, with a reference for each step that a run may begin with.
pub(super) struct References {
    pub(super) whole: Observation,
    /// By the number of the step.
    pub(super) restarted: BTreeMap<usize, Observation>,
}

impl References {
    /// Runs a scenario without disturbance, and from the steps on that are `wanted`.
    pub(super) fn of(scenario: &Scenario, wanted: impl Fn(&str) -> bool) -> Self {
        let whole = reference(scenario, true);
        let mut restarted = BTreeMap::new();
        if whole.problems.is_empty() {
            for (step, own) in scenario.steps.iter().enumerate().filter(|(_, step)| wanted(&step.name)) {
                let plan = Plan::new(Disturbance::Restart, &own.name);
                let request = RunRequest {
                    scenario,
                    from: whole.checkpoints.get(step).map(|checkpoint| (step, checkpoint)),
                    plan: Some(&plan),
                    reference: Some(&whole),
                    keep_checkpoints: false,
                };
                restarted.insert(step, request.run());
            }
        }
        References { whole, restarted }
    }

    /// The names of accepted problems that they show.
    pub(super) fn tolerated(&self) -> BTreeSet<String> {
        let all = std::iter::once(&self.whole).chain(self.restarted.values());
        all.flat_map(|run| run.tolerated.iter().cloned()).collect()
    }

    /// Runs a plan, and says how it differs from a run that was restarted at the same step.
    pub(super) fn try_plan(&self, scenario: &Scenario, plan: &Plan) -> Option<(Observation, Vec<Difference>)> {
        let step = scenario.position(&plan.step)?;
        if let Disturbance::Spec(edit) = &plan.disturbance {
            return self.try_edit(scenario, plan, edit, step);
        }
        // A restart is compared with what was not restarted.
        let reference = match plan.disturbance {
            Disturbance::Restart => &self.whole,
            _ => self.restarted.get(&step)?,
        };
        let request = RunRequest {
            scenario,
            from: self.whole.checkpoints.get(step).map(|checkpoint| (step, checkpoint)),
            plan: Some(plan),
            reference: Some(reference),
            keep_checkpoints: false,
        };
        let run = request.run();
        let differences = judge(plan, reference, &run, &scenario.accepted);
        Some((run, differences))
    }
}

fn judge(plan: &Plan, reference: &Observation, run: &Observation, accepted: &Accepted) -> Vec<Difference> {
    let known: BTreeSet<&str> = reference.problems.iter().map(|problem| problem.name.as_str()).collect();
    let mut found: Vec<Difference> = run
        .problems
        .iter()
        .filter(|problem| !known.contains(problem.name.as_str()))
        .cloned()
        .collect();
    if found.is_empty() && !plan.changes_the_end() {
        found = compare::differences(reference, run, accepted);
    }
    found
}

fn reference(scenario: &Scenario, keep_checkpoints: bool) -> Observation {
    let request = RunRequest {
        scenario,
        from: None,
        plan: None,
        reference: None,
        keep_checkpoints,
    };
    request.run()
}

/// Tries everything. What is returned with it can run plans again.
pub(super) fn search(scenario: &Scenario, extent: &Extent) -> (Search, References) {
    let references = References::of(scenario, |_| true);
    (search_with(scenario, extent, &references), references)
}

fn search_with(scenario: &Scenario, extent: &Extent, references: &References) -> Search {
    let mut search = Search {
        step_names: scenario.steps.iter().map(|step| step.name.clone()).collect(),
        ..Search::default()
    };
    search.tolerated = references.tolerated();
    search.add(None, references.whole.problems.clone(), &references.whole);
    if !search.findings.is_empty() {
        return search;
    }
    for _ in 1..extent.repeats {
        let again = reference(scenario, false);
        search.parted = repeat::parted(&references.whole, &again);
        if search.parted.is_some() {
            return search;
        }
    }
    let mut plans = Vec::new();
    let mut known = BTreeSet::new();
    for (step, restarted) in &references.restarted {
        let step = *step;
        let name = &search.step_names[step].clone();
        if extent.classes.contains(&Class::Restart) {
            *search.runs.entry(Class::Restart).or_default() += 1;
            let plan = Plan::new(Disturbance::Restart, name);
            let mut differences = restarted.problems.clone();
            if differences.is_empty() {
                differences = compare::differences(&references.whole, restarted, &scenario.accepted);
            }
            search.note(&plan, Outcome::of(restarted, &differences));
            search.add(Some(&plan), differences, restarted);
        }
        plans.extend(enumerate::plans(step, name, restarted, &mut known));
        let (edits, left_out) = enumerate::edits(step, name, restarted, scenario.seed, &mut known);
        plans.extend(edits);
        search.beyond += left_out.beyond;
        search.unread_rules += left_out.unread_rules;
    }
    for plan in plans.iter().filter(|plan| !extent.classes.contains(&plan.class())) {
        search.note(plan, Outcome::NotAskedFor);
    }
    let began = Instant::now();
    let plans = enumerate::of_classes(plans, &extent.classes);
    run_all(scenario, extent, references, &plans, (began, &mut search));
    let (pairs, more) = pairs(scenario, extent, references);
    search.untried_pairs = more;
    let is_accepted = |finding: &Finding| scenario.accepted.has(&finding.difference.name);
    if search.findings.iter().all(is_accepted) && !pairs.is_empty() {
        run_all(scenario, extent, references, &pairs, (began, &mut search));
    } else {
        search.untried_pairs += pairs.len();
    }
    search.is_complete = true;
    search
}

/// The pairs that are tried, and how many more there are. Of one that shows what a single one shows, nothing is learned: they come when those have found nothing.
fn pairs(scenario: &Scenario, extent: &Extent, references: &References) -> (Vec<Plan>, usize) {
    if !extent.classes.contains(&Class::Pairs) {
        return (Vec::new(), 0);
    }
    let random = Random::seeded(scenario.seed);
    let of_step = |(step, restarted): (&usize, &Observation)| {
        enumerate::pairs(*step, &scenario.steps[*step].name, restarted, &random)
    };
    let mut pairs: Vec<Plan> = references.restarted.iter().flat_map(of_step).collect();
    let all = pairs.len();
    match (extent.pairs, extent.time) {
        (Some(most), _) => pairs.truncate(most),
        (None, Some(_)) => {}
        (None, None) => pairs.clear(),
    }
    let more = all - pairs.len();
    (pairs, more)
}

fn run_all(
    scenario: &Scenario,
    extent: &Extent,
    references: &References,
    plans: &[Plan],
    (began, search): (Instant, &mut Search),
) {
    let next = AtomicUsize::new(0);
    let results = Results::default();
    let progress = Progress::new(plans.len());
    let is_over = || extent.time.is_some_and(|time| began.elapsed() > time);
    let step_names = search.step_names.as_slice();
    std::thread::scope(|scope| {
        for _ in 0..extent.jobs.min(plans.len()) {
            scope.spawn(|| {
                while !is_over() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(at) else { break };
                    if let Some((run, differences)) = references.try_plan(scenario, plan) {
                        progress.ran(plan.class(), !differences.is_empty());
                        results.add((at, plan), &run, differences, step_names);
                    }
                }
            });
        }
    });
    let mut results = results.into_inner();
    search.skipped += plans.len() - results.len();
    for (at, plan) in plans.iter().enumerate() {
        let Some(result) = results.remove(&at) else {
            search.note(plan, Outcome::NoTime);
            continue;
        };
        *search.runs.entry(plan.class()).or_default() += 1;
        search.unreached += usize::from(result.outcome == Outcome::Unreached);
        search.note(plan, result.outcome);
        search.tolerated.extend(result.tolerated);
        search.add_told(Some(plan), result.differences, &result.story);
    }
}
