//! Signatures of ECDSA as Go's `crypto/ecdsa` reads them.

use crate::der::{INTEGER, Reader, SEQUENCE, element};

/// The two numbers of a signature in DER, the highest byte first and without leading zeros. `None` where the bytes are anything else, or
/// not in their shortest form.
///
/// ```
/// use kubewright_x509::ecdsa_signature;
///
/// let der = [0x30, 7, 2, 1, 7, 2, 2, 0, 0x80];
/// assert_eq!(ecdsa_signature(&der), Some([&[7_u8][..], &[0x80]]));
/// ```
pub fn ecdsa_signature(der: &[u8]) -> Option<[&[u8]; 2]> {
    let mut inside = Reader(der).inside(SEQUENCE)?;
    let (r, s) = (inside.content(INTEGER)?, inside.content(INTEGER)?);
    let shortest = element(SEQUENCE, &[element(INTEGER, r), element(INTEGER, s)].concat());
    if shortest != der {
        return None;
    }
    Some([positive(r)?, positive(s)?])
}

/// The content of an integer that is not negative, without the zero that keeps it so.
fn positive(content: &[u8]) -> Option<&[u8]> {
    match content {
        [0] => Some(&[]),
        [0, rest @ ..] if rest[0] >= 0x80 => Some(rest),
        [1..=0x7f, ..] => Some(content),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_form_is_a_signature() {
        for der in [
            &[][..],
            &[0x30, 0],
            &[0x30, 3, 2, 1, 7],
            // Something behind the numbers, within and without.
            &[0x30, 9, 2, 1, 7, 2, 1, 7, 2, 1, 7],
            &[0x30, 6, 2, 1, 7, 2, 1, 7, 0],
            // A length in two bytes that needs one.
            &[0x30, 0x81, 6, 2, 1, 7, 2, 1, 7],
            // Negative, empty, and with zeros that say nothing.
            &[0x30, 6, 2, 1, 0x80, 2, 1, 7],
            &[0x30, 5, 2, 0, 2, 1, 7],
            &[0x30, 7, 2, 2, 0, 7, 2, 1, 7],
        ] {
            assert_eq!(ecdsa_signature(der), None, "{der:?}");
        }
        assert_eq!(ecdsa_signature(&[0x30, 6, 2, 1, 0, 2, 1, 7]), Some([&[][..], &[7]]));
    }
}
