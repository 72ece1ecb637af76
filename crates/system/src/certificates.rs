//! Making certificates: an authority, what it signs, and certificates that sign themselves. Keys come from the system's
//! randomness.
//!
//! ```
//! use kubewright_system::certificates::{self, Leaf, Signer};
//!
//! # fn main() -> Result<(), certificates::Error> {
//! let authority = certificates::authority("example-ca", None)?;
//! let signer = Signer::new("example-ca", &authority.key_pem())?;
//! let serving = signer.sign(&Leaf::server("localhost", &["localhost", "127.0.0.1"]))?;
//! let jane = signer.sign(&Leaf::client("jane", &["developers"]))?;
//! assert!(serving.certificate_pem() != jane.certificate_pem());
//! # Ok(())
//! # }
//! ```

mod authority;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_x509::{PrivateKey, Validity, pem};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub use authority::{AuthorityError, CertificateAuthority, Issuance};
/// Why a certificate cannot be made.
pub use rcgen::Error;

/// A certificate and its private key.
pub struct KeyedCertificate {
    certificate: Certificate,
    key: KeyPair,
}

impl KeyedCertificate {
    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    /// The certificate as DER.
    pub fn certificate_der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// The private key as PEM, in PKCS#8.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The private key as PEM in the form that most clients read from a kubeconfig: SEC 1, `EC PRIVATE KEY`.
    ///
    /// Clients in Go, Python, JavaScript and Rust (kube), and the official one in Java, read PKCS#8 as well. fabric8's Java client takes a
    /// key whose label names no algorithm for RSA, so that it cannot read a key of an elliptic curve in PKCS#8. All of them read RSA, too, but
    /// making such a key takes longer than starting a server.
    pub fn kubeconfig_key_pem(&self) -> String {
        let pkcs8 = self.key_pem();
        match PrivateKey::of(pkcs8.as_bytes()).and_then(|key| key.to_sec1()) {
            Some(key) => pem::encode("EC PRIVATE KEY", &key),
            None => pkcs8,
        }
    }

    /// The private key as DER.
    pub fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.serialize_der().into())
    }
}

/// The key stays out of logs.
impl fmt::Debug for KeyedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedCertificate").finish_non_exhaustive()
    }
}

/// A certificate for these names and addresses that signs itself.
pub fn self_signed<S: AsRef<str>>(names: &[S]) -> Result<KeyedCertificate, Error> {
    let made = rcgen::generate_simple_self_signed(owned(names))?;
    Ok(KeyedCertificate {
        certificate: made.cert,
        key: made.signing_key,
    })
}

/// A certificate authority whose certificates cannot sign others. By default it does not expire.
pub fn authority(common_name: &str, validity: Option<Validity>) -> Result<KeyedCertificate, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = named::<&str>(common_name, &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    set_validity(&mut params, validity);
    let key = KeyPair::generate()?;
    Ok(KeyedCertificate {
        certificate: params.self_signed(&key)?,
        key,
    })
}

/// A key pair that signs something else than certificates: its public and its private part, as PEM.
pub fn key_pair() -> Result<(String, String), Error> {
    let key = KeyPair::generate()?;
    Ok((key.public_key_pem(), key.serialize_pem()))
}

/// Whether a text is the private key of an authority, as PEM.
pub fn is_signing_key(pem: &str) -> bool {
    KeyPair::from_pem(pem).is_ok()
}

/// What a certificate says that an authority signs.
#[derive(Clone, Debug)]
pub struct Leaf<'a, S> {
    common_name: &'a str,
    organizations: &'a [S],
    names: &'a [S],
    usage: ExtendedKeyUsagePurpose,
    validity: Option<Validity>,
}

impl<'a, S: AsRef<str>> Leaf<'a, S> {
    /// A server's, for DNS names and addresses. An empty common name is left out.
    pub fn server(common_name: &'a str, names: &'a [S]) -> Self {
        Leaf {
            common_name,
            organizations: &[],
            names,
            usage: ExtendedKeyUsagePurpose::ServerAuth,
            validity: None,
        }
    }

    /// A client's, who is known by this name and in these organizations.
    pub fn client(common_name: &'a str, organizations: &'a [S]) -> Self {
        Leaf {
            common_name,
            organizations,
            names: &[],
            usage: ExtendedKeyUsagePurpose::ClientAuth,
            validity: None,
        }
    }

    /// The time in which it is valid; always by default.
    pub fn valid(mut self, validity: Validity) -> Self {
        self.validity = Some(validity);
        self
    }
}

/// Signs certificates in the name of an authority.
pub struct Signer(Issuer<'static, KeyPair>);

impl Signer {
    /// From the authority's common name and its private key as PEM.
    pub fn new(common_name: &str, key: &str) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named::<&str>(common_name, &[]);
        Ok(Signer(Issuer::new(params, KeyPair::from_pem(key)?)))
    }

    /// Signs a certificate with a new key.
    pub fn sign<S: AsRef<str>>(&self, leaf: &Leaf<'_, S>) -> Result<KeyedCertificate, Error> {
        let mut params = CertificateParams::new(owned(leaf.names))?;
        params.distinguished_name = named(leaf.common_name, leaf.organizations);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![leaf.usage.clone()];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, leaf.validity);
        let key = KeyPair::generate()?;
        Ok(KeyedCertificate {
            certificate: params.signed_by(&key, &self.0)?,
            key,
        })
    }
}

/// The key stays out of logs.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

fn owned<S: AsRef<str>>(texts: &[S]) -> Vec<String> {
    texts.iter().map(|text| text.as_ref().to_owned()).collect()
}

fn named<S: AsRef<str>>(common_name: &str, organizations: &[S]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for organization in organizations {
        name.push(DnType::OrganizationName, organization.as_ref());
    }
    if !common_name.is_empty() {
        name.push(DnType::CommonName, common_name);
    }
    name
}

fn set_validity(params: &mut CertificateParams, validity: Option<Validity>) {
    if let Some(validity) = validity {
        params.not_before = date_time_ymd(1970, 1, 1) + since_1970(validity.not_before);
        params.not_after = date_time_ymd(1970, 1, 1) + since_1970(validity.not_after);
    }
}

/// In whole seconds, as certificates count. X.509 ends with the year 9999; nothing here is older than 1970.
fn since_1970(time: Timestamp) -> Duration {
    const END: Duration = Duration::from_secs(253_402_300_799);
    Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0)).min(END)
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use kubewright_x509::{Attribute, COMMON_NAME, Certificate, ORGANIZATION, subject};

    use super::*;

    #[test]
    fn an_authority_signs_for_servers_and_clients() {
        let authority = authority("ca", None).unwrap();
        let read = Certificate::read(&authority.certificate_der()).unwrap();
        assert_eq!((read.is_ca, read.max_path, read.may_sign), (true, Some(0), Some(true)));
        let signer = Signer::new("ca", &authority.key_pem()).unwrap();
        let validity = Validity {
            not_before: "2020-01-01T00:00:00Z".parse().unwrap(),
            not_after: "2021-01-01T00:00:00Z".parse().unwrap(),
        };
        let names = ["localhost", "::1"];
        let server = signer.sign(&Leaf::server("", &names).valid(validity)).unwrap();
        let server = Certificate::read(&server.certificate_der()).unwrap();
        assert_eq!(server.issuer, read.subject);
        assert_eq!((server.common_name.as_str(), server.validity), ("", validity));
        assert_eq!(
            (server.for_servers, server.dns_names.len(), server.addresses.len()),
            (Some(true), 1, 1)
        );
        let client = signer.sign(&Leaf::client("jane", &["ops"])).unwrap().certificate_der();
        let subject = subject(&client).unwrap();
        let is = |kind, text: &str| {
            subject.contains(&Attribute {
                kind,
                text: text.to_owned(),
            })
        };
        assert!(is(COMMON_NAME, "jane") && is(ORGANIZATION, "ops"));
        assert_eq!(Certificate::read(&client).unwrap().for_servers, Some(false));
    }

    #[test]
    fn the_key_for_a_kubeconfig_is_the_same_key_in_the_form_that_names_its_algorithm() {
        let made = self_signed(&["localhost"]).unwrap();
        let written = made.kubeconfig_key_pem();
        assert!(written.starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{written}");
        let read = |key| {
            let provider = rustls::crypto::ring::default_provider();
            let key = provider.key_provider.load_private_key(key).unwrap();
            key.public_key().unwrap().to_vec()
        };
        let sec1 = PrivateKeyDer::from_pem_slice(written.as_bytes()).unwrap();
        assert!(matches!(sec1, PrivateKeyDer::Sec1(_)));
        assert_eq!(read(sec1), read(made.key_der()));
    }

    #[test]
    fn keys_are_not_shown() {
        let made = self_signed(&["localhost"]).unwrap();
        assert_eq!(format!("{made:?}"), "KeyedCertificate { .. }");
        assert!(is_signing_key(&made.key_pem()) && !is_signing_key("rubbish"));
    }
}
