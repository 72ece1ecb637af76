//! The HTTP endpoints of a manager: metrics, probes and the debug page, and the server they share.
//! An [`HttpServer`] serves the pages of a [`Router`], plain or with the TLS of its [`Certificates`]; [`Checks`] answer probes.

mod address;
mod authorize;
mod body;
mod cache;
mod certificates;
mod checks;
mod files;
mod pages;
mod response;
mod review;
mod router;
mod server;
#[cfg(test)]
mod tests;

pub use address::{AddressError, BindAddress};
pub(crate) use authorize::Authorizer;
pub use body::ResponseBody;
#[doc(hidden)]
pub use cache::TtlCache;
pub use certificates::{CertificateError, Certificates};
pub use checks::Checks;
pub(crate) use pages::{debug_page, metrics_page, refusal};
pub use response::HttpResponse;
pub(crate) use response::{error, page};
#[doc(hidden)]
pub use review::review;
pub use router::{Handler, Router};
pub use server::HttpServer;
