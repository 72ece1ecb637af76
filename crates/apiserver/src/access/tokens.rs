//! The key with which a server signs `ServiceAccount` tokens: JSON Web Tokens with ES256, signed and verified.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::{Value, json};

/// The issuer of tokens, and their only audience unless a request names others.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";
/// As many tokens whose signature is right are remembered.
const MOST_VERIFIED: usize = 1024;
/// No token of ours is longer.
const LONGEST: usize = 64 * 1024;
/// What stands before the point of a P-256 key in its DER form, by whose hash a key is known.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A server's signing key, made when it is first needed. Clones, and so forks of a server, share it.
#[derive(Clone, Default)]
pub(crate) struct Signer(Arc<OnceLock<Option<Key>>>);

struct Key {
    pair: EcdsaKeyPair,
    id: String,
    /// The claims of tokens that have been verified; whether they still hold is asked every time.
    verified: Mutex<HashMap<Box<str>, Arc<Value>>>,
}

/// Why a token is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// It is not a token of this issuer.
    NotOurs,
    /// It says it is, but this is wrong with it.
    Wrong(String),
}

impl Signer {
    /// The signed token; `None` if this machine gives no randomness for a key.
    pub(crate) fn sign(&self, claims: &Value) -> Option<String> {
        let key = self.key()?;
        let header = json!({ "alg": "ES256", "kid": key.id });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = key.pair.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }

    /// The claims of a token that this key has signed.
    pub(crate) fn verify(&self, token: &str) -> Result<Arc<Value>, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::NotOurs);
        }
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else {
            return Err(TokenError::NotOurs);
        };
        let key = self.key().ok_or(TokenError::NotOurs)?;
        if let Some(claims) = key.verified.lock().get(token) {
            return Ok(Arc::clone(claims));
        }
        let claims = decoded(payload).ok_or(TokenError::NotOurs)?;
        if claims.get("iss").and_then(Value::as_str) != Some(ISSUER) {
            return Err(TokenError::NotOurs);
        }
        let header = decoded(header).filter(Value::is_object).ok_or(TokenError::NotOurs)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::NotOurs)?;
        let id = header.get("kid").and_then(Value::as_str).unwrap_or_default();
        if !id.is_empty() && id != key.id {
            return Err(TokenError::Wrong("invalid signature, no keys found".into()));
        }
        let signed = &token[..parts[0].len() + 1 + parts[1].len()];
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.pair.public_key().as_ref());
        let is_right = header.get("alg").and_then(Value::as_str) == Some("ES256")
            && public.verify(signed.as_bytes(), &signature).is_ok();
        if !is_right {
            return Err(TokenError::Wrong(
                "go-jose/go-jose: error in cryptographic primitive".into(),
            ));
        }
        let claims = Arc::new(claims);
        let mut verified = key.verified.lock();
        if verified.len() >= MOST_VERIFIED {
            verified.clear();
        }
        verified.insert(token.into(), Arc::clone(&claims));
        Ok(claims)
    }

    /// The key, made on first use.
    fn key(&self) -> Option<&Key> {
        self.0.get_or_init(generate).as_ref()
    }
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// A key must not be guessable, whatever seed the server has for its uids.
fn generate() -> Option<Key> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).ok()?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).ok()?;
    let public = [&P256_PREFIX[..], pair.public_key().as_ref()].concat();
    Some(Key {
        id: URL_SAFE_NO_PAD.encode(digest(&SHA256, &public)),
        pair,
        verified: Mutex::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Value {
        json!({ "iss": ISSUER, "sub": "system:serviceaccount:a:b" })
    }

    #[test]
    fn a_token_is_verified_by_the_signer_and_its_forks() {
        let signer = Signer::default();
        let token = signer.sign(&claims()).unwrap();
        for _ in 0..2 {
            assert_eq!(*signer.clone().verify(&token).unwrap(), claims());
        }
        let other = Signer::default();
        let refusal = TokenError::Wrong("invalid signature, no keys found".into());
        assert_eq!(other.verify(&token), Err(refusal));
    }

    #[test]
    fn no_changed_token_is_accepted() {
        let signer = Signer::default();
        let token = signer.sign(&claims()).unwrap();
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last character of a part may have unused bits. A text that differs only in those is the same token.
            if changed != token {
                assert!(signer.verify(&changed).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn a_token_cannot_choose_to_be_unsigned() {
        let signer = Signer::default();
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        for algorithm in ["none", "HS256", "RS256"] {
            let token = format!("{}.{}.", encode(&json!({ "alg": algorithm })), encode(&claims()));
            assert!(signer.verify(&token).is_err(), "{algorithm}");
        }
    }

    #[test]
    fn what_is_no_token_is_not_ours() {
        let signer = Signer::default();
        for text in ["", ".", "..", "a.b.c", "garbage", "....."] {
            assert_eq!(signer.verify(text), Err(TokenError::NotOurs), "{text}");
        }
    }
}
