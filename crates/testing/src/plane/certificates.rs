//! Certificates of a control plane of our own, as envtest makes them: an authority, a serving pair, the administrator's pair.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::Error;

/// A certificate and its key, as PEM.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

pub(super) struct Authority {
    pub(super) certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Authority {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    /// For a server on this machine.
    pub(super) fn serving(&self) -> Result<Pair, Error> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name = named("localhost", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// For a user of these groups.
    pub(super) fn client(&self, name: &str, groups: &[&str]) -> Result<Pair, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(name, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?.pem();
        Ok(Pair {
            certificate,
            key: key.serialize_pem(),
        })
    }
}

/// A key that signs the tokens of service accounts: public and private part, as PEM.
pub(super) fn token_signer() -> Result<Pair, Error> {
    let key = KeyPair::generate().map_err(failed)?;
    Ok(Pair {
        certificate: key.public_key_pem(),
        key: key.serialize_pem(),
    })
}

fn named(name: &str, groups: &[&str]) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    for group in groups {
        distinguished.push(DnType::OrganizationName, *group);
    }
    distinguished
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: rcgen::Error) -> Error {
    Error::Plane(format!("certificates cannot be made: {error}"))
}
