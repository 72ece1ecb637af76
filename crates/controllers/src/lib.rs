//! The standard controllers of Kubernetes, written on `kubewright-runtime`, each switchable.
//! [`Controllers`] says which run; [`Controllers::run`] runs them against any API server as an administrator.
//! Pods are simulated; on request, [`process`] makes containers of them that are processes of this machine.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube::api::{Api, PostParams};
//! use kubewright_controllers::Controllers;
//! use kubewright_runtime::stop::Stopper;
//! use kubewright_runtime::strict::from_json;
//! use std::time::Duration;
//!
//! let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
//! let (stopper, stop) = Stopper::new();
//! let running = tokio::spawn(Controllers::all().nodes(1).run(server.client(), stop));
//!
//! let deployments: Api<Deployment> = Api::default_namespaced(server.client());
//! let web: Deployment = from_json(serde_json::json!({
//!     "metadata": { "name": "web" },
//!     "spec": {
//!         "replicas": 3, "selector": { "matchLabels": { "app": "web" } },
//!         "template": {
//!             "metadata": { "labels": { "app": "web" } },
//!             "spec": { "containers": [{ "name": "web", "image": "nginx" }] },
//!         },
//!     },
//! }))?;
//! deployments.create(&PostParams::default(), &web).await?;
//! tokio::time::sleep(Duration::from_secs(5)).await; // of the paused clock: no time at all
//! let status = deployments.get("web").await?.status.unwrap_or_default();
//! assert_eq!(status.available_replicas, Some(3));
//! stopper.stop();
//! running.await??;
//! # Ok(())
//! # }
//! ```

mod certificates;
mod controllers;
mod cronjob;
mod deployment;
mod endpointslice;
mod gc;
mod job;
mod kubelet;
mod names;
mod namespace;
mod node_lifecycle;
mod pod_gc;
mod policy_status;
mod replicaset;
mod resource_quota;
mod role_aggregation;
mod root_ca;
mod scheduler;
mod service_account;
mod support;
mod volume_binder;
mod volume_protection;

pub use certificates::{MakeError, SigningAuthority};
pub use controllers::Controllers;
pub use kubelet::node::FAILED_ANNOTATION;
pub use kubelet::process;
pub use names::{ControllerName, UnknownController};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ExamplesOfTheReadme;
