//! Making certificates: an authority of our own, and what it signs. Keys come from the system's randomness.

use std::ops::Add;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_x509::Validity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

use super::bundle::Hidden;

/// Certificates begin that long before they are made, for API servers whose clock is late.
pub(super) const BACKDATED: Duration = Duration::from_hours(1);

/// The longest common name of X.509.
const LONGEST_COMMON_NAME: usize = 64;

/// A certificate and its key.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) certificate: CertificateDer<'static>,
    pub(super) key: Hidden,
}

/// When it was made.
pub(super) fn made_at(validity: Validity) -> Timestamp {
    validity
        .not_before
        .saturating_add(BACKDATED)
        .unwrap_or(validity.not_before)
}

/// A new authority.
pub(super) fn authority(now: Timestamp, lifetime: Duration) -> Result<Made, rcgen::Error> {
    let not_before = seconds(now).saturating_sub(BACKDATED);
    let mut params = CertificateParams::default();
    params.distinguished_name = authority_name(not_before);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = time(date_time_ymd(1970, 1, 1), not_before);
    params.not_after = time(date_time_ymd(1970, 1, 1), seconds(now).saturating_add(lifetime));
    let key = KeyPair::generate()?;
    Ok(Made {
        certificate: params.self_signed(&key)?.der().clone(),
        key: Hidden(key.serialize_pem()),
    })
}

/// A serving certificate, signed by an authority that [`authority`] made. It does not outlive it.
pub(super) fn issue(
    authority: Validity,
    authority_key: &Hidden,
    names: &[String],
    now: Timestamp,
    lifetime: Duration,
) -> Result<Made, rcgen::Error> {
    let mut issuer = CertificateParams::default();
    issuer.distinguished_name = authority_name(seconds(authority.not_before));
    let issuer = Issuer::new(issuer, KeyPair::from_pem(&authority_key.0)?);
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    if let Some(name) = names.first().filter(|name| name.len() <= LONGEST_COMMON_NAME) {
        params.distinguished_name.push(DnType::CommonName, name.as_str());
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.not_before = time(date_time_ymd(1970, 1, 1), seconds(now).saturating_sub(BACKDATED));
    params.not_after = time(
        date_time_ymd(1970, 1, 1),
        seconds(now).saturating_add(lifetime).min(seconds(authority.not_after)),
    );
    let key = KeyPair::generate()?;
    Ok(Made {
        certificate: params.signed_by(&key, &issuer)?.der().clone(),
        key: Hidden(key.serialize_pem()),
    })
}

/// The name of an authority follows from when it begins: what signs in its name needs nothing but its certificate, and two
/// authorities have two names.
fn authority_name(not_before: Duration) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(
        DnType::CommonName,
        format!("kubewright webhook CA {}", not_before.as_secs()),
    );
    name
}

/// Since 1970, in whole seconds, as certificates count; nothing here is older.
fn seconds(time: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0))
}

/// A time as rcgen wants it, given its 1970. X.509 ends with the year 9999.
fn time<T: Add<Duration, Output = T>>(epoch: T, since: Duration) -> T {
    const END: Duration = Duration::from_secs(253_402_300_799);
    epoch + since.min(END)
}
