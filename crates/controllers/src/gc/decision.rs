//! What becomes of an object, given its owners. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubewright_runtime::client::Propagation;

use super::graph::{FOREGROUND, ORPHAN};

/// The state of an owner, in the words of upstream's garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// It is there.
    Solid,
    /// It is not there, or is another one of the same name.
    Dangling,
    /// It is there, and goes as soon as its dependents are gone.
    Waiting,
}

/// What is done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing.
    Keep,
    /// It loses these owners, by uid.
    Drop(Vec<String>),
    /// It is deleted; before, if `unblock`, it stops holding up its owners.
    Delete { policy: Propagation, unblock: bool },
}

/// Decides about an object with owners. `has_dependents` and `in_circle` are about those it owns itself.
pub(super) fn decide(
    meta: &ObjectMeta,
    owners: &[(OwnerReference, OwnerState)],
    has_dependents: bool,
    in_circle: bool,
) -> Decision {
    if owners.is_empty() {
        return Decision::Keep;
    }
    let is = |state: OwnerState| owners.iter().any(|(_, other)| *other == state);
    if is(OwnerState::Solid) {
        let gone = owners.iter().filter(|(_, state)| *state != OwnerState::Solid);
        let gone: Vec<_> = gone.map(|(owner, _)| owner.uid.clone()).collect();
        return if gone.is_empty() {
            Decision::Keep
        } else {
            Decision::Drop(gone)
        };
    }
    if is(OwnerState::Waiting) && has_dependents {
        return Decision::Delete {
            policy: Propagation::Foreground,
            unblock: in_circle,
        };
    }
    let has = |finalizer: &str| meta.finalizers.iter().flatten().any(|own| own == finalizer);
    let policy = if has(ORPHAN) {
        Propagation::Orphan
    } else if has(FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    Decision::Delete { policy, unblock: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(states: &[OwnerState]) -> Vec<(OwnerReference, OwnerState)> {
        let owner = |(number, state): (usize, &OwnerState)| {
            let reference = OwnerReference {
                uid: number.to_string(),
                ..OwnerReference::default()
            };
            (reference, *state)
        };
        states.iter().enumerate().map(owner).collect()
    }

    fn decision(states: &[OwnerState], has_dependents: bool, in_circle: bool) -> Decision {
        decide(&ObjectMeta::default(), &owners(states), has_dependents, in_circle)
    }

    #[test]
    fn an_object_lives_as_long_as_one_of_its_owners() {
        assert_eq!(decision(&[], false, false), Decision::Keep);
        assert_eq!(decision(&[OwnerState::Solid], false, false), Decision::Keep);
        let both = decision(
            &[OwnerState::Solid, OwnerState::Dangling, OwnerState::Waiting],
            false,
            false,
        );
        assert_eq!(both, Decision::Drop(vec!["1".to_owned(), "2".to_owned()]));
    }

    #[test]
    fn an_object_without_owners_goes_the_way_its_finalizers_say() {
        let background = |unblock| Decision::Delete {
            policy: Propagation::Background,
            unblock,
        };
        assert_eq!(decision(&[OwnerState::Dangling], true, false), background(false));
        assert_eq!(decision(&[OwnerState::Waiting], false, false), background(false));
        let meta = ObjectMeta {
            finalizers: Some(vec![ORPHAN.to_owned()]),
            ..ObjectMeta::default()
        };
        let orphan = decide(&meta, &owners(&[OwnerState::Dangling]), false, false);
        assert!(matches!(
            orphan,
            Decision::Delete {
                policy: Propagation::Orphan,
                ..
            }
        ));
    }

    #[test]
    fn a_circle_is_cut_before_it_is_deleted() {
        let cut = decision(&[OwnerState::Waiting], true, true);
        assert_eq!(
            cut,
            Decision::Delete {
                policy: Propagation::Foreground,
                unblock: true
            }
        );
    }
}
