//! The CA bundle of a conversion webhook: whether it has a certificate, as far as PEM and the outermost DER tell.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_x509::{malformation, pem};

/// Whether a bundle (base64 of PEM) is invalid. An empty bundle is valid: it stands for the system's roots.
pub(in crate::crd) fn is_invalid(bundle: &str) -> bool {
    problem(bundle).is_some()
}

/// Refuses a bundle without a certificate.
pub(super) fn validate(bundle: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(problem) = problem(bundle) {
        errors.push(FieldError::invalid(path, bundle, problem));
    }
}

/// Go's error for a bundle in which it finds no certificate.
fn problem(bundle: &str) -> Option<String> {
    if bundle.is_empty() {
        return None;
    }
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let mut rest = bytes.as_slice();
    let mut complaint = None;
    while !rest.is_empty() {
        let Some((block, after)) = pem::decode(rest) else {
            complaint.get_or_insert_with(|| "unable to parse bytes as PEM block".to_owned());
            break;
        };
        rest = after;
        if block.kind == "CERTIFICATE" && !block.has_headers {
            let why = malformation(&block.bytes)?;
            complaint.get_or_insert_with(|| format!("failed to parse certificate: {why}"));
        }
    }
    let why = complaint.unwrap_or_else(|| "no valid certificate authority data seen".to_owned());
    Some(format!("unable to load root certificates: {why}"))
}
