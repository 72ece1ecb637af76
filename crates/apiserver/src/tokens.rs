//! The key with which a server signs `ServiceAccount` tokens, and the signing itself: JSON Web Tokens with ES256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// Who issues the tokens; the only audience unless a request names others.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";

/// A server's signing key, made when the first token is asked for.
#[derive(Default)]
pub(crate) struct Signer(OnceLock<Option<EcdsaKeyPair>>);

impl Signer {
    /// The signed token; `None` if this machine gives no randomness for a key.
    pub(crate) fn sign(&self, claims: &Value) -> Option<String> {
        let key = self.0.get_or_init(generate).as_ref()?;
        let header = json!({ "alg": "ES256", "typ": "JWT" });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

/// A key must not be guessable, whatever seed the server has for its uids.
fn generate() -> Option<EcdsaKeyPair> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).ok()?;
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).ok()
}
