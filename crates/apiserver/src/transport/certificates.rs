//! A listener's certificate authority, its serving certificate and the administrator's.

use std::net::IpAddr;
use std::sync::Arc;

use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};
use kubewright_x509::{Certificate, PrivateKey, PublicKey, pem};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};

use super::identity::{AskForCertificate, ProxyVerifier};
use crate::access::User;
use crate::access::front_proxy::FrontProxies;

/// What is wrong with a certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot make a certificate")]
    Generate(#[from] certificates::Error),
    #[error("cannot use a certificate")]
    Configure(#[from] rustls::Error),
    #[error("cannot verify clients")]
    Verify(#[from] rustls::server::VerifierBuilderError),
    #[error("the PEM of the {0} has no certificate")]
    NoCertificate(&'static str),
    #[error("the PEM of the {0} has no private key that can be read")]
    NoKey(&'static str),
    #[error("the private key of the authority is not that of its certificate")]
    OtherKey,
    #[error("the certificate of the authority is not one that a listener of this kind made")]
    OtherAuthority,
}

/// A certificate and its private key, as PEM.
#[derive(Clone)]
pub(super) struct PemPair {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// The certificates that a listener is given, where it does not make its own.
#[derive(Clone, Default)]
pub(super) struct GivenCertificates {
    /// The certificate that it serves with, and those between it and its authority.
    pub(super) serving: Option<PemPair>,
    /// The authorities of clients, beside its own.
    pub(super) clients: Option<String>,
    /// The proxies whose headers say whom a request is of.
    pub(super) proxies: Option<FrontProxies>,
    /// The authority that signs what it makes.
    pub(super) authority: Option<PemPair>,
    /// Whether TLS 1.2 is refused.
    pub(super) only_tls13: bool,
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

/// The certificates of one listener. Those that it makes are valid whatever a test's clock shows.
pub(super) struct Certificates {
    /// The authority that signs what is made here.
    authority: PemPair,
    /// The authority by which clients verify the server.
    serving_authority: String,
    serving: (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
    /// The authorities of clients.
    clients: Vec<CertificateDer<'static>>,
    /// The authorities of front proxies, and what they may do.
    proxies: Option<(Vec<CertificateDer<'static>>, FrontProxies)>,
    pub(super) admin: KeyedCertificate,
    only_tls13: bool,
}

impl Certificates {
    /// Makes what is not given; `addresses` are those the listener is reached at, beside the usual ones.
    pub(super) fn new(given: &GivenCertificates, addresses: &[IpAddr]) -> Result<Certificates, Error> {
        let authority = if let Some(kept) = &given.authority {
            kept.clone()
        } else {
            let made = certificates::authority(AUTHORITY, None)?;
            PemPair {
                certificate: made.certificate_pem(),
                key: made.key_pem(),
            }
        };
        let of_authority = certificates_of(&authority.certificate, "authority")?;
        let public = PrivateKey::of(authority.key.as_bytes()).ok_or(Error::NoKey("authority"))?;
        if PublicKey::all_of(authority.certificate.as_bytes()) != [public.public()] {
            return Err(Error::OtherKey);
        }
        let signer = Signer::new(AUTHORITY, &authority.key)?;

        let User { name, groups, .. } = User::admin();
        // Being authenticated is a group that the server adds.
        let groups: Vec<String> = groups
            .into_iter()
            .filter(|group| group != "system:authenticated")
            .collect();
        let admin = signer.sign(&Leaf::client(&name, &groups))?;
        let issuer = |der: &[u8]| Certificate::read(der).map(|certificate| certificate.issuer);
        if issuer(&admin.certificate_der()) != issuer(&of_authority[0]) {
            return Err(Error::OtherAuthority);
        }

        let (serving, serving_authority) = if let Some(pair) = &given.serving {
            let chain = certificates_of(&pair.certificate, "serving certificate")?;
            let last = chain.last().map(|last| pem::encode("CERTIFICATE", last));
            let key = key_of(&pair.key).ok_or(Error::NoKey("serving certificate"))?;
            ((chain, key), last.unwrap_or_default())
        } else {
            let made = signer.sign(&Leaf::server("kube-apiserver", &names(addresses)))?;
            let serving = (vec![made.certificate_der()], made.key_der());
            (serving, authority.certificate.clone())
        };
        let mut clients = of_authority;
        if let Some(given) = &given.clients {
            clients.extend(certificates_of(given, "authorities of clients")?);
        }
        let proxies = given.proxies.as_ref().map(|proxies| {
            let authorities = certificates_of(&proxies.authorities, "authorities of front proxies")?;
            Ok::<_, Error>((authorities, proxies.clone()))
        });
        Ok(Certificates {
            proxies: proxies.transpose()?,
            authority,
            serving_authority,
            serving,
            clients,
            admin,
            only_tls13: given.only_tls13,
        })
    }

    /// The authority by which clients verify the server.
    pub(super) fn authority_pem(&self) -> String {
        self.serving_authority.clone()
    }

    /// The authorities of clients.
    pub(super) fn client_authorities_pem(&self) -> String {
        let authorities = self.clients.iter();
        authorities
            .map(|authority| pem::encode("CERTIFICATE", authority))
            .collect()
    }

    /// The authority that signed the administrator's certificate, and its key.
    pub(super) fn signing_authority(&self) -> &PemPair {
        &self.authority
    }

    /// Decides whether a client's certificate is one of the clients' authorities.
    pub(super) fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        verifier(&self.clients)
    }

    /// Decides whether a client is a front proxy.
    pub(super) fn proxies(&self) -> Result<Option<ProxyVerifier>, Error> {
        let Some((authorities, proxies)) = &self.proxies else {
            return Ok(None);
        };
        Ok(Some(ProxyVerifier::new(verifier(authorities)?, proxies)))
    }

    /// The front proxies whose headers count.
    pub(super) fn front_proxies(&self) -> Option<&FrontProxies> {
        self.proxies.as_ref().map(|(_, proxies)| proxies)
    }

    /// What a handshake needs: HTTP/2 preferred, a client certificate asked for.
    pub(super) fn server_config(&self) -> Result<ServerConfig, Error> {
        let provider = Arc::new(ring::default_provider());
        let mut hints = self.verifier()?.root_hint_subjects().to_vec();
        if let Some((authorities, _)) = &self.proxies {
            hints.extend_from_slice(verifier(authorities)?.root_hint_subjects());
        }
        let versions: &[&SupportedProtocolVersion] = if self.only_tls13 { &[&TLS13] } else { &[&TLS13, &TLS12] };
        let (chain, key) = &self.serving;
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)?
            .with_client_cert_verifier(Arc::new(AskForCertificate::new(&provider, hints)))
            .with_single_cert(chain.clone(), key.clone_key())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    #[cfg(test)]
    pub(super) fn serving_certificate(&self) -> CertificateDer<'static> {
        self.serving.0[0].clone()
    }
}

/// Decides whether a certificate is one of these authorities.
fn verifier(authorities: &[CertificateDer<'static>]) -> Result<Arc<dyn ClientCertVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority.clone())?;
    }
    let provider = Arc::new(ring::default_provider());
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
}

/// The names and addresses of a serving certificate.
fn names(addresses: &[IpAddr]) -> Vec<String> {
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
    names
}

/// The certificates of a text, of which there is at least one.
fn certificates_of(text: &str, whose: &'static str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Vec<_> = pem::blocks(text.as_bytes())
        .filter(|block| block.kind == "CERTIFICATE")
        .map(|block| CertificateDer::from(block.bytes))
        .collect();
    if certificates.is_empty() {
        return Err(Error::NoCertificate(whose));
    }
    Ok(certificates)
}

/// The first private key of a PEM.
pub(crate) fn key_of(text: &str) -> Option<PrivateKeyDer<'static>> {
    pem::blocks(text.as_bytes()).find_map(|block| match block.kind.as_str() {
        "PRIVATE KEY" => Some(PrivateKeyDer::Pkcs8(block.bytes.into())),
        "RSA PRIVATE KEY" => Some(PrivateKeyDer::Pkcs1(block.bytes.into())),
        "EC PRIVATE KEY" => Some(PrivateKeyDer::Sec1(block.bytes.into())),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &GivenCertificates) -> Result<Certificates, Error> {
        let made = Certificates::new(given, &[])?;
        made.server_config()?;
        Ok(made)
    }

    #[test]
    fn an_authority_that_is_kept_signs_again() {
        let first = of(&GivenCertificates::default()).unwrap();
        let kept = GivenCertificates {
            authority: Some(first.signing_authority().clone()),
            ..GivenCertificates::default()
        };
        let second = of(&kept).unwrap();
        assert_eq!(first.authority_pem(), second.authority_pem());
        let verifier = second.verifier().unwrap();
        let trusts =
            verifier.verify_client_cert(&first.admin.certificate_der(), &[], rustls::pki_types::UnixTime::now());
        assert!(trusts.is_ok(), "the certificate of before is still good");
    }

    #[test]
    fn a_given_certificate_is_served_and_its_last_is_the_authority() {
        let other = certificates::authority("other", None).unwrap();
        let leaf = certificates::Signer::new("other", &other.key_pem()).unwrap();
        let leaf = leaf.sign(&Leaf::server("x", &["localhost"])).unwrap();
        let given = GivenCertificates {
            serving: Some(PemPair {
                certificate: leaf.certificate_pem() + &other.certificate_pem(),
                key: leaf.key_pem(),
            }),
            ..GivenCertificates::default()
        };
        let made = of(&given).unwrap();
        assert_eq!(made.serving_certificate(), leaf.certificate_der());
        let same =
            |one: &str, other: &str| pem::decode(one.as_bytes()).unwrap().0 == pem::decode(other.as_bytes()).unwrap().0;
        assert!(same(&made.authority_pem(), &other.certificate_pem()));
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        let one = certificates::authority(AUTHORITY, None).unwrap();
        let two = certificates::authority("other", None).unwrap();
        let pair = |certificate: String, key: String| Some(PemPair { certificate, key });
        let why = |given: GivenCertificates| of(&given).err().map(|error| error.to_string()).unwrap();
        let authority = |authority| GivenCertificates {
            authority,
            ..GivenCertificates::default()
        };
        let serving = |serving| GivenCertificates {
            serving,
            ..GivenCertificates::default()
        };
        for (given, part) in [
            (
                authority(pair(one.certificate_pem(), two.key_pem())),
                "is not that of its certificate",
            ),
            (
                authority(pair(two.certificate_pem(), two.key_pem())),
                "not one that a listener",
            ),
            (
                authority(pair(String::new(), one.key_pem())),
                "the authority has no certificate",
            ),
            (
                serving(pair(one.certificate_pem(), "x".into())),
                "the serving certificate has no private key",
            ),
            (
                serving(pair("x".into(), one.key_pem())),
                "the serving certificate has no certificate",
            ),
            (
                serving(pair(one.certificate_pem(), two.key_pem())),
                "cannot use a certificate",
            ),
        ] {
            let why = why(given);
            assert!(why.contains(part), "{why}");
        }
    }
}
