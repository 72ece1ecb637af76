//! Whether a certificate request is one, and is signed with its own key: Go's `ParseCertificateRequest` and `CheckSignature`.

mod ecdsa;
mod modulus;

use kubewright_x509::{SignedRequest, ecdsa_signature, pem};
use ring::digest::{self, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512};
use ring::signature::{
    ED25519, RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA384, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const ED: &[u8] = &[0x2b, 0x65, 0x70];

/// What comes before the number of an algorithm of RSA, and of ECDSA with SHA-2.
const PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];

/// A curve, as the parameters of a key name it.
const P224: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x21];
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

const UNIMPLEMENTED: &str = "x509: cannot verify signature: algorithm unimplemented";

/// The key of a request.
enum Key {
    Rsa,
    Ecdsa(Box<ecdsa::Key>),
    Ed25519,
}

impl Key {
    /// `None` where the key is of a kind that Go does not know.
    fn read(request: &SignedRequest<'_>) -> Result<Option<Self>, String> {
        let curve = match (request.key_algorithm, request.key_parameters) {
            (RSA, _) => return Ok(Some(Key::Rsa)),
            (ED, _) => return Ok(Some(Key::Ed25519)),
            (EC, P224) => &ecdsa::P224,
            (EC, P256) => &ecdsa::P256,
            (EC, P384) => &ecdsa::P384,
            (EC, P521) => &ecdsa::P521,
            (EC, _) => return Err("x509: unsupported elliptic curve".to_owned()),
            _ => return Ok(None),
        };
        ecdsa::Key::read(curve, request.key).map(|key| Some(Key::Ecdsa(Box::new(key))))
    }

    fn go_type(&self) -> &'static str {
        match self {
            Key::Rsa => "*rsa.PublicKey",
            Key::Ecdsa(_) => "*ecdsa.PublicKey",
            Key::Ed25519 => "ed25519.PublicKey",
        }
    }
}

/// What a signature is made with.
enum Signature {
    /// With what verifies it, if anything here does.
    Rsa(Option<&'static dyn VerificationAlgorithm>),
    Ecdsa(&'static digest::Algorithm),
    Ed25519,
}

impl Signature {
    fn read(request: &SignedRequest<'_>) -> Result<Self, String> {
        let algorithm = request.signature_algorithm;
        Ok(match (algorithm.strip_prefix(PKCS1), algorithm.strip_prefix(ECDSA)) {
            (Some([4]), _) => return Err("x509: cannot verify signature: insecure algorithm MD5-RSA".to_owned()),
            (Some([5]), _) => Signature::Rsa(Some(&RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY)),
            (Some([10]), _) => Signature::Rsa(pss(request)),
            (Some([11]), _) => Signature::Rsa(Some(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)),
            (Some([12]), _) => Signature::Rsa(Some(&RSA_PKCS1_2048_8192_SHA384)),
            (Some([13]), _) => Signature::Rsa(Some(&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)),
            (_, Some([1])) => Signature::Ecdsa(&SHA1_FOR_LEGACY_USE_ONLY),
            (_, Some([3, 2])) => Signature::Ecdsa(&SHA256),
            (_, Some([3, 3])) => Signature::Ecdsa(&SHA384),
            (_, Some([3, 4])) => Signature::Ecdsa(&SHA512),
            _ if algorithm == ED => Signature::Ed25519,
            _ => return Err(UNIMPLEMENTED.to_owned()),
        })
    }

    /// The kind of key that it is made with, with its article, as Go's sentence has it.
    fn key(&self) -> &'static str {
        match self {
            Signature::Rsa(_) => "an RSA",
            Signature::Ecdsa(_) => "an ECDSA",
            Signature::Ed25519 => "an Ed25519",
        }
    }
}

/// What is wrong with a request in PEM, in Go's words.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    let block = pem::decode(text).map(|(block, _)| block);
    let block = block.filter(|block| block.kind == "CERTIFICATE REQUEST");
    let block = block.ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    let request = SignedRequest::read(&block.bytes)?;
    let key = Key::read(&request)?;
    let signature = Signature::read(&request)?;
    check_signature(&request, &signature, &key.ok_or(UNIMPLEMENTED)?)
}

fn check_signature(request: &SignedRequest<'_>, signature: &Signature, key: &Key) -> Result<(), String> {
    let with_ring = |algorithm| {
        let key = UnparsedPublicKey::new(algorithm, request.key);
        key.verify(request.signed, request.signature).is_ok()
    };
    let (is_verified, failure) = match (signature, key) {
        (Signature::Rsa(algorithm), Key::Rsa) => (algorithm.is_none_or(with_ring), "crypto/rsa: verification error"),
        (Signature::Ecdsa(algorithm), Key::Ecdsa(key)) => {
            let hashed = digest::digest(algorithm, request.signed);
            let numbers = ecdsa_signature(request.signature);
            let is_verified = numbers.is_some_and(|numbers| key.verifies(hashed.as_ref(), numbers));
            (is_verified, "x509: ECDSA verification failure")
        }
        (Signature::Ed25519, Key::Ed25519) => (with_ring(&ED25519), "x509: Ed25519 verification failure"),
        (signature, key) => {
            return Err(format!(
                "x509: signature algorithm specifies {} public key, but have public key of type {}",
                signature.key(),
                key.go_type()
            ));
        }
    };
    is_verified.then_some(()).ok_or_else(|| failure.to_owned())
}

/// What verifies an RSA-PSS signature with these parameters: Go knows three digests, each of which makes the mask, too, and says how long
/// the salt is.
fn pss(request: &SignedRequest<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    /// The modulus and the exponent of a key of 2048 bits, in DER; shorter ones are not verified.
    const SHORTEST_KEY: usize = 256;
    let with = |digest: u8, salt: u8| {
        let hash = [
            0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, digest, 0x05, 0x00,
        ];
        let mask = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08];
        let parts: [&[u8]; 6] = [
            &[0x30, 0x34, 0xa0, 0x0f],
            &hash,
            &[0xa1, 0x1c, 0x30, 0x1a],
            &mask,
            &hash,
            &[0xa2, 0x03, 0x02, 0x01, salt],
        ];
        parts.concat() == request.signature_parameters
    };
    match request.key.len() {
        ..SHORTEST_KEY => None,
        _ if with(1, 32) => Some(&RSA_PSS_2048_8192_SHA256),
        _ if with(2, 48) => Some(&RSA_PSS_2048_8192_SHA384),
        _ if with(3, 64) => Some(&RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}
