//! A server for a few connections at a time: probes, Prometheus, people, webhooks.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;
use kubewright_system::listen::{self, Limits, WriteTimeout};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::address::BindAddress;
use super::certificates::{CertificateError, Certificates};
use super::router::Router;
use crate::stop::Stop;

/// controller-runtime's: how long a request's head may take,
const HEAD: Duration = Duration::from_secs(32);
/// and how long requests may go on after the end was asked for.
const DRAIN: Duration = Duration::from_mins(1);
/// How long TLS may take to begin.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may stop reading an answer.
const WRITE: Duration = Duration::from_secs(30);
/// More connections wait until one ends.
const CONNECTIONS: usize = 1000;

/// Serves a [`Router`] on a port, plain or with TLS.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kubewright_runtime::serve::{BindAddress, Checks, HttpServer, Router};
/// use kubewright_runtime::stop::Stopper;
///
/// let (stopper, stop) = Stopper::new();
/// let router = Router::new().route("/healthz", Checks::new().handler("/healthz"));
/// let server = HttpServer::bind(&BindAddress::loopback(), router).await.unwrap().unwrap();
/// println!("listening on {}", server.address());
/// let running = tokio::spawn(server.run(stop));
/// stopper.stop();
/// running.await.unwrap();
/// # }
/// ```
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    certificates: Option<Certificates>,
    tls: Option<TlsAcceptor>,
    http2: bool,
    /// How long requests may go on after the end was asked for.
    pub(super) drain: Duration,
}

impl HttpServer {
    /// Listens from now on, answers when it runs. `None` where the address is off.
    pub async fn bind(address: &BindAddress, router: Router) -> io::Result<Option<Self>> {
        let Some(listener) = address.bind().await? else {
            return Ok(None);
        };
        Ok(Some(HttpServer {
            address: listener.local_addr()?,
            listener,
            router,
            certificates: None,
            tls: None,
            http2: false,
            drain: DRAIN,
        }))
    }

    /// Speaks TLS with these certificates, and follows their files.
    pub fn with_tls(mut self, certificates: Certificates, http2: bool) -> Result<Self, CertificateError> {
        let config = certificates.server_config(http2)?;
        self.tls = Some(TlsAcceptor::from(Arc::new(config)));
        self.certificates = Some(certificates);
        self.http2 = http2;
        Ok(self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until asked to stop; then ends idle connections and waits for requests that are being answered.
    pub async fn run(self, stop: Stop) {
        let HttpServer {
            listener,
            router,
            certificates,
            tls,
            http2,
            drain,
            ..
        } = self;
        let connection = Arc::new(Connection { router, tls, http2 });
        let following = async {
            if let Some(certificates) = &certificates {
                certificates.watch(stop.clone()).await;
            }
        };
        let limits = Limits {
            connections: Some(CONNECTIONS),
            drain,
        };
        let accepting = listen::accept(listener, limits, stop.clone(), move |stream, stop| {
            let connection = Arc::clone(&connection);
            async move { connection.serve(stream, stop).await }
        });
        let (ended, ()) = tokio::join!(accepting, following);
        if !ended {
            tracing::warn!("connections were cut: they did not end in time");
        }
    }
}

struct Connection {
    router: Router,
    tls: Option<TlsAcceptor>,
    http2: bool,
}

impl Connection {
    async fn serve(&self, stream: TcpStream, stop: Stop) {
        let stream = WriteTimeout::new(stream, WRITE);
        let Some(tls) = &self.tls else {
            return self.talk(stream, stop).await;
        };
        match listen::handshake(tls.accept(stream), HANDSHAKE, &stop).await {
            Some(Ok(stream)) => self.talk(stream, stop).await,
            Some(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            None => tracing::debug!("TLS handshake took too long"),
        }
    }

    async fn talk(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, stop: Stop) {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        if !self.http2 {
            builder = builder.http1_only();
        }
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
        builder.http2().timer(TokioTimer::new());
        let router = self.router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let router = router.clone();
            async move { Ok::<_, Infallible>(router.answer(request).await) }
        });
        if let Err(error) = listen::serve_http(&builder, stream, service, &stop).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, router, .. } = self;
        f.debug_struct("HttpServer")
            .field("address", address)
            .field("router", router)
            .finish_non_exhaustive()
    }
}
