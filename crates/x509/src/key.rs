//! Reads keys as Go's `crypto/x509` does: public ones out of key files and certificates, private ones in each of their three forms.

use crate::certificate::Certificate;
use crate::der::{BIT_STRING, INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, element};
use crate::pem::{self, Block};

/// 1.2.840.113549.1.1.1 and 1.2.840.10045.2.1, as DER content.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// Context-specific tags of an elliptic key: its curve and its public point.
const CURVE: u8 = 0xa0;
const POINT: u8 = 0xa1;
const NULL: [u8; 2] = [0x05, 0x00];

/// An elliptic curve of NIST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// P-256.
    P256,
    /// P-384.
    P384,
    /// P-521.
    P521,
}

impl Curve {
    const ALL: [Curve; 3] = [Curve::P256, Curve::P384, Curve::P521];

    /// Its object identifier, as DER content.
    fn id(self) -> &'static [u8] {
        match self {
            Curve::P256 => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
            Curve::P384 => &[0x2b, 0x81, 0x04, 0x00, 0x22],
            Curve::P521 => &[0x2b, 0x81, 0x04, 0x00, 0x23],
        }
    }

    fn of(id: &[u8]) -> Option<Self> {
        Curve::ALL.into_iter().find(|curve| curve.id() == id)
    }

    /// How many bytes a private key has.
    fn bytes(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// The `RSAPublicKey` of PKCS #1.
    Rsa(Vec<u8>),
    /// A point of a curve, uncompressed.
    Ec(Curve, Vec<u8>),
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo`. `None` where it is malformed or of another algorithm.
    pub fn read(info: &[u8]) -> Option<Self> {
        let mut info = Reader(info).inside(SEQUENCE)?;
        let algorithm = info.content(SEQUENCE)?;
        Self::of(algorithm, info.bits()?)
    }

    /// From the content of the algorithm identifier, and the key.
    fn of(algorithm: &[u8], key: &[u8]) -> Option<Self> {
        let mut algorithm = Reader(algorithm);
        match algorithm.content(OBJECT_IDENTIFIER)? {
            RSA => {
                let mut numbers = Reader(key).inside(SEQUENCE)?;
                numbers.content(INTEGER)?;
                numbers.content(INTEGER)?;
                Some(PublicKey::Rsa(key.to_vec()))
            }
            EC => Some(PublicKey::Ec(
                Curve::of(algorithm.content(OBJECT_IDENTIFIER)?)?,
                key.to_vec(),
            )),
            _ => None,
        }
    }

    /// The key as a `SubjectPublicKeyInfo`, by whose hash Kubernetes names it.
    pub fn to_der(&self) -> Vec<u8> {
        let (algorithm, key) = match self {
            PublicKey::Rsa(key) => ([element(OBJECT_IDENTIFIER, RSA), NULL.to_vec()].concat(), key),
            PublicKey::Ec(curve, key) => {
                let ids = [element(OBJECT_IDENTIFIER, EC), element(OBJECT_IDENTIFIER, curve.id())];
                (ids.concat(), key)
            }
        };
        let bits = element(BIT_STRING, &[&[0], key.as_slice()].concat());
        element(SEQUENCE, &[element(SEQUENCE, &algorithm), bits].concat())
    }

    /// All public keys of a text: of key files, of certificates and of private keys. Other blocks are left out.
    pub fn all_of(pem: &[u8]) -> Vec<Self> {
        pem::blocks(pem).filter_map(|block| Self::of_block(&block)).collect()
    }

    fn of_block(block: &Block) -> Option<Self> {
        let certificate = || {
            let certificate = Certificate::read(&block.bytes)?;
            Self::of(&certificate.key_algorithm, &certificate.key)
        };
        PrivateKey::of_block(block)
            .map(|key| key.public())
            .or_else(|| Self::read(&block.bytes))
            .or_else(certificate)
    }
}

/// A private key.
#[derive(Clone, PartialEq, Eq)]
pub enum PrivateKey {
    /// The `RSAPrivateKey` of PKCS #1, and its public key.
    Rsa(Vec<u8>, PublicKey),
    /// A number of as many bytes as the curve has, and its public key.
    Ec(Vec<u8>, PublicKey),
}

/// The key stays out of logs.
impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.public()).finish()
    }
}

impl PrivateKey {
    /// The first private key of a text.
    pub fn of(pem: &[u8]) -> Option<Self> {
        pem::blocks(pem).find_map(|block| Self::of_block(&block))
    }

    /// The public part.
    pub fn public(&self) -> PublicKey {
        match self {
            PrivateKey::Rsa(_, public) | PrivateKey::Ec(_, public) => public.clone(),
        }
    }

    /// An elliptic curve's key in the form of SEC 1 (RFC 5915, `EC PRIVATE KEY` in PEM); `None` for other keys.
    ///
    /// PKCS #8 names the curve beside the key, SEC 1 within it.
    ///
    /// ```
    /// use kubewright_x509::{PrivateKey, pem};
    ///
    /// let made = rcgen::KeyPair::generate().unwrap();
    /// let key = PrivateKey::of(made.serialize_pem().as_bytes()).unwrap();
    /// let text = pem::encode("EC PRIVATE KEY", &key.to_sec1().unwrap());
    /// assert_eq!(PrivateKey::of(text.as_bytes()), Some(key));
    /// ```
    pub fn to_sec1(&self) -> Option<Vec<u8>> {
        let PrivateKey::Ec(number, PublicKey::Ec(curve, point)) = self else {
            return None;
        };
        let parts = [
            element(INTEGER, &[1]),
            element(OCTET_STRING, number),
            element(CURVE, &element(OBJECT_IDENTIFIER, curve.id())),
            element(POINT, &element(BIT_STRING, &[&[0], point.as_slice()].concat())),
        ];
        Some(element(SEQUENCE, &parts.concat()))
    }

    fn of_block(block: &Block) -> Option<Self> {
        match block.kind.as_str() {
            "RSA PRIVATE KEY" => Self::rsa(&block.bytes),
            "EC PRIVATE KEY" => Self::elliptic(&block.bytes, None),
            "PRIVATE KEY" => {
                let mut fields = Reader(&block.bytes).inside(SEQUENCE)?;
                fields.content(INTEGER)?;
                let mut algorithm = fields.inside(SEQUENCE)?;
                let kind = algorithm.content(OBJECT_IDENTIFIER)?;
                let key = fields.content(OCTET_STRING)?;
                match kind {
                    RSA => Self::rsa(key),
                    EC => Self::elliptic(key, Curve::of(algorithm.content(OBJECT_IDENTIFIER)?)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn rsa(key: &[u8]) -> Option<Self> {
        let mut fields = Reader(key).inside(SEQUENCE)?;
        fields.content(INTEGER)?;
        let numbers = [fields.expect(INTEGER)?.whole, fields.expect(INTEGER)?.whole].concat();
        Some(PrivateKey::Rsa(
            key.to_vec(),
            PublicKey::Rsa(element(SEQUENCE, &numbers)),
        ))
    }

    /// An `ECPrivateKey`, whose curve may stand around it instead.
    fn elliptic(key: &[u8], curve: Option<Curve>) -> Option<Self> {
        let mut fields = Reader(key).inside(SEQUENCE)?;
        fields.content(INTEGER)?;
        let number = fields.content(OCTET_STRING)?;
        let (mut curve, mut point) = (curve, None);
        while !fields.is_empty() {
            let field = fields.element()?;
            match field.tag {
                CURVE if curve.is_none() => curve = Curve::of(Reader(field.content).content(OBJECT_IDENTIFIER)?),
                POINT => point = Some(Reader(field.content).bits()?),
                _ => {}
            }
        }
        let curve = curve?;
        let number = &number[number.iter().position(|byte| *byte != 0)?..];
        let mut padded = vec![0; curve.bytes().checked_sub(number.len())?];
        padded.extend_from_slice(number);
        Some(PrivateKey::Ec(padded, PublicKey::Ec(curve, point?.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same pairs of keys in the forms in which `openssl` writes them.
    const RSA_PKCS1: &str = include_str!("../tests/keys/rsa-pkcs1.pem");
    const RSA_PKCS8: &str = include_str!("../tests/keys/rsa-pkcs8.pem");
    const RSA_PUBLIC: &str = include_str!("../tests/keys/rsa-public.pem");
    const P384_SEC1: &str = include_str!("../tests/keys/p384-sec1.pem");
    const P384_PKCS8: &str = include_str!("../tests/keys/p384-pkcs8.pem");
    const P384_PUBLIC: &str = include_str!("../tests/keys/p384-public.pem");

    #[test]
    fn all_forms_of_a_key_are_the_same_key() {
        for (forms, public) in [
            ([RSA_PKCS1, RSA_PKCS8], RSA_PUBLIC),
            ([P384_SEC1, P384_PKCS8], P384_PUBLIC),
        ] {
            let [first, second] = forms.map(|pem| PrivateKey::of(pem.as_bytes()).unwrap());
            assert_eq!(first, second);
            let (block, _) = pem::decode(public.as_bytes()).unwrap();
            assert_eq!(first.public().to_der(), block.bytes);
            assert_eq!(PublicKey::read(&block.bytes), Some(first.public()));
            let text = [forms[0], public, forms[1]].concat();
            assert_eq!(PublicKey::all_of(text.as_bytes()), vec![first.public(); 3]);
        }
    }

    #[test]
    fn a_certificate_has_a_public_key() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let keys = PublicKey::all_of(made.cert.pem().as_bytes());
        let private = PrivateKey::of(made.signing_key.serialize_pem().as_bytes()).unwrap();
        assert_eq!(keys, [private.public()]);
        assert!(matches!(&keys[0], PublicKey::Ec(Curve::P256, point) if point.len() == 65));
    }

    #[test]
    fn what_is_no_key_is_left_out() {
        for text in [
            "",
            "-----BEGIN PUBLIC KEY-----\nAAEC\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
        ] {
            assert!(PublicKey::all_of(text.as_bytes()).is_empty() && PrivateKey::of(text.as_bytes()).is_none());
        }
    }

    #[test]
    fn sec1_is_written_as_openssl_writes_it() {
        let key = PrivateKey::of(P384_PKCS8.as_bytes()).unwrap();
        let written = pem::blocks(P384_SEC1.as_bytes()).find(|block| block.kind == "EC PRIVATE KEY");
        assert_eq!(key.to_sec1(), written.map(|block| block.bytes));
        assert_eq!(PrivateKey::of(RSA_PKCS8.as_bytes()).unwrap().to_sec1(), None);
    }

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for (length, head) in [
            (0, &[4, 0][..]),
            (127, &[4, 127]),
            (128, &[4, 0x81, 128]),
            (256, &[4, 0x82, 1, 0]),
        ] {
            let content = vec![7; length];
            let written = element(OCTET_STRING, &content);
            assert_eq!(&written[..head.len()], head);
            assert_eq!(Reader(&written).content(OCTET_STRING), Some(&content[..]));
        }
    }

    #[test]
    fn private_keys_are_not_shown() {
        let key = PrivateKey::of(P384_SEC1.as_bytes()).unwrap();
        assert_eq!(format!("{key:?}"), format!("PrivateKey({:?})", key.public()));
    }

    proptest! {
        #[test]
        fn a_changed_key_is_read_without_a_panic(at in 0..2000_usize, byte: u8, kind in 0..3_usize) {
            for text in [RSA_PKCS1, RSA_PKCS8, RSA_PUBLIC, P384_SEC1, P384_PKCS8, P384_PUBLIC] {
                let (mut block, _) = pem::decode(text.as_bytes()).unwrap();
                let at = at % block.bytes.len();
                block.bytes[at] = byte;
                block.kind = ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"][kind].to_owned();
                let _ = PublicKey::of_block(&block);
            }
        }
    }
}
