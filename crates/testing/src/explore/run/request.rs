//! What a run is asked for, and the thread that it has.

use super::Run;
use crate::TestRuntime;
use crate::explore::base::Base;
use crate::explore::class::Class;
use crate::explore::compare::Difference;
use crate::explore::observation::{Checkpoint, Observation};
use crate::explore::plan::{Disturbance, Plan};
use crate::explore::scenario::Scenario;
use crate::fail::QUIET_THREAD;

/// How many writes within a minute a disturbed run may make where the reference makes few.
const FEW_WRITES: usize = 100;
/// How many times the writes of the reference.
const TIMES_THE_WRITES: usize = 4;

/// What a run is asked for.
pub(in crate::explore) struct RunRequest<'a> {
    pub(in crate::explore) scenario: &'a Scenario,
    /// Where it begins; at the very beginning if `None`.
    pub(in crate::explore) from: Option<(usize, &'a Checkpoint)>,
    pub(in crate::explore) plan: Option<&'a Plan>,
    /// What the run is compared with: it is waited for.
    pub(in crate::explore) reference: Option<&'a Observation>,
    pub(in crate::explore) keep_checkpoints: bool,
}

impl RunRequest<'_> {
    /// Runs in a thread of its own.
    pub(in crate::explore) fn run(&self) -> Observation {
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

    pub(super) fn first(&self) -> usize {
        self.from.map_or(0, |(first, _)| first)
    }

    /// How many writes within a minute are a loop, if the reference tells. What makes an object with each of its retries would make
    /// hundreds before anybody stops it, each with all that the cluster's controllers make for it. An edit may ask for anything.
    pub(super) fn most_writes(&self) -> Option<u64> {
        let plan = self.plan.filter(|plan| plan.class() != Class::Edits)?;
        let reference = self.reference.filter(|_| plan.disturbance != Disturbance::Restart)?;
        let most = (TIMES_THE_WRITES * reference.writes.len()).max(FEW_WRITES);
        u64::try_from(most).ok()
    }
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

/// Waits for a future in a thread of its own, in virtual time. An error is the text of a panic.
pub(in crate::explore) fn in_thread<F: Future<Output: Send>>(
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
pub(in crate::explore) fn seed_after(seed: u64, step: usize) -> u64 {
    let step = u64::try_from(step).unwrap_or(u64::MAX);
    seed ^ step.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The text of a panic.
pub(super) fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without text")
        .to_owned()
}
