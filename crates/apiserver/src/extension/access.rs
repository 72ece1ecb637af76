//! Who decides instead of the server who its clients are, and what they may do.

use futures_util::future::BoxFuture;
use http::HeaderMap;
use kubewright_access::{Attributes, Decision, User};
use rustls::pki_types::CertificateDer;

/// A client's certificate that proves nothing: whoever shows it is not taken for an anonymous client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client certificate is of an unknown authority, or not for clients")]
pub struct InvalidCertificate;

/// Decides in place of a server who its clients are and what they may do: how the server of an aggregated API asks the main one.
///
/// A request is of whom its certificate says, else of whom its bearer token says, else of an anonymous client; with a wrong
/// certificate or token it is answered 401.
pub trait DelegatedAccess: Send + Sync + 'static {
    /// Whom the certificate that a client showed stands for, or the headers of a proxy that showed it. The chain is empty where
    /// the client showed none. That the client has the key is proven, nothing else is.
    fn by_certificate(
        &self,
        chain: &[CertificateDer<'static>],
        headers: &HeaderMap,
    ) -> Result<Option<User>, InvalidCertificate>;

    /// Whose token this is; nobody's if it is invalid, or cannot be reviewed.
    fn by_token<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>>;

    /// Whether a user may do what is asked. The error, which is answered with 500, says why nobody knows.
    fn authorize<'a>(&'a self, user: &'a User, asked: &'a Attributes<'a>) -> BoxFuture<'a, Result<Decision, String>>;
}
