//! Verifies the certificate of a server as Go does, with Go's messages.
//!
//! The order matters, because the first error is the one that is reported: validity of the leaf, its names, a chain to a
//! root, and what it may be used for. A root may be the leaf itself, so that a `caBundle` with a leaf certificate works.

use std::collections::HashSet;
use std::net::IpAddr;

use jiff::Timestamp;
use kubewright_system::clock;
use kubewright_x509::Certificate;
use rustls::crypto::WebPkiSupportedAlgorithms;

/// How many signatures are checked at most.
const MAX_SIGNATURE_CHECKS: usize = 100;
/// How long a chain may be.
const MAX_CHAIN: usize = 12;
/// How long a serial number may be, with some leeway.
const MAX_SERIAL_BYTES: usize = 64;
/// How many names an error lists at most.
const MAX_NAMES_TOLD: usize = 100;

/// What is needed to verify a certificate.
pub(super) struct Verification<'a> {
    pub(super) roots: &'a [Certificate],
    pub(super) intermediates: &'a [Certificate],
    pub(super) host: &'a str,
    pub(super) now: Timestamp,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl Verification<'_> {
    /// Verifies the certificate. The error is Go's message.
    pub(super) fn verify(&self, leaf: &Certificate) -> Result<(), String> {
        self.check_time(leaf)?;
        check_host(leaf, self.host)?;
        if !self.roots.iter().any(|root| root.raw == leaf.raw) {
            let mut search = Search {
                verification: self,
                checks: 0,
            };
            search.chain(&mut vec![leaf])?;
        }
        if leaf.for_servers == Some(false) {
            return Err("x509: certificate specifies an incompatible key usage".into());
        }
        Ok(())
    }

    fn check_time(&self, certificate: &Certificate) -> Result<(), String> {
        let (order, limit) = if self.now < certificate.validity.not_before {
            ("before", certificate.validity.not_before)
        } else if self.now > certificate.validity.not_after {
            ("after", certificate.validity.not_after)
        } else {
            return Ok(());
        };
        Err(format!(
            "x509: certificate has expired or is not yet valid: current time {} is {order} {}",
            clock::stamp(self.now),
            clock::stamp(limit)
        ))
    }
}

/// A search for a chain to a root.
struct Search<'q, 'a> {
    verification: &'q Verification<'a>,
    checks: usize,
}

impl<'q> Search<'q, '_> {
    fn chain(&mut self, chain: &mut Vec<&'q Certificate>) -> Result<(), String> {
        let Some(&last) = chain.last() else { return Ok(()) };
        let (mut complaint, mut hint) = (None, None);
        let verification = self.verification;
        let roots = verification.roots.iter().map(|root| (root, true));
        let others = verification.intermediates.iter().map(|other| (other, false));
        for (candidate, is_root) in roots.chain(others) {
            let used = chain.iter().any(|known| known.raw == candidate.raw);
            if used || candidate.subject != last.issuer || chain.len() >= MAX_CHAIN {
                continue;
            }
            self.checks += 1;
            if self.checks > MAX_SIGNATURE_CHECKS {
                return Err("x509: signature check attempts limit reached while verifying certificate chain".into());
            }
            if let Err(why) = self.signed_by(last, candidate) {
                hint.get_or_insert((why, candidate));
                continue;
            }
            if let Err(why) = self.check_authority(candidate, chain.len() - 1) {
                complaint = Some(why);
                continue;
            }
            if is_root {
                return Ok(());
            }
            chain.push(candidate);
            match self.chain(chain) {
                Ok(()) => return Ok(()),
                Err(why) => complaint = Some(why),
            }
            chain.pop();
        }
        Err(complaint.unwrap_or_else(|| unknown_authority(hint)))
    }

    fn signed_by(&self, child: &Certificate, parent: &Certificate) -> Result<(), String> {
        let barred = if parent.has_constraints {
            !parent.is_ca
        } else {
            parent.version == 3
        };
        if barred || parent.may_sign == Some(false) {
            return Err("x509: invalid signature: parent certificate cannot sign this kind of certificate".into());
        }
        let mut fitting = self.verification.algorithms.all.iter().filter(|algorithm| {
            algorithm.public_key_alg_id().as_ref() == parent.key_algorithm
                && algorithm.signature_alg_id().as_ref() == child.signature_algorithm
        });
        let Some(algorithm) = fitting.next() else {
            return Err("x509: cannot verify signature: algorithm unimplemented".into());
        };
        algorithm
            .verify_signature(&parent.key, &child.signed, &child.signature)
            .map_err(|_| failure_of(&parent.key_algorithm).to_owned())
    }

    fn check_authority(&self, candidate: &Certificate, between: usize) -> Result<(), String> {
        self.verification.check_time(candidate)?;
        if candidate.max_path.is_some_and(|most| between > most) {
            return Err("x509: too many intermediates for path length constraint".into());
        }
        Ok(())
    }
}

/// Go's message about a wrong signature, by the algorithm of the key.
fn failure_of(key_algorithm: &[u8]) -> &'static str {
    /// 1.2.840.10045.2.1 and 1.2.840.113549.1.1.1, with their headers.
    const ELLIPTIC: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    const RSA: &[u8] = &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    if key_algorithm.starts_with(ELLIPTIC) {
        "x509: ECDSA verification failure"
    } else if key_algorithm.starts_with(RSA) {
        "crypto/rsa: verification error"
    } else {
        "x509: Ed25519 verification failure"
    }
}

fn unknown_authority(hint: Option<(String, &Certificate)>) -> String {
    let complaint = "x509: certificate signed by unknown authority";
    let Some((why, candidate)) = hint else {
        return complaint.into();
    };
    let name = if !candidate.common_name.is_empty() {
        candidate.common_name.clone()
    } else if !candidate.organization.is_empty() {
        candidate.organization.clone()
    } else {
        format!("serial:{}", decimal(&candidate.serial))
    };
    let why = kubewright_apimachinery::go::quote(&why);
    let name = kubewright_apimachinery::go::quote(&name);
    format!("{complaint} (possibly because of {why} while trying to verify candidate authority certificate {name})")
}

/// A number in decimal digits; no serial number is longer than this.
fn decimal(number: &[u8]) -> String {
    let mut digits: Vec<u32> = vec![0];
    for byte in number.iter().take(MAX_SERIAL_BYTES) {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            let value = *digit * 256 + carry;
            *digit = value % 10;
            carry = value / 10;
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }
    }
    digits
        .iter()
        .rev()
        .filter_map(|digit| char::from_digit(*digit, 10))
        .collect()
}

/// Checks that a certificate is for a host. The error is Go's message.
fn check_host(certificate: &Certificate, host: &str) -> Result<(), String> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let (names, told): (&[String], Vec<String>) = match bare.parse::<IpAddr>() {
        Ok(address) => {
            if certificate.addresses.contains(&address) {
                return Ok(());
            }
            if certificate.addresses.is_empty() {
                return Err(format!(
                    "x509: cannot validate certificate for {bare} because it doesn't contain any IP SANs"
                ));
            }
            (&[], certificate.addresses.iter().map(ToString::to_string).collect())
        }
        Err(_) => (&certificate.dns_names, certificate.dns_names.clone()),
    };
    if names.iter().any(|name| matches_host(name, bare)) {
        return Ok(());
    }
    if !certificate.has_names && matches_host(&certificate.common_name, bare) {
        return Err("x509: certificate relies on legacy Common Name field, use SANs instead".into());
    }
    match told.len() {
        0 => Err(format!(
            "x509: certificate is not valid for any names, but wanted to match {bare}"
        )),
        many if many >= MAX_NAMES_TOLD => Err(format!(
            "x509: certificate is valid for {many} names, but none matched {bare}"
        )),
        _ => Err(format!(
            "x509: certificate is valid for {}, not {bare}",
            told.join(", ")
        )),
    }
}

/// A pattern may have a star in place of the first label.
fn matches_host(pattern: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    if pattern.is_empty() || host.is_empty() {
        return false;
    }
    let (pattern, host): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    pattern.len() == host.len()
        && pattern
            .iter()
            .zip(&host)
            .enumerate()
            .all(|(at, (pattern, label))| (at == 0 && *pattern == "*") || pattern.eq_ignore_ascii_case(label))
}

/// Certificates, each once, in their order.
pub(super) fn distinct(certificates: impl Iterator<Item = Certificate>) -> Vec<Certificate> {
    let mut seen = HashSet::new();
    certificates
        .filter(|certificate| seen.insert(certificate.raw.clone()))
        .collect()
}
