//! What the signers of Kubernetes accept: subjects, names and usages, refused in upstream's words. Pure.

use std::collections::BTreeSet;

use k8s_openapi::api::certificates::v1::CertificateSigningRequestSpec;
use kubewright_x509::{CertificateRequest, pem};

pub(super) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
pub(super) const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
pub(super) const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
pub(super) const LEGACY: &str = "kubernetes.io/legacy-unknown";

const NODES: &str = "system:nodes";
const NODE: &str = "system:node:";

/// Reads what a request holds.
pub(super) fn parsed(spec: &CertificateSigningRequestSpec) -> Option<CertificateRequest> {
    let (block, _) = pem::decode(&spec.request.0)?;
    let is_request = block.kind == "CERTIFICATE REQUEST";
    is_request.then(|| CertificateRequest::read(&block.bytes)).flatten()
}

/// Whether a signer of Kubernetes signs this: not if it is none of its signers, an error if it may not.
pub(super) fn verdict(request: &CertificateRequest, spec: &CertificateSigningRequestSpec) -> Result<bool, String> {
    let usages = spec.usages.as_deref().unwrap_or_default();
    match spec.signer_name.as_str() {
        CLIENT => check_client(usages).map(|()| true),
        KUBELET_CLIENT => check_kubelet_client(request, usages).map(|()| true),
        KUBELET_SERVING => check_kubelet_serving(request, usages).map(|()| true),
        LEGACY => Ok(true),
        _ => Ok(false),
    }
}

fn check_client(usages: &[String]) -> Result<(), String> {
    for usage in usages {
        if !matches!(usage.as_str(), "digital signature" | "key encipherment" | "client auth") {
            return Err(format!("invalid usage for client certificate: {usage}"));
        }
    }
    if usages.iter().any(|usage| usage == "client auth") {
        Ok(())
    } else {
        Err("missing required usage for client certificate: client auth".to_owned())
    }
}

/// Whether this is the request of a kubelet that wants to be a client of the API server.
pub(super) fn check_kubelet_client(request: &CertificateRequest, usages: &[String]) -> Result<(), String> {
    check_organization(request)?;
    let names = &request.names;
    for (is_empty, kind) in [
        (names.dns_names.is_empty(), "DNS"),
        (names.email_addresses.is_empty(), "Email"),
        (names.addresses.is_empty(), "IP"),
        (names.uris.is_empty(), "URI"),
    ] {
        if !is_empty {
            return Err(format!("{kind} subjectAltNames are not allowed"));
        }
    }
    check_common_name(request)?;
    check_usages(usages, "client auth")
}

fn check_kubelet_serving(request: &CertificateRequest, usages: &[String]) -> Result<(), String> {
    check_organization(request)?;
    let names = &request.names;
    if names.dns_names.is_empty() && names.addresses.is_empty() {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    for (is_empty, kind) in [
        (names.email_addresses.is_empty(), "Email"),
        (names.uris.is_empty(), "URI"),
    ] {
        if !is_empty {
            return Err(format!("{kind} subjectAltNames are not allowed"));
        }
    }
    check_usages(usages, "server auth")?;
    check_common_name(request)
}

fn check_organization(request: &CertificateRequest) -> Result<(), String> {
    if request.organizations() == [NODES] {
        Ok(())
    } else {
        Err(format!("subject organization is not {NODES}"))
    }
}

fn check_common_name(request: &CertificateRequest) -> Result<(), String> {
    if request.common_name().starts_with(NODE) {
        Ok(())
    } else {
        Err(format!("subject common name does not begin with {NODE}"))
    }
}

/// Exactly these usages; only keys of RSA need to encipher keys.
fn check_usages(usages: &[String], role: &str) -> Result<(), String> {
    let given: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    let without_rsa = BTreeSet::from(["digital signature", role]);
    let mut all = without_rsa.clone();
    all.insert("key encipherment");
    if given == all || given == without_rsa {
        return Ok(());
    }
    let all: Vec<&str> = all.into_iter().collect();
    Err(format!("usages did not match [{}]", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usages(usages: &[&str]) -> Vec<String> {
        usages.iter().map(|usage| (*usage).to_owned()).collect()
    }

    #[test]
    fn a_client_needs_its_usage_and_may_have_two_others() {
        assert_eq!(check_client(&usages(&["client auth", "key encipherment"])), Ok(()));
        let missing = check_client(&usages(&["digital signature"])).unwrap_err();
        assert_eq!(missing, "missing required usage for client certificate: client auth");
        let more = check_client(&usages(&["client auth", "server auth"])).unwrap_err();
        assert_eq!(more, "invalid usage for client certificate: server auth");
    }

    #[test]
    fn a_kubelet_has_exactly_its_usages() {
        assert_eq!(
            check_usages(&usages(&["digital signature", "client auth"]), "client auth"),
            Ok(())
        );
        let refused = check_usages(&usages(&["client auth"]), "client auth").unwrap_err();
        assert_eq!(
            refused,
            "usages did not match [client auth digital signature key encipherment]"
        );
    }

    #[test]
    fn legacy_requests_may_ask_for_anything_and_unknown_signers_sign_nothing() {
        let spec = |signer: &str| CertificateSigningRequestSpec {
            signer_name: signer.to_owned(),
            usages: Some(usages(&["any"])),
            ..CertificateSigningRequestSpec::default()
        };
        let request = CertificateRequest::default();
        assert_eq!(verdict(&request, &spec(LEGACY)), Ok(true));
        assert_eq!(verdict(&request, &spec("example.com/mine")), Ok(false));
    }
}
