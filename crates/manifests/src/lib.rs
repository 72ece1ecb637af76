//! The controller-tools of Kubewright: from the types of an operator and its description to Kubernetes manifests.
//! Everything here is pure; what a cluster would refuse is refused here first, and says why.
//!
//! ```
//! use kube::CustomResource;
//! use kubewright_manifests::{definitions, roles, samples, yaml};
//! use kubewright_runtime::operator::Operator;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
//! #[kube(group = "example.com", version = "v1", kind = "Tree", namespaced)]
//! struct TreeSpec {
//!     height: u32,
//! }
//!
//! // What a program answers when it is asked to describe itself.
//! let operator = Operator::new("forest").resource::<Tree>().describe();
//!
//! let definitions = definitions::render(&operator, &definitions::DefinitionOptions::default()).unwrap();
//! assert_eq!(definitions::file_name(&definitions[0]), "example.com_trees.yaml");
//! assert!(yaml::documents(&definitions).contains("kind: CustomResourceDefinition"));
//!
//! let sample = samples::sample(&definitions[0], "v1").unwrap();
//! assert_eq!(sample["kind"], "Tree");
//! let roles = roles::of_kind(&operator.definitions[0], &roles::RoleOptions::new("forest"));
//! assert_eq!(roles.len(), 3); // admin, editor, viewer
//! ```

pub mod bundle;
pub mod definitions;
pub mod install;
mod problem;
pub mod roles;
pub mod rules;
pub mod samples;
pub mod schema;
pub mod yaml;

pub use problem::{Location, Problem, Problems};
