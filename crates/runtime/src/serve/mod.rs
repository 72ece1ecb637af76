//! The HTTP endpoints of a manager: metrics, probes and the debug page, and the server they share.
//! [`HttpServer`] answers, [`Router`] says what where; [`Checks`] and [`metrics_page`] make the answers; [`Certificates`] protect them.

mod address;
mod authorize;
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
pub use certificates::{CertificateError, Certificates};
pub use checks::Checks;
pub(crate) use pages::{debug_page, metrics_page};
pub use response::HttpResponse;
pub use router::{Handler, Router};
pub use server::HttpServer;
