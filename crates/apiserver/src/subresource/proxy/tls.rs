//! TLS to a port of a Pod, whose certificate nobody can check: upstream's proxy accepts any, too.

use std::io;
use std::net::IpAddr;

use kubewright_system::clock::Clock;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::service::tls::{Trust, config};
use crate::stream::Connection;

/// Does the handshake over a connection to a Pod.
pub(super) async fn connect(
    connection: Box<dyn Connection>,
    ip: IpAddr,
    clock: Clock,
) -> io::Result<Box<dyn Connection>> {
    let connector = TlsConnector::from(config(Trust::Anybody, None, clock).map_err(io::Error::other)?);
    let stream = connector.connect(ServerName::IpAddress(ip.into()), connection).await?;
    Ok(Box::new(stream))
}
