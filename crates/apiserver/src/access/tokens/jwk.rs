//! Keys that verify tokens as JSON Web Keys, for those who verify tokens elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::key::VerifyingKey;

impl VerifyingKey {
    /// The key as the text of a JSON Web Key, with the members in the order of Go's package.
    pub(super) fn to_jwk(&self) -> Option<String> {
        let (id, algorithm) = (&self.id, self.algorithm);
        let numbers = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        if algorithm == "RS256" {
            let (modulus, exponent) = rsa_numbers(self.key())?;
            let (modulus, exponent) = (numbers(modulus), numbers(exponent));
            return Some(format!(
                r#"{{"use":"sig","kty":"RSA","kid":"{id}","alg":"{algorithm}","n":"{modulus}","e":"{exponent}"}}"#
            ));
        }
        let curve = if algorithm == "ES384" { "P-384" } else { "P-256" };
        // A point is written as a byte that says so and its two coordinates.
        let (_, coordinates) = self.key().split_first()?;
        let (x, y) = coordinates.split_at(coordinates.len() / 2);
        let (x, y) = (numbers(x), numbers(y));
        Some(format!(
            r#"{{"use":"sig","kty":"EC","kid":"{id}","crv":"{curve}","alg":"{algorithm}","x":"{x}","y":"{y}"}}"#
        ))
    }
}

/// The modulus and the exponent of a public key as PKCS #1 writes it: a sequence of two integers.
fn rsa_numbers(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (sequence, _) = element(der, 0x30)?;
    let (modulus, rest) = element(sequence, 0x02)?;
    let (exponent, _) = element(rest, 0x02)?;
    // A leading zero says that the number is not negative.
    let unsigned = |number: &'_ [u8]| number.iter().take_while(|byte| **byte == 0).count();
    Some((&modulus[unsigned(modulus)..], &exponent[unsigned(exponent)..]))
}

/// The content of the first element, which must have this tag, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let length = bytes.iter().try_fold(0_usize, |length, byte| {
            Some(length.checked_mul(256)? + usize::from(*byte))
        })?;
        (length, rest)
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}
