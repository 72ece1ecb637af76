//! An object stays what a test expects.

use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use kubewright_runtime::object::{Kind, Object};
use tokio::time::Instant;

use super::alarm;
use super::expectation::Expectation;
use super::follow::Follow;
use crate::env::Name;
use crate::fail::{CallSite, or_fail};
use crate::matchers::Matcher;
use crate::report::{Observation, Report};
use crate::{Error, TestEnv};

/// How long something has to last by default.
const LASTING: Duration = Duration::from_millis(200);

/// An expectation that has to last: `.await` it. Made by [`TestEnv::consistently`].
#[must_use = "nothing is watched until it is awaited"]
pub struct Consistently<'e, K> {
    env: &'e TestEnv,
    name: Name,
    expectation: Expectation<'e, K>,
    lasting: Duration,
    at: CallSite,
}

impl TestEnv {
    /// Sees to it that an object is there and `holds`, with every change of it, for 200 ms or as long as
    /// [`Consistently::lasting`] says. In virtual time, say a day: it costs nothing.
    #[track_caller]
    pub fn consistently<'e, K: Object>(
        &'e self,
        name: impl Into<Name>,
        holds: impl Fn(&K) -> bool + Send + 'e,
    ) -> Consistently<'e, K> {
        let at = Location::caller();
        Consistently {
            env: self,
            name: name.into(),
            expectation: Expectation::of(holds, at),
            lasting: LASTING,
            at,
        }
    }

    /// The same with a matcher.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_testing::TestEnv;
    /// use kubewright_testing::matchers::field;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply("{apiVersion: v1, kind: Secret, metadata: {name: key}, immutable: true}").await;
    /// env.consistently_matches::<Secret>("key", field("immutable", true)).await;
    /// # }
    /// ```
    #[track_caller]
    pub fn consistently_matches<'e, K: Object>(
        &'e self,
        name: impl Into<Name>,
        matcher: impl Matcher + 'e,
    ) -> Consistently<'e, K> {
        let at = Location::caller();
        Consistently {
            env: self,
            name: name.into(),
            expectation: Expectation::matching(matcher, at),
            lasting: LASTING,
            at,
        }
    }
}

impl<K: Object> Consistently<'_, K> {
    /// How long it has to last.
    pub fn lasting(mut self, lasting: Duration) -> Self {
        self.lasting = lasting;
        self
    }

    /// The object as it is at the end, or the text the test would fail with.
    pub async fn outcome(self) -> Result<K, Error> {
        let Consistently {
            env,
            name,
            expectation,
            lasting,
            ..
        } = self;
        let kind = Kind::of::<K>();
        let key = name.key(&kind, env.namespace());
        // The time counts from when the object is first seen, however long that takes.
        let (mut began, mut end) = (Instant::now(), Instant::now() + env.deadline());
        let mut follow = Follow::object(env.kube(), &kind, &key);
        let mut alarm = std::pin::pin!(alarm(env));
        let mut last = None;
        let (why, mismatch) = loop {
            tokio::select! {
                biased;
                why = &mut alarm => break (why, Vec::new()),
                () = tokio::time::sleep_until(end) => match last {
                    Some(object) => {
                        env.check_reads()?;
                        return Ok(object);
                    }
                    None => break (format!("{} {key} cannot be read", kind.kind()), Vec::new()),
                },
                () = follow.next() => {}
            }
            if follow.trouble().is_some() {
                continue;
            }
            if last.is_none() {
                (began, end) = (Instant::now(), Instant::now() + lasting);
            }
            let after = began.elapsed();
            let judged = match follow.objects().next() {
                None => Err(vec!["there is no such object".to_owned()]),
                Some(object) => expectation.judge(object),
            };
            match judged {
                Ok(object) => last = Some(object),
                Err(wrong) => break (format!("no longer so after {after:?}: {} {key}", kind.kind()), wrong),
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
                object: follow.objects().next().cloned(),
                trouble: follow.trouble().map(str::to_owned),
            },
        };
        Err(Error::Unmet(report.text().await))
    }
}

impl<'e, K: Object> IntoFuture for Consistently<'e, K> {
    type Output = K;
    type IntoFuture = Pin<Box<dyn Future<Output = K> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.outcome()))
    }
}
