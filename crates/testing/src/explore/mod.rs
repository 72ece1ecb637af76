//! Exploration: one scenario run again and again with one disturbance each, compared with the run that nothing disturbed.
//!
//! [`explore`] takes an operator and steps. A reference run takes the steps one after another and settles after each; its writes say
//! where the operator can be disturbed. Then, for every write and every object that the operator made, there is a run in which the
//! process crashes there, the answer is an error or gets lost, watches end, or somebody else changes something. In the end each of them
//! must be where the reference is. What is not is reported with the smallest plan that shows it, and with the line that repeats it.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kubewright_runtime::controller::{Action, Controller, Failure, Request};
//! use kubewright_runtime::operator::{Operator, Rule};
//! use kubewright_testing::explore::explore;
//!
//! /// Every ConfigMap named `door` gets a Secret of its name.
//! fn operator() -> Operator {
//!     Operator::new("vault")
//!         .controller(Controller::of::<ConfigMap>().owns::<Secret>().reconcile_with(|context| {
//!             let client = context.client();
//!             move |request: Request| {
//!                 let client = client.clone();
//!                 async move {
//!                     let Some(door) = client.get_opt::<ConfigMap>(&request).await? else {
//!                         return Ok(Action::done());
//!                     };
//!                     if request.name() == "door" && client.get_opt::<Secret>(&request).await?.is_none() {
//!                         let mut secret = Secret::default();
//!                         secret.metadata.namespace = request.namespace().map(str::to_owned);
//!                         secret.metadata.name = Some(request.name().to_owned());
//!                         kubewright_runtime::client::helpers::set_controller_reference(&*door, &mut secret)?;
//!                         client.create(&secret).await?;
//!                     }
//!                     Ok::<_, Failure>(Action::done())
//!                 }
//!             }
//!         }))
//!         .rule(Rule::new([""], ["secrets"], ["create"]))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let summary = explore(operator)
//!     .step("create", |env| async move {
//!         env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: door}}").await;
//!     })
//!     .step("delete", |env| async move { env.delete::<ConfigMap>("door").await })
//!     .invariant("one secret at most", |cluster| cluster.list::<Secret>().len() <= 1)
//!     .run()
//!     .await;
//! assert!(summary.runs() > 5);
//! # }
//! ```

mod accepted;
mod again;
mod base;
mod canonical;
mod class;
mod cluster;
mod command;
mod compare;
mod enumerate;
mod exploration;
mod external;
mod observation;
mod outcome_json;
mod outcome_page;
mod output;
mod plan;
mod progress;
mod repeat;
mod report;
mod rest;
mod results;
mod rule_values;
mod run;
mod samples;
mod scenario;
mod schema_values;
mod search;
mod shrink;
mod spec_edit;
mod spec_plans;
mod spec_run;
mod story;
mod story_event;
mod tried;
mod truth;
mod world;

pub use class::Class;
pub use cluster::Cluster;
pub use exploration::{Exploration, explore, explore_with};
pub use external::External;
pub use report::Summary;
