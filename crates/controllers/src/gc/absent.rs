//! Owners that are known to be gone: many dependents ask for the same one.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::graph::{ObjectIdentity, Uid};

/// So many are remembered, as upstream does.
const MOST: usize = 500;

/// The owners that were found absent last, by uid and by where they are said to be. A uid never comes back.
#[derive(Debug, Default)]
pub(super) struct AbsentOwners {
    known: HashSet<(Uid, ObjectIdentity)>,
    order: VecDeque<(Uid, ObjectIdentity)>,
}

impl AbsentOwners {
    /// An owner is not there.
    pub(super) fn add(&mut self, uid: &Uid, identity: ObjectIdentity) {
        let entry = (Arc::clone(uid), identity);
        if self.known.insert(entry.clone()) {
            self.order.push_back(entry);
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
    }

    /// Whether an owner is known not to be there.
    pub(super) fn has(&self, uid: &Uid, identity: &ObjectIdentity) -> bool {
        self.known.contains(&(Arc::clone(uid), identity.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_and_a_place_is_part_of_the_answer() {
        let identity = |name: &str| ObjectIdentity {
            kind: "ConfigMap".to_owned(),
            api_version: "v1".to_owned(),
            namespace: Some("shop".to_owned()),
            name: name.to_owned(),
        };
        let mut absent = AbsentOwners::default();
        let first: Uid = "first".into();
        absent.add(&first, identity("a"));
        assert!(absent.has(&first, &identity("a")) && !absent.has(&first, &identity("b")));
        for number in 0..MOST {
            absent.add(&number.to_string().into(), identity("a"));
        }
        assert!(!absent.has(&first, &identity("a")));
        assert!(absent.has(&"0".into(), &identity("a")));
    }
}
