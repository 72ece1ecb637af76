//! As much of PEM as tells why a TLS Secret's pair cannot be one, in the words of Go's crypto/tls.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Why the two inputs are no certificate and key, as far as their PEM blocks and the outermost DER tell; `None` when
/// they may be a pair.
pub(crate) fn key_pair_problem(certificate: &[u8], key: &[u8]) -> Option<String> {
    missing_block(certificate, "certificate", |kind| kind == "CERTIFICATE")
        .or_else(|| {
            missing_block(key, "key", |kind| {
                kind == "PRIVATE KEY" || kind.ends_with(" PRIVATE KEY")
            })
        })
        .or_else(|| malformed_certificate(certificate))
}

fn malformed_certificate(input: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(input);
    let content = blocks(&text)
        .find(|(kind, _)| *kind == "CERTIFICATE")
        .map(|(_, content)| content)?;
    let base64: String = content.chars().filter(|letter| !letter.is_whitespace()).collect();
    let der = STANDARD.decode(base64).unwrap_or_default();
    (!starts_with_sequence(&der)).then(|| "x509: malformed certificate".to_owned())
}

/// Whether DER starts with a whole SEQUENCE.
fn starts_with_sequence(der: &[u8]) -> bool {
    let [0x30, first, rest @ ..] = der else { return false };
    let (length, content) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => match rest.split_at_checked(usize::from(first & 0x7f)) {
            Some((bytes, content)) => (bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), content),
            None => return false,
        },
        _ => return false,
    };
    content.len() >= length
}

fn missing_block(input: &[u8], what: &str, wanted: fn(&str) -> bool) -> Option<String> {
    let kinds = block_kinds(&String::from_utf8_lossy(input));
    if kinds.iter().any(|kind| wanted(kind)) {
        return None;
    }
    let first = kinds.first().map(String::as_str);
    Some(match (what, first) {
        (_, None) => format!("tls: failed to find any PEM data in {what} input"),
        ("certificate", Some(kind)) if kinds.len() == 1 && kind.ends_with("PRIVATE KEY") => {
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned()
        }
        ("key", Some("CERTIFICATE")) if kinds.len() == 1 => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        ("certificate", _) => format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]",
            kinds.join(" ")
        ),
        _ => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [{}]",
            kinds.join(" ")
        ),
    })
}

/// Whether the first block has this type.
pub(crate) fn first_block_is(input: &[u8], kind: &str) -> bool {
    block_kinds(&String::from_utf8_lossy(input))
        .first()
        .is_some_and(|first| first == kind)
}

/// The types of the complete blocks.
pub(crate) fn block_kinds(text: &str) -> Vec<String> {
    blocks(text).map(|(kind, _)| kind.to_owned()).collect()
}

/// The complete blocks: type and base64 content.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once("-----BEGIN ")?;
            let (kind, body) = after.split_once("-----")?;
            rest = body;
            // A block ends at the next dashes, or is none: so that each byte is looked at once.
            let (content, end) = body.split_once("-----")?;
            let after = end.strip_prefix("END ").and_then(|end| end.strip_prefix(kind));
            if let Some(after) = after.filter(|after| is_base64(content) && after.starts_with("-----")) {
                rest = after;
                return Some((kind, content));
            }
        }
    })
}

fn is_base64(content: &str) -> bool {
    content
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b' '))
}
