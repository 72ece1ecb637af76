//! Decides what to do next with the certificates, from their state and the time, without I/O.
//!
//! A new authority is added to the caBundles for a while before a certificate that it signed is served, and an old one stays there
//! for a while after. So an API server, or a replica that is late, never meets a certificate that it does not trust. All times are
//! computed from the certificates themselves, so that every replica makes the same decision without a leader.

use std::time::Duration;

use jiff::Timestamp;
use kubewright_x509::Validity;

use super::authority::{self, made_at};
use super::keys::Material;
use super::options::ManagedOptions;

/// The shortest lifetime, whatever the options say.
const SHORTEST: Duration = Duration::from_mins(1);

/// The names and lifetimes of certificates.
#[derive(Clone, Debug)]
pub(super) struct CertificateTerms {
    pub(super) names: Vec<String>,
    pub(super) lifetime: Duration,
    pub(super) authority_lifetime: Duration,
    pub(super) overlap: Duration,
}

impl CertificateTerms {
    pub(super) fn of(options: &ManagedOptions) -> Self {
        let lifetime = options.lifetime.max(SHORTEST);
        let authority_lifetime = options.ca_lifetime.max(SHORTEST);
        CertificateTerms {
            names: options.dns_names(),
            lifetime,
            authority_lifetime,
            // A certificate is renewed when a third of its lifetime is left: two waits and some failures must fit into it.
            overlap: options.overlap.min(lifetime.min(authority_lifetime) / 10),
        }
    }

    /// The name that clients send.
    pub(super) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanStep {
    /// Wait until then.
    Wait(Timestamp),
    /// Trust a new authority.
    NewAuthority,
    /// Sign a new serving certificate.
    Issue,
    /// Trust only the authority that signs and the one that signed the certificate in use.
    Forget,
}

/// The next step. `announced` means that all caBundles have all authorities.
pub(super) fn next_step(material: &Material, terms: &CertificateTerms, now: Timestamp, announced: bool) -> PlanStep {
    let signer = material
        .signer()
        .filter(|at| material.authorities[*at].validity.covers(now));
    let Some(signer) = signer else {
        return PlanStep::NewAuthority;
    };
    let (Some(issuer), Some(leaf)) = (material.issuer(terms.name(), now), &material.leaf) else {
        return PlanStep::Issue;
    };
    let signs = material.authorities[signer].validity;
    if renewal(signs) <= now {
        return PlanStep::NewAuthority;
    }
    let mut next = renewal(signs).min(renewal(leaf.validity));
    let settled = after(made_at(signs), terms.overlap);
    if signer != issuer {
        // Close to its end the certificate is replaced even if the authority is not known to be trusted everywhere.
        if (announced && settled <= now) || last_call(leaf.validity) <= now {
            return PlanStep::Issue;
        }
        next = last_call(leaf.validity).min(settled.max(after(now, SHORTEST)));
    } else if renewal(leaf.validity) <= now {
        return PlanStep::Issue;
    }
    let is_idle = |at: usize| at != signer && at != issuer;
    let expired = |at: usize| !material.authorities[at].validity.covers(now);
    let idle: Vec<usize> = (0..material.authorities.len()).filter(|at| is_idle(*at)).collect();
    if !idle.is_empty() {
        let quiet = after(made_at(leaf.validity), terms.overlap);
        if quiet <= now || idle.iter().any(|at| expired(*at)) {
            return PlanStep::Forget;
        }
        next = next.min(quiet);
    }
    PlanStep::Wait(next)
}

/// Does everything that is to be done now. Says whether that was anything, and when to look again.
pub(super) fn carry_out(
    material: &mut Material,
    terms: &CertificateTerms,
    now: Timestamp,
    announced: bool,
) -> Result<(bool, Timestamp), MakeError> {
    // The longest sequence: sign with an authority of another program, make an authority, sign with that, drop the former.
    const STEPS: usize = 6;
    let mut changed = false;
    for _ in 0..STEPS {
        match next_step(material, terms, now, announced) {
            PlanStep::Wait(until) => return Ok((changed, until)),
            PlanStep::NewAuthority => {
                let trusted = material.issuer(terms.name(), now).is_some();
                // Drop CAs with no certificate in use, and those that expired.
                material
                    .authorities
                    .retain(|authority| trusted && authority.validity.covers(now));
                material.add_authority(authority::authority(now, terms.authority_lifetime)?);
            }
            PlanStep::Issue => {
                let signer = material.signer().zip(material.authority_key.clone());
                let Some((signer, key)) = signer else {
                    break;
                };
                let signer = material.authorities[signer].validity;
                let made = authority::issue(signer, &key, &terms.names, now, terms.lifetime)?;
                material.set_leaf(made);
                if material.issuer(terms.name(), now).is_none() {
                    // Somebody else made this authority, under another name than certificates are signed with here: nobody accepts
                    // what it signs.
                    material.authority_key = None;
                }
            }
            PlanStep::Forget => {
                let kept = [material.signer(), material.issuer(terms.name(), now)];
                let mut at = 0..;
                material.authorities.retain(|_| kept.contains(&at.next()));
            }
        }
        changed = true;
    }
    Err(MakeError::Names(terms.names.join(", ")))
}

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MakeError {
    #[error("no certificate can be made")]
    Make(
        #[source]
        #[from]
        kubewright_system::certificates::Error,
    ),
    #[error("no certificate can be made for {0}: these are no names of a server")]
    Names(String),
}

/// When two thirds of a life are over.
fn renewal(validity: Validity) -> Timestamp {
    part(validity, 2, 3)
}

/// When the certificate is about to expire.
fn last_call(validity: Validity) -> Timestamp {
    part(validity, 11, 12)
}

fn part(validity: Validity, part: i64, of: i64) -> Timestamp {
    let made = made_at(validity);
    let life = validity.not_after.as_second().saturating_sub(made.as_second()).max(0);
    // `of` is small: nothing overflows before the year 9999 does.
    let seconds = made.as_second().saturating_add(life / of * part);
    Timestamp::from_second(seconds).unwrap_or(validity.not_after)
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::certificates::keys::{AUTHORITY_KEY, BUNDLE, CERTIFICATE, KEY};

    const DAY: Duration = Duration::from_hours(24);

    fn terms() -> CertificateTerms {
        CertificateTerms::of(&ManagedOptions::new("shop", "webhooks"))
    }

    fn start() -> Timestamp {
        "2026-11-16T08:00:00Z".parse().unwrap()
    }

    fn fresh(terms: &CertificateTerms, now: Timestamp) -> Material {
        let mut material = Material::default();
        let (made, _) = carry_out(&mut material, terms, now, false).unwrap();
        assert!(made);
        material
    }

    fn days(count: u32) -> Duration {
        DAY * count
    }

    #[test]
    fn nothing_becomes_an_authority_and_a_certificate_for_every_name() {
        let (terms, now) = (terms(), start());
        let material = fresh(&terms, now);
        assert_eq!(material.authorities.len(), 1);
        for name in &terms.names {
            assert_eq!(material.issuer(name, now), Some(0), "{name}");
        }
        assert_eq!(material.issuer("others.shop.svc", now), None);
        let leaf = material.leaf.as_ref().unwrap().validity;
        assert_eq!(leaf.not_after, after(now, days(90)));
        assert_eq!(
            next_step(&material, &terms, now, true),
            PlanStep::Wait(after(now, days(60)))
        );
    }

    #[test]
    fn what_is_written_is_read_again() {
        let (terms, now) = (terms(), start());
        let material = fresh(&terms, now);
        let mut data = BTreeMap::new();
        material.write(&mut data);
        let read = Material::read(&data);
        assert!(read.is_whole() && read.is_sound(terms.name(), now));
        assert_eq!(read.bundle(), material.bundle());
    }

    #[test]
    fn a_certificate_is_renewed_by_the_same_authority() {
        let (terms, now) = (terms(), start());
        let mut material = fresh(&terms, now);
        let (bundle, leaf) = (material.bundle(), material.leaf.clone().unwrap());
        let later = after(now, days(60));
        assert!(carry_out(&mut material, &terms, later, false).unwrap().0);
        assert_eq!(material.bundle(), bundle);
        let renewed = material.leaf.clone().unwrap();
        assert!(renewed.certified.cert != leaf.certified.cert);
        assert_eq!(renewed.validity.not_after, after(later, days(90)));
    }

    #[test]
    fn a_new_authority_is_trusted_before_it_signs_and_the_old_one_after() {
        let terms = terms();
        let mut now = start();
        let mut material = fresh(&terms, now);
        let old = material.authorities[0].clone();
        let due = renewal(old.validity);
        while now < due {
            (_, now) = carry_out(&mut material, &terms, now, true).unwrap();
        }
        assert!(carry_out(&mut material, &terms, now, true).unwrap().0);
        assert_eq!(material.authorities.len(), 2);
        assert_eq!(
            material.authorities[material.issuer(terms.name(), now).unwrap()].certificate,
            old.certificate
        );
        assert_eq!(material.signer(), Some(0));

        // It is in no caBundle yet, so it does not sign, however long that takes.
        let later = after(now, days(5));
        assert!(!carry_out(&mut material.clone(), &terms, later, false).unwrap().0);

        let settled = after(now, DAY);
        assert_eq!(
            next_step(&material, &terms, after(now, DAY / 2), true),
            PlanStep::Wait(settled)
        );
        assert!(carry_out(&mut material, &terms, settled, true).unwrap().0);
        assert_eq!(material.issuer(terms.name(), settled), Some(0));
        assert_eq!(material.authorities.len(), 2);

        assert!(carry_out(&mut material, &terms, after(settled, DAY), true).unwrap().0);
        assert_eq!(material.authorities.len(), 1);
        assert!(material.authorities[0] != old);
    }

    #[test]
    fn close_to_the_end_a_certificate_is_replaced_even_if_nobody_could_be_told() {
        let terms = terms();
        let mut now = start();
        let mut material = fresh(&terms, now);
        while material.authorities.len() == 1 {
            (_, now) = carry_out(&mut material, &terms, now, true).unwrap();
            now = now.max(start());
        }
        let leaf = material.leaf.clone().unwrap();
        let end = last_call(leaf.validity);
        assert!(carry_out(&mut material, &terms, end, false).unwrap().0);
        assert!(material.leaf.unwrap().validity.not_after > leaf.validity.not_after);
    }

    /// Ten years in which everybody is late: API servers that still have the bundle of most of a day ago, and replicas that
    /// still show the certificate of then. Nobody ever meets a certificate that is not trusted.
    #[test]
    fn late_api_servers_and_late_replicas_never_meet_a_certificate_they_do_not_trust() {
        let terms = terms();
        let mut now = start();
        let mut material = fresh(&terms, now);
        let mut history = vec![(now, material.clone())];
        let (mut certificates, mut authorities) = (0, 0);
        let lag = DAY * 9 / 10;
        while now < after(start(), days(3650)) {
            let before = material.clone();
            let (changed, next) = carry_out(&mut material, &terms, now, true).unwrap();
            if changed {
                let newest = |material: &Material| material.leaf.clone().unwrap().certified.cert.clone();
                certificates += usize::from(newest(&before) != newest(&material));
                authorities += usize::from(before.authorities[0] != material.authorities[0]);
                history.push((now, material.clone()));
            }
            let late = after(now, lag);
            let (_, then) = history
                .iter()
                .rev()
                .find(|(at, _)| after(*at, lag) <= now)
                .unwrap_or(&history[0]);
            for (shown, trusted) in [(&material, then), (then, &material), (&material, &material)] {
                let leaf = shown.leaf.as_ref().unwrap();
                let accepted = |at| {
                    trusted
                        .authorities
                        .iter()
                        .any(|authority| leaf.is_accepted(terms.name(), authority, at))
                };
                assert!(accepted(now) && accepted(late), "{now}");
            }
            assert!(material.authorities.len() <= 2);
            assert!(next > now);
            now = next.min(after(now, days(4)));
        }
        assert_eq!(
            (authorities, certificates > 60 && certificates < 70),
            (5 - 1, true),
            "{certificates}"
        );
    }

    #[test]
    fn every_kind_of_rubbish_is_repaired() {
        let (terms, now) = (terms(), start());
        let mut whole = BTreeMap::new();
        fresh(&terms, now).write(&mut whole);
        let mut others = BTreeMap::new();
        fresh(&terms, now).write(&mut others);
        let rubbish = k8s_openapi::ByteString(b"rubbish".to_vec());
        for field in [BUNDLE, AUTHORITY_KEY, CERTIFICATE, KEY] {
            for bytes in [Some(&rubbish), None, others.get(field)] {
                let mut data = whole.clone();
                match bytes {
                    Some(bytes) => _ = data.insert(field.to_owned(), bytes.clone()),
                    None => _ = data.remove(field),
                }
                let mut material = Material::read(&data);
                assert!(carry_out(&mut material, &terms, now, false).unwrap().0, "{field}");
                assert!(material.is_sound(terms.name(), now), "{field}");
                if field == CERTIFICATE || field == KEY {
                    assert_eq!(material.bundle().as_bytes(), whole[BUNDLE].0, "the authority stays");
                }
                let mut data = BTreeMap::new();
                material.write(&mut data);
                let mut material = Material::read(&data);
                assert!(!carry_out(&mut material, &terms, now, false).unwrap().0, "{field}");
            }
        }
    }

    #[test]
    fn a_lost_key_of_an_authority_costs_no_trust_in_what_is_shown() {
        let (terms, now) = (terms(), start());
        let mut material = fresh(&terms, now);
        let leaf = material.leaf.clone().unwrap();
        material.authority_key = None;
        carry_out(&mut material, &terms, now, true).unwrap();
        assert!(material.leaf.as_ref().unwrap().certified.cert == leaf.certified.cert);
        assert_eq!((material.authorities.len(), material.signer().is_some()), (2, true));
    }

    #[test]
    fn an_expired_or_foreign_certificate_is_replaced_at_once() {
        let (terms, now) = (terms(), start());
        let mut late = fresh(&terms, now);
        let end = after(now, days(91));
        assert!(!late.is_sound(terms.name(), end));
        carry_out(&mut late, &terms, end, false).unwrap();
        assert!(late.is_sound(terms.name(), end));

        let other = CertificateTerms::of(&ManagedOptions::new("shop", "other"));
        let mut renamed = fresh(&terms, now);
        let bundle = renamed.bundle();
        carry_out(&mut renamed, &other, now, false).unwrap();
        assert!(renamed.is_sound("other.shop.svc", now) && renamed.bundle() == bundle);
    }

    #[test]
    fn an_authority_that_somebody_else_made_is_replaced() {
        let (terms, now) = (terms(), start());
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "theirs");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let mut material = Material::default();
        material.add_authority(crate::certificates::authority::IssuedCertificate {
            certificate: params.self_signed(&key).unwrap().der().clone(),
            key: crate::certificates::bundle::RedactedText(key.serialize_pem()),
        });
        assert_eq!(material.signer(), Some(0));
        carry_out(&mut material, &terms, now, false).unwrap();
        assert!(material.is_sound(terms.name(), now));
    }

    #[test]
    fn names_that_no_server_has_are_an_error_and_no_loop() {
        for service in ["", "sp ace", "ü"] {
            let terms = CertificateTerms::of(&ManagedOptions::new("shop", service));
            let error = carry_out(&mut Material::default(), &terms, start(), false).unwrap_err();
            assert!(error.to_string().starts_with("no certificate can be made"), "{error}");
        }
    }

    #[test]
    fn lifetimes_that_make_no_sense_do_not_make_it_spin() {
        for (lifetime, ca_lifetime, overlap) in [
            (Duration::ZERO, Duration::ZERO, Duration::MAX),
            (days(90), days(1), days(5)),
            (Duration::MAX, Duration::MAX, Duration::MAX),
            (days(90), days(90), Duration::ZERO),
        ] {
            let mut options = ManagedOptions::new("shop", "webhooks");
            (options.lifetime, options.ca_lifetime, options.overlap) = (lifetime, ca_lifetime, overlap);
            let terms = CertificateTerms::of(&options);
            let mut now = start();
            let mut material = Material::default();
            let mut writes = 0;
            for _ in 0..100 {
                let (changed, next) = carry_out(&mut material, &terms, now, true).unwrap();
                writes += usize::from(changed);
                assert!(material.is_sound(terms.name(), now));
                assert!(next > now, "{options:?} at {now}");
                now = next.min(Timestamp::MAX);
                if now.as_second() > 250_000_000_000 {
                    break;
                }
            }
            assert!(writes > 0);
        }
    }
}
