//! The user of a client certificate: the common name is the user name, organizations are groups (Z1).
//!
//! As upstream, the handshake asks for a certificate and accepts any, or none; whether it is a valid one decides
//! between an identity and 401. No certificate at all leaves it to the request's headers.

use std::fmt::Write as _;
use std::sync::Arc;

use kubewright_x509::{Attribute, COMMON_NAME, ORGANIZATION, subject};
use ring::digest::{SHA256, digest};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::access::front_proxy::{FrontProxies, FrontProxyHeaders};
use crate::access::{Identity, User};
use crate::extension::InvalidCertificate;

/// The verifier of a handshake: proof of possession is demanded, trust is not.
#[derive(Debug)]
pub(super) struct AskForCertificate {
    /// The names of the authorities from which a client with several certificates chooses one; none means any.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl AskForCertificate {
    pub(super) fn new(provider: &CryptoProvider, hints: Vec<DistinguishedName>) -> Self {
        AskForCertificate {
            hints,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The user of a certificate chain.
pub(super) fn of(verifier: &dyn ClientCertVerifier, chain: &[CertificateDer<'_>]) -> Identity {
    let Some((certificate, intermediates)) = chain.split_first() else {
        return Identity::Unknown;
    };
    let trust = verifier.verify_client_cert(certificate, intermediates, UnixTime::now());
    if trust.is_err() {
        return Identity::Refused;
    }
    match user_of(certificate) {
        Ok(Some(user)) => Identity::Proven(Arc::new(user)),
        Ok(None) => Identity::Unknown,
        Err(InvalidCertificate) => Identity::Refused,
    }
}

/// Knows front proxies by their certificates.
pub(super) struct ProxyVerifier {
    verifier: Arc<dyn ClientCertVerifier>,
    allowed: Vec<String>,
    headers: Arc<FrontProxyHeaders>,
}

impl ProxyVerifier {
    pub(super) fn new(verifier: Arc<dyn ClientCertVerifier>, proxies: &FrontProxies) -> Self {
        ProxyVerifier {
            verifier,
            allowed: proxies.allowed.clone(),
            headers: Arc::new(proxies.headers.clone()),
        }
    }

    /// What a client is that showed these certificates: `identity`, unless it is a proxy.
    pub(super) fn of(&self, chain: &[CertificateDer<'_>], identity: Identity) -> Identity {
        let Some((certificate, intermediates)) = chain.split_first() else {
            return identity;
        };
        let trust = self
            .verifier
            .verify_client_cert(certificate, intermediates, UnixTime::now());
        let name = subject(certificate).and_then(|subject| {
            let mut names = subject.into_iter().filter(|part| part.kind == COMMON_NAME);
            names.next_back().map(|part| part.text)
        });
        let is_allowed = self.allowed.is_empty() || self.allowed.contains(&name.unwrap_or_default());
        if trust.is_err() || !is_allowed {
            return identity;
        }
        Identity::Proxy(Arc::clone(&self.headers), Arc::new(identity))
    }
}

/// The user that a certificate names: nobody, if it has no common name. Whether it is to be trusted is for others to decide.
pub fn user_of(certificate: &CertificateDer<'_>) -> Result<Option<User>, InvalidCertificate> {
    let subject = subject(certificate).ok_or(InvalidCertificate)?;
    let (mut name, mut groups, mut uids) = (String::new(), Vec::new(), Vec::new());
    for Attribute { kind, text } in subject {
        match kind {
            COMMON_NAME => name = text,
            ORGANIZATION => groups.push(text),
            UID => uids.push(text),
            _ => {}
        }
    }
    let uid = match uids.as_slice() {
        [] => "",
        [uid] if !uid.is_empty() => uid,
        _ => return Err(InvalidCertificate),
    };
    if name.is_empty() {
        return Ok(None);
    }
    let mut fingerprint = String::from("X509SHA256=");
    for byte in digest(&SHA256, certificate).as_ref() {
        let _ = write!(fingerprint, "{byte:02x}");
    }
    let user = User::new(name, groups)
        .with_uid(uid)
        .with_extra("authentication.kubernetes.io/credential-id", [fingerprint]);
    Ok(Some(user))
}

/// Kubernetes' own 1.3.6.1.4.1.57683.2.
const UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::certificates::{Certificates, GivenCertificates};

    fn made() -> Certificates {
        Certificates::new(&GivenCertificates::default(), &[]).unwrap()
    }

    #[test]
    fn common_name_and_organization_make_the_user() {
        let certificates = made();
        let chain = [certificates.admin.certificate_der()];
        let Identity::Proven(user) = of(&*certificates.verifier().unwrap(), &chain) else {
            panic!("no identity");
        };
        assert_eq!((&user.name, &user.groups), (&User::admin().name, &User::admin().groups));
        let id = &user.extra["authentication.kubernetes.io/credential-id"][0];
        assert!(id.starts_with("X509SHA256=") && id.len() == 11 + 64, "{id}");
    }

    #[test]
    fn a_certificate_of_another_authority_proves_nothing() {
        let ours = made();
        let theirs = made();
        let chain = [theirs.admin.certificate_der()];
        assert!(matches!(of(&*ours.verifier().unwrap(), &chain), Identity::Refused));
        assert!(matches!(of(&*ours.verifier().unwrap(), &[]), Identity::Unknown));
    }

    #[test]
    fn a_serving_certificate_is_no_identity() {
        let certificates = made();
        let chain = [certificates.serving_certificate()];
        assert!(matches!(
            of(&*certificates.verifier().unwrap(), &chain),
            Identity::Refused
        ));
    }
}
