//! The certificates of webhooks: from files, made and renewed by the manager, or for a run on this machine. [`Source`] says
//! which; [`ServingCertificates`] shows and renews them; [`LocalMode`] is for development.

mod authority;
mod bundle;
mod error;
mod inject;
mod keeper;
mod keys;
mod local;
mod objects;
mod options;
mod permission;
mod plan;
mod retry;
mod secret;
mod serving;
mod source;
mod target;
mod watches;

#[cfg(test)]
mod proptests;

pub use local::LocalMode;
pub use options::ManagedOptions;
pub use permission::Permission;
pub use serving::ServingCertificates;
pub use source::{CertificateFiles, Source};
pub use target::{Target, TargetKind};
