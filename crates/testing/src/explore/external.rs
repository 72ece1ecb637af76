//! Systems outside the cluster that take part in an exploration: fakes that can be kept and brought back.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use kubewright_runtime::operator::Operator;
use serde_json::Value;

/// A fake of a system outside the cluster: a cloud, a database, a registry of names.
///
/// An exploration makes one for every run. What it holds is kept before each step, and brought back in runs that begin there; after
/// each step it is compared with the reference, as the objects of the cluster are. It stays when the operator crashes.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
///
/// use kubewright_testing::explore::External;
/// use kubewright_runtime::strict::from_json;
/// use serde_json::{Value, json};
///
/// /// Buckets, by name.
/// #[derive(Default)]
/// struct Cloud(Mutex<BTreeMap<String, String>>);
///
/// impl External for Cloud {
///     fn snapshot(&self) -> Value {
///         json!(*self.0.lock().unwrap())
///     }
///
///     fn restore(&self, snapshot: &Value) {
///         *self.0.lock().unwrap() = from_json(snapshot.clone()).unwrap();
///     }
/// }
/// ```
pub trait External: Send + Sync + 'static {
    /// All that it holds. Equal runs must have equal snapshots: no order of a hash map, no numbers of its own making. Uids, times,
    /// addresses and generated names of the cluster may differ.
    fn snapshot(&self) -> Value;

    /// Holds what it held when the snapshot was made.
    fn restore(&self, snapshot: &Value);
}

/// How the system of each run is made, and the operator that works with it.
#[derive(Clone)]
pub(super) struct ExternalSystem {
    make: Arc<dyn Fn() -> ExternalInstance + Send + Sync>,
}

/// The system of one run.
#[derive(Clone)]
pub(super) struct ExternalInstance {
    /// The same as what steps ask for by its type.
    pub(super) system: Arc<dyn Any + Send + Sync>,
    external: Arc<dyn External>,
    /// Makes an operator that works with it.
    pub(super) operator: Arc<dyn Fn() -> Operator + Send + Sync>,
}

impl ExternalSystem {
    pub(super) fn new<E: External>(
        make: impl Fn() -> E + Send + Sync + 'static,
        operator: Arc<dyn Fn(Arc<E>) -> Operator + Send + Sync>,
    ) -> Self {
        let start = move || {
            let system = Arc::new(make());
            let (own, operator) = (Arc::clone(&system), Arc::clone(&operator));
            ExternalInstance {
                system: Arc::<E>::clone(&system),
                external: system,
                operator: Arc::new(move || operator(Arc::clone(&own))),
            }
        };
        ExternalSystem { make: Arc::new(start) }
    }

    /// The system of a run, as a snapshot says if there is one.
    pub(super) fn start(&self, snapshot: Option<&Value>) -> ExternalInstance {
        let instance = (self.make)();
        if let Some(snapshot) = snapshot {
            instance.external.restore(snapshot);
        }
        instance
    }
}

impl ExternalInstance {
    pub(super) fn snapshot(&self) -> Value {
        self.external.snapshot()
    }
}

impl fmt::Debug for ExternalSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalSystem").finish_non_exhaustive()
    }
}
