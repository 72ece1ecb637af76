//! The objects of a kind become what a test expects.

use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kubewright_runtime::object::{Kind, Object};
use tokio::time::Instant;

use super::alarm;
use super::follow::Follow;
use crate::env::Name;
use crate::fail::{CallSite, or_fail};
use crate::report::{self, source};
use crate::{Error, TestEnv};

type ConditionFn<'e, K> = Box<dyn Fn(&[K]) -> bool + Send + 'e>;
type FilterFn<'e, K> = Box<dyn Fn(&K) -> bool + Send + 'e>;

/// A question about all objects of a kind: `.await` it. Made by [`TestEnv::eventually_list`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use k8s_openapi::api::core::v1::Secret;
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::builder().embedded().start().await;
/// env.apply("{apiVersion: v1, kind: Secret, metadata: {name: key}}").await;
/// let secrets = env.eventually_list::<Secret>(|secrets| secrets.len() == 1).await;
/// assert_eq!(secrets[0].metadata.name.as_deref(), Some("key"));
/// # }
/// ```
#[must_use = "nothing is waited for until it is awaited"]
pub struct EventuallyList<'e, K> {
    env: &'e TestEnv,
    holds: ConditionFn<'e, K>,
    /// Which of them the question is about; all, if it does not say.
    is_meant: Option<FilterFn<'e, K>>,
    /// What is waited for, if the test's source does not say it.
    text: Option<String>,
    within: Duration,
    at: CallSite,
}

impl TestEnv {
    /// Waits until all objects of a kind together are as expected: those of the test's namespace, or of the whole cluster if they
    /// are in none.
    #[track_caller]
    pub fn eventually_list<'e, K: Object>(&'e self, holds: impl Fn(&[K]) -> bool + Send + 'e) -> EventuallyList<'e, K> {
        EventuallyList {
            env: self,
            holds: Box::new(holds),
            is_meant: None,
            text: None,
            within: self.deadline(),
            at: Location::caller(),
        }
    }

    /// Waits until there is an event with this reason about an object, and returns all such events.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let error = env.eventually_event::<Secret>("key", "Rotated").outcome().await.unwrap_err();
    /// assert!(error.text().contains("an event Rotated about Secret key"), "{}", error.text());
    /// # }
    /// ```
    #[track_caller]
    pub fn eventually_event<'e, K: Object>(
        &'e self,
        name: impl Into<Name>,
        reason: &'e str,
    ) -> EventuallyList<'e, Event> {
        let (kind, name) = (Kind::of::<K>(), name.into());
        let text = format!("an event {reason} about {} {name}", kind.kind());
        let key = name.key(&kind, self.namespace());
        let is_meant = move |event: &Event| {
            let about = event.regarding.as_ref();
            let named = about.and_then(|about| about.name.as_deref()) == Some(key.name());
            let of_kind = about.and_then(|about| about.kind.as_deref()) == Some(kind.kind());
            named && of_kind && event.reason.as_deref() == Some(reason)
        };
        EventuallyList {
            env: self,
            holds: Box::new(|events| !events.is_empty()),
            is_meant: Some(Box::new(is_meant)),
            text: Some(text),
            within: self.deadline(),
            at: Location::caller(),
        }
    }
}

impl<K: Object> EventuallyList<'_, K> {
    /// How long to wait.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// The objects, or the text the test would fail with.
    pub async fn outcome(self) -> Result<Vec<K>, Error> {
        let EventuallyList {
            env,
            holds,
            is_meant,
            text,
            within,
            at,
        } = self;
        let kind = Kind::of::<K>();
        let namespace = kind.is_namespaced().then(|| env.namespace());
        let deadline = Instant::now() + within;
        let mut follow = Follow::all(env.kube(), &kind, namespace);
        let mut alarm = std::pin::pin!(alarm(env));
        let why = loop {
            tokio::select! {
                biased;
                why = &mut alarm => break why,
                () = tokio::time::sleep_until(deadline) => break format!("not within {within:?}: the {}", kind.plural()),
                () = follow.next() => {}
            }
            if follow.trouble().is_some() {
                continue;
            }
            let objects = follow.objects().map(|object| serde_json::from_value(object.clone()));
            let objects = objects.collect::<Result<Vec<K>, _>>().map(|mut objects| {
                objects.retain(|object| is_meant.as_ref().is_none_or(|is_meant| is_meant(object)));
                objects
            });
            match objects {
                Ok(objects) if holds(&objects) => {
                    env.check_reads()?;
                    return Ok(objects);
                }
                Ok(_) => {}
                Err(error) => break format!("an object does not decode as {kind}: {error}"),
            }
        };
        let expected = text
            .or_else(|| source::last_argument(at))
            .unwrap_or_else(|| "the function of the test to be true".to_owned());
        let objects: Vec<_> = follow.objects().cloned().collect();
        Err(Error::Unmet(report::of_list(env, &why, &expected, &objects)))
    }
}

impl<'e, K: Object> IntoFuture for EventuallyList<'e, K> {
    type Output = Vec<K>;
    type IntoFuture = Pin<Box<dyn Future<Output = Vec<K>> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let at = self.at;
        Box::pin(or_fail(at, self.outcome()))
    }
}
