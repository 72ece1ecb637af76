//! Certificate requests (PKCS #10) as Go's `x509.ParseCertificateRequest` reads them, with its mistakes in its words.

use crate::der::{BIT_STRING, INTEGER, OBJECT_IDENTIFIER, Reader, SEQUENCE};

/// The parts of a certificate request that a signature is checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRequest<'d> {
    /// The part that is signed.
    pub signed: &'d [u8],
    /// The object identifier of the signature's algorithm.
    pub signature_algorithm: &'d [u8],
    /// The parameters of that algorithm, as DER; empty if there are none.
    pub signature_parameters: &'d [u8],
    /// The signature.
    pub signature: &'d [u8],
    /// The object identifier of the public key's algorithm.
    pub key_algorithm: &'d [u8],
    /// The parameters of that algorithm, as DER; empty if there are none.
    pub key_parameters: &'d [u8],
    /// The public key.
    pub key: &'d [u8],
}

impl<'d> SignedRequest<'d> {
    /// Reads a request in DER. The error is Go's sentence.
    ///
    /// ```
    /// use kubewright_x509::SignedRequest;
    ///
    /// assert_eq!(SignedRequest::read(b"").unwrap_err(), "asn1: syntax error: sequence truncated");
    /// ```
    pub fn read(der: &'d [u8]) -> Result<SignedRequest<'d>, String> {
        let mut outside = Fields(der);
        let (_, request) = outside.next(SEQUENCE, "certificateRequest")?;
        let mut request = Fields(request);
        let (signed, body) = request.next(SEQUENCE, "tbsCertificateRequest")?;
        let mut body = Fields(body);
        body.next(INTEGER, "int")?;
        body.any()?;
        let (_, key_info) = body.next(SEQUENCE, "publicKeyInfo")?;
        let mut key_info = Fields(key_info);
        let (key_algorithm, key_parameters) = key_info.algorithm()?;
        let (_, key) = key_info.next(BIT_STRING, "BitString")?;
        let (signature_algorithm, signature_parameters) = request.algorithm()?;
        let (_, signature) = request.next(BIT_STRING, "BitString")?;
        if !outside.0.is_empty() {
            return Err("asn1: syntax error: trailing data".to_owned());
        }
        // The first byte is the number of bits that do not count.
        let bits = |text: &'d [u8]| {
            text.get(1..)
                .ok_or_else(|| "asn1: syntax error: zero length BIT STRING".to_owned())
        };
        Ok(SignedRequest {
            signed,
            signature_algorithm,
            signature_parameters,
            signature: bits(signature)?,
            key_algorithm,
            key_parameters,
            key: bits(key)?,
        })
    }
}

/// The fields of a structure that are left to read.
struct Fields<'d>(&'d [u8]);

impl<'d> Fields<'d> {
    /// The next field, whatever it is: whole, and its content.
    fn any(&mut self) -> Result<(&'d [u8], &'d [u8]), String> {
        if self.0.is_empty() {
            return Err("asn1: syntax error: sequence truncated".to_owned());
        }
        let mut reader = Reader(self.0);
        let Some(element) = reader.element() else {
            let is_cut = self.0.len() < 2 || header(self.0).is_none();
            let why = if is_cut {
                "truncated tag or length"
            } else {
                "data truncated"
            };
            return Err(format!("asn1: syntax error: {why}"));
        };
        self.0 = reader.0;
        Ok((element.whole, element.content))
    }

    /// The next field, which has this tag and this type in Go.
    fn next(&mut self, tag: u8, type_name: &str) -> Result<(&'d [u8], &'d [u8]), String> {
        let first = self.0.first().copied();
        let (whole, content) = self.any()?;
        match first {
            Some(found) if found != tag => Err(format!(
                "asn1: structure error: tags don't match ({} vs {{class:{} tag:{} length:{} isCompound:{}}}) {{optional:false \
                 explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false \
                 omitEmpty:false}} {type_name} @{}",
                tag & 0x1f,
                found >> 6,
                found & 0x1f,
                content.len(),
                found & 0x20 != 0,
                whole.len() - content.len()
            )),
            _ => Ok((whole, content)),
        }
    }

    /// An algorithm's identifier and its parameters.
    fn algorithm(&mut self) -> Result<(&'d [u8], &'d [u8]), String> {
        let (_, inside) = self.next(SEQUENCE, "AlgorithmIdentifier")?;
        let mut inside = Fields(inside);
        let (_, identifier) = inside.next(OBJECT_IDENTIFIER, "ObjectIdentifier")?;
        Ok((identifier, inside.0))
    }
}

/// How many bytes tag and length take; `None` where they are cut off.
fn header(text: &[u8]) -> Option<usize> {
    let first = *text.get(1)?;
    let length = if first < 0x80 { 2 } else { 2 + usize::from(first & 0x7f) };
    (text.len() >= length).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_what_its_signature_is_checked_with() {
        let key = rcgen::KeyPair::generate().unwrap();
        let request = rcgen::CertificateParams::default().serialize_request(&key).unwrap();
        let read = SignedRequest::read(request.der()).unwrap();
        assert_eq!(read.key_algorithm, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]);
        assert_eq!(
            read.signature_algorithm,
            [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
        );
        assert_eq!(read.key.len(), 65);
        assert!(request.der().windows(read.signed.len()).any(|part| part == read.signed));
        let longer = [request.der().as_ref(), &[0]].concat();
        assert_eq!(
            SignedRequest::read(&longer).unwrap_err(),
            "asn1: syntax error: trailing data"
        );
        let shorter = &request.der()[..40];
        assert_eq!(
            SignedRequest::read(shorter).unwrap_err(),
            "asn1: syntax error: data truncated"
        );
    }

    #[test]
    fn mistakes_are_in_the_words_of_go() {
        let options = "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 \
                       timeType:0 set:false omitEmpty:false}";
        for (der, why) in [
            (&b"\x30"[..], "asn1: syntax error: truncated tag or length".to_owned()),
            (b"\x30\x00", "asn1: syntax error: sequence truncated".to_owned()),
            (
                b"\0\0\0",
                format!(
                    "asn1: structure error: tags don't match (16 vs {{class:0 tag:0 length:0 isCompound:false}}) {options} certificateRequest @2"
                ),
            ),
            (
                b"\x30\x03\x02\x01\x01",
                format!(
                    "asn1: structure error: tags don't match (16 vs {{class:0 tag:2 length:1 isCompound:false}}) {options} tbsCertificateRequest @2"
                ),
            ),
        ] {
            assert_eq!(SignedRequest::read(der).unwrap_err(), why);
        }
    }
}
