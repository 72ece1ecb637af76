//! The certificates a conversion webhook is trusted by, as far as their PEM blocks and the outermost DER tell.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};

/// Whether a bundle (base64 of PEM) cannot be one. No bundle is a good one: the system's roots are meant.
pub(in crate::crd) fn is_invalid(bundle: &str) -> bool {
    problem(bundle).is_some()
}

/// Refuses a bundle without a certificate.
pub(super) fn validate(bundle: &str, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(problem) = problem(bundle) {
        errors.push(FieldError::invalid(path, bundle, problem));
    }
}

fn problem(bundle: &str) -> Option<String> {
    if bundle.is_empty() {
        return None;
    }
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let pem = String::from_utf8_lossy(&bytes);
    let (blocks, rest) = blocks(&pem);
    let certificates: Vec<Option<&str>> = blocks
        .iter()
        .filter(|block| block.kind == "CERTIFICATE" && !block.has_headers)
        .map(|block| malformed(&block.der))
        .collect();
    if certificates.contains(&None) {
        return None;
    }
    let why = match certificates.first() {
        Some(Some(what)) => format!("failed to parse certificate: x509: malformed {what}"),
        _ if !rest.is_empty() => "unable to parse bytes as PEM block".to_owned(),
        _ => "no valid certificate authority data seen".to_owned(),
    };
    Some(format!("unable to load root certificates: {why}"))
}

/// One block of a PEM text.
struct Block<'a> {
    kind: &'a str,
    has_headers: bool,
    der: Vec<u8>,
}

/// The blocks of a PEM text, and what follows the last of them.
fn blocks(pem: &str) -> (Vec<Block<'_>>, &str) {
    let mut found = Vec::new();
    let (mut rest, mut remains) = (pem, pem);
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((kind, body)) = after.split_once("-----") else {
            break;
        };
        let end = format!("-----END {kind}-----");
        let Some((body, next)) = body.split_once(&end) else {
            rest = body;
            continue;
        };
        let has_headers = body.trim_start().lines().next().is_some_and(|line| line.contains(':'));
        let content = body
            .split_once("\n\n")
            .filter(|_| has_headers)
            .map_or(body, |(_, content)| content);
        let base64: String = content.chars().filter(|letter| !letter.is_whitespace()).collect();
        rest = next;
        if let Ok(der) = STANDARD.decode(base64) {
            found.push(Block { kind, has_headers, der });
            remains = next.trim_start_matches(['\r', '\n']);
        }
    }
    (found, remains)
}

/// What is no DER sequence where a certificate must have one.
fn malformed(der: &[u8]) -> Option<&'static str> {
    match sequence(der) {
        Some((content, [])) => sequence(content).is_none().then_some("tbs certificate"),
        _ => Some("certificate"),
    }
}

/// The content of the sequence that DER begins with, and what follows it.
fn sequence(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let [0x30, first, rest @ ..] = der else {
        return None;
    };
    let (length, content) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, content) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), content)
        }
        _ => return None,
    };
    content.split_at_checked(length)
}
