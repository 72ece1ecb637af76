//! Admission policies: the compiled set, their params, and what they decide about a write (A13, A14).
//!
//! `kubewright-admission` compiles and evaluates them; this module finds what they are shown: objects in the version of their rules,
//! namespaces, params and the rights of the user.

mod context;
mod mutate;
mod params;
mod set;
mod validate;

use std::sync::Arc;

use kubewright_admission::policy::{MutatingPolicy, ValidatingPolicy};
use kubewright_store::Store;

pub(crate) use mutate::{PolicyReinvocation, may_mutate, mutate};
pub(crate) use params::resource as param_resource;
pub(crate) use validate::validate;

use crate::admit::Attributes;
use crate::registry::{BuiltInId, Resource};
use set::{BoundPolicy, PolicySet};

/// The policies of a server.
#[derive(Default)]
pub(crate) struct Policies {
    mutating: PolicySet<MutatingPolicy>,
    validating: PolicySet<ValidatingPolicy>,
}

impl Policies {
    /// The policies of a fork of the server, which has to [renew](Policies::renew) them from its own store.
    pub(crate) fn fork(&self) -> Policies {
        Policies {
            mutating: self.mutating.fork(),
            validating: self.validating.fork(),
        }
    }

    /// Reads the policies in the store.
    pub(crate) fn renew(&self, store: &Store) {
        self.mutating.renew(store);
        self.validating.renew(store);
    }

    /// Reads the policies again if this resource is one of them, or one of their bindings.
    pub(crate) fn after_write(&self, resource: &Resource, store: &Store) {
        match resource.id() {
            Some(BuiltInId::ValidatingAdmissionPolicies | BuiltInId::ValidatingAdmissionPolicyBindings) => {
                self.validating.renew(store);
            }
            Some(BuiltInId::MutatingAdmissionPolicies | BuiltInId::MutatingAdmissionPolicyBindings) => {
                self.mutating.renew(store);
            }
            _ => {}
        }
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.mutating.get().is_some() || self.validating.get().is_some()
    }

    /// Those that change what is written, if one of them may be about this write.
    fn mutating(&self, attributes: &Attributes<'_>) -> Option<Arc<[BoundPolicy<MutatingPolicy>]>> {
        let mutating = self.mutating.get()?;
        let are_concerned = context::are_concerned(attributes, &mutating.iter().map(|bound| &bound.policy.matches));
        are_concerned.then_some(mutating)
    }

    /// Those that refuse what is written, if one of them may be about this write.
    fn validating(&self, attributes: &Attributes<'_>) -> Option<Arc<[BoundPolicy<ValidatingPolicy>]>> {
        let validating = self.validating.get()?;
        let are_concerned = context::are_concerned(attributes, &validating.iter().map(|bound| &bound.policy.matches));
        are_concerned.then_some(validating)
    }
}
