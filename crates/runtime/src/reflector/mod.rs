//! Keeps a store equal to the server: one list/watch machine per kind and namespace, each with its own back-off.
//! [`Reflector`] runs one; [`Health`] says how it fares; the machine itself knows no network.

mod failure;
mod health;
mod kube_source;
mod machine;
mod source;
mod target;
#[cfg(test)]
mod tests;

use std::fmt;

use tokio::sync::watch;

use self::kube_source::KubeSource;
use self::machine::Machine;
use crate::cache::Writer;
use crate::random::Random;

pub use failure::Failure;
pub use health::{Health, Trouble};
pub use target::{Target, Transform};

/// Lists and watches one target and feeds a store, forever.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::cache::{Indexes, Store};
/// use kubewright_runtime::random::Random;
/// use kubewright_runtime::object::Kind;
/// use kubewright_runtime::reflector::{Health, Reflector, Target};
///
/// let kind = Kind::of::<ConfigMap>();
/// let store = Store::new(kind.clone(), Indexes::default());
/// let target = Target::new(kind).namespace("kube-system");
/// let reflector = Reflector::new(kube, target, store.writer(Some("kube-system")), Random::from_entropy());
/// let health = reflector.health();
/// tokio::spawn(reflector.run());
/// store.synced().await;
/// assert_eq!(*health.borrow(), Health::Watching);
/// # Ok(())
/// # }
/// ```
pub struct Reflector {
    machine: Machine<KubeSource>,
    health: watch::Receiver<Health>,
}

impl Reflector {
    /// A reflector that has not begun.
    pub fn new(client: kube::Client, target: Target, writer: Writer, random: Random) -> Self {
        let (sender, health) = watch::channel(Health::Starting);
        let source = KubeSource::new(client, target.clone());
        Reflector {
            machine: Machine::new(source, target, writer, random, sender),
            health,
        }
    }

    /// How it fares, now and as it changes.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    /// Lists and watches until dropped. Nothing that a server does ends it.
    pub async fn run(mut self) {
        self.machine.run().await;
    }
}

impl fmt::Debug for Reflector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reflector").field(&*self.health.borrow()).finish()
    }
}
