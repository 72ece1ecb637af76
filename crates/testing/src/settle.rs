//! Waits until nothing is left to do, within a budget of writes, and reports what is retried later.

use std::panic::Location;
use std::time::Duration;

use tokio::time::Instant;

use crate::fail::or_fail;
use crate::manager::RunningManager;
use crate::running_controllers::RunningControllers;
use crate::{Error, Metrics, TestEnv, report, time};

/// Shorter than any period of a controller. A paused clock advances by it only when nothing is left to do.
const MOMENT: Duration = Duration::from_millis(1);
/// Retries of the cluster's controllers within this time are waited for: they conflicted with each other.
const RETRY: Duration = Duration::from_secs(1);
/// How many such retries are waited for.
const MOST_RETRIES: usize = 100;
/// In real time, an environment without activity for this long has settled.
const QUIET: Duration = Duration::from_millis(50);

/// What failed and waits for a later time although nothing moves any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// The controller.
    pub controller: String,
    /// The object, as `namespace/name`.
    pub key: String,
    /// How often it failed in a row.
    pub failures: u64,
    /// When it is tried again.
    pub due: Duration,
    /// Why it failed last.
    pub error: Option<String>,
}

impl std::fmt::Display for Delayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Delayed {
            controller,
            key,
            failures,
            due,
            error,
        } = self;
        write!(f, "{controller}: {key} failed {failures} times, again in {due:?}")?;
        match error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

/// How an environment has settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// How many writes the manager made meanwhile.
    pub writes: u64,
    /// What failed and is tried again later: `env.advance(…)` gets there.
    pub delayed: Vec<Delayed>,
}

impl TestEnv {
    /// Lets time pass: every timer until then fires, in order. Takes no time, and needs virtual time.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    /// use std::time::Duration;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let before = tokio::time::Instant::now();
    /// env.advance(Duration::from_secs(60 * 60)).await;
    /// assert_eq!(before.elapsed().as_secs(), 3600);
    /// # }
    /// ```
    #[track_caller]
    pub fn advance(&self, by: Duration) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_advance(by))
    }

    /// As [`advance`](Self::advance), but returns the error instead of failing the test.
    pub async fn try_advance(&self, by: Duration) -> Result<(), Error> {
        if !time::is_paused() {
            return Err(Error::NotPaused("`advance`"));
        }
        self.pass(tokio::time::sleep(by)).await?;
        self.check_reads_now()
    }

    /// Runs until nothing moves: no event is on its way, no request waits, no timer is due.
    ///
    /// In virtual time that is exact: the clock moves only when there is nothing left to do. A manager that writes on and on fails
    /// the test with the object it writes most; what waits for a later time is in the answer. In real time, it is settled when the
    /// manager and the cluster's controllers were quiet for 50 ms; it fails the test if that does not come about within its
    /// deadline.
    ///
    /// What the cluster's controllers do is waited for as well: a Deployment that was applied has its Pods, and they are ready.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply(
    ///     "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}},
    ///       template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}",
    /// )
    /// .await;
    /// env.settle().await;
    /// assert_eq!(env.get::<Deployment>("web").await.status.unwrap().ready_replicas, Some(3));
    /// # }
    /// ```
    #[track_caller]
    pub fn settle(&self) -> impl Future<Output = Settled> {
        or_fail(Location::caller(), self.try_settle())
    }

    /// As [`settle`](Self::settle), but returns the error instead of failing the test.
    pub async fn try_settle(&self) -> Result<Settled, Error> {
        self.traffic().count_writes();
        if time::is_paused() {
            self.pass(self.moment()).await?;
        } else {
            self.pass(self.quiet_in_time()).await??;
        }
        self.check_reads_now()?;
        Ok(Settled {
            writes: self.traffic().writes(),
            delayed: self.with_manager(RunningManager::delayed).unwrap_or_default(),
        })
    }

    /// Waits for a future, unless the manager writes too much meanwhile, is refused something or ends.
    async fn pass<T>(&self, until: impl Future<Output = T>) -> Result<T, Error> {
        let alarm = crate::wait::alarm(self);
        tokio::select! {
            biased;
            why = alarm => Err(Error::Unmet(self.with_report(&why))),
            done = until => Ok(done),
        }
    }

    fn with_report(&self, why: &str) -> String {
        let mut text = why.to_owned();
        for line in report::manager(self, None) {
            text.push_str("\n  ");
            text.push_str(&line);
        }
        text
    }

    /// Until a paused clock moves, and again for what the cluster's controllers try once more.
    async fn moment(&self) {
        tokio::time::sleep(MOMENT).await;
        for _ in 0..MOST_RETRIES {
            match self.with_controllers(RunningControllers::next_retry).flatten() {
                Some(due) if due <= RETRY => tokio::time::sleep(due + MOMENT).await,
                _ => return,
            }
        }
    }

    async fn quiet_in_time(&self) -> Result<(), Error> {
        let deadline = self.deadline();
        tokio::time::timeout(deadline, self.quiet()).await.map_err(|_| {
            let why = match crate::wait::busiest(self.traffic()).as_str() {
                "" => format!("nothing came to rest in {deadline:?}"),
                busiest => format!("nothing came to rest in {deadline:?}; the manager wrote {busiest}"),
            };
            Error::Unmet(self.with_report(&why))
        })
    }

    /// Waits until the queues are empty and no request was made for a while.
    async fn quiet(&self) {
        let mut activity = self.traffic().activity();
        let mut since = Instant::now();
        loop {
            activity.mark_unchanged();
            tokio::select! {
                biased;
                changed = activity.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    since = Instant::now();
                }
                () = tokio::time::sleep_until(since + QUIET) => {
                    let metrics = self.metrics();
                    let busy = metrics.sum("workqueue_depth", &[]) + metrics.sum("controller_runtime_active_workers", &[]);
                    if busy == 0.0 && self.with_controllers(RunningControllers::is_busy) != Some(true) {
                        return;
                    }
                    since = Instant::now();
                }
            }
        }
    }

    fn check_reads_now(&self) -> Result<(), Error> {
        if self.checks_reads() {
            self.check_reads()
        } else {
            Ok(())
        }
    }

    /// In virtual time, waiting for a cache that does not catch up would only advance the clock, unseen; so it fails
    /// the test.
    pub(crate) fn check_reads(&self) -> Result<(), Error> {
        if !time::is_paused() {
            return Ok(());
        }
        let family = "kubewright_read_your_writes_timeouts_total";
        let text = self.with_manager(|manager| manager.registry.render_family(family));
        let late = Metrics::parse(&text.unwrap_or_default()).series(family);
        match late.first() {
            None => Ok(()),
            Some((kind, count)) => Err(Error::Unmet(format!(
                "the manager's cache did not see its own writes of {kind} in time ({count} times): is a watch dropped, or does the \
                 object not match what is cached?"
            ))),
        }
    }
}
