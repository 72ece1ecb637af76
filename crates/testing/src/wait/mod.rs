//! Waits until something holds, or checks that it keeps holding: driven by watch events and the clock.

mod consistently;
mod eventually;
mod expectation;
mod follow;
mod gone;
mod list;
mod metric;

pub use consistently::Consistently;
pub use eventually::Eventually;
pub use gone::EventuallyGone;
pub use list::EventuallyList;
pub use metric::EventuallyMetric;

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::manager::RunningManager;
use crate::running_controllers::RunningControllers;
use crate::traffic::Traffic;
use crate::{TestEnv, report, time};

/// For how long the budget of writes is. A loop that waits a little between its writes is one, too; what comes every few seconds is work.
const BUDGET_TIME: Duration = Duration::from_mins(1);

/// What ends a wait early: a request that was refused, a manager that ended, too many writes.
pub(crate) async fn alarm(env: &TestEnv) -> String {
    let mut activity = env.traffic().activity();
    // In virtual time a loop of writes takes no time, so a deadline would never end it.
    let paused = time::is_paused();
    let mut known = env.traffic().writes();
    let (mut since, mut before) = (Instant::now(), known);
    let manager = end("the manager ended", env.with_manager(RunningManager::end));
    let controllers = end(
        "the controllers of the cluster ended",
        env.with_controllers(RunningControllers::end),
    );
    let refused = async {
        loop {
            let refusals = env.traffic().refusals();
            if env.refusals_fail() && !refusals.is_empty() {
                return report::refused(&refusals);
            }
            if since.elapsed() > BUDGET_TIME {
                (since, before) = (Instant::now(), known);
            }
            known = env.traffic().writes();
            let recent = known.saturating_sub(before);
            if paused && recent > env.write_budget() {
                return too_many_writes(env, recent);
            }
            if activity.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        biased;
        why = refused => why,
        why = manager => why,
        why = controllers => why,
    }
}

/// Returns the error of a manager or of controllers that ended; never returns while they run.
async fn end(what: &str, end: Option<watch::Receiver<Option<String>>>) -> String {
    let Some(mut end) = end else {
        return std::future::pending().await;
    };
    let why = end.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
    match why {
        Some(why) => format!("{what}: {why}"),
        // The test itself stopped it.
        None => std::future::pending().await,
    }
}

fn too_many_writes(env: &TestEnv, writes: u64) -> String {
    format!(
        "the manager writes on and on ({writes} writes within a minute): {}; does each write wake the reconcile that makes it?",
        busiest(env.traffic())
    )
}

/// The objects that the manager writes most.
pub(crate) fn busiest(traffic: &Traffic) -> String {
    let most_written = traffic.most_written();
    let named = most_written.iter().take(3);
    let named = named.map(|(object, count)| format!("{count} times {object}"));
    named.collect::<Vec<_>>().join(", ")
}
