//! The certificates of the webhooks: an authority of our own, and what it signs.

use std::time::Duration;

use jiff::Timestamp;
use kubewright_system::certificates::{self, Error, KeyedCertificate, Leaf, Signer};
use kubewright_x509::Validity;
use rustls::pki_types::CertificateDer;

use super::bundle::RedactedText;

/// How long before they are made certificates become valid, for API servers whose clock is late.
pub(super) const BACKDATED: Duration = Duration::from_hours(1);

/// The longest common name of X.509.
const LONGEST_COMMON_NAME: usize = 64;

/// A certificate and its key.
#[derive(Clone, Debug)]
pub(super) struct IssuedCertificate {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: RedactedText,
}

/// When a certificate was made.
pub(super) fn made_at(validity: Validity) -> Timestamp {
    validity
        .not_before
        .saturating_add(BACKDATED)
        .unwrap_or(validity.not_before)
}

impl From<KeyedCertificate> for IssuedCertificate {
    fn from(made: KeyedCertificate) -> Self {
        IssuedCertificate {
            certificate: made.certificate_der(),
            key: RedactedText(made.key_pem()),
        }
    }
}

/// A new authority.
pub(super) fn authority(now: Timestamp, lifetime: Duration) -> Result<IssuedCertificate, Error> {
    let validity = validity(now, lifetime);
    let name = authority_name(validity.not_before);
    Ok(certificates::authority(&name, Some(validity))?.into())
}

/// A serving certificate, signed by an authority that [`authority`] made. It does not outlive it.
pub(super) fn issue(
    authority: Validity,
    authority_key: &RedactedText,
    names: &[String],
    now: Timestamp,
    lifetime: Duration,
) -> Result<IssuedCertificate, Error> {
    let signer = Signer::new(&authority_name(authority.not_before), &authority_key.0)?;
    let name = names.first().filter(|name| name.len() <= LONGEST_COMMON_NAME);
    let mut validity = validity(now, lifetime);
    validity.not_after = validity.not_after.min(authority.not_after);
    let leaf = Leaf::server(name.map_or("", String::as_str), names).valid(validity);
    Ok(signer.sign(&leaf)?.into())
}

/// The name of an authority follows from when it begins: what signs in its name needs nothing but its certificate, and two
/// authorities have two names.
fn authority_name(not_before: Timestamp) -> String {
    format!("kubewright webhook CA {}", not_before.as_second().max(0))
}

fn validity(now: Timestamp, lifetime: Duration) -> Validity {
    Validity {
        not_before: now.saturating_sub(BACKDATED).unwrap_or(now),
        not_after: now.saturating_add(lifetime).unwrap_or(Timestamp::MAX),
    }
}
