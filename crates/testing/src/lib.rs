//! Tests of operators: an API server, the operator installed and running, and questions that wait for their answer.
//!
//! [`TestEnv`] is where a test begins. It runs on the embedded server, in milliseconds and in parallel; the same test runs on
//! real binaries (`KUBEBUILDER_ASSETS=folder`) and on a cluster (`USE_EXISTING_CLUSTER=true`), as envtest's users know it.
//! Kubernetes' own controllers run beside the operator: Deployments get Pods, Jobs complete, orphans are collected.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_runtime::controller::{Action, Controller, Failure, Request};
//! use kubewright_runtime::operator::{Operator, Rule};
//! use kubewright_testing::TestEnv;
//!
//! /// Every ConfigMap gets a Secret of its name.
//! fn operator() -> Operator {
//!     Operator::new("vault")
//!         .controller(Controller::of::<ConfigMap>().reads::<Secret>().reconcile_with(|context| {
//!             let client = context.client();
//!             move |request: Request| {
//!                 let client = client.clone();
//!                 async move {
//!                     if client.get_opt::<Secret>(&request).await?.is_none() {
//!                         let mut secret = Secret::default();
//!                         secret.metadata.namespace = request.namespace().map(str::to_owned);
//!                         secret.metadata.name = Some(request.name().to_owned());
//!                         client.create(&secret).await?;
//!                     }
//!                     Ok::<_, Failure>(Action::done())
//!                 }
//!             }
//!         }))
//!         .rule(Rule::new([""], ["secrets"], ["create"]))
//! }
//!
//! # /*
//! #[kubewright_testing::test]
//! # */ #[tokio::main(flavor = "current_thread")]
//! async fn a_config_map_gets_a_secret() {
//!     let env = TestEnv::start(operator()).await;
//!     env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: door}}").await;
//!     env.eventually::<Secret>("door", |secret| secret.metadata.uid.is_some()).await;
//! }
//! # fn main() { a_config_map_gets_a_secret(); }
//! ```
//! With `kubewright`, it is `use kubewright::testing::TestEnv` and `#[kubewright::test]`.

mod audit;
mod control_plane;
mod deadline;
mod env;
mod error;
pub mod explore;
mod extension;
mod fail;
mod idempotent;
mod install;
mod manager;
mod manifests;
pub mod matchers;
mod metrics;
mod report;
mod running_controllers;
mod settle;
mod time;
mod traffic;
mod wait;

pub use control_plane::Mode;
pub use env::{Builder, ExecReply, Executed, Name, NewNamespace, PodSecurity, TestEnv};
pub use error::Error;
pub use kubewright_apiserver::{AdmissionPlugin, Connection};
pub use kubewright_controllers::{ControllerName, Controllers};
pub use kubewright_macros::test_in_testing as test;
pub use manifests::Manifests;
pub use metrics::Metrics;
pub use settle::{Delayed, Settled};
pub use time::TestRuntime;
pub use traffic::{Effect, Fault, Injected, Refusal, Requests};
pub use wait::{Consistently, Eventually, EventuallyGone, EventuallyList, EventuallyMetric};
