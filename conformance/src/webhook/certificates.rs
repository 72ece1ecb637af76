//! The webhook process' certificates: good ones, and one for each way to be refused.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use jiff::Timestamp;
use kubewright_system::certificates::{self, KeyedCertificate, Signer};
use kubewright_x509::Validity;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;

/// Where the listeners are.
const LOCALHOST: &str = "127.0.0.1";

/// What is wrong with a certificate.
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
    /// One for the name or address that the listener is reached at.
    Valid,
    /// One that is valid no more.
    Expired,
    /// One of an authority that is in no bundle.
    UnknownAuthority,
    /// One for another address and another name.
    WrongName,
}

impl ServedCertificate {
    pub(super) const ALL: [ServedCertificate; 4] = [
        ServedCertificate::Valid,
        ServedCertificate::Expired,
        ServedCertificate::UnknownAuthority,
        ServedCertificate::WrongName,
    ];

    /// What cases call it.
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
    /// Certificates for the names that services are called by, made when first asked for.
    named: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

/// An authority: its certificate as PEM, and what signs in its name.
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

    /// The bundle that makes a server trust every listener but the one of the unknown authority; base64 as in objects.
    pub(super) fn bundle(&self) -> String {
        BASE64.encode(&self.authority.certificate)
    }

    /// The valid certificate itself as a bundle.
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
            .with_no_client_auth()
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

    /// A certificate for these names and addresses.
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

/// The year 2020.
const EXPIRED: Validity = Validity {
    not_before: Timestamp::constant(1_577_836_800, 0),
    not_after: Timestamp::constant(1_609_459_200, 0),
};

/// Presents one certificate whatever name is asked for.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

/// Presents a certificate for the name asked for, or for the address.
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
