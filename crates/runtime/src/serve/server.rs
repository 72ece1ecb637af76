//! A server for a few connections at a time: probes, Prometheus, people, webhooks.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
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
    drain: Duration,
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
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_runtime::serve::{BindAddress, Certificates, HttpServer, Router};
    ///
    /// let certificates = Certificates::self_signed(&["localhost"]).unwrap();
    /// let server = HttpServer::bind(&BindAddress::loopback(), Router::new()).await.unwrap().unwrap();
    /// let server = server.with_tls(certificates, false).unwrap();
    /// # drop(server);
    /// # }
    /// ```
    pub fn with_tls(mut self, certificates: Certificates, http2: bool) -> Result<Self, CertificateError> {
        let config = certificates.server_config(http2)?;
        self.tls = Some(TlsAcceptor::from(Arc::new(config)));
        self.certificates = Some(certificates);
        self.http2 = http2;
        Ok(self)
    }

    /// How long requests may go on after the end was asked for. Default: one minute.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_runtime::serve::{BindAddress, HttpServer, Router};
    ///
    /// let server = HttpServer::bind(&BindAddress::loopback(), Router::new()).await.unwrap().unwrap();
    /// let server = server.drain_within(std::time::Duration::from_secs(5));
    /// # drop(server);
    /// # }
    /// ```
    pub fn drain_within(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
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
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        if let Some(certificates) = certificates {
            let stop = stop.clone();
            connections.spawn(async move { certificates.watch(stop).await });
        }
        let mut stopped = pin!(stop.stopped());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener, &room) => {
                    if let Some((stream, place)) = accepted {
                        let (connection, stop) = (Arc::clone(&connection), stop.clone());
                        connections.spawn(async move {
                            connection.serve(stream, stop).await;
                            drop(place);
                        });
                    }
                }
            }
        }
        drop(listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        if timeout(drain, rest).await.is_err() {
            tracing::warn!("connections were cut: they did not end in time");
        }
    }
}

/// The next connection, when there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            // Out of file descriptors, most likely: some of them will be closed.
            tracing::debug!(%error, "a connection was not accepted");
            sleep(Duration::from_millis(50)).await;
            None
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
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return self.talk(stream, stop).await;
        };
        let handshake = tokio::select! {
            biased;
            () = stop.stopped() => return,
            handshake = timeout(HANDSHAKE, tls.accept(stream)) => handshake,
        };
        match handshake {
            Ok(Ok(stream)) => self.talk(stream, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake took too long"),
        }
    }

    async fn talk(&self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static, stop: Stop) {
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
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = stop.stopped() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
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
