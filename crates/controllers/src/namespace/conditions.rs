//! The conditions of a namespace that is being deleted, with upstream's reasons and messages. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NamespaceCondition;

use crate::support::time::whole;

/// What was found in a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    /// Of how many groups and versions the kinds could not be found out, and why.
    pub(super) discovery: Option<(usize, String)>,
    /// Why content could not be deleted.
    pub(super) failures: Vec<String>,
    /// How many objects are left of each resource (`pods.`, `deployments.apps`).
    pub(super) remaining: BTreeMap<String, usize>,
    /// How many objects have which finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
}

/// Type, reason and message when all is well, in the order in which they are written.
const FINE: [(&str, &str, &str); 5] = [
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    (
        "NamespaceContentRemaining",
        "ContentRemoved",
        "All content successfully removed",
    ),
    (
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
];

/// The conditions that follow from what was found; those that did not change keep their time.
pub(super) fn conditions(
    before: &[NamespaceCondition],
    findings: &Findings,
    now: Timestamp,
) -> Vec<NamespaceCondition> {
    let mut after = before.to_vec();
    for (type_, reason, message) in FINE {
        let trouble = trouble(type_, findings);
        let (status, reason, message) = match trouble {
            Some((reason, message)) => ("True", reason, message),
            None => ("False", reason, message.to_owned()),
        };
        let new = NamespaceCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(whole(now)),
        };
        match after.iter_mut().find(|condition| condition.type_ == type_) {
            None => after.push(new),
            Some(old) => {
                let same = old.status == new.status && old.reason == new.reason && old.message == new.message;
                if !same {
                    *old = new;
                }
            }
        }
    }
    after
}

fn trouble(type_: &str, findings: &Findings) -> Option<(&'static str, String)> {
    let listed = |counts: &BTreeMap<String, usize>, words: &dyn Fn(&str, usize) -> String| {
        let mut all: Vec<_> = counts.iter().map(|(name, count)| words(name, *count)).collect();
        all.sort();
        all.join(", ")
    };
    match type_ {
        "NamespaceDeletionDiscoveryFailure" => {
            let (failing, message) = findings.discovery.as_ref()?;
            Some((
                "DiscoveryFailed",
                format!("Discovery failed for some groups, {failing} failing: {message}"),
            ))
        }
        "NamespaceDeletionContentFailure" if !findings.failures.is_empty() => {
            let mut failures = findings.failures.clone();
            failures.sort();
            let count = failures.len();
            let message = format!(
                "Failed to delete all resource types, {count} remaining: {}",
                failures.join(", ")
            );
            Some(("ContentDeletionFailed", message))
        }
        "NamespaceContentRemaining" if !findings.remaining.is_empty() => {
            let words = |name: &str, count| format!("{name} has {count} resource instances");
            let message = format!("Some resources are remaining: {}", listed(&findings.remaining, &words));
            Some(("SomeResourcesRemain", message))
        }
        "NamespaceFinalizersRemaining" if !findings.finalizers.is_empty() => {
            let words = |name: &str, count| format!("{name} in {count} resource instances");
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                listed(&findings.finalizers, &words)
            );
            Some(("SomeFinalizersRemain", message))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_named_and_what_is_well_is_said_too() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let findings = Findings {
            remaining: [("toys.example.com".to_owned(), 2), ("pods.".to_owned(), 1)].into(),
            finalizers: [("example.com/hold".to_owned(), 3)].into(),
            ..Findings::default()
        };
        let conditions = conditions(&[], &findings, now);
        assert_eq!(conditions.len(), 5);
        assert_eq!(conditions[0].status, "False");
        assert_eq!(
            conditions[3].message.as_deref(),
            Some(
                "Some resources are remaining: pods. has 1 resource instances, toys.example.com has 2 resource instances"
            )
        );
        assert_eq!(
            conditions[4].message.as_deref(),
            Some("Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances")
        );
        let later = "2026-01-02T00:00:00Z".parse().unwrap();
        assert_eq!(super::conditions(&conditions, &findings, later), conditions);
    }
}
