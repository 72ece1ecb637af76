//! Reconciling what is reconciled already must change nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::Location;

use kubewright_runtime::trace::FieldChange;
use serde_json::Value;

use crate::fail::or_fail;
use crate::traffic::{ApiRequest, RecordedWrite};
use crate::{Error, TestEnv};

/// How many changes the failure lists.
const MOST: usize = 10;

impl TestEnv {
    /// Restarts the manager, so that every object is reconciled again, and fails the test if that changes anything: it names the
    /// objects and fields. Events and leases are no changes, nor is an apply that leaves everything as it was.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::start(Operator::new("shop")).await;
    /// env.assert_idempotent().await;
    /// # }
    /// ```
    #[track_caller]
    pub fn assert_idempotent(&self) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.check_idempotent())
    }

    /// As [`assert_idempotent`](Self::assert_idempotent), but returns what changed instead of failing the test.
    pub async fn check_idempotent(&self) -> Result<(), Error> {
        self.try_settle().await?;
        self.traffic().record();
        let again = async {
            self.try_restart_manager().await?;
            self.try_settle().await
        };
        let settled = again.await;
        let recorded = self.traffic().recorded();
        settled?;
        let own = recorded.iter().filter(|written| !self.is_upkeep(&written.api_request));
        let changes: BTreeSet<String> = own.flat_map(changes).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let mut text = "reconciling again changed what was reconciled already".to_owned();
        for change in changes.iter().take(MOST) {
            text.push_str("\n  ");
            text.push_str(change);
        }
        if changes.len() > MOST {
            let _ = write!(text, "\n  … {} more", changes.len() - MOST);
        }
        Err(Error::Unmet(text))
    }

    /// Whether a write sets the address of the operator's own webhooks: with every start the manager writes it for a
    /// server that calls it over the network. No reconcile does that.
    fn is_upkeep(&self, api_request: &ApiRequest) -> bool {
        let places = [
            "customresourcedefinitions",
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        ];
        places.contains(&api_request.resource.as_str()) && self.has_installed(&api_request.name)
    }
}

/// What a write changed: the fields, or the whole object.
fn changes(written: &RecordedWrite) -> Vec<String> {
    if written.api_request.is_event_or_lease() {
        return Vec::new();
    }
    let object = written.api_request.object();
    match (&written.before, &written.after) {
        (None, Some(after)) => {
            let name = after["metadata"]["name"].as_str().unwrap_or_default();
            let object = if written.api_request.name.is_empty() {
                format!("{object}: {name}")
            } else {
                object
            };
            vec![format!("{object} was created")]
        }
        (Some(_), None) => vec![format!("{object} was deleted")],
        (None, None) => vec![format!("{} was written", written.api_request)],
        (Some(before), Some(after)) => {
            let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
            if version(before) == version(after) {
                return Vec::new();
            }
            let changed = FieldChange::between(before, after);
            let mut fields: Vec<_> = changed.iter().map(ToString::to_string).collect();
            if fields.is_empty() {
                fields.push("managedFields only: another field owner?".to_owned());
            }
            fields.iter().map(|field| format!("{object}: {field}")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(before: Option<Value>, after: Option<Value>) -> RecordedWrite {
        let uri = "/apis/apps/v1/namespaces/shop/deployments/web".parse().unwrap();
        RecordedWrite {
            api_request: ApiRequest::of(&http::Method::PUT, &uri),
            before,
            after,
        }
    }

    #[test]
    fn a_change_in_a_list_is_named_by_its_place_and_long_values_are_cut() {
        let object = |version: &str, image: &str| json!({ "metadata": { "resourceVersion": version }, "spec": { "containers": [{ "name": "web" }, { "image": image }] } });
        let long = "x".repeat(100);
        assert_eq!(
            changes(&written(Some(object("1", "a")), Some(object("2", &long)))),
            [format!(
                "deployments.apps shop/web: spec.containers[1].image from \"a\" to \"{}…",
                &long[..79]
            )]
        );
    }

    #[test]
    fn the_field_that_changed_is_named_with_both_values() {
        let object = |version: &str, replicas: u32| json!({ "metadata": { "resourceVersion": version }, "spec": { "replicas": replicas } });
        assert_eq!(
            changes(&written(Some(object("1", 1)), Some(object("2", 2)))),
            ["deployments.apps shop/web: spec.replicas from 1 to 2"]
        );
        assert!(changes(&written(Some(object("1", 1)), Some(object("1", 1)))).is_empty());
        assert_eq!(
            changes(&written(None, Some(object("1", 1)))),
            ["deployments.apps shop/web was created"]
        );
        assert_eq!(
            changes(&written(Some(object("1", 1)), None)),
            ["deployments.apps shop/web was deleted"]
        );
    }
}
