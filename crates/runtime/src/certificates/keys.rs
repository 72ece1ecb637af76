//! The fields of the Secret. Each is read on its own: a field that is missing or cannot be read leaves the others usable.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use kubewright_system::certificates::is_signing_key;
use kubewright_x509::Validity;
use rustls::RootCertStore;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;

use super::authority::IssuedCertificate;
use super::bundle::{self, RedactedText};

/// The fields of the Secret. The serving pair has the names of a TLS Secret, the bundle that of cert-manager.
pub(super) const BUNDLE: &str = "ca.crt";
pub(super) const AUTHORITY_KEY: &str = "ca.key";
pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";

/// The limit of certificates in a chain. Chains that the runtime makes have one; those of others have one or two more.
const LONGEST_CHAIN: usize = 4;

/// A certificate whose signatures are trusted.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) validity: Validity,
}

impl Authority {
    fn read(certificate: CertificateDer<'static>) -> Option<Self> {
        let validity = Validity::of(&certificate)?;
        let authority = Authority { certificate, validity };
        authority.roots().map(|_| authority)
    }

    /// A store in which nothing else is trusted. `None` for what rustls would not trust.
    fn roots(&self) -> Option<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).ok()?;
        Some(roots)
    }
}

/// What a server shows.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) validity: Validity,
    pub(super) certified: Arc<CertifiedKey>,
    key: RedactedText,
}

impl Leaf {
    fn read(chain: Vec<CertificateDer<'static>>, key: RedactedText) -> Option<Self> {
        let chain: Vec<_> = chain.into_iter().take(LONGEST_CHAIN).collect();
        let validity = Validity::of(chain.first()?)?;
        let certified = Arc::new(certify(chain, &key)?);
        Some(Leaf {
            validity,
            certified,
            key,
        })
    }

    /// Whether clients that ask for this name and trust this authority accept it.
    pub(super) fn is_accepted(&self, name: &str, authority: &Authority, now: Timestamp) -> bool {
        let check = || -> Option<()> {
            let (end, rest) = self.certified.cert.split_first()?;
            let end = ParsedCertificate::try_from(end).ok()?;
            let name = ServerName::try_from(name).ok()?;
            verify_server_name(&end, &name).ok()?;
            let since = u64::try_from(now.as_second()).ok()?;
            let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(since));
            let algorithms = ring::default_provider().signature_verification_algorithms;
            let roots = authority.roots()?;
            verify_server_cert_signed_by_trust_anchor(&end, &roots, rest, now, algorithms.all).ok()
        };
        // rustls looks at the leaf's validity, not at the authority's.
        self.validity.covers(now) && authority.validity.covers(now) && check().is_some()
    }
}

/// Everything the Secret holds. Fields that cannot be read are left out.
#[derive(Clone, Default)]
pub(super) struct Material {
    /// The newest comes first.
    pub(super) authorities: Vec<Authority>,
    pub(super) authority_key: Option<RedactedText>,
    pub(super) leaf: Option<Leaf>,
    /// The fields that are missing or cannot be read.
    pub(super) broken: Vec<&'static str>,
}

impl Material {
    /// Reads the fields of a Secret.
    pub(super) fn read(data: &BTreeMap<String, ByteString>) -> Self {
        let mut material = Material::default();
        let field = |name: &str| data.get(name).map_or(&[][..], |bytes| &bytes.0);
        let certificates = bundle::read(field(BUNDLE)).unwrap_or_default();
        let count = certificates.len();
        material.authorities = certificates.into_iter().filter_map(Authority::read).collect();
        if material.authorities.is_empty() || material.authorities.len() < count {
            material.broken.push(BUNDLE);
        }
        material.sort();
        material.authority_key = read_key(field(AUTHORITY_KEY)).filter(|key| is_signing_key(&key.0));
        if material.authority_key.is_none() {
            material.broken.push(AUTHORITY_KEY);
        }
        let (chain, key) = (bundle::read(field(CERTIFICATE)), read_key(field(KEY)));
        let broken = [(chain.is_none(), CERTIFICATE), (key.is_none(), KEY)];
        material.broken.extend(
            broken
                .into_iter()
                .filter_map(|(is_broken, name)| is_broken.then_some(name)),
        );
        if let Some((chain, key)) = chain.zip(key) {
            material.leaf = Leaf::read(chain, key);
            if material.leaf.is_none() {
                material.broken.push(CERTIFICATE);
            }
        }
        material
    }

    /// Writes the fields of a Secret; fields that are not ours stay.
    pub(super) fn write(&self, data: &mut BTreeMap<String, ByteString>) {
        let mut put = |name: &str, text: String| {
            data.insert(name.to_owned(), ByteString(text.into_bytes()));
        };
        put(BUNDLE, self.bundle());
        put(
            AUTHORITY_KEY,
            self.authority_key.clone().map_or_else(String::new, |key| key.0),
        );
        if let Some(leaf) = &self.leaf {
            put(CERTIFICATE, bundle::write(&leaf.certified.cert));
            put(KEY, leaf.key.0.clone());
        }
    }

    /// Whether nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        self.broken.is_empty()
    }

    /// Whether what is shown is accepted, and its successor can be signed.
    pub(super) fn is_sound(&self, name: &str, now: Timestamp) -> bool {
        self.signer().is_some() && self.issuer(name, now).is_some()
    }

    /// Everything that is trusted, as PEM.
    pub(super) fn bundle(&self) -> String {
        bundle::write(self.authorities.iter().map(|authority| &authority.certificate))
    }

    /// The authority whose key is here.
    pub(super) fn signer(&self) -> Option<usize> {
        let key = self.authority_key.as_ref()?;
        let fits = |authority: &Authority| certify(vec![authority.certificate.clone()], key).is_some();
        self.authorities.iter().position(fits)
    }

    /// The authority by which the serving certificate is accepted now, under this name.
    pub(super) fn issuer(&self, name: &str, now: Timestamp) -> Option<usize> {
        let leaf = self.leaf.as_ref()?;
        self.authorities
            .iter()
            .position(|authority| leaf.is_accepted(name, authority, now))
    }

    /// Trusts one more authority, which signs from now on.
    pub(super) fn add_authority(&mut self, made: IssuedCertificate) {
        if let Some(authority) = Authority::read(made.certificate) {
            self.authorities.insert(0, authority);
            self.authority_key = Some(made.key);
            self.sort();
        }
    }

    /// Shows another certificate.
    pub(super) fn set_leaf(&mut self, made: IssuedCertificate) {
        self.leaf = Leaf::read(vec![made.certificate], made.key);
    }

    /// Equal bundles are written equally by all replicas.
    fn sort(&mut self) {
        self.authorities.sort_by(|one, other| {
            other
                .validity
                .not_before
                .cmp(&one.validity.not_before)
                .then_with(|| one.certificate.cmp(&other.certificate))
        });
        self.authorities.dedup();
    }
}

/// Contents stay out of logs.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let validities: Vec<_> = self.authorities.iter().map(|authority| authority.validity).collect();
        f.debug_struct("Material")
            .field("authorities", &validities)
            .field("leaf", &self.leaf.as_ref().map(|leaf| leaf.validity))
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

fn read_key(pem: &[u8]) -> Option<RedactedText> {
    const LONGEST: usize = 16 << 10;
    let text = std::str::from_utf8(pem).ok().filter(|text| text.len() <= LONGEST)?;
    PrivateKeyDer::from_pem_slice(pem).ok()?;
    Some(RedactedText(text.to_owned()))
}

/// A chain with its key, if they fit.
fn certify(chain: Vec<CertificateDer<'static>>, key: &RedactedText) -> Option<CertifiedKey> {
    let key = PrivateKeyDer::from_pem_slice(key.0.as_bytes()).ok()?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).ok()
}
