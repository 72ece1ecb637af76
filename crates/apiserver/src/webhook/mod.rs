//! Admission webhooks: the compiled configurations, the addresses, and the calls (A1–A12, A15).
//!
//! `kubewright-admission` decides what is sent and what responses mean; this module does what needs the store,
//! the network and time. [`post`] calls any webhook, conversion webhooks included (C12).

pub(crate) mod answers;
pub(crate) mod call;
pub(crate) mod dispatch;
mod set;

use std::sync::Arc;

use kubewright_admission::{Phase, Webhook};
use kubewright_store::Store;

pub(crate) use call::post;
pub(crate) use dispatch::too_late;

use crate::registry::Resource;
use call::WebhookClients;
use set::WebhookSet;

/// The webhooks of a server, and the connections to them.
#[derive(Default)]
pub(crate) struct Webhooks {
    mutating: WebhookSet,
    validating: WebhookSet,
    clients: WebhookClients,
}

impl Webhooks {
    /// The webhooks of a fork of the server, which has to [renew](Webhooks::renew) them from its own store.
    pub(crate) fn fork(&self) -> Webhooks {
        Webhooks {
            mutating: self.mutating.fork(),
            validating: self.validating.fork(),
            clients: WebhookClients::default(),
        }
    }

    /// Reads the configurations in the store.
    pub(crate) fn renew(&self, store: &Store) {
        self.mutating.renew(Phase::Mutating, store);
        self.validating.renew(Phase::Validating, store);
    }

    /// Reads the configurations again if this resource is one of them.
    pub(crate) fn after_write(&self, resource: &Resource, store: &Store) {
        for (phase, set) in [(Phase::Mutating, &self.mutating), (Phase::Validating, &self.validating)] {
            if resource.is(set::configurations(phase)) {
                set.renew(phase, store);
            }
        }
    }

    /// Forgets every open connection.
    pub(crate) fn close_connections(&self) {
        self.clients.close_all();
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
