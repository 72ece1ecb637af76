//! Reaching the servers behind Services, for webhooks, aggregated APIs and proxies: what was registered in this process, a
//! Service's endpoints, connections to them over TLS, and the headers and pages of what is passed on.

mod api;
pub(crate) mod connection;
pub(crate) mod headers;
mod http2;
pub(crate) mod local_endpoints;
pub(crate) mod pages;
pub(crate) mod resolve;
pub(crate) mod tls;

pub(crate) use connection::{Connection, GoClient, OutgoingBody, SendError};
pub(crate) use local_endpoints::{EndpointAddress, LocalEndpoints};
