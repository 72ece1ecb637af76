//! Admission webhooks without I/O: which of them a request is shown to, what they are sent, and what their answers mean.
//!
//! A configuration is compiled once ([`Webhook::read`]); a request is described by its [`Attributes`];
//! [`Webhook::invocation`] and [`Webhook::conditions`] decide whether it is shown, [`review::write`] words the question,
//! [`response::read`] reads the answer and [`failure`] words what went wrong.

mod attributes;
mod client_config;
mod conditions;
pub mod document;
pub mod failure;
pub mod patch;
pub mod response;
pub mod review;
mod rules;
mod selector;
mod webhook;

pub use attributes::{Attributes, Kind, Operation, Place, UserInfo};
pub use client_config::{ClientConfig, Endpoint};
pub use conditions::{Conditions, MAX_COST, Variables, check_expression};
pub use selector::Selector;
pub use webhook::{FailurePolicy, Invocation, Phase, SideEffects, Undecided, Webhook, is_exempt};
