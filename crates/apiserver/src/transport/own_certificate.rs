//! The TLS transport with a certificate of the caller's: how the server of an aggregated API listens.

use std::sync::Arc;
use std::time::Duration;

use kubewright_system::listen::{self, Limits};
use kubewright_system::stop::Stop;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::ResolvesServerCert;
use tokio::net::TcpListener;

use super::connection::{Clients, TlsTransport};
use super::identity::AskForCertificate;
use crate::server::ApiServer;

/// How long requests that are being answered may go on after the end was asked for.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a client may stop reading.
const WRITE: Duration = Duration::from_secs(30);

impl ApiServer {
    /// Answers TLS clients, HTTP/1.1 and HTTP/2, on a socket until asked to stop, with a certificate of the caller's. Clients are
    /// asked for a certificate; [`DelegatedAccess`](crate::DelegatedAccess) decides what it stands for, and without that it
    /// stands for nothing.
    pub async fn serve_tls(
        &self,
        socket: TcpListener,
        certificate: Arc<dyn ResolvesServerCert>,
        stop: Stop,
    ) -> Result<(), rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        // No hints: whatever certificate a proxy has, it shows.
        let asking = AskForCertificate::new(&provider, Vec::new());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(asking))
            .with_cert_resolver(certificate);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let transport = Arc::new(TlsTransport::new(self.clone(), config, Clients::Shown, WRITE));
        let limits = Limits {
            connections: None,
            drain: DRAIN,
        };
        listen::accept(socket, limits, stop, move |socket, stop| {
            Arc::clone(&transport).serve(socket, stop)
        })
        .await;
        Ok(())
    }
}
