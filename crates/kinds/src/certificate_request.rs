//! Whether a certificate request is one, and is signed with its own key: Go's `ParseCertificateRequest` and `CheckSignature`.

use kubewright_x509::{SignedRequest, pem};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519,
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
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

/// The kind of key that a signature is made with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    Ecdsa,
    Ed25519,
}

impl KeyKind {
    /// With its article, as Go's sentence has it.
    fn name(self) -> &'static str {
        match self {
            KeyKind::Rsa => "an RSA",
            KeyKind::Ecdsa => "an ECDSA",
            KeyKind::Ed25519 => "an Ed25519",
        }
    }

    fn go_type(self) -> &'static str {
        match self {
            KeyKind::Rsa => "*rsa.PublicKey",
            KeyKind::Ecdsa => "*ecdsa.PublicKey",
            KeyKind::Ed25519 => "ed25519.PublicKey",
        }
    }
}

/// What is wrong with a request in PEM, in Go's words.
pub(crate) fn check(text: &[u8]) -> Result<(), String> {
    let block = pem::decode(text).map(|(block, _)| block);
    let block = block.filter(|block| block.kind == "CERTIFICATE REQUEST");
    let block = block.ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    let request = SignedRequest::read(&block.bytes)?;
    let key = match request.key_algorithm {
        RSA => Some(KeyKind::Rsa),
        EC if [P224, P256, P384, P521].contains(&request.key_parameters) => Some(KeyKind::Ecdsa),
        EC => return Err("x509: unsupported elliptic curve".to_owned()),
        ED => Some(KeyKind::Ed25519),
        _ => None,
    };
    check_signature(&request, key)
}

fn check_signature(request: &SignedRequest<'_>, key: Option<KeyKind>) -> Result<(), String> {
    let algorithm = request.signature_algorithm;
    let signed_with = match (algorithm.strip_prefix(PKCS1), algorithm.strip_prefix(ECDSA)) {
        (Some([4]), _) => return Err("x509: cannot verify signature: insecure algorithm MD5-RSA".to_owned()),
        (Some([5 | 10..=13]), _) => KeyKind::Rsa,
        (_, Some([1] | [3, 2..=4])) => KeyKind::Ecdsa,
        _ if algorithm == ED => KeyKind::Ed25519,
        _ => return Err(UNIMPLEMENTED.to_owned()),
    };
    let Some(key) = key else {
        return Err(UNIMPLEMENTED.to_owned());
    };
    if key != signed_with {
        return Err(format!(
            "x509: signature algorithm specifies {} public key, but have public key of type {}",
            signed_with.name(),
            key.go_type()
        ));
    }
    let Some(algorithm) = verifier(request) else {
        return Ok(());
    };
    let verified = UnparsedPublicKey::new(algorithm, request.key).verify(request.signed, request.signature);
    verified.map_err(|_| {
        match key {
            KeyKind::Rsa => "crypto/rsa: verification error",
            KeyKind::Ecdsa => "x509: ECDSA verification failure",
            KeyKind::Ed25519 => "x509: Ed25519 verification failure",
        }
        .to_owned()
    })
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

/// What verifies a signature; `None` for curves and digests that nothing here knows, whose signatures are taken as they are.
fn verifier(request: &SignedRequest<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    let algorithm = request.signature_algorithm;
    if algorithm == ED {
        return Some(&ED25519);
    }
    if let Some(number) = algorithm.strip_prefix(PKCS1) {
        return match number {
            [10] => pss(request),
            [5] => Some(&RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY),
            [11] => Some(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY),
            [12] => Some(&RSA_PKCS1_2048_8192_SHA384),
            [13] => Some(&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY),
            _ => None,
        };
    }
    match (request.key_parameters, algorithm.strip_prefix(ECDSA)) {
        (P256, Some([3, 2])) => Some(&ECDSA_P256_SHA256_ASN1),
        (P256, Some([3, 3])) => Some(&ECDSA_P256_SHA384_ASN1),
        (P384, Some([3, 2])) => Some(&ECDSA_P384_SHA256_ASN1),
        (P384, Some([3, 3])) => Some(&ECDSA_P384_SHA384_ASN1),
        _ => None,
    }
}
