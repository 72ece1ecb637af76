//! The type model of Kubernetes objects.

pub mod field;
