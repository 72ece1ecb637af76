//! The webhooks a server has: read by every write as one immutable set, replaced when a configuration changes (A11).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_admission::{Phase, Webhook};
use kubewright_store::{Revision, Store};
use parking_lot::{Mutex, RwLock};

use crate::object;
use crate::registry::BuiltInId;

/// The webhooks of one phase, sorted by the names of their configurations (A1).
#[derive(Default)]
pub(super) struct WebhookSet {
    /// How many there are, so that a server without webhooks takes no lock.
    count: AtomicUsize,
    webhooks: RwLock<Arc<[Arc<Webhook>]>>,
    /// The compiled webhooks, by the name of their configuration.
    compiled: Mutex<BTreeMap<String, Compiled>>,
}

/// The webhooks of a configuration, and the revision it was written at.
type Compiled = (Revision, Vec<Arc<Webhook>>);

impl WebhookSet {
    /// The webhooks; `None` if there are none, found out without a lock.
    pub(super) fn get(&self) -> Option<Arc<[Arc<Webhook>]>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        Some(Arc::clone(&self.webhooks.read()))
    }

    /// An empty set that reuses what this one has compiled.
    pub(super) fn fork(&self) -> WebhookSet {
        WebhookSet {
            compiled: Mutex::new(self.compiled.lock().clone()),
            ..WebhookSet::default()
        }
    }

    /// Reads the configurations anew; those that have not changed stay as they were compiled.
    pub(super) fn renew(&self, phase: Phase, store: &Store) {
        let resource = configurations(phase).resource();
        let mut compiled = self.compiled.lock();
        let snapshot = store.snapshot(resource.table);
        let mut next = BTreeMap::new();
        for record in snapshot.records(None, None) {
            let known = compiled
                .remove(record.name())
                .filter(|(revision, _)| *revision == record.revision);
            let entry = known.unwrap_or_else(|| {
                let configuration = object::to_value(resource, record, record.revision);
                let webhooks = Webhook::read(&configuration).into_iter().map(Arc::new).collect();
                (record.revision, webhooks)
            });
            next.insert(record.name().to_owned(), entry);
        }
        let all: Arc<[Arc<Webhook>]> = next.values().flat_map(|(_, webhooks)| webhooks).cloned().collect();
        let count = all.len();
        *self.webhooks.write() = all;
        self.count.store(count, Ordering::Release);
        *compiled = next;
    }
}

/// The resource of a phase's configurations.
pub(super) fn configurations(phase: Phase) -> BuiltInId {
    match phase {
        Phase::Mutating => BuiltInId::MutatingWebhookConfigurations,
        Phase::Validating => BuiltInId::ValidatingWebhookConfigurations,
    }
}
