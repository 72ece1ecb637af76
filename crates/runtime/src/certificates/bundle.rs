//! Certificates as PEM text: how a Secret and a caBundle hold them.

use std::fmt;

use k8s_openapi::ByteString;
use kubewright_x509::pem;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

/// The limit of a bundle in bytes. Two certificates take three kilobytes.
const LONGEST: usize = 64 << 10;
/// The limit of certificates in a bundle.
const MOST: usize = 16;

/// A text that is not printed, such as a key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RedactedText(pub(super) String);

impl fmt::Debug for RedactedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The certificates of a PEM text. `None` where it holds anything that is not one, none at all, or too many.
pub(super) fn read(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    if pem.len() > LONGEST {
        return None;
    }
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(MOST + 1).collect();
    certificates
        .ok()
        .filter(|certificates| (1..=MOST).contains(&certificates.len()))
}

/// Certificates as a PEM text.
pub(super) fn write<'a>(certificates: impl IntoIterator<Item = &'a CertificateDer<'static>>) -> String {
    let mut text = String::new();
    for certificate in certificates {
        text.push_str(&pem::encode("CERTIFICATE", certificate));
    }
    text
}

/// Bytes as JSON holds them.
pub(super) fn base64(bytes: &[u8]) -> String {
    // Bytes in Kubernetes' JSON are base64.
    match serde_json::to_value(ByteString(bytes.to_vec())) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let made: Vec<_> = ["a", "b"]
            .map(|name| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert)
            .into();
        let ders: Vec<_> = made.iter().map(|made| made.der().clone()).collect();
        let text = write(&ders);
        assert_eq!(read(text.as_bytes()).unwrap(), ders);
        let theirs: String = made.iter().map(rcgen::Certificate::pem).collect();
        assert_eq!(text.replace('\n', ""), theirs.replace(['\n', '\r'], ""));
    }

    #[test]
    fn rubbish_and_floods_are_not_read() {
        let one = write([rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.der()]);
        assert!(read(one.as_bytes()).is_some());
        for text in [
            String::new(),
            "rubbish".to_owned(),
            one.replace("-----END", "-----STOP"),
            one.repeat(MOST + 1),
            " ".repeat(LONGEST + 1),
        ] {
            assert_eq!(read(text.as_bytes()), None);
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", RedactedText("key".to_owned())), "(hidden)");
    }
}
