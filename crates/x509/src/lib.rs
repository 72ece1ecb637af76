//! PEM and X.509 as Go reads them, without I/O: blocks of PEM, what a certificate says, what a certificate request asks for.
//!
//! The API server has to agree with Go on what is a certificate and on the words for what is not, and its signature checks
//! compare the bytes of algorithm identifiers; an operator wants to know how long its certificate is valid. General X.509
//! libraries have verdicts and words of their own, parse algorithm identifiers away, and weigh ten crates in an operator.
//! Nothing here decides about trust: verification is rustls' and `apiserver`'s.
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
pub mod pem;

pub use certificate::{
    Attribute, COMMON_NAME, Certificate, ORGANIZATION, Validity, malformation, request_subject, subject,
};
