//! An object becomes what a test expects.

use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use kubewright_runtime::object::{Kind, Object};
use serde_json::Value;
use tokio::time::Instant;

use super::alarm;
use super::expectation::Expectation;
use super::follow::Follow;
use crate::env::Name;
use crate::fail::{CallSite, or_fail};
use crate::matchers::Matcher;
use crate::report::{Observation, Report};
use crate::{Error, TestEnv};

/// A question that waits for its answer: `.await` it. Made by [`TestEnv::eventually`].
#[must_use = "nothing is waited for until it is awaited"]
pub struct Eventually<'e, K> {
    env: &'e TestEnv,
    name: Name,
    expectation: Expectation<'e, K>,
    within: Duration,
    at: CallSite,
}

impl TestEnv {
    /// Waits until an object is there and `holds`, and returns it. It looks at every change of the object; nothing polls.
    ///
    /// The deadline is 10 s unless [`Builder::deadline`](crate::Builder::deadline) or [`Eventually::within`] says otherwise. The
    /// test fails at it, and at once when the manager is refused something or ends: with what was expected, the object, its
    /// events, what it owns, and the last reconciles.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let later = async { env.apply("{apiVersion: v1, kind: Secret, metadata: {name: key}}").await };
    /// let waiting = async { env.eventually::<Secret>("key", |secret| secret.metadata.uid.is_some()).await };
    /// let (secret, _) = tokio::join!(waiting, later);
    /// assert_eq!(secret.metadata.name.as_deref(), Some("key"));
    /// # }
    /// ```
    #[track_caller]
    pub fn eventually<'e, K: Object>(
        &'e self,
        name: impl Into<Name>,
        holds: impl Fn(&K) -> bool + Send + 'e,
    ) -> Eventually<'e, K> {
        let at = Location::caller();
        self.eventually_is(name.into(), Expectation::of(holds, at), at)
    }

    /// The same with a matcher, which says more when it does not match. See [`matchers`](crate::matchers).
    #[track_caller]
    pub fn eventually_matches<'e, K: Object>(
        &'e self,
        name: impl Into<Name>,
        matcher: impl Matcher + 'e,
    ) -> Eventually<'e, K> {
        let at = Location::caller();
        self.eventually_is(name.into(), Expectation::matching(matcher, at), at)
    }

    fn eventually_is<'e, K: Object>(
        &'e self,
        name: Name,
        expectation: Expectation<'e, K>,
        at: CallSite,
    ) -> Eventually<'e, K> {
        Eventually {
            env: self,
            name,
            expectation,
            within: self.deadline(),
            at,
        }
    }
}

impl<K: Object> Eventually<'_, K> {
    /// How long to wait.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// The object, or the text the test would fail with.
    pub async fn outcome(self) -> Result<K, Error> {
        let Eventually {
            env,
            name,
            expectation,
            within,
            ..
        } = self;
        let kind = Kind::of::<K>();
        let key = name.key(&kind, env.namespace());
        let deadline = Instant::now() + within;
        let mut follow = Follow::object(env.kube(), &kind, &key);
        let mut mismatch = Vec::new();
        let mut last: Option<Value> = None;
        let mut alarm = std::pin::pin!(alarm(env));
        let why = loop {
            tokio::select! {
                biased;
                why = &mut alarm => break why,
                () = tokio::time::sleep_until(deadline) => break format!("not within {within:?}: {} {key}", kind.kind()),
                () = follow.next() => {}
            }
            last = follow.objects().next().cloned();
            if let Some(object) = &last {
                match expectation.judge(object) {
                    Ok(object) => {
                        env.check_reads()?;
                        return Ok(object);
                    }
                    Err(wrong) => mismatch = wrong,
                }
            }
        };
        let report = Report {
            env,
            kind: &kind,
            key: &key,
            why,
            observation: Observation {
                expected: Some(expectation.text()),
                mismatch,
                object: last,
                trouble: follow.trouble().map(str::to_owned),
            },
        };
        Err(Error::Unmet(report.text().await))
    }
}

impl<'e, K: Object> IntoFuture for Eventually<'e, K> {
    type Output = K;
    type IntoFuture = Pin<Box<dyn Future<Output = K> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.outcome()))
    }
}
