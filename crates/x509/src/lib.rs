//! PEM and X.509 as Go reads them, without I/O: blocks of PEM, certificates, certificate requests and keys; and certificates as Go
//! writes them from requests.
//!
//! The API server has to accept the certificates that Go accepts, to refuse others with Go's messages, and to compare the bytes of
//! algorithm identifiers; an operator reads how long its certificate is valid. General X.509 libraries accept other
//! certificates, have messages of their own, do not keep the bytes of algorithm identifiers, and add ten crates to an operator.
//! This crate does not decide which certificates to trust: rustls and `apiserver` verify them.
//!
//! ```
//! use kubewright_x509::{Validity, pem};
//!
//! # let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem();
//! let (block, rest) = pem::decode(made.as_bytes()).unwrap();
//! assert_eq!((block.kind.as_str(), rest.len()), ("CERTIFICATE", 0));
//! let validity = Validity::of(&block.bytes).unwrap();
//! assert!(validity.covers("2026-01-01T00:00:00Z".parse().unwrap()));
//! ```

mod certificate;
mod der;
mod ecdsa_signature;
mod extension;
mod key;
pub mod pem;
mod request;
mod signed_request;
mod template;

pub use certificate::{
    Attribute, COMMON_NAME, Certificate, ORGANIZATION, Validity, malformation, request_subject, subject,
};
pub use ecdsa_signature::ecdsa_signature;
pub use extension::{Extension, extensions};
pub use key::{Curve, PrivateKey, PublicKey};
pub use request::{AlternativeNames, CertificateRequest};
pub use signed_request::SignedRequest;
pub use template::{Template, assemble};
