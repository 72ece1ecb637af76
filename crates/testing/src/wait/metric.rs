//! A metric of the manager becomes what a test expects.

use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use super::alarm;
use crate::fail::{CallSite, or_fail};
use crate::report::{self, source};
use crate::{Error, TestEnv};

/// Metrics announce no changes: they are read after every response to the manager, and at this interval.
const LOOK: Duration = Duration::from_millis(5);

type ConditionFn<'e> = Box<dyn Fn(f64) -> bool + Send + 'e>;

/// A question about a metric: `.await` it. Made by [`TestEnv::eventually_metric`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use kubewright_runtime::operator::Operator;
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::start(Operator::new("shop")).await;
/// let never = env.eventually_metric("workqueue_depth", &[("name", "shop")], |depth| depth > 3.0);
/// let text = never.outcome().await.unwrap_err().text();
/// assert!(text.starts_with("not within 10s: workqueue_depth{name=\"shop\"} is 0"), "{text}");
/// # }
/// ```
#[must_use = "nothing is waited for until it is awaited"]
pub struct EventuallyMetric<'e> {
    env: &'e TestEnv,
    name: &'e str,
    labels: &'e [(&'e str, &'e str)],
    holds: ConditionFn<'e>,
    within: Duration,
    at: CallSite,
}

impl TestEnv {
    /// Waits until a metric of the manager is as expected: the sum over all series that have these labels, 0 if there are none.
    #[track_caller]
    pub fn eventually_metric<'e>(
        &'e self,
        name: &'e str,
        labels: &'e [(&'e str, &'e str)],
        holds: impl Fn(f64) -> bool + Send + 'e,
    ) -> EventuallyMetric<'e> {
        EventuallyMetric {
            env: self,
            name,
            labels,
            holds: Box::new(holds),
            within: self.deadline(),
            at: Location::caller(),
        }
    }
}

impl EventuallyMetric<'_> {
    /// How long to wait.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// The value, or the text the test would fail with.
    pub async fn outcome(self) -> Result<f64, Error> {
        let EventuallyMetric {
            env,
            name,
            labels,
            holds,
            within,
            at,
        } = self;
        let deadline = Instant::now() + within;
        let mut activity = env.traffic().activity();
        let mut alarm = std::pin::pin!(alarm(env));
        let why = loop {
            let value = env.metrics().sum(name, labels);
            if holds(value) {
                return Ok(value);
            }
            let look = deadline.min(Instant::now() + LOOK);
            tokio::select! {
                biased;
                why = &mut alarm => break why,
                () = tokio::time::sleep_until(look) => {
                    if Instant::now() >= deadline {
                        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
                        break format!("not within {within:?}: {name}{{{}}} is {value}", labels.join(","));
                    }
                }
                _ = activity.changed() => {}
            }
        };
        let expected = source::last_argument(at).unwrap_or_else(|| "the function of the test to be true".to_owned());
        Err(Error::Unmet(report::of_value(env, &why, &expected)))
    }
}

impl<'e> IntoFuture for EventuallyMetric<'e> {
    type Output = f64;
    type IntoFuture = Pin<Box<dyn Future<Output = f64> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.outcome()))
    }
}
