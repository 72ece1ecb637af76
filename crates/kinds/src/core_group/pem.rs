//! Why the certificate and the key of a TLS Secret are not valid, in the words of Go's crypto/tls.

use kubewright_x509::pem;

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
    let certificate = pem::blocks(input).find(|block| block.kind == "CERTIFICATE")?;
    kubewright_x509::malformation(&certificate.bytes).map(str::to_owned)
}

fn missing_block(input: &[u8], what: &str, wanted: fn(&str) -> bool) -> Option<String> {
    let kinds = block_kinds(input);
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

/// The types of the blocks.
pub(crate) fn block_kinds(input: &[u8]) -> Vec<String> {
    pem::blocks(input).map(|block| block.kind).collect()
}
