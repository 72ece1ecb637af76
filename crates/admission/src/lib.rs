//! Admission webhooks and policies without I/O: which of them are asked about a request, what they are shown, and what they decide.
//! Policies are in [`policy`]; what follows is about webhooks.
//!
//! A configuration is compiled once ([`Webhook::read`]); a request is described by its [`Attributes`];
//! [`Webhook::invocation`] and [`Webhook::conditions`] decide whether the webhook is called, [`review::write`] writes the
//! `AdmissionReview`, [`response::read`] reads the answer and [`failure`] has the messages for what went wrong.
//!
//! ```
//! use kubewright_admission::{Attributes, GroupVersionKind, Operation, Phase, GroupVersionResource, UserInfo, Webhook, response, review};
//! use serde_json::{Value, json};
//!
//! let configuration = json!({
//!     "metadata": { "name": "shop" },
//!     "webhooks": [{
//!         "name": "vpod.example.com",
//!         "admissionReviewVersions": ["v1"],
//!         "clientConfig": { "url": "https://localhost:9443/validate" },
//!         "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] }],
//!     }],
//! });
//! let webhook = &Webhook::read(&configuration)[0];
//! let attributes = Attributes {
//!     operation: Operation::Create,
//!     kind: GroupVersionKind::new("", "v1", "Pod"),
//!     resource: GroupVersionResource::new("", "v1", "pods"),
//!     subresource: String::new(),
//!     name: "web".into(),
//!     namespace: "shop".into(),
//!     user: UserInfo::default(),
//!     dry_run: false,
//!     options: Value::Null,
//! };
//! let pod = json!({ "metadata": { "name": "web" } });
//! let labels = || Ok::<_, ()>(json!({}));
//! let invocation = webhook.invocation(&attributes, &pod, &Value::Null, &[], labels).unwrap().unwrap();
//!
//! let version = review::ReviewVersion::of(webhook).unwrap();
//! let body = review::write(version, "uid-1", &attributes, &invocation, &pod, &Value::Null);
//! assert!(String::from_utf8(body).unwrap().contains(r#""operation":"CREATE""#));
//!
//! let answer = json!({
//!     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
//!     "response": { "uid": "uid-1", "allowed": false, "status": { "message": "no more Pods" } },
//! });
//! let decision = response::read(version, Phase::Validating, "uid-1", answer.to_string().as_bytes()).unwrap();
//! assert!(!decision.allowed);
//! assert_eq!(decision.status["message"], "no more Pods");
//! ```

mod activation;
mod attributes;
mod client_config;
mod conditions;
pub mod document;
mod environment;
mod expression;
pub mod failure;
pub mod patch;
pub mod policy;
pub mod response;
pub mod review;
mod rules;
mod selectors;
mod webhook;

pub use attributes::{Attributes, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
pub use client_config::{ClientConfig, Endpoint};
pub use conditions::{Conditions, MAX_COST, Variables, check_expression};
pub use expression::CompileError;
pub use selectors::Undecided;
pub use webhook::{FailurePolicy, Invocation, Phase, SideEffects, Webhook, is_exempt};
