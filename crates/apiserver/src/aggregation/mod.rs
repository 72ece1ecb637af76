//! API aggregation: `APIServices` whose group and version another server answers for (O6).
//!
//! [`Aggregation`] holds the `APIServices` of a server, compiled when they are written. A request whose path belongs to another
//! server is passed on (`proxy`). Beside the requests, tasks find out whether that server is there (`availability`), and what
//! it serves (`discovery`, `openapi`); they run as long as the `APIService` is there and do nothing when there is none.

mod authentication_config;
mod availability;
mod backoff;
mod connections;
pub(crate) mod discovery;
mod fetch;
mod front_proxy;
pub(crate) mod openapi;
mod proxy;
mod remote;
mod set;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

pub(crate) use authentication_config::{ClientAuthorities, initial_authentication_config};
pub(crate) use front_proxy::ClientCertificate;
pub use front_proxy::FrontProxyError;
pub(crate) use proxy::{ProxiedRequest, answer};
pub(crate) use remote::Remote;
pub(crate) use set::{ApiService, ApiServiceSet};

use crate::object::meta_text;
use crate::registry::{BuiltInId, Resource};
use crate::server::Server;

/// How many servers are asked at once whether they are there, and what they serve; upstream's numbers of workers.
const AVAILABILITY_CHECKS: usize = 5;
const DISCOVERY_FETCHES: usize = 2;
const OPENAPI_FETCHES: usize = 1;

/// The `APIServices` of a server.
pub(crate) struct Aggregation {
    set: RwLock<Arc<ApiServiceSet>>,
    /// Held while the set is compiled, with the tasks of each remote `APIService` by its name.
    tasks: Mutex<BTreeMap<String, Tasks>>,
    /// Another number means that discovery or `OpenAPI` of another server has changed.
    generation: AtomicU64,
    limits: Limits,
    /// By what other servers recognize this one, if not by the certificate of this process.
    shown: Option<ClientCertificate>,
}

struct Limits {
    availability: Semaphore,
    discovery: Semaphore,
    openapi: Semaphore,
}

/// The tasks of one remote `APIService`. Dropping them ends them.
struct Tasks {
    remote: Arc<Remote>,
    running: Vec<JoinHandle<()>>,
}

impl Tasks {
    /// Whether they are those of `remote`, and their runtime is still there.
    fn go_on_for(&self, remote: &Arc<Remote>) -> bool {
        let is_running = !self.running.is_empty() && !self.running.iter().any(JoinHandle::is_finished);
        is_running && Arc::ptr_eq(&self.remote, remote)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in &self.running {
            task.abort();
        }
    }
}

impl Aggregation {
    pub(crate) fn new(shown: Option<ClientCertificate>) -> Self {
        Aggregation {
            shown,
            set: RwLock::default(),
            tasks: Mutex::default(),
            generation: AtomicU64::new(0),
            limits: Limits {
                availability: Semaphore::new(AVAILABILITY_CHECKS),
                discovery: Semaphore::new(DISCOVERY_FETCHES),
                openapi: Semaphore::new(OPENAPI_FETCHES),
            },
        }
    }

    /// That of another server that begins where this one is.
    pub(crate) fn fork(&self) -> Self {
        Aggregation::new(self.shown.clone())
    }

    /// The `APIServices` as they are. Empty as long as no other server answers for any of them.
    pub(crate) fn set(&self) -> Arc<ApiServiceSet> {
        Arc::clone(&self.set.read())
    }

    /// A number that changes when discovery or `OpenAPI` of another server does.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl Server {
    /// What follows for aggregation from a write.
    pub(crate) fn aggregate_after(&self, resource: &Resource, object: &Value) {
        match resource.id() {
            Some(BuiltInId::ApiServices) => self.aggregate_apis(),
            Some(BuiltInId::Services) => {
                self.recheck_service(meta_text(object, "namespace"), meta_text(object, "name"));
            }
            Some(BuiltInId::EndpointSlices) => {
                let service = object.pointer("/metadata/labels/kubernetes.io~1service-name");
                if let Some(service) = service.and_then(Value::as_str) {
                    self.recheck_service(meta_text(object, "namespace"), service);
                }
            }
            Some(BuiltInId::ConfigMaps) => self.after_config_map(object),
            _ => {}
        }
    }

    /// Checks again whether the servers behind a Service are there.
    fn recheck_service(&self, namespace: &str, name: &str) {
        for remote in self.aggregation.set().remotes() {
            if remote.service.namespace == namespace && remote.service.name == name {
                remote.wake.availability.notify_one();
            }
        }
    }

    /// Checks again whether other servers are there, since what Services lead to has changed.
    pub(crate) fn recheck_services(&self) {
        for remote in self.aggregation.set().remotes() {
            remote.close_connections();
            remote.wake.availability.notify_one();
        }
    }

    /// Reads the `APIServices` in the store, and begins or ends the tasks of those that another server answers for.
    pub(crate) fn aggregate_apis(&self) {
        let aggregation = &self.aggregation;
        let mut tasks = aggregation.tasks.lock();
        let before = |name: &str| tasks.get(name).map(|tasks| Arc::clone(&tasks.remote));
        let set = Arc::new(ApiServiceSet::compile(&self.store, before, aggregation.shown.as_ref()));
        tasks.retain(|name, _| set.remotes().any(|remote| remote.name == *name));
        for remote in set.remotes() {
            let known = tasks.get(&remote.name).is_some_and(|tasks| tasks.go_on_for(remote));
            if known {
                remote.wake.all();
            } else {
                tasks.insert(
                    remote.name.clone(),
                    Tasks {
                        running: run(&self.me, remote),
                        remote: Arc::clone(remote),
                    },
                );
            }
        }
        *aggregation.set.write() = set;
        aggregation.changed();
    }
}

/// Begins the tasks of a remote `APIService`. Outside of a runtime there are none until somebody asks for something.
fn run(server: &Weak<Server>, remote: &Arc<Remote>) -> Vec<JoinHandle<()>> {
    let Ok(runtime) = Handle::try_current() else {
        return Vec::new();
    };
    remote.is_watched.store(true, Ordering::Release);
    vec![
        runtime.spawn(availability::keep(Weak::clone(server), Arc::clone(remote))),
        runtime.spawn(discovery::keep(Weak::clone(server), Arc::clone(remote))),
        runtime.spawn(openapi::keep(Weak::clone(server), Arc::clone(remote))),
    ]
}
