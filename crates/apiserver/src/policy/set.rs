//! The policies a server has: read by every write as one immutable set, replaced when a policy or a binding changes (A11).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_admission::policy::{Binding, MutatingPolicy, ValidatingPolicy};
use kubewright_store::{Revision, Store};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::object;
use crate::registry::BuiltInId;

/// A kind of policy.
pub(super) trait Policy {
    /// The resource of the policies.
    const POLICIES: BuiltInId;
    /// The resource of their bindings.
    const BINDINGS: BuiltInId;

    fn compile(object: &Value) -> Self;
}

impl Policy for ValidatingPolicy {
    const POLICIES: BuiltInId = BuiltInId::ValidatingAdmissionPolicies;
    const BINDINGS: BuiltInId = BuiltInId::ValidatingAdmissionPolicyBindings;

    fn compile(object: &Value) -> Self {
        ValidatingPolicy::read(object)
    }
}

impl Policy for MutatingPolicy {
    const POLICIES: BuiltInId = BuiltInId::MutatingAdmissionPolicies;
    const BINDINGS: BuiltInId = BuiltInId::MutatingAdmissionPolicyBindings;

    fn compile(object: &Value) -> Self {
        MutatingPolicy::read(object)
    }
}

/// A policy with its bindings, which are sorted by name. Upstream has them in no order.
pub(super) struct BoundPolicy<P> {
    pub(super) policy: Arc<P>,
    pub(super) bindings: Vec<Arc<Binding>>,
}

/// The policies of one kind that have bindings, sorted by name.
pub(super) struct PolicySet<P> {
    /// How many there are, so that a server without policies takes no lock.
    count: AtomicUsize,
    policies: RwLock<Arc<[BoundPolicy<P>]>>,
    compiled: Mutex<Compiled<P>>,
}

/// What was compiled, by name, and the revision that it was written at.
struct Compiled<P> {
    policies: BTreeMap<String, (Revision, Arc<P>)>,
    bindings: BTreeMap<String, (Revision, Arc<Binding>)>,
}

impl<P> Default for PolicySet<P> {
    fn default() -> Self {
        PolicySet {
            count: AtomicUsize::new(0),
            policies: RwLock::new(Arc::new([])),
            compiled: Mutex::default(),
        }
    }
}

impl<P> Default for Compiled<P> {
    fn default() -> Self {
        Compiled {
            policies: BTreeMap::new(),
            bindings: BTreeMap::new(),
        }
    }
}

impl<P: Policy> PolicySet<P> {
    /// The policies; `None` if there are none, found out without a lock.
    pub(super) fn get(&self) -> Option<Arc<[BoundPolicy<P>]>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        Some(Arc::clone(&self.policies.read()))
    }

    /// An empty set that reuses what this one has compiled.
    pub(super) fn fork(&self) -> PolicySet<P> {
        let compiled = self.compiled.lock();
        PolicySet {
            compiled: Mutex::new(Compiled {
                policies: compiled.policies.clone(),
                bindings: compiled.bindings.clone(),
            }),
            ..PolicySet::default()
        }
    }

    /// Reads policies and bindings anew; those that have not changed stay as they were compiled.
    pub(super) fn renew(&self, store: &Store) {
        let mut compiled = self.compiled.lock();
        compiled.policies = renewed(&compiled.policies, P::POLICIES, store, P::compile);
        compiled.bindings = renewed(&compiled.bindings, P::BINDINGS, store, Binding::read);
        let mut bound: BTreeMap<&str, Vec<Arc<Binding>>> = BTreeMap::new();
        for (_, binding) in compiled.bindings.values() {
            bound.entry(&binding.policy).or_default().push(Arc::clone(binding));
        }
        let all: Arc<[BoundPolicy<P>]> = bound
            .into_iter()
            .filter_map(|(name, bindings)| {
                let (_, policy) = compiled.policies.get(name)?;
                Some(BoundPolicy {
                    policy: Arc::clone(policy),
                    bindings,
                })
            })
            .collect();
        let count = all.len();
        *self.policies.write() = all;
        self.count.store(count, Ordering::Release);
    }
}

fn renewed<T>(
    known: &BTreeMap<String, (Revision, Arc<T>)>,
    id: BuiltInId,
    store: &Store,
    compile: impl Fn(&Value) -> T,
) -> BTreeMap<String, (Revision, Arc<T>)> {
    let resource = id.resource();
    let snapshot = store.snapshot(resource.table);
    let records = snapshot.records(None, None);
    records
        .map(|record| {
            let unchanged = known
                .get(record.name())
                .filter(|(revision, _)| *revision == record.revision);
            let entry = unchanged.cloned().unwrap_or_else(|| {
                let object = object::to_value(resource, record, record.revision);
                (record.revision, Arc::new(compile(&object)))
            });
            (record.name().to_owned(), entry)
        })
        .collect()
}
