//! SPDY/3.1, the protocol that clients before Kubernetes 1.31 speak for commands and forwarded ports: several streams over one
//! connection. [`frame`] and [`headers`] are what is on the wire, [`session`] is a connection, and [`command`] and
//! [`super::port_forward`] are what is said over it.

pub(crate) mod command;
mod dictionary;
pub(crate) mod frame;
pub(crate) mod handshake;
mod headers;
pub(crate) mod session;

#[cfg(test)]
mod tests;
