//! Certificates of a control plane of our own, as envtest makes them: an authority, a serving pair, the administrator's pair.

use kubewright_controllers::SigningAuthority;
use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};

use crate::Error;

/// A certificate and its key, as PEM.
pub(super) struct PemPair {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl From<KeyedCertificate> for PemPair {
    fn from(made: KeyedCertificate) -> Self {
        PemPair {
            certificate: made.certificate_pem(),
            key: made.kubeconfig_key_pem(),
        }
    }
}

pub(super) struct Authority {
    pub(super) certificate: String,
    pub(super) signing: SigningAuthority,
    signer: Signer,
}

impl Authority {
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        let made = certificates::authority(name, None).map_err(failed)?;
        let signing = SigningAuthority::new(&made.certificate_pem(), &made.key_pem());
        Ok(Authority {
            certificate: made.certificate_pem(),
            signing: signing.map_err(|error| Error::ControlPlane(error.to_string()))?,
            signer: Signer::new(name, &made.key_pem()).map_err(failed)?,
        })
    }

    /// For a server on this machine.
    pub(super) fn serving(&self) -> Result<PemPair, Error> {
        let leaf = Leaf::server("localhost", &["localhost", "127.0.0.1", "::1"]);
        Ok(self.signer.sign(&leaf).map_err(failed)?.into())
    }

    /// For a user of these groups.
    pub(super) fn client(&self, name: &str, groups: &[&str]) -> Result<PemPair, Error> {
        Ok(self.signer.sign(&Leaf::client(name, groups)).map_err(failed)?.into())
    }
}

/// A key that signs the tokens of service accounts: public and private part, as PEM.
pub(super) fn token_signer() -> Result<PemPair, Error> {
    let (certificate, key) = certificates::key_pair().map_err(failed)?;
    Ok(PemPair { certificate, key })
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: certificates::Error) -> Error {
    Error::ControlPlane(format!("certificates cannot be made: {error}"))
}
