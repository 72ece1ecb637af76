//! A listener's certificate authority, its serving certificate and the administrator's.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::identity::AskForCertificate;
use crate::access::User;

/// What is wrong with a certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot make a certificate")]
    Generate(#[from] rcgen::Error),
    #[error("cannot use a certificate")]
    Configure(#[from] rustls::Error),
    #[error("cannot verify clients")]
    Verify(#[from] rustls::server::VerifierBuilderError),
}

/// The names under which pods and people reach an API server; the address is the first of the service range.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];
const ADDRESSES: [IpAddr; 3] = [
    IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
    IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
];

/// The certificates of one listener. They are valid whatever a test's clock shows.
pub(super) struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
    pub(super) serving: Certified,
    pub(super) admin: Certified,
}

/// A certificate with its key.
pub(super) struct Certified {
    pub(super) certificate: Certificate,
    pub(super) key: KeyPair,
}

impl Certificates {
    /// Makes them all; `addresses` are those the listener is reached at, beside the usual ones.
    pub(super) fn generate(addresses: &[IpAddr]) -> Result<Certificates, Error> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named("kubewright-ca", &[]);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;

        let mut parameters = CertificateParams::new(NAMES.map(str::to_owned))?;
        parameters.distinguished_name = named("kube-apiserver", &[]);
        let mut seen = Vec::new();
        for address in ADDRESSES
            .iter()
            .chain(addresses)
            .filter(|address| !address.is_unspecified())
        {
            if !seen.contains(address) {
                seen.push(*address);
                parameters.subject_alt_names.push(SanType::IpAddress(*address));
            }
        }
        let serving = Certified::sign(parameters, ExtendedKeyUsagePurpose::ServerAuth, &authority)?;

        let mut parameters = CertificateParams::default();
        let User { name, groups, .. } = User::admin();
        // Being authenticated is a group that the server adds.
        let groups: Vec<String> = groups
            .into_iter()
            .filter(|group| group != "system:authenticated")
            .collect();
        parameters.distinguished_name = named(&name, &groups);
        let admin = Certified::sign(parameters, ExtendedKeyUsagePurpose::ClientAuth, &authority)?;
        Ok(Certificates {
            authority,
            serving,
            admin,
        })
    }

    pub(super) fn authority_pem(&self) -> String {
        self.authority.pem()
    }

    /// Decides whether a client's certificate is one of this authority.
    pub(super) fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone())?;
        let provider = Arc::new(ring::default_provider());
        Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
    }

    /// What a handshake needs: HTTP/2 preferred, a client certificate asked for.
    pub(super) fn server_config(&self, verifier: Arc<dyn ClientCertVerifier>) -> Result<ServerConfig, Error> {
        let key = PrivatePkcs8KeyDer::from(self.serving.key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AskForCertificate(verifier)))
            .with_single_cert(vec![self.serving.certificate.der().clone()], PrivateKeyDer::Pkcs8(key))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl Certified {
    fn sign(
        mut parameters: CertificateParams,
        purpose: ExtendedKeyUsagePurpose,
        authority: &CertifiedIssuer<'static, KeyPair>,
    ) -> Result<Certified, Error> {
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        parameters.extended_key_usages = vec![purpose];
        parameters.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, authority)?;
        Ok(Certified { certificate, key })
    }
}

fn named(name: &str, organizations: &[String]) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    for organization in organizations {
        names.push(DnType::OrganizationName, organization.as_str());
    }
    names.push(DnType::CommonName, name);
    names
}
