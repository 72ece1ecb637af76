//! Admission policies that an operator brings with it: rules in CEL that the API server evaluates itself.
//!
//! What a validating webhook says without looking at anything but the object, its former state, its namespace and the request, a
//! policy says without a program that has to run. [`Operator::policy`](crate::operator::Operator::policy) takes policies; `kubewright
//! manifests` renders them with their bindings into `config/policy` and checks their expressions, and `TestEnv`, `kubewright run` and
//! `kubewright deploy` install them. The operator needs no rights for that.
//!
//! ```
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kubewright_runtime::operator::Operator;
//! use kubewright_runtime::policy::{Action, Policy};
//!
//! let operator = Operator::new("shop")
//!     .policy(
//!         Policy::validating("replicas")
//!             .of::<Deployment>()
//!             .variable("most", "namespaceObject.metadata.?labels.?most.orValue('5')")
//!             .rule("object.spec.replicas <= int(variables.most)", "too many replicas")
//!             .rule_saying("object.spec.replicas > 0", "'not ' + string(object.spec.replicas) + ' replicas'")
//!             .actions([Action::Deny, Action::Audit]),
//!     )
//!     .policy(
//!         Policy::mutating("team")
//!             .of::<Deployment>()
//!             .condition("has-no-team", "!has(object.metadata.labels) || !('team' in object.metadata.labels)")
//!             .apply("Object{metadata: Object.metadata{labels: {'team': 'shop'}}}"),
//!     );
//! let policies = operator.describe().policies;
//! assert_eq!(policies[0].spec["validations"][0]["message"], "too many replicas");
//! assert_eq!(policies[0].binding["validationActions"], serde_json::json!(["Deny", "Audit"]));
//! assert_eq!(policies[1].spec["matchConstraints"]["resourceRules"][0]["operations"], serde_json::json!(["CREATE", "UPDATE"]));
//! ```

mod builder;

pub use builder::{Action, Mutating, Policy, Reason, Validating};
pub use kubewright_description::{PolicyDescription, PolicyType};
