//! Admission policies: the compiled set, their params, and what they decide about a write (A13).
//!
//! `kubewright-admission` compiles and evaluates them; this module finds what they are shown: objects in the version of their rules,
//! namespaces, params and the rights of the user.

mod context;
mod params;
mod set;
mod validate;

use std::sync::Arc;

use kubewright_admission::policy::ValidatingPolicy;
use kubewright_store::Store;

pub(crate) use validate::validate;

use crate::registry::{BuiltInId, Resource};
use set::{BoundPolicy, PolicySet};

/// The policies of a server.
#[derive(Default)]
pub(crate) struct Policies {
    validating: PolicySet<ValidatingPolicy>,
}

impl Policies {
    /// The policies of a fork of the server, which has to [renew](Policies::renew) them from its own store.
    pub(crate) fn fork(&self) -> Policies {
        Policies {
            validating: self.validating.fork(),
        }
    }

    /// Reads the policies in the store.
    pub(crate) fn renew(&self, store: &Store) {
        self.validating.renew(store);
    }

    /// Reads the policies again if this resource is one of them, or one of their bindings.
    pub(crate) fn after_write(&self, resource: &Resource, store: &Store) {
        match resource.id() {
            Some(BuiltInId::ValidatingAdmissionPolicies | BuiltInId::ValidatingAdmissionPolicyBindings) => {
                self.validating.renew(store);
            }
            _ => {}
        }
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.validating.get().is_some()
    }

    fn validating(&self) -> Option<Arc<[BoundPolicy<ValidatingPolicy>]>> {
        self.validating.get()
    }
}
