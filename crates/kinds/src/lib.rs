//! What Kubernetes knows about its own kinds, beyond what the table of facts says: conditional defaults, the fields a
//! kind's strategy owns, and validation in upstream's words. Pure functions over values, one small file per kind.
//!
//! ```
//! use kubewright_kinds::behaviour;
//! use serde_json::json;
//!
//! let jobs = behaviour("batch", "cronjobs");
//! let cron_job = json!({ "metadata": { "name": "nightly" }, "spec": { "schedule": "at night" } });
//! let mut errors = Vec::new();
//! jobs.validate_create(&cron_job, &mut errors);
//! let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
//! assert!(messages.iter().any(|message| message.starts_with("spec.schedule: Invalid value")), "{messages:?}");
//! ```

mod admissionregistration;
mod apiregistration;
pub mod autoscaling;
mod batch;
mod behaviour;
mod certificate_request;
pub mod certificates;
mod claim_status;
mod controller_revision;
mod coordination;
mod core_group;
mod device_claims;
mod device_expressions;
mod discovery;
pub mod events;
mod flowcontrol;
pub mod meta;
mod networking;
pub mod pod;
mod policy;
mod rbac;
mod resource_slice;
pub mod rules;
mod runtime_class;
mod scheduling;
pub mod service;
mod storage;
pub mod strategy;
pub mod timestamps;
pub mod workloads;

pub use admissionregistration::url as webhook;
pub use behaviour::{Behaviour, Create, Update, behaviour};
