//! A controller-runtime for Rust: work queue, cache, client, controllers and manager on `kube`'s client.
//! Start at [`controller`] for controllers, [`client`] for reading and writing, [`informer`] and [`cache`] for what is known and
//! how, [`queue`] for who is next.
//!
//! Programs take all of it through the crate `kubewright`, which adds the attributes for types and rights. What is underneath:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
//! # let kube = server.client();
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_runtime::client::Client;
//! use kubewright_runtime::controller::{Action, Context, Controller};
//! use kubewright_runtime::informer::Cache;
//! use kubewright_runtime::object::{ObjectKey, View};
//! use kubewright_runtime::operator::{Operator, Rule};
//! use kubewright_runtime::stop::Stopper;
//! use std::time::Duration;
//!
//! /// Every ConfigMap gets a Secret of its name.
//! fn operator() -> Operator {
//!     let controller = Controller::of::<ConfigMap>().reads::<Secret>().reconcile_objects(
//!         |context: Context, settings: View<ConfigMap>| async move {
//!             let client = context.client();
//!             if client.get_opt::<Secret>(settings.key()).await?.is_none() {
//!                 let mut secret = Secret::default();
//!                 secret.metadata.namespace = settings.metadata.namespace.clone();
//!                 secret.metadata.name = settings.metadata.name.clone();
//!                 client.create(&secret).await?;
//!             }
//!             Ok(Action::done())
//!         },
//!     );
//!     Operator::new("vault").controller(controller).rule(Rule::new([""], ["secrets"], ["create"]))
//! }
//!
//! // `main` would be `operator().main()`. By hand: `kube` is the connection to a cluster.
//! let (stopper, stop) = Stopper::new();
//! let user = Client::new(kube.clone(), Cache::default()).live();
//! let running = tokio::spawn(async move { operator().run(kube, None, stop).await });
//!
//! let mut settings = ConfigMap::default();
//! settings.metadata.namespace = Some("default".to_owned());
//! settings.metadata.name = Some("door".to_owned());
//! user.create(&settings).await?;
//! tokio::time::sleep(Duration::from_secs(1)).await; // of a paused clock: no time at all
//! assert!(user.get_opt::<Secret>(&ObjectKey::namespaced("default", "door")).await?.is_some());
//! stopper.stop();
//! running.await??;
//! # Ok(())
//! # }
//! ```

pub mod cache;
pub mod certificates;
pub mod client;
pub mod controller;
pub mod conversion;
pub mod cron;
pub mod events;
pub mod extension;
pub mod flags;
pub mod informer;
pub mod lease;
pub mod manager;
pub mod mapper;
pub mod metrics;
pub mod object;
pub mod operator;
#[cfg(feature = "otlp")]
pub mod otlp;
pub(crate) mod permission;
pub mod policy;
pub mod queue;
pub mod reflector;
pub mod serve;
pub mod strict;
pub mod trace;
pub mod webhook;

/// Wall-clock time that follows tokio's clock, so that a paused runtime is a virtual clock.
pub mod clock {
    pub use kubewright_system::clock::Clock;
}

/// Randomness from a source that can be seeded, so that a seed repeats a run.
pub mod random {
    pub use kubewright_system::random::Random;
}

/// Asking tasks to end: one side asks, any number of others wait for it.
pub mod stop {
    pub use kubewright_system::signals::stop_on_signals;
    pub use kubewright_system::stop::{Stop, Stopper};
}
