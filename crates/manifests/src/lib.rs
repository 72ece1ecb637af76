//! The controller-tools of Kubewright: from the types of an operator and its description to Kubernetes manifests.
//! Everything here is pure; what a cluster would refuse is refused here first, and says why.

pub mod bundle;
pub mod definitions;
pub mod install;
pub mod roles;
pub mod rules;
pub mod samples;
pub mod schema;
pub mod yaml;
