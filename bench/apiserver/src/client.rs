//! The client with which both servers are measured: HTTP/1.1 over TLS, a connection for each caller. It decodes no response.

use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Any error.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The address of a server and the client's credentials.
#[derive(Clone)]
pub(crate) struct Credentials {
    address: String,
    tls: Arc<ClientConfig>,
    pub(crate) authorization: Option<String>,
}

impl Credentials {
    /// Reads a kubeconfig's server and client certificate or token.
    pub(crate) fn from_kubeconfig(text: &str) -> Result<Credentials, Failure> {
        let value = |key: &str| {
            let at = text
                .find(&format!("{key}: "))
                .or_else(|| text.find(&format!("\"{key}\": ")))?;
            let rest = text[at..].split_once(": ")?.1;
            let end = rest.find(['\n', '}', ',']).unwrap_or(rest.len());
            Some(rest[..end].trim().trim_matches('"').to_owned())
        };
        let server = value("server").ok_or("the kubeconfig names no server")?;
        let address = server.trim_start_matches("https://").to_owned();
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(NoVerification));
        let decode = |text: String| base64::engine::general_purpose::STANDARD.decode(text);
        let tls = match (value("client-certificate-data"), value("client-key-data")) {
            (Some(certificate), Some(key)) => {
                let certificate = CertificateDer::from_pem_slice(&decode(certificate)?)?;
                builder.with_client_auth_cert(vec![certificate], PrivateKeyDer::from_pem_slice(&decode(key)?)?)?
            }
            _ => builder.with_no_client_auth(),
        };
        let authorization = value("token").map(|token| format!("Bearer {token}"));
        Ok(Credentials {
            address,
            tls: Arc::new(tls),
            authorization,
        })
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let stream = self.connect_tls(&self.tls).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Asks for something on a connection of its own, as a client that speaks nothing but HTTP/1.1, and reads the head of the answer and
    /// nothing more.
    pub(crate) async fn ask(&self, path: &str) -> Result<TlsStream<TcpStream>, Failure> {
        let mut tls = (*self.tls).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut stream = self.connect_tls(&Arc::new(tls)).await?;
        let authorization = self.authorization.as_ref();
        let authorization = authorization.map_or_else(String::new, |value| format!("Authorization: {value}\r\n"));
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n{authorization}\r\n");
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        if head.starts_with(b"HTTP/1.1 200 ") {
            Ok(stream)
        } else {
            Err(format!("{path}: {}", String::from_utf8_lossy(&head)).into())
        }
    }

    async fn connect_tls(&self, tls: &Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, Failure> {
        let socket = TcpStream::connect(&self.address).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        Ok(TlsConnector::from(Arc::clone(tls)).connect(name, socket).await?)
    }
}

/// Accepts every certificate. Both servers sign their own, and the benchmark measures encryption, not verification.
#[derive(Debug)]
struct NoVerification;

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
