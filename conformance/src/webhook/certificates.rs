//! The certificates of the webhook process: valid ones, and one for each reason to refuse a certificate.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use jiff::Timestamp;
use kubewright_system::certificates::{self, KeyedCertificate, Signer};
use kubewright_x509::Validity;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use thiserror::Error;

/// The address of the listeners.
const LOCALHOST: &str = "127.0.0.1";

/// The reason why a certificate cannot be used.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// It cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] certificates::Error),
    /// It cannot be served.
    #[error("cannot serve a certificate: {0}")]
    Serve(#[from] rustls::Error),
}

/// The certificate that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedCertificate {
    /// A certificate for the name or address of the listener.
    Valid,
    /// An expired certificate.
    Expired,
    /// A certificate of an authority that is in no bundle.
    UnknownAuthority,
    /// A certificate for another address and another name.
    WrongName,
}

impl ServedCertificate {
    pub(super) const ALL: [ServedCertificate; 4] = [
        ServedCertificate::Valid,
        ServedCertificate::Expired,
        ServedCertificate::UnknownAuthority,
        ServedCertificate::WrongName,
    ];

    /// The name of the variable by which cases refer to it.
    pub(super) fn variable(self) -> &'static str {
        match self {
            ServedCertificate::Valid => "webhook",
            ServedCertificate::Expired => "webhook.expired",
            ServedCertificate::UnknownAuthority => "webhook.stranger",
            ServedCertificate::WrongName => "webhook.misnamed",
        }
    }
}

/// The certificates of all listeners.
pub(super) struct Certificates {
    authority: Authority,
    unknown: Authority,
    valid: Leaf,
    /// Certificates for the DNS names of Services, made on first use.
    named: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

/// An authority: its certificate as PEM, and its signer.
struct Authority {
    certificate: String,
    signer: Signer,
}

struct Leaf {
    /// As PEM.
    certificate: String,
    key: Arc<CertifiedKey>,
}

impl Certificates {
    pub(super) fn generate() -> Result<Self, CertificateError> {
        let authority = Authority::new("webhook-ca")?;
        let valid = authority.leaf(&[LOCALHOST], None)?;
        Ok(Self {
            unknown: Authority::new("another-ca")?,
            valid,
            authority,
            named: Mutex::default(),
        })
    }

    /// The CA bundle for every listener except that of the unknown authority, in base64 as objects have it.
    pub(super) fn bundle(&self) -> String {
        BASE64.encode(&self.authority.certificate)
    }

    /// The valid certificate itself as a CA bundle.
    pub(super) fn leaf_bundle(&self) -> String {
        BASE64.encode(&self.valid.certificate)
    }

    pub(super) fn server_config(
        certificates: &Arc<Self>,
        served: ServedCertificate,
    ) -> Result<ServerConfig, CertificateError> {
        let resolver: Arc<dyn ResolvesServerCert> = match served {
            ServedCertificate::Valid => Arc::new(ByName(Arc::clone(certificates))),
            ServedCertificate::Expired => {
                Arc::new(Always(certificates.authority.leaf(&[LOCALHOST], Some(EXPIRED))?.key))
            }
            ServedCertificate::UnknownAuthority => Arc::new(Always(certificates.unknown.leaf(&[LOCALHOST], None)?.key)),
            ServedCertificate::WrongName => {
                let elsewhere = ["other.example.com", "192.0.2.1"];
                Arc::new(Always(certificates.authority.leaf(&elsewhere, None)?.key))
            }
        };
        Ok(ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyClient))
            .with_cert_resolver(resolver))
    }

    fn named(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = named.get(name) {
            return Some(Arc::clone(key));
        }
        let key = self.authority.leaf(&[name], None).ok()?.key;
        named.insert(name.to_owned(), Arc::clone(&key));
        Some(key)
    }
}

impl Authority {
    fn new(name: &str) -> Result<Self, CertificateError> {
        let made = certificates::authority(name, None)?;
        Ok(Authority {
            signer: Signer::new(name, &made.key_pem())?,
            certificate: made.certificate_pem(),
        })
    }

    /// Makes a certificate for these names and addresses.
    fn leaf(&self, names: &[&str], validity: Option<Validity>) -> Result<Leaf, CertificateError> {
        let mut leaf = certificates::Leaf::server("webhook", names);
        if let Some(validity) = validity {
            leaf = leaf.valid(validity);
        }
        let made: KeyedCertificate = self.signer.sign(&leaf)?;
        let signer = ring::sign::any_supported_type(&made.key_der())?;
        Ok(Leaf {
            key: Arc::new(CertifiedKey::new(vec![made.certificate_der()], signer)),
            certificate: made.certificate_pem(),
        })
    }
}

/// Asks clients for a certificate, and takes any or none: who may ask is no question here.
#[derive(Debug)]
struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

fn algorithms() -> WebPkiSupportedAlgorithms {
    ring::default_provider().signature_verification_algorithms
}

/// A validity that ended long ago: the year 2020.
const EXPIRED: Validity = Validity {
    not_before: Timestamp::constant(1_577_836_800, 0),
    not_after: Timestamp::constant(1_609_459_200, 0),
};

/// Presents the same certificate for every server name.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Presents a certificate for the server name, or for the address where the client sends no name.
struct ByName(Arc<Certificates>);

impl fmt::Debug for ByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByName")
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match hello.server_name() {
            Some(name) => self.0.named(name),
            None => Some(Arc::clone(&self.0.valid.key)),
        }
    }
}
