//! Requests for certificates: [`approving`] approves those of kubelets, [`signing`] signs what is approved, and [`cleaning`] deletes
//! what is old. Rules about what a request may ask for are in [`request`], pure.

mod approving;
mod authority;
mod cleaning;
mod request;
mod signing;
mod usages;

pub(crate) use approving::controller as approving;
pub use authority::{MakeError, SigningAuthority};
pub(crate) use cleaning::controller as cleaning;
pub(crate) use signing::controller as signing;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

/// Whether a request has a condition that holds.
fn has(csr: &CertificateSigningRequest, kind: &str) -> bool {
    let mut conditions = csr.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == kind && condition.status == "True")
}

/// Whether a request has its certificate.
fn is_issued(csr: &CertificateSigningRequest) -> bool {
    let certificate = csr.status.as_ref().and_then(|status| status.certificate.as_ref());
    certificate.is_some_and(|certificate| !certificate.0.is_empty())
}
