//! What most operators name: `use kubewright::prelude::*;`.
//!
//! ```
//! use kubewright::prelude::*;
//! use kubewright::k8s_openapi::api::core::v1::ConfigMap;
//!
//! let controller = Controller::of::<ConfigMap>().reconcile_with(|context| {
//!     let client = context.client();
//!     move |request: Request| {
//!         let client = client.clone();
//!         async move {
//!             let Some(settings) = client.get_opt::<ConfigMap>(&request).await? else {
//!                 return Ok(Action::done());
//!             };
//!             println!("{request} has {:?}", settings.data);
//!             Ok(Action::done())
//!         }
//!     }
//! });
//! let operator = Operator::new("settings").controller(controller);
//! assert_eq!(operator.describe().controllers[0].name, "configmap");
//! ```

pub use std::collections::BTreeMap;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
pub use kube::{CustomResource, CustomResourceExt, Resource, ResourceExt};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use kubewright_runtime::cache::{DeclaredIndex, IndexQuery, Query};
pub use kubewright_runtime::client::helpers::{
    ConditionUpdate, add_finalizer, find_condition, has_finalizer, ignore_already_exists, ignore_not_found,
    is_condition_true, is_controlled_by, remove_condition, remove_finalizer, retry_on_conflict, set_condition,
    set_controller_reference, set_owner_reference,
};
pub use kubewright_runtime::client::{Client, DeleteOptions, Outcome, Patch};
pub use kubewright_runtime::controller::{
    Action, Context, Controller, Failure, Predicate, Reconciler, Request, Result, Watch,
};
pub use kubewright_runtime::events::{EventNote, EventRecorder};
pub use kubewright_runtime::informer::InformerOptions;
pub use kubewright_runtime::manager::RunContext;
pub use kubewright_runtime::object::{Kind, Object, ObjectKey, Selector, View};
pub use kubewright_runtime::operator::{Operator, Rule};
pub use kubewright_runtime::policy::Policy;
pub use kubewright_runtime::strict::{from_json, from_yaml};
pub use kubewright_runtime::webhook::{AdmissionRequest, Defaulter, Rejection, Validator, Webhook};

pub use crate::conversion::{Conversion, Convert};
pub use crate::rbac;
