//! An object goes away.

use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use kubewright_runtime::object::{Kind, Object};
use tokio::time::Instant;

use super::alarm;
use super::follow::Follow;
use crate::env::Name;
use crate::fail::{CallSite, or_fail};
use crate::report::{Observation, Report};
use crate::{Error, TestEnv};

/// An object that is to go away: `.await` it. Made by [`TestEnv::eventually_gone`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use k8s_openapi::api::core::v1::Secret;
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::builder().embedded().start().await;
/// env.apply("{apiVersion: v1, kind: Secret, metadata: {name: key}}").await;
/// env.delete::<Secret>("key").await;
/// env.eventually_gone::<Secret>("key").await;
/// # }
/// ```
#[must_use = "nothing is waited for until it is awaited"]
pub struct EventuallyGone<'e, K> {
    env: &'e TestEnv,
    name: Name,
    within: Duration,
    at: CallSite,
    object: PhantomData<fn() -> K>,
}

impl TestEnv {
    /// Waits until there is no object of this name; the deadline is that of [`TestEnv::eventually`].
    #[track_caller]
    pub fn eventually_gone<K: Object>(&self, name: impl Into<Name>) -> EventuallyGone<'_, K> {
        EventuallyGone {
            env: self,
            name: name.into(),
            within: self.deadline(),
            at: Location::caller(),
            object: PhantomData,
        }
    }
}

impl<K: Object> EventuallyGone<'_, K> {
    /// How long to wait.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Whether it is gone, or the text the test would fail with.
    pub async fn outcome(self) -> Result<(), Error> {
        let EventuallyGone { env, name, within, .. } = self;
        let kind = Kind::of::<K>();
        let key = name.key(&kind, env.namespace());
        let deadline = Instant::now() + within;
        let mut follow = Follow::object(env.kube(), &kind, &key);
        let mut alarm = std::pin::pin!(alarm(env));
        let why = loop {
            tokio::select! {
                biased;
                why = &mut alarm => break why,
                () = tokio::time::sleep_until(deadline) => {
                    break format!("not gone within {within:?}: {} {key}", kind.kind());
                }
                () = follow.next() => {}
            }
            if follow.trouble().is_none() && follow.objects().next().is_none() {
                return env.check_reads();
            }
        };
        let report = Report {
            env,
            kind: &kind,
            key: &key,
            why,
            observation: Observation {
                expected: None,
                mismatch: Vec::new(),
                object: follow.objects().next().cloned(),
                trouble: follow.trouble().map(str::to_owned),
            },
        };
        Err(Error::Unmet(report.text().await))
    }
}

impl<'e, K: Object> IntoFuture for EventuallyGone<'e, K> {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.outcome()))
    }
}
