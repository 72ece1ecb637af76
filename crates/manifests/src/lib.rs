//! The controller-tools of Kubewright: from the types of an operator and its description to Kubernetes manifests.
//! Nothing here does I/O. A type that a cluster would refuse is reported with its location and what to do about it.
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
//! // What an operator's program prints when it is run with `describe`.
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
