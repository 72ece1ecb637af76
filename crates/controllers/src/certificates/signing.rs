//! Signs what is approved: certificates for requests to the signers of Kubernetes, in the name of the clients' authority.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Failure, Result};
use kubewright_runtime::random::Random;
use kubewright_system::certificates::Issuance;
use kubewright_x509::Validity;

use super::authority::SigningAuthority;
use super::{has, is_issued, request, usages};
use crate::support::{Settings, time};

/// How long certificates are valid at most, and at least.
const LONGEST: Duration = Duration::from_hours(365 * 24);
const SHORTEST: Duration = Duration::from_mins(10);
/// They begin to be valid before they are signed, since clocks differ; those that are valid for long end as much earlier.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);
const SHORT: Duration = Duration::from_hours(8);

/// The controller. Without an authority nothing is signed.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<CertificateSigningRequest>()
        .named("certificatesigningrequest-signing-controller")
        .reconcile_objects::<CertificateSigningRequest, _>(move |context, csr| {
            let client = context.client();
            let now = settings.clock_of(&client).now();
            let random = settings.random.clone().unwrap_or_else(Random::from_entropy);
            let authority = settings.signing_authority.clone();
            async move {
                if let Some(authority) = authority {
                    sign(&client, &authority, &csr, now, &random).await?;
                }
                Ok(Action::done())
            }
        })
}

async fn sign(
    client: &Client,
    authority: &SigningAuthority,
    csr: &CertificateSigningRequest,
    now: Timestamp,
    random: &Random,
) -> Result<()> {
    if !has(csr, "Approved") || has(csr, "Denied") || has(csr, "Failed") || is_issued(csr) {
        return Ok(());
    }
    let name = csr.metadata.name.as_deref().unwrap_or_default();
    let Some(request) = request::parsed(&csr.spec) else {
        return Err(Failure::terminal(format!("unable to parse csr {name:?}")));
    };
    let mut written = csr.clone();
    let status = written.status.get_or_insert_default();
    match request::verdict(&request, &csr.spec) {
        Ok(false) => return Ok(()),
        Err(why) => {
            status
                .conditions
                .get_or_insert_default()
                .push(CertificateSigningRequestCondition {
                    type_: "Failed".to_owned(),
                    status: "True".to_owned(),
                    reason: Some("SignerValidationFailure".to_owned()),
                    message: Some(why),
                    last_update_time: Some(time::whole(now)),
                    ..CertificateSigningRequestCondition::default()
                });
        }
        Ok(true) => {
            let (key_usages, extended_key_usages) =
                usages::usages(csr.spec.usages.as_deref().unwrap_or_default()).map_err(Failure::terminal)?;
            let authority = authority.authority().map_err(Failure::terminal)?;
            let validity = validity(&csr.spec, now, authority.validity().not_after).map_err(Failure::terminal)?;
            let issuance = Issuance {
                validity,
                key_usages,
                extended_key_usages: &extended_key_usages,
            };
            let signed = authority.sign(&request, &issuance, random).map_err(Failure::terminal)?;
            status.certificate = Some(ByteString(signed.into_bytes()));
        }
    }
    client.update_status(&written).await?;
    Ok(())
}

/// When a certificate is valid that is signed now, or why it is not signed.
fn validity(
    spec: &CertificateSigningRequestSpec,
    now: Timestamp,
    authority_ends: Timestamp,
) -> std::result::Result<Validity, String> {
    let wanted = spec
        .expiration_seconds
        .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
    let lasts = wanted.unwrap_or(LONGEST).clamp(SHORTEST, LONGEST);
    let mut end = SignedDuration::try_from(lasts).unwrap_or(SignedDuration::MAX);
    if lasts >= SHORT {
        end -= BACKDATE;
    }
    if now >= authority_ends {
        return Err(format!(
            "refusing to sign a certificate that expired in the past: NotAfter={authority_ends}"
        ));
    }
    let moment = |duration: SignedDuration| now.checked_add(duration).unwrap_or(Timestamp::MAX);
    Ok(Validity {
        not_before: moment(-BACKDATE),
        not_after: moment(end).min(authority_ends),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasts(seconds: Option<i32>, authority_ends: &str) -> (i64, i64) {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let spec = CertificateSigningRequestSpec {
            expiration_seconds: seconds,
            ..CertificateSigningRequestSpec::default()
        };
        let validity = validity(&spec, now, authority_ends.parse().unwrap()).unwrap();
        let from = |then: Timestamp| then.duration_since(now).as_secs();
        (from(validity.not_before), from(validity.not_after))
    }

    #[test]
    fn what_is_short_ends_when_it_should_and_what_is_long_begins_and_ends_earlier() {
        let never = "9000-01-01T00:00:00Z";
        assert_eq!(lasts(None, never), (-300, 365 * 86400 - 300));
        assert_eq!(lasts(Some(3600), never), (-300, 3600));
        assert_eq!(lasts(Some(60), never), (-300, 600));
        assert_eq!(lasts(Some(8 * 3600), never), (-300, 8 * 3600 - 300));
        assert_eq!(lasts(Some(i32::MAX), never), (-300, 365 * 86400 - 300));
    }

    #[test]
    fn nothing_outlives_the_authority() {
        assert_eq!(lasts(None, "2026-01-02T00:00:00Z"), (-300, 86400));
        let late = "2026-02-01T00:00:00Z".parse().unwrap();
        let spec = CertificateSigningRequestSpec::default();
        let refused = validity(&spec, late, "2026-01-02T00:00:00Z".parse().unwrap()).unwrap_err();
        assert!(refused.contains("expired in the past"), "{refused}");
    }
}
