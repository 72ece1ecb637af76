//! Keys that sign tokens and keys that verify them, for the algorithms of JSON Web Tokens that Kubernetes uses.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kubewright_x509::{Curve, PrivateKey, PublicKey};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// What is wrong with a key for tokens of service accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenKeyError {
    /// The text has no private key that can be read.
    #[error("there is no private key in it; one of RSA, P-256 or P-384 is needed, as PEM and not encrypted")]
    NoPrivateKey,
    /// The text has no public key that can be read.
    #[error("there is no public key in it; a public key, a certificate or a private key is needed, as PEM")]
    NoPublicKey,
    /// A key of a kind that cannot be used here.
    #[error("it has a key of a kind that this server cannot use; take RSA of 2048 to 8192 bits, P-256 or P-384")]
    Unsupported,
}

/// A key that signs.
pub(crate) struct SigningKey {
    pair: Pair,
    pub(crate) public: VerifyingKey,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

/// A key that verifies.
#[derive(Clone, Debug)]
pub(crate) struct VerifyingKey {
    /// The hash of the public key, by which tokens name it.
    pub(crate) id: String,
    /// `ES256`, `ES384` or `RS256`.
    pub(crate) algorithm: &'static str,
    key: Vec<u8>,
}

impl SigningKey {
    /// A new key. It must not be guessable, whatever seed the server has for its uids.
    pub(super) fn generate() -> Option<Self> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).ok()?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).ok()?;
        let public = PublicKey::Ec(Curve::P256, pair.public_key().as_ref().to_vec());
        Some(SigningKey {
            pair: Pair::Ec(pair),
            public: VerifyingKey::of(&public).ok()?,
        })
    }

    /// The key of a file.
    pub(super) fn of(pem: &str) -> Result<Self, TokenKeyError> {
        let key = PrivateKey::of(pem.as_bytes()).ok_or(TokenKeyError::NoPrivateKey)?;
        let public = VerifyingKey::of(&key.public())?;
        let elliptic = |algorithm: &'static EcdsaSigningAlgorithm, number: &[u8], point: &[u8]| {
            let pair =
                EcdsaKeyPair::from_private_key_and_public_key(algorithm, number, point, &SystemRandom::new()).ok()?;
            Some(Pair::Ec(pair))
        };
        let pair = match &key {
            PrivateKey::Rsa(key, _) => RsaKeyPair::from_der(key).ok().map(Pair::Rsa),
            PrivateKey::Ec(number, PublicKey::Ec(Curve::P256, point)) => {
                elliptic(&ECDSA_P256_SHA256_FIXED_SIGNING, number, point)
            }
            PrivateKey::Ec(number, PublicKey::Ec(Curve::P384, point)) => {
                elliptic(&ECDSA_P384_SHA384_FIXED_SIGNING, number, point)
            }
            PrivateKey::Ec(..) => None,
        };
        Ok(SigningKey {
            pair: pair.ok_or(TokenKeyError::Unsupported)?,
            public,
        })
    }

    /// The signature of a text.
    pub(super) fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ec(pair) => Some(pair.sign(&random, text).ok()?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

impl VerifyingKey {
    /// The public key: a point, or what PKCS #1 says of an RSA key.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    fn of(public: &PublicKey) -> Result<Self, TokenKeyError> {
        let (algorithm, key) = match public {
            PublicKey::Rsa(key) => ("RS256", key),
            PublicKey::Ec(Curve::P256, key) => ("ES256", key),
            PublicKey::Ec(Curve::P384, key) => ("ES384", key),
            PublicKey::Ec(Curve::P521, _) => return Err(TokenKeyError::Unsupported),
        };
        Ok(VerifyingKey {
            id: URL_SAFE_NO_PAD.encode(digest(&SHA256, &public.to_der())),
            algorithm,
            key: key.clone(),
        })
    }

    /// The keys of a file.
    pub(super) fn all_of(pem: &str) -> Result<Vec<Self>, TokenKeyError> {
        let keys = PublicKey::all_of(pem.as_bytes());
        if keys.is_empty() {
            return Err(TokenKeyError::NoPublicKey);
        }
        keys.iter().map(Self::of).collect()
    }

    /// Whether a signature of a text was made with the private part, by an algorithm of this name.
    pub(super) fn verifies(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> bool {
        let by: &'static dyn VerificationAlgorithm = match self.algorithm {
            "RS256" => &RSA_PKCS1_2048_8192_SHA256,
            "ES384" => &ECDSA_P384_SHA384_FIXED,
            _ => &ECDSA_P256_SHA256_FIXED,
        };
        algorithm == self.algorithm && UnparsedPublicKey::new(by, &self.key).verify(text, signature).is_ok()
    }
}
