//! Requests for certificates: who approves or signs one needs the right to for its signer, and nobody asks for masters
//! (upstream's `CertificateApproval`, `CertificateSigning` and `CertificateSubjectRestriction`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_access::MASTERS;
use kubewright_apimachinery::go::quote;
use kubewright_x509::{ORGANIZATION, pem, request_subject};
use serde_json::Value;

use super::{Attributes, ruling};
use crate::admit::AdmissionPlugin;
use crate::object::meta_text;
use crate::registry::{BuiltInId, Resource, Subresource};
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

const GROUP: &str = "certificates.k8s.io";
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Refuses what the user may not do to a request for a certificate; all other kinds pass.
pub(crate) async fn check_signer(
    call: &Call<'_>,
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
) -> Result<()> {
    if !resource.is(BuiltInId::CertificateSigningRequests) {
        return Ok(());
    }
    let is_on = |plugin| call.server.admission.has(plugin);
    let refuse = |why: &str| Err(Status::forbidden(resource.about(), meta_text(object, "name"), why));
    let (verb, doing) = match (call.target.subresource, old) {
        (None, None)
            if is_on(AdmissionPlugin::CertificateSubjectRestriction)
                && signer(object) == CLIENT_SIGNER
                && asks_for_masters(object) =>
        {
            return refuse(&format!(
                "use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            ));
        }
        (Some(Subresource::Approval), Some(old)) if is_on(AdmissionPlugin::CertificateApproval) => {
            ("approve", signer(old))
        }
        (Some(Subresource::Status), Some(old))
            if is_on(AdmissionPlugin::CertificateSigning) && is_signed(object, old) =>
        {
            ("sign", signer(old))
        }
        _ => return Ok(()),
    };
    if may(call, verb, doing).await {
        return Ok(());
    }
    refuse(&format!(
        "user not permitted to {verb} requests with signerName {}",
        quote(doing)
    ))
}

fn signer(object: &Value) -> &str {
    object
        .pointer("/spec/signerName")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The right is for a signer, or for all of its domain.
async fn may(call: &Call<'_>, verb: &'static str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer.to_owned(), format!("{domain}/*")] {
        let asked = Attributes::resource(verb, GROUP, "signers").named(name);
        if ruling(call.server, call.user, &asked).await.decision.allowed {
            return true;
        }
    }
    false
}

/// Whether a change of the status is one of the certificate or of the conditions.
fn is_signed(object: &Value, old: &Value) -> bool {
    let part = |object: &Value, path: &str| match object.pointer(path) {
        None | Some(Value::Null) => None,
        Some(Value::Array(items)) if items.is_empty() => None,
        Some(value) => Some(value.clone()),
    };
    ["/status/certificate", "/status/conditions"]
        .iter()
        .any(|path| part(object, path) != part(old, path))
}

fn asks_for_masters(object: &Value) -> bool {
    let text = object
        .pointer("/spec/request")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let request = STANDARD.decode(text).ok().and_then(|text| Some(pem::decode(&text)?.0));
    let subject = request
        .as_ref()
        .filter(|block| block.kind == "CERTIFICATE REQUEST")
        .and_then(|block| request_subject(&block.bytes));
    subject.is_some_and(|subject| {
        subject
            .iter()
            .any(|part| part.kind == ORGANIZATION && part.text == MASTERS)
    })
}
