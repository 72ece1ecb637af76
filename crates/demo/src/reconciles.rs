//! Reconciles with their reasons, from the observations of a controller.

use std::collections::HashMap;

use kubewright_runtime::controller::{Cause, Change, Observation, Outcome, Request};

use super::line::FinishedReconcile;

/// Collects the causes of reconciles until they end.
#[derive(Debug, Default)]
pub(super) struct Reconciles {
    count: u64,
    /// The causes of the next reconcile of an object.
    waiting: HashMap<Request, Vec<Cause>>,
    /// The causes of the reconcile that is running.
    under_way: HashMap<Request, Vec<Cause>>,
}

impl Reconciles {
    /// Records an observation. Returns the reconcile that ended with it.
    pub(super) fn take(&mut self, observation: Observation) -> Option<FinishedReconcile> {
        match observation {
            Observation::Woken { request, cause } => {
                self.waiting.entry(request).or_default().push(cause);
                None
            }
            Observation::Began { request } => {
                let causes = self.waiting.remove(&request).unwrap_or_default();
                self.under_way.insert(request, causes);
                None
            }
            Observation::Ended(reconciled) => {
                self.count += 1;
                let causes = self.under_way.remove(&reconciled.request).unwrap_or_default();
                Some(FinishedReconcile {
                    number: self.count,
                    object: reconciled.request.to_string(),
                    reasons: reasons(&causes),
                    outcome: reconciled.outcome,
                    error: reconciled.error,
                    took: reconciled.took,
                })
            }
        }
    }
}

/// Each reason once, in the order in which they came.
fn reasons(causes: &[Cause]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for cause in causes {
        let reason = reason(cause);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

fn reason(cause: &Cause) -> String {
    match cause {
        Cause::Object {
            kind,
            change: Change::Listed,
            ..
        } => format!("{} is there", kind.kind()),
        Cause::Object { kind, change, .. } => format!("{} {}", kind.kind(), change.as_str()),
        Cause::Source => "its timer".to_owned(),
        Cause::Again(Outcome::Error) => "the one before failed".to_owned(),
        Cause::Again(_) => "asked for by the one before".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::apps::v1::Deployment;
    use kubewright_runtime::controller::Reconciled;
    use kubewright_runtime::object::{Kind, ObjectKey};

    use super::*;

    fn request() -> Request {
        Request::from(ObjectKey::namespaced("default", "docs"))
    }

    fn woken(change: Change) -> Observation {
        Observation::Woken {
            request: request(),
            cause: Cause::Object {
                kind: Kind::of::<Deployment>(),
                key: ObjectKey::namespaced("default", "viewer-docs"),
                change,
            },
        }
    }

    fn ended() -> Observation {
        Observation::Ended(Reconciled {
            request: request(),
            outcome: Outcome::Success,
            error: None,
            took: Duration::from_millis(2),
            ended: tokio::time::Instant::now(),
        })
    }

    #[test]
    fn a_reconcile_has_the_reasons_that_came_before_it_began() {
        let mut reconciles = Reconciles::default();
        for observation in [
            woken(Change::Created),
            woken(Change::Updated),
            woken(Change::Updated),
            Observation::Began { request: request() },
            woken(Change::Deleted),
        ] {
            assert_eq!(reconciles.take(observation), None);
        }
        let first = reconciles.take(ended()).unwrap();
        assert_eq!(first.reasons, ["Deployment created", "Deployment updated"]);
        reconciles.take(Observation::Began { request: request() });
        let second = reconciles.take(ended()).unwrap();
        assert_eq!(
            (second.number, second.reasons),
            (2, vec!["Deployment deleted".to_owned()])
        );
    }
}
