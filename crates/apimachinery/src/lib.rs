//! What Go's standard library and `k8s.io/apimachinery` do to text, in one place: every crate that prints or reads what a
//! Kubernetes client sees uses these, so that no two of them differ.
//!
//! This crate does no I/O and depends on no other crate of the workspace.

pub mod calendar;
pub mod cron;
pub mod duration;
pub mod errors;
pub mod field;
pub mod fields;
pub mod go;
pub mod labels;
pub mod names;
pub mod rbac;
pub mod url;
