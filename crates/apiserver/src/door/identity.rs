//! Who a client certificate says its bearer is: the common name is the user, organizations are groups (Z1).
//!
//! As upstream, the handshake asks for a certificate and accepts any, or none; whether it is a valid one decides
//! between an identity and 401.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::access::User;

/// The verifier of a handshake: proof of possession is demanded, trust is not.
#[derive(Debug)]
pub(super) struct AskForCertificate(pub(super) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
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
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The identity that a chain of certificates proves, if it does.
pub(super) fn user(verifier: &dyn ClientCertVerifier, chain: &[CertificateDer<'_>]) -> Option<User> {
    let (certificate, intermediates) = chain.split_first()?;
    verifier
        .verify_client_cert(certificate, intermediates, UnixTime::now())
        .ok()?;
    let mut name = None;
    let mut groups = Vec::new();
    for (kind, text) in subject(certificate)? {
        match kind {
            COMMON_NAME => name = Some(text),
            ORGANIZATION => groups.push(text),
            _ => {}
        }
    }
    name.filter(|name| !name.is_empty()).map(|name| User::new(name, groups))
}

/// 2.5.4.3 and 2.5.4.10.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const EXPLICIT_VERSION: u8 = 0xa0;

/// The attributes of a certificate's subject. The certificate has been verified: this only finds the place.
fn subject<'c>(certificate: &'c CertificateDer<'_>) -> Option<Vec<(&'c [u8], String)>> {
    let mut certificate = Der(Der(certificate).expect(SEQUENCE)?);
    let mut body = Der(certificate.expect(SEQUENCE)?);
    if body.0.first() == Some(&EXPLICIT_VERSION) {
        body.next()?;
    }
    // Serial number, signature algorithm, issuer and validity come first.
    for _ in 0..4 {
        body.next()?;
    }
    let mut names = Der(body.expect(SEQUENCE)?);
    let mut attributes = Vec::new();
    while !names.0.is_empty() {
        let mut set = Der(names.expect(SET)?);
        while !set.0.is_empty() {
            let mut attribute = Der(set.expect(SEQUENCE)?);
            let kind = attribute.expect(OBJECT_IDENTIFIER)?;
            let (_, value) = attribute.next()?;
            attributes.push((kind, String::from_utf8_lossy(value).into_owned()));
        }
    }
    Some(attributes)
}

/// What is left to read of DER text.
struct Der<'c>(&'c [u8]);

impl<'c> Der<'c> {
    /// The next element: its tag and content.
    fn next(&mut self) -> Option<(u8, &'c [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(short), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (
                    bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
                    rest,
                )
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn expect(&mut self, tag: u8) -> Option<&'c [u8]> {
        self.next()
            .filter(|(found, _)| *found == tag)
            .map(|(_, content)| content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::certificates::Certificates;

    #[test]
    fn common_name_and_organization_make_the_user() {
        let certificates = Certificates::generate(&[]).unwrap();
        let chain = [certificates.admin.certificate.der().clone()];
        assert_eq!(user(&*certificates.verifier().unwrap(), &chain), Some(User::admin()));
    }

    #[test]
    fn a_certificate_of_another_authority_proves_nothing() {
        let ours = Certificates::generate(&[]).unwrap();
        let theirs = Certificates::generate(&[]).unwrap();
        let chain = [theirs.admin.certificate.der().clone()];
        assert_eq!(user(&*ours.verifier().unwrap(), &chain), None);
    }

    #[test]
    fn a_serving_certificate_is_no_identity() {
        let certificates = Certificates::generate(&[]).unwrap();
        let chain = [certificates.serving.certificate.der().clone()];
        assert_eq!(user(&*certificates.verifier().unwrap(), &chain), None);
    }

    #[test]
    fn a_cut_certificate_has_no_subject() {
        let certificates = Certificates::generate(&[]).unwrap();
        let whole = certificates.admin.certificate.der();
        for length in 0..whole.len() {
            assert!(subject(&CertificateDer::from(&whole[..length])).is_none());
        }
    }
}
