//! What becomes of an object, given its owners. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kubewright_runtime::client::Propagation;

use super::graph::{FOREGROUND, ORPHAN};

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there.
    Solid,
    /// It is not there, or is another one of the same name.
    AbsentOwners,
    /// It is there, and goes as soon as its dependents are gone.
    Waiting,
}

/// What is done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
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
    owners: &[(OwnerReference, Owner)],
    has_dependents: bool,
    in_circle: bool,
) -> Verdict {
    if owners.is_empty() {
        return Verdict::Keep;
    }
    let is = |state: Owner| owners.iter().any(|(_, other)| *other == state);
    if is(Owner::Solid) {
        let gone = owners.iter().filter(|(_, state)| *state != Owner::Solid);
        let gone: Vec<_> = gone.map(|(owner, _)| owner.uid.clone()).collect();
        return if gone.is_empty() {
            Verdict::Keep
        } else {
            Verdict::Drop(gone)
        };
    }
    if is(Owner::Waiting) && has_dependents {
        return Verdict::Delete {
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
    Verdict::Delete { policy, unblock: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(states: &[Owner]) -> Vec<(OwnerReference, Owner)> {
        let owner = |(number, state): (usize, &Owner)| {
            let reference = OwnerReference {
                uid: number.to_string(),
                ..OwnerReference::default()
            };
            (reference, *state)
        };
        states.iter().enumerate().map(owner).collect()
    }

    fn verdict(states: &[Owner], has_dependents: bool, in_circle: bool) -> Verdict {
        decide(&ObjectMeta::default(), &owners(states), has_dependents, in_circle)
    }

    #[test]
    fn an_object_lives_as_long_as_one_of_its_owners() {
        assert_eq!(verdict(&[], false, false), Verdict::Keep);
        assert_eq!(verdict(&[Owner::Solid], false, false), Verdict::Keep);
        let both = verdict(&[Owner::Solid, Owner::AbsentOwners, Owner::Waiting], false, false);
        assert_eq!(both, Verdict::Drop(vec!["1".to_owned(), "2".to_owned()]));
    }

    #[test]
    fn an_object_without_owners_goes_the_way_its_finalizers_say() {
        let background = |unblock| Verdict::Delete {
            policy: Propagation::Background,
            unblock,
        };
        assert_eq!(verdict(&[Owner::AbsentOwners], true, false), background(false));
        assert_eq!(verdict(&[Owner::Waiting], false, false), background(false));
        let meta = ObjectMeta {
            finalizers: Some(vec![ORPHAN.to_owned()]),
            ..ObjectMeta::default()
        };
        let orphan = decide(&meta, &owners(&[Owner::AbsentOwners]), false, false);
        assert!(matches!(
            orphan,
            Verdict::Delete {
                policy: Propagation::Orphan,
                ..
            }
        ));
    }

    #[test]
    fn a_circle_is_cut_before_it_is_deleted() {
        let cut = verdict(&[Owner::Waiting], true, true);
        assert_eq!(
            cut,
            Verdict::Delete {
                policy: Propagation::Foreground,
                unblock: true
            }
        );
    }
}
