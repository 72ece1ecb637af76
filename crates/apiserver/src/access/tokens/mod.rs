//! The tokens of service accounts: JSON Web Tokens, signed and verified, and how a server is told to do that.

mod jwk;
mod key;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub use key::TokenKeyError;
use key::{SigningKey, VerifyingKey};

/// The issuer of tokens by default, and then their only audience unless a request names others.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";
/// As many tokens whose signature is right are remembered.
const MOST_VERIFIED: usize = 1024;
/// No token of ours is longer.
const LONGEST: usize = 64 * 1024;

/// How a server signs and verifies the tokens of service accounts. By default it makes a key when the first token is asked for.
///
/// ```
/// use kubewright_apiserver::{ApiServer, Options, ServiceAccountTokens};
///
/// # fn main() -> Result<(), kubewright_apiserver::TokenKeyError> {
/// # let (public, private) = kubewright_system::certificates::key_pair().unwrap();
/// let tokens = ServiceAccountTokens::new()
///     .issuers(["https://issuer.example.com"])
///     .audiences(["https://api.example.com"])
///     .signing_key(&private)?
///     .verification_keys(&public)?;
/// let server = ApiServer::new(Options::new().service_account_tokens(tokens));
/// # let _ = server;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ServiceAccountTokens {
    issuers: Vec<String>,
    audiences: Vec<String>,
    signing: Option<Arc<SigningKey>>,
    verifying: Vec<VerifyingKey>,
    pub(crate) longest: Option<Duration>,
    pub(crate) extends: bool,
    pub(crate) key_set_uri: Option<String>,
}

/// The private key is not shown.
impl std::fmt::Debug for ServiceAccountTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceAccountTokens")
            .field("issuers", &self.issuers)
            .field("audiences", &self.audiences_or_issuers())
            .field("verification_keys", &self.verifying.len())
            .finish_non_exhaustive()
    }
}

impl Default for ServiceAccountTokens {
    fn default() -> Self {
        ServiceAccountTokens {
            issuers: vec![ISSUER.to_owned()],
            audiences: Vec::new(),
            signing: None,
            verifying: Vec::new(),
            longest: None,
            extends: true,
            key_set_uri: None,
        }
    }
}

impl ServiceAccountTokens {
    /// The default: issuer `https://kubernetes.default.svc`, a key that nobody else knows.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first issues tokens; those of the others are accepted, too. Without any, the default stays.
    pub fn issuers<S: Into<String>>(mut self, issuers: impl IntoIterator<Item = S>) -> Self {
        let issuers: Vec<String> = issuers.into_iter().map(Into::into).collect();
        if !issuers.is_empty() {
            self.issuers = issuers;
        }
        self
    }

    /// The audiences of this server, for one of which a token must be good; the issuers by default.
    pub fn audiences<S: Into<String>>(mut self, audiences: impl IntoIterator<Item = S>) -> Self {
        self.audiences = audiences.into_iter().map(Into::into).collect();
        self
    }

    /// The private key that signs, as PEM: RSA (PKCS #1 or #8), P-256 or P-384 (SEC 1 or PKCS #8).
    pub fn signing_key(mut self, pem: &str) -> Result<Self, TokenKeyError> {
        self.signing = Some(Arc::new(SigningKey::of(pem)?));
        Ok(self)
    }

    /// Adds keys that verify, as PEM: public keys, certificates or private keys. Without any, the key that signs verifies.
    pub fn verification_keys(mut self, pem: &str) -> Result<Self, TokenKeyError> {
        self.verifying.extend(VerifyingKey::all_of(pem)?);
        Ok(self)
    }

    /// The longest time for which a token is good. A request for a longer one gets this one, with a warning. There is no limit by
    /// default.
    pub fn longest(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Whether Pods get tokens that are good for a year where they ask for an hour, as Kubernetes does (the default) for programs
    /// that never read their token again.
    pub fn extend(mut self, extends: bool) -> Self {
        self.extends = extends;
        self
    }

    /// Where verifiers are told to find the keys, in place of this server's own page.
    pub fn key_set_uri(mut self, uri: impl Into<String>) -> Self {
        self.key_set_uri = Some(uri.into());
        self
    }

    fn audiences_or_issuers(&self) -> &[String] {
        if self.audiences.is_empty() {
            &self.issuers
        } else {
            &self.audiences
        }
    }
}

/// A server's keys for tokens, of which it makes its own when it is first needed. Clones, and so forks of a server, share them.
#[derive(Clone, Default)]
pub(crate) struct Signer(Arc<Shared>);

#[derive(Default)]
struct Shared {
    settings: ServiceAccountTokens,
    made: OnceLock<Option<Arc<SigningKey>>>,
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
    pub(crate) fn new(settings: &ServiceAccountTokens) -> Self {
        Signer(Arc::new(Shared {
            settings: settings.clone(),
            ..Shared::default()
        }))
    }

    pub(crate) fn settings(&self) -> &ServiceAccountTokens {
        &self.0.settings
    }

    /// The issuer of new tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.0.settings.issuers.first().map_or(ISSUER, String::as_str)
    }

    /// The audiences of this server.
    pub(crate) fn audiences(&self) -> &[String] {
        self.0.settings.audiences_or_issuers()
    }

    /// The signed token; `None` if this machine gives no randomness for a key.
    pub(crate) fn sign(&self, claims: &Value) -> Option<String> {
        let key = self.key()?;
        let header = json!({ "alg": key.public.algorithm, "kid": key.public.id });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = key.sign(signed.as_bytes())?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token that one of the keys has signed.
    pub(crate) fn verify(&self, token: &str) -> Result<Arc<Value>, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::NotOurs);
        }
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts.as_slice() else {
            return Err(TokenError::NotOurs);
        };
        if let Some(claims) = self.0.verified.lock().get(token) {
            return Ok(Arc::clone(claims));
        }
        let claims = decoded(payload).ok_or(TokenError::NotOurs)?;
        let issuer = claims.get("iss").and_then(Value::as_str).ok_or(TokenError::NotOurs)?;
        if !self.0.settings.issuers.iter().any(|known| known == issuer) {
            return Err(TokenError::NotOurs);
        }
        let header = decoded(header).filter(Value::is_object).ok_or(TokenError::NotOurs)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::NotOurs)?;
        let text = |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default();
        let keys = self.named(text("kid")).ok_or(TokenError::NotOurs)?;
        if keys.is_empty() {
            return Err(TokenError::Wrong("invalid signature, no keys found".into()));
        }
        let signed = &token[..parts[0].len() + 1 + parts[1].len()];
        if !keys
            .iter()
            .any(|key| key.verifies(text("alg"), signed.as_bytes(), &signature))
        {
            return Err(TokenError::Wrong(
                "go-jose/go-jose: error in cryptographic primitive".into(),
            ));
        }
        let claims = Arc::new(claims);
        let mut verified = self.0.verified.lock();
        if verified.len() >= MOST_VERIFIED {
            verified.clear();
        }
        verified.insert(token.into(), Arc::clone(&claims));
        Ok(claims)
    }

    /// The keys with this id, all if it is empty. `None` if this machine gives no randomness for a key.
    fn named(&self, id: &str) -> Option<Vec<&VerifyingKey>> {
        let keys = self.keys()?;
        Some(keys.iter().filter(|key| id.is_empty() || key.id == id).collect())
    }

    /// The keys that verify. `None` if this machine gives no randomness for a key.
    pub(crate) fn keys(&self) -> Option<&[VerifyingKey]> {
        Some(match self.0.settings.verifying.as_slice() {
            [] => std::slice::from_ref(&self.key()?.public),
            given => given,
        })
    }

    /// The keys that verify, as the text of a JSON Web Key Set.
    pub(crate) fn key_set(&self) -> Option<String> {
        let keys: Vec<String> = self.keys()?.iter().filter_map(VerifyingKey::to_jwk).collect();
        Some(format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
    }

    /// The key that signs, made on first use if none was given.
    fn key(&self) -> Option<&SigningKey> {
        match &self.0.settings.signing {
            Some(given) => Some(given),
            None => self
                .0
                .made
                .get_or_init(|| SigningKey::generate().map(Arc::new))
                .as_deref(),
        }
    }
}

fn decoded(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
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

    /// A key as `openssl` writes it. It is a file of another crate, which the package of this one has not.
    fn key(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../x509/tests/keys");
        std::fs::read_to_string(format!("{folder}/{name}.pem")).unwrap()
    }

    #[test]
    fn given_keys_sign_and_their_public_parts_verify() {
        for (private, of_private, of_other, algorithm) in [
            ("rsa-pkcs1", "rsa-public", "p384-public", "RS256"),
            ("p384-sec1", "p384-public", "rsa-public", "ES384"),
        ] {
            let (public, other) = (&key(of_private), &key(of_other));
            let signs = Signer::new(&ServiceAccountTokens::new().signing_key(&key(private)).unwrap());
            let token = signs.sign(&claims()).unwrap();
            assert_eq!(decoded(token.split('.').next().unwrap()).unwrap()["alg"], algorithm);
            assert_eq!(*signs.verify(&token).unwrap(), claims());
            let verifies = Signer::new(&ServiceAccountTokens::new().verification_keys(public).unwrap());
            assert_eq!(*verifies.verify(&token).unwrap(), claims());
            let others = Signer::new(&ServiceAccountTokens::new().verification_keys(other).unwrap());
            assert!(others.verify(&token).is_err());
            let both = ServiceAccountTokens::new().verification_keys(other).unwrap();
            let both = Signer::new(&both.verification_keys(public).unwrap());
            assert!(both.verify(&token).is_ok());
        }
    }

    #[test]
    fn tokens_of_all_issuers_are_accepted_and_the_first_issues() {
        let tokens = ServiceAccountTokens::new().issuers(["https://new", "https://old"]);
        let signer = Signer::new(&tokens);
        assert_eq!(signer.issuer(), "https://new");
        assert_eq!(signer.audiences(), ["https://new", "https://old"]);
        for issuer in ["https://new", "https://old"] {
            let token = signer.sign(&json!({ "iss": issuer })).unwrap();
            assert!(signer.verify(&token).is_ok(), "{issuer}");
        }
        let token = signer.sign(&claims()).unwrap();
        assert_eq!(signer.verify(&token), Err(TokenError::NotOurs));
        let named = Signer::new(&tokens.audiences(["https://api"]));
        assert_eq!(named.audiences(), ["https://api"]);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let refused = |pem: &str| {
            let tokens = ServiceAccountTokens::new();
            (
                tokens.clone().signing_key(pem).unwrap_err(),
                tokens.verification_keys(pem).unwrap_err(),
            )
        };
        assert_eq!(
            refused("nothing"),
            (TokenKeyError::NoPrivateKey, TokenKeyError::NoPublicKey)
        );
        assert!(ServiceAccountTokens::new().signing_key(&key("rsa-public")).is_err());
    }

    #[test]
    fn what_is_no_token_is_not_ours() {
        let signer = Signer::default();
        for text in ["", ".", "..", "a.b.c", "garbage", "....."] {
            assert_eq!(signer.verify(text), Err(TokenError::NotOurs), "{text}");
        }
    }
}
