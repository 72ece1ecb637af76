//! Leader election on `coordination.k8s.io/v1` Leases, as client-go does it, and the fence that stops the writes of a process
//! that may have been replaced. [`Election`] runs, [`Leadership`] tells others how it stands.
//!
#![doc = include_str!("safety.md")]

mod election;
mod kube_lock;
mod leadership;
mod lock;
mod machine;
mod options;
mod record;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use election::{Election, Lost};
pub use leadership::{Leadership, Role, Status};
pub(crate) use options::identity;
pub use options::{ElectionOptions, OptionsError};
