//! Admission webhooks: which there are, where they are, and calling them (A1–A12, A15).
//!
//! What they are asked and what their answers mean is decided in `kubewright-admission`; here is what needs the store,
//! the network and time. [`post`] is the way to any webhook, conversion webhooks included (C12).

mod api;
mod call;
pub(crate) mod dispatch;
mod local_endpoints;
mod set;
mod tls;

use std::sync::Arc;

use kubewright_admission::{Phase, Webhook};
use kubewright_store::Store;

#[expect(unused_imports, reason = "conversion will match on it")]
pub(crate) use call::CallError;
pub(crate) use call::post;
pub(crate) use dispatch::too_late;

use crate::registry::Resource;
use call::Callers;
use local_endpoints::LocalEndpoints;
use set::Set;

/// What a server knows of webhooks.
#[derive(Default)]
pub(crate) struct Webhooks {
    mutating: Set,
    validating: Set,
    callers: Callers,
    local_endpoints: LocalEndpoints,
}

impl Webhooks {
    /// What a fork of the server knows, once it has [renewed](Webhooks::renew) it from its own store.
    pub(crate) fn fork(&self) -> Webhooks {
        Webhooks {
            mutating: self.mutating.fork(),
            validating: self.validating.fork(),
            local_endpoints: self.local_endpoints.fork(),
            callers: Callers::default(),
        }
    }

    /// Reads what the store has.
    pub(crate) fn renew(&self, store: &Store) {
        self.mutating.renew(Phase::Mutating, store);
        self.validating.renew(Phase::Validating, store);
    }

    /// Takes note of a change of this resource, if it matters.
    pub(crate) fn after_write(&self, resource: &Resource, store: &Store) {
        for (phase, set) in [(Phase::Mutating, &self.mutating), (Phase::Validating, &self.validating)] {
            if resource.is(set::configurations(phase)) {
                set.renew(phase, store);
            }
        }
    }

    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.of(Phase::Mutating).is_some() || self.of(Phase::Validating).is_some()
    }

    /// The webhooks of a phase in their order; `None` when there are none.
    pub(crate) fn of(&self, phase: Phase) -> Option<Arc<[Arc<Webhook>]>> {
        match phase {
            Phase::Mutating => self.mutating.get(),
            Phase::Validating => self.validating.get(),
        }
    }
}
