//! Reconciles with their reasons, from the trace of the operator.

use std::collections::HashMap;

use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::trace::{Cause, Change, Outcome, TraceEvent};

use super::line::FinishedReconcile;

/// Collects the causes of reconciles until they end.
#[derive(Debug, Default)]
pub(super) struct Reconciles {
    count: u64,
    /// The causes of the next reconcile of an object.
    waiting: HashMap<ObjectKey, Vec<Cause>>,
    /// The causes of the reconcile that is running.
    under_way: HashMap<ObjectKey, Vec<Cause>>,
}

impl Reconciles {
    /// Takes what happened in the operator. Returns the reconcile that ended with it.
    pub(super) fn take(&mut self, event: &TraceEvent) -> Option<FinishedReconcile> {
        match event {
            TraceEvent::Queued { key, cause, .. } => {
                self.waiting.entry(key.clone()).or_default().push(cause.clone());
                None
            }
            TraceEvent::Began { key, .. } => {
                let causes = self.waiting.remove(key).unwrap_or_default();
                self.under_way.insert(key.clone(), causes);
                None
            }
            TraceEvent::Ended {
                key,
                outcome,
                error,
                took,
                ..
            } => {
                self.count += 1;
                let causes = self.under_way.remove(key).unwrap_or_default();
                Some(FinishedReconcile {
                    number: self.count,
                    object: key.to_string(),
                    reasons: reasons(&causes),
                    outcome: *outcome,
                    error: error.clone(),
                    took: *took,
                })
            }
            _ => None,
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
        Cause::Object(change) => match change.change {
            Change::Listed | Change::Resynced => format!("{} is there", change.kind.kind()),
            other => format!("{} {}", change.kind.kind(), other.as_str()),
        },
        Cause::Source => "its timer".to_owned(),
        Cause::Again(Outcome::Error) => "the one before failed".to_owned(),
        Cause::Again(_) => "asked for by the one before".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::api::apps::v1::Deployment;
    use kubewright_runtime::object::Kind;
    use kubewright_runtime::trace::ObjectChange;

    use super::*;

    fn key() -> ObjectKey {
        ObjectKey::namespaced("default", "docs")
    }

    fn queued(change: Change) -> TraceEvent {
        TraceEvent::Queued {
            controller: "docs".into(),
            key: key(),
            cause: Cause::Object(ObjectChange {
                kind: Kind::of::<Deployment>(),
                key: ObjectKey::namespaced("default", "viewer-docs"),
                uid: "1".into(),
                revision: Some(1),
                change,
            }),
            after: None,
        }
    }

    fn began() -> TraceEvent {
        TraceEvent::Began {
            controller: "docs".into(),
            key: key(),
            waited: Duration::ZERO,
        }
    }

    fn ended() -> TraceEvent {
        TraceEvent::Ended {
            controller: "docs".into(),
            key: key(),
            outcome: Outcome::Success,
            error: None,
            is_terminal: false,
            took: Duration::from_millis(2),
        }
    }

    #[test]
    fn a_reconcile_has_the_reasons_that_came_before_it_began() {
        let mut reconciles = Reconciles::default();
        for event in [
            queued(Change::Created),
            queued(Change::Updated),
            queued(Change::Updated),
            began(),
            queued(Change::Deleted),
        ] {
            assert_eq!(reconciles.take(&event), None);
        }
        let first = reconciles.take(&ended()).unwrap();
        assert_eq!(first.reasons, ["Deployment created", "Deployment updated"]);
        reconciles.take(&began());
        let second = reconciles.take(&ended()).unwrap();
        assert_eq!(
            (second.number, second.reasons),
            (2, vec!["Deployment deleted".to_owned()])
        );
    }
}
