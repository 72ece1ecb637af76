//! The webhook process' certificates: good ones, and one for each way to be refused.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;

/// What is wrong with a certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// It cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It cannot be served.
    #[error("cannot serve a certificate: {0}")]
    Serve(#[from] rustls::Error),
}

/// How a listener presents itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    /// With a certificate for the name or address it is reached at.
    Honest,
    /// With one that was valid once.
    Expired,
    /// With one of an authority that nobody is told about.
    Stranger,
    /// With one for another address and another name.
    Misnamed,
}

impl Face {
    pub(super) const ALL: [Face; 4] = [Face::Honest, Face::Expired, Face::Stranger, Face::Misnamed];

    /// What cases call it.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Face::Honest => "webhook",
            Face::Expired => "webhook.expired",
            Face::Stranger => "webhook.stranger",
            Face::Misnamed => "webhook.misnamed",
        }
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// The certificates of all listeners.
pub(super) struct Certificates {
    authority: Authority,
    stranger: Authority,
    honest: Leaf,
    /// Certificates for the names that services are called by, made when first asked for.
    named: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

struct Leaf {
    certificate: Certificate,
    key: Arc<CertifiedKey>,
}

impl Certificates {
    pub(super) fn generate() -> Result<Self, CertificateError> {
        let authority = authority("webhook-ca")?;
        let honest = leaf(&authority, &[], Some(Ipv4Addr::LOCALHOST), false)?;
        Ok(Self {
            stranger: self::authority("another-ca")?,
            honest,
            authority,
            named: Mutex::default(),
        })
    }

    /// The bundle that makes a server trust every listener but the stranger; base64 as in objects.
    pub(super) fn bundle(&self) -> String {
        BASE64.encode(self.authority.pem())
    }

    /// The honest listener's own certificate as a bundle.
    pub(super) fn leaf_bundle(&self) -> String {
        BASE64.encode(self.honest.certificate.pem())
    }

    pub(super) fn server_config(certificates: &Arc<Self>, face: Face) -> Result<ServerConfig, CertificateError> {
        let address = Some(Ipv4Addr::LOCALHOST);
        let resolver: Arc<dyn ResolvesServerCert> = match face {
            Face::Honest => Arc::new(ByName(Arc::clone(certificates))),
            Face::Expired => Arc::new(Always(leaf(&certificates.authority, &[], address, true)?.key)),
            Face::Stranger => Arc::new(Always(leaf(&certificates.stranger, &[], address, false)?.key)),
            Face::Misnamed => {
                let elsewhere = Some(Ipv4Addr::new(192, 0, 2, 1));
                let leaf = leaf(&certificates.authority, &["other.example.com"], elsewhere, false)?;
                Arc::new(Always(leaf.key))
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
        let key = leaf(&self.authority, &[name], None, false).ok()?.key;
        named.insert(name.to_owned(), Arc::clone(&key));
        Some(key)
    }
}

fn authority(name: &str) -> Result<Authority, CertificateError> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = common_name(name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?)
}

fn leaf(
    authority: &Authority,
    names: &[&str],
    address: Option<Ipv4Addr>,
    expired: bool,
) -> Result<Leaf, CertificateError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = common_name("webhook");
    if let Some(address) = address {
        parameters
            .subject_alt_names
            .push(SanType::IpAddress(IpAddr::V4(address)));
    }
    if expired {
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(2021, 1, 1);
    }
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = parameters.signed_by(&key, authority)?;
    let signer = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let signer = ring::sign::any_supported_type(&signer)?;
    Ok(Leaf {
        key: Arc::new(CertifiedKey::new(vec![certificate.der().clone()], signer)),
        certificate,
    })
}

fn common_name(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

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
            None => Some(Arc::clone(&self.0.honest.key)),
        }
    }
}
