//! Faults as plain values: which requests of the manager they strike, when, and what happens to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::ApiRequest;
use super::stream::Interruption;

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Effect {
    /// The server does not see it; the answer is an error of this code.
    Fail {
        /// The HTTP status code.
        code: u16,
    },
    /// The server does what is asked, but the answer is lost on the way.
    LoseAnswer,
    /// The server does not see it; the connection breaks.
    Unreachable,
    /// It arrives later.
    Delay {
        /// How much later.
        by: Duration,
    },
    /// The watches that are open end, as when a connection breaks.
    DropWatches,
    /// The watches that are open end with 410 Gone: what they would go on from is forgotten.
    ExpireWatches,
}

/// Which requests a fault strikes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Requests {
    /// Those of these verbs; all, if there are none.
    pub verbs: Vec<String>,
    /// Those of this resource: `deployments`, or `deployments/status`.
    pub resource: Option<String>,
    /// Those of the object of this name.
    pub name: Option<String>,
}

impl Requests {
    fn include(&self, api_request: &ApiRequest) -> bool {
        let resource = |wanted: &String| *wanted == api_request.resource;
        (self.verbs.is_empty() || self.verbs.contains(&api_request.verb))
            && self.resource.as_ref().is_none_or(resource)
            && self.name.as_ref().is_none_or(|name| *name == api_request.name)
    }
}

/// A fault on the manager's way to the server.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kubewright_testing::{Fault, TestEnv};
///
/// let env = TestEnv::builder().embedded().start().await;
/// // The second write of a ConfigMap fails, once.
/// let injected = env.inject(Fault::fail(500).writes().of("configmaps").nth(2));
/// assert_eq!(injected.hits(), 0);
/// // A fault is a value: it can be written down and read again.
/// let text = serde_json::to_string(&Fault::drop_watches()).unwrap();
/// assert_eq!(serde_json::from_str::<Fault>(&text).unwrap(), Fault::drop_watches());
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Which requests it is about.
    pub requests: Requests,
    /// The first of them that it strikes, counted from 1.
    pub first: u64,
    /// How many requests it affects from there on; all if `None`.
    pub times: Option<u64>,
    /// What happens to them.
    pub effect: Effect,
}

const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Fault {
    /// Something that happens to the next request.
    pub fn of_effect(effect: Effect) -> Self {
        Fault {
            requests: Requests::default(),
            first: 1,
            times: Some(1),
            effect,
        }
    }

    /// An error of this code instead of an answer. The client retries 429, 503 and 504 as it does in production.
    pub fn fail(code: u16) -> Self {
        Self::of_effect(Effect::Fail { code })
    }

    /// The server does what is asked, but the answer is lost.
    ///
    /// ```
    /// use kubewright_testing::Fault;
    /// use std::time::Duration;
    ///
    /// let plan = [
    ///     Fault::lose_answer().verbs(["create"]),
    ///     Fault::unreachable().always(),
    ///     Fault::delay(Duration::from_secs(3)).writes(),
    ///     Fault::expire_watches().of("configmaps"),
    /// ];
    /// assert_eq!(plan[1].times, None);
    /// ```
    pub fn lose_answer() -> Self {
        Self::of_effect(Effect::LoseAnswer)
    }

    /// The server cannot be reached.
    pub fn unreachable() -> Self {
        Self::of_effect(Effect::Unreachable)
    }

    /// The request arrives so much later.
    pub fn delay(by: Duration) -> Self {
        Self::of_effect(Effect::Delay { by })
    }

    /// The watches that are open end at once.
    pub fn drop_watches() -> Self {
        Self::of_effect(Effect::DropWatches)
    }

    /// The watches that are open end at once with 410 Gone.
    pub fn expire_watches() -> Self {
        Self::of_effect(Effect::ExpireWatches)
    }

    /// Only requests that write.
    pub fn writes(self) -> Self {
        self.verbs(WRITES)
    }

    /// Only requests of these verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub fn verbs(mut self, verbs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.requests.verbs = verbs.into_iter().map(Into::into).collect();
        self
    }

    /// Only requests of this resource: `deployments`, or `deployments/status`.
    pub fn of(mut self, resource: impl Into<String>) -> Self {
        self.requests.resource = Some(resource.into());
        self
    }

    /// Only requests of objects of this name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.requests.name = Some(name.into());
        self
    }

    /// Not the first of them but the `nth`, counted from 1.
    pub fn nth(mut self, nth: u64) -> Self {
        self.first = nth.max(1);
        self
    }

    /// So many of them in a row.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// All of them, until the faults are cleared.
    pub fn always(mut self) -> Self {
        self.times = None;
        self
    }
}

/// A fault that was injected.
#[derive(Clone, Debug)]
pub struct Injected(Arc<AtomicU64>);

impl Injected {
    /// How many requests it struck.
    pub fn hits(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A fault that waits for its requests.
#[derive(Debug)]
pub(crate) struct ActiveFault {
    fault: Fault,
    seen: u64,
    hits: Arc<AtomicU64>,
}

impl ActiveFault {
    pub(super) fn new(fault: Fault) -> (Self, Injected) {
        let hits = Arc::new(AtomicU64::new(0));
        let injected = Injected(Arc::clone(&hits));
        (ActiveFault { fault, seen: 0, hits }, injected)
    }

    /// What it does to watches that are open, if that is what it does.
    pub(super) fn interruption(&self) -> Option<Interruption> {
        let expired = match self.fault.effect {
            Effect::DropWatches => false,
            Effect::ExpireWatches => true,
            _ => return None,
        };
        Some(Interruption {
            resource: self.fault.requests.resource.clone(),
            expired,
        })
    }

    pub(super) fn count_hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    /// What happens to a request, if this fault strikes it.
    pub(super) fn effect_on(&mut self, api_request: &ApiRequest) -> Option<Effect> {
        if !self.fault.requests.include(api_request) {
            return None;
        }
        self.seen += 1;
        let past = self.seen.checked_sub(self.fault.first)?;
        if self.fault.times.is_some_and(|times| past >= times) {
            return None;
        }
        self.count_hit();
        Some(self.fault.effect.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_request(method: &str, uri: &str) -> ApiRequest {
        ApiRequest::of(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn the_nth_write_is_struck_and_no_other() {
        let (mut active, injected) = ActiveFault::new(Fault::fail(500).writes().of("configmaps").nth(2));
        let write = api_request("POST", "/api/v1/namespaces/a/configmaps");
        assert_eq!(
            active.effect_on(&api_request("GET", "/api/v1/namespaces/a/configmaps")),
            None
        );
        assert_eq!(active.effect_on(&write), None);
        assert_eq!(
            active.effect_on(&api_request("POST", "/api/v1/namespaces/a/secrets")),
            None
        );
        assert_eq!(active.effect_on(&write), Some(Effect::Fail { code: 500 }));
        assert_eq!(active.effect_on(&write), None);
        assert_eq!(injected.hits(), 1);
    }

    #[test]
    fn a_fault_without_number_strikes_always() {
        let (mut active, injected) = ActiveFault::new(Fault::unreachable().always());
        for _ in 0..3 {
            assert!(active.effect_on(&api_request("GET", "/api/v1/pods")).is_some());
        }
        assert_eq!(injected.hits(), 3);
    }
}
