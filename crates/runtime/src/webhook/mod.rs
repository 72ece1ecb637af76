//! Admission webhooks: filling in what users leave out, refusing what is wrong.
//! [`Webhook`] says what is judged by whom, [`field`] says what is wrong in Kubernetes' own words, [`WebhookServer`] answers, and
//! [`Configurations`] tell the API server of it.
//!
//! Answers are those of controller-runtime to the byte, but for what its types are called: objects that do not fit their type
//! are told in serde's words, and a patch contains nothing but what a [`Defaulter`] changed.

mod align;
mod builder;
mod counts;
mod defaulting;
mod error;
pub mod field;
mod handler;
mod patch;
mod rejection;
mod render;
mod request;
mod response;
mod review;
mod selector;
mod server;
mod settings;
#[cfg(test)]
mod tests;
mod traced;
mod typed;
mod validating;

pub use builder::{AnyKind, Webhook};
pub use defaulting::Defaulter;
pub use error::WebhookError;
pub(crate) use error::check;
pub use handler::Handler;
pub use kubewright_description::{
    AdmissionRule, FailurePolicy, MatchCondition, MatchPolicy, ReinvocationPolicy, RuleDescription, Scope, SideEffects,
    WebhookDescription, WebhookType,
};
pub use patch::PatchOperation;
pub use rejection::{Rejection, Verdict, Warnings};
pub use render::{ClientConfig, Configurations};
pub use request::{AdmissionRequest, ContentError, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
pub use response::AdmissionResponse;
pub use server::{Endpoint, MAX_BODY, WebhookServer};
pub use settings::Settings;
pub use validating::Validator;
