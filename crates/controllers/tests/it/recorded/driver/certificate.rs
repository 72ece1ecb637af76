//! What a certificate says, without what differs from one to the next: numbers, keys, times and signatures.

use std::fmt::Write as _;

use k8s_openapi::ByteString;
use kubewright_x509::{extensions, pem, subject};
use serde_json::{Value, json};

/// The identifier of the authority's key, 2.5.29.35.
const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];

/// Describes a certificate that is in a status.
pub(super) fn described(certificate: &Value) -> Value {
    let text: ByteString = serde_json::from_value(certificate.clone()).expect("base64");
    let (block, rest) = pem::decode(&text.0).expect("a block of PEM");
    let read = kubewright_x509::Certificate::read(&block.bytes).expect("a certificate");
    let names = subject(&block.bytes).expect("a subject");
    let names = names
        .iter()
        .map(|part| format!("{} {}", hexadecimal(part.kind), part.text));
    let found = extensions(&block.bytes).expect("extensions");
    let found = found.iter().map(|extension| {
        let value = if extension.kind == AUTHORITY_KEY_ID {
            "KEY".to_owned()
        } else {
            hexadecimal(extension.value)
        };
        let critical = if extension.is_critical { " critical" } else { "" };
        format!("{}{critical} {value}", hexadecimal(extension.kind))
    });
    let lasts = read.validity.not_after.duration_since(read.validity.not_before);
    json!({
        "block": block.kind,
        "more": rest.len(),
        "version": read.version,
        "subject": names.collect::<Vec<_>>(),
        "subjectInDER": hexadecimal(&read.subject),
        "seconds": lasts.as_secs(),
        "extensions": found.collect::<Vec<_>>(),
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
