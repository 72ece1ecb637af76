//! An authority that signs what others ask for: requests for certificates, with the keys of those who ask.

use std::fmt;

use kubewright_x509::{Certificate, CertificateRequest, PrivateKey, PublicKey, Template, Validity, assemble, pem};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, SigningKey as _};
use rustls::crypto::ring::default_provider;

use crate::random::Random;

/// The identifiers of the algorithms that an authority signs with, in DER.
const ECDSA_SHA256: &[u8] = &[0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const ECDSA_SHA384: &[u8] = &[0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
const ED25519: &[u8] = &[0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];
const RSA_SHA256: &[u8] = &[
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b, 0x05, 0x00,
];

/// Why an authority cannot be used, or does not sign.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The text has no certificate.
    #[error("the PEM of the authority has no certificate")]
    NoCertificate,
    /// The text has no private key, or one of a kind that cannot sign here.
    #[error("the PEM of the authority has no private key that can sign")]
    NoKey,
    /// The key belongs to another certificate.
    #[error("the private key of the authority is not that of its certificate")]
    OtherKey,
    /// Whoever asks does not have the key that the certificate would be for.
    #[error("unable to verify certificate request signature")]
    Signature,
    /// The signature cannot be made.
    #[error("failed to sign certificate")]
    Sign(#[source] rcgen::Error),
}

/// What a certificate says that is signed for a request, beside what the request says.
#[derive(Clone, Debug)]
pub struct Issuance<'a> {
    /// The time in which it is valid.
    pub validity: Validity,
    /// What the key may be used for, by the numbers of RFC 5280: bit 0 is `digitalSignature`.
    pub key_usages: u16,
    /// What else the key may be used for: object identifiers as DER content.
    pub extended_key_usages: &'a [&'a [u8]],
}

/// An authority with its private key.
///
/// ```
/// use kubewright_system::certificates::{self, CertificateAuthority};
///
/// let made = certificates::authority("example-ca", None)?;
/// let authority = CertificateAuthority::new(&made.certificate_pem(), &made.key_pem())?;
/// assert_eq!(format!("{authority:?}"), "CertificateAuthority { .. }");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CertificateAuthority {
    certificate: Certificate,
    key: KeyPair,
    algorithm: &'static [u8],
}

impl CertificateAuthority {
    /// From its certificate and its private key, both as PEM.
    pub fn new(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let block = pem::blocks(certificate.as_bytes()).find(|block| block.kind == "CERTIFICATE");
        let read = block.and_then(|block| Certificate::read(&block.bytes));
        let read = read.ok_or(AuthorityError::NoCertificate)?;
        let private = PrivateKey::of(key.as_bytes()).ok_or(AuthorityError::NoKey)?;
        if PublicKey::all_of(certificate.as_bytes()) != [private.public()] {
            return Err(AuthorityError::OtherKey);
        }
        let key = KeyPair::from_pem(key).map_err(|_| AuthorityError::NoKey)?;
        let algorithms = [
            (&PKCS_ECDSA_P256_SHA256, ECDSA_SHA256),
            (&PKCS_ECDSA_P384_SHA384, ECDSA_SHA384),
            (&PKCS_ED25519, ED25519),
            (&PKCS_RSA_SHA256, RSA_SHA256),
        ];
        let known = algorithms.into_iter().find(|(known, _)| *key.algorithm() == **known);
        let (_, algorithm) = known.ok_or(AuthorityError::NoKey)?;
        Ok(CertificateAuthority {
            certificate: read,
            key,
            algorithm,
        })
    }

    /// The time in which its certificate is valid.
    pub fn validity(&self) -> Validity {
        self.certificate.validity
    }

    /// Signs a certificate for a request, as PEM. Whoever asks must have the key: their signature is verified.
    pub fn sign(
        &self,
        request: &CertificateRequest,
        issuance: &Issuance<'_>,
        random: &Random,
    ) -> Result<String, AuthorityError> {
        if !is_signed(request) {
            return Err(AuthorityError::Signature);
        }
        let mut serial = [0; 16];
        for byte in &mut serial {
            *byte = u8::try_from(random.below(256)).unwrap_or_default();
        }
        let template = Template {
            serial,
            validity: issuance.validity,
            key_usages: issuance.key_usages,
            extended_key_usages: issuance.extended_key_usages,
        };
        let signed = template.to_be_signed(request, &self.certificate, self.algorithm);
        let signature = self.key.sign(&signed).map_err(AuthorityError::Sign)?;
        let certificate = assemble(&signed, self.algorithm, &signature);
        Ok(pem::encode("CERTIFICATE", &certificate))
    }
}

/// The key stays out of logs.
impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority").finish_non_exhaustive()
    }
}

/// Whether a request is signed with the key that it is about.
fn is_signed(request: &CertificateRequest) -> bool {
    let known = default_provider().signature_verification_algorithms.all;
    known.iter().any(|algorithm| {
        algorithm.signature_alg_id().as_ref() == request.signature_algorithm
            && algorithm.public_key_alg_id().as_ref() == request.key_algorithm
            && algorithm
                .verify_signature(&request.key, &request.signed, &request.signature)
                .is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::super::authority;
    use super::*;

    fn request() -> CertificateRequest {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "jane");
        let key = KeyPair::generate().unwrap();
        CertificateRequest::read(params.serialize_request(&key).unwrap().der()).unwrap()
    }

    fn issuance() -> Issuance<'static> {
        Issuance {
            validity: Validity {
                not_before: "2026-01-01T00:00:00Z".parse().unwrap(),
                not_after: "2027-01-01T00:00:00Z".parse().unwrap(),
            },
            key_usages: 1,
            extended_key_usages: &[&[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02]],
        }
    }

    #[test]
    fn what_an_authority_signs_is_trusted_by_those_who_trust_it() {
        let made = authority("example-ca", None).unwrap();
        let signs = CertificateAuthority::new(&made.certificate_pem(), &made.key_pem()).unwrap();
        let signed = signs.sign(&request(), &issuance(), &Random::seeded(1)).unwrap();
        let (block, _) = pem::decode(signed.as_bytes()).unwrap();

        let mut roots = rustls::RootCertStore::empty();
        roots.add(made.certificate_der()).unwrap();
        let provider = std::sync::Arc::new(default_provider());
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
        let verifier = verifier.build().unwrap();
        let at = |second: u64| rustls::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(second));
        let trusts = |second| {
            verifier
                .verify_client_cert(&block.bytes.clone().into(), &[], at(second))
                .is_ok()
        };
        assert!(trusts(1_780_000_000), "in 2026");
        assert!(!trusts(1_820_000_000), "in 2027");
    }

    #[test]
    fn a_request_with_the_key_of_another_is_not_signed() {
        let made = authority("example-ca", None).unwrap();
        let signs = CertificateAuthority::new(&made.certificate_pem(), &made.key_pem()).unwrap();
        let other = request();
        let stolen = CertificateRequest {
            public_key: other.public_key,
            key: other.key,
            ..request()
        };
        let refused = signs.sign(&stolen, &issuance(), &Random::seeded(1)).unwrap_err();
        assert!(matches!(refused, AuthorityError::Signature), "{refused}");
    }

    #[test]
    fn what_does_not_fit_together_is_no_authority() {
        let (one, two) = (authority("one", None).unwrap(), authority("two", None).unwrap());
        let why = |certificate: &str, key: &str| CertificateAuthority::new(certificate, key).unwrap_err().to_string();
        assert!(why(&one.certificate_pem(), &two.key_pem()).contains("not that of its certificate"));
        assert!(why("rubbish", &one.key_pem()).contains("no certificate"));
        assert!(why(&one.certificate_pem(), "rubbish").contains("no private key"));
    }
}
