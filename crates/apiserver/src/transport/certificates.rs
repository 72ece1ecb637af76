//! A listener's certificate authority, its serving certificate and the administrator's.

use std::net::IpAddr;
use std::sync::Arc;

use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::identity::AskForCertificate;
use crate::access::User;

/// What is wrong with a certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot make a certificate")]
    Generate(#[from] certificates::Error),
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

/// The common name of the authority.
const AUTHORITY: &str = "kubewright-ca";

/// The certificates of one listener. They are valid whatever a test's clock shows.
pub(super) struct Certificates {
    authority: KeyedCertificate,
    pub(super) serving: KeyedCertificate,
    pub(super) admin: KeyedCertificate,
}

impl Certificates {
    /// Makes them all; `addresses` are those the listener is reached at, beside the usual ones.
    pub(super) fn generate(addresses: &[IpAddr]) -> Result<Certificates, Error> {
        let authority = certificates::authority(AUTHORITY, None)?;
        let signer = Signer::new(AUTHORITY, &authority.key_pem())?;

        let mut names = NAMES.map(str::to_owned).to_vec();
        for address in ADDRESSES
            .iter()
            .chain(addresses)
            .filter(|address| !address.is_unspecified())
        {
            let address = address.to_string();
            if !names.contains(&address) {
                names.push(address);
            }
        }
        let serving = signer.sign(&Leaf::server("kube-apiserver", &names))?;

        let User { name, groups, .. } = User::admin();
        // Being authenticated is a group that the server adds.
        let groups: Vec<String> = groups
            .into_iter()
            .filter(|group| group != "system:authenticated")
            .collect();
        let admin = signer.sign(&Leaf::client(&name, &groups))?;
        Ok(Certificates {
            authority,
            serving,
            admin,
        })
    }

    pub(super) fn authority_pem(&self) -> String {
        self.authority.certificate_pem()
    }

    /// Decides whether a client's certificate is one of this authority.
    pub(super) fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.certificate_der())?;
        let provider = Arc::new(ring::default_provider());
        Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
    }

    /// What a handshake needs: HTTP/2 preferred, a client certificate asked for.
    pub(super) fn server_config(&self, verifier: Arc<dyn ClientCertVerifier>) -> Result<ServerConfig, Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AskForCertificate(verifier)))
            .with_single_cert(vec![self.serving.certificate_der()], self.serving.key_der())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}
