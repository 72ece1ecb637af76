//! Listening: one accept loop, and one way to serve HTTP on a connection, for every server of the workspace.

mod write_timeout;

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::conn::auto::HttpServerConnExec;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::stop::Stop;

pub use write_timeout::{Stalled, WriteTimeout};

/// How long the loop waits after a connection could not be accepted: file descriptors are used up, most likely, and some of
/// them will be closed.
const BACK_OFF: Duration = Duration::from_millis(50);
/// What the system holds for a peer that does not read. Left to itself it takes megabytes, and a watch that nobody reads goes on
/// being served for as long as they last.
const SEND_BUFFER: usize = 128 * 1024;

/// When a peer is asked whether it is still there, and how often before its connection is given up: what Go's listeners ask. A
/// client whose machine is gone would hold its watch for ever.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 9;

/// How many connections are served, and how long they may take to end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections are served at a time; more wait to be accepted. `None` for no limit.
    pub connections: Option<usize>,
    /// How long connections may go on once the loop was asked to stop.
    pub drain: Duration,
}

/// Ports of the loopback interface that are free at this moment, each a different one. Another program may take one before it is
/// used: where a listener can be passed on, bind it to port 0 instead.
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut ports = [0; N];
    // All are held until all are known, so that they differ.
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Accepts connections until asked to stop, and serves each in a task of its own. Then stops listening, waits for the
/// connections to end, and cuts those that take too long. Whether all of them ended in time.
///
/// `serve` gets the [`Stop`] to end its connection in order.
pub async fn accept<F, Fut>(listener: TcpListener, limits: Limits, stop: Stop, serve: F) -> bool
where
    F: Fn(TcpStream, Stop) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let permits = limits.connections.unwrap_or(Semaphore::MAX_PERMITS);
    let permits = Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
    let mut connections = JoinSet::new();
    let mut stopped = pin!(stop.stopped());
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await.ok();
            (listener.accept().await, permit)
        };
        tokio::select! {
            biased;
            () = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            (accepted, permit) = accepted => match accepted {
                Ok((socket, _)) => {
                    // Answers and watch events are small and should not wait for one another.
                    let _ = socket.set_nodelay(true);
                    let options = SockRef::from(&socket);
                    let _ = options.set_send_buffer_size(SEND_BUFFER);
                    let _ = options.set_tcp_keepalive(&keepalive());
                    // Boxed, because a future that is awaited inside another one takes its room twice.
                    let serving = Box::pin(serve(socket, stop.clone()));
                    connections.spawn(async move {
                        serving.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    sleep(BACK_OFF).await;
                }
            },
        }
    }
    drop(listener);
    let rest = async { while connections.join_next().await.is_some() {} };
    let ended = timeout(limits.drain, rest).await.is_ok();
    connections.shutdown().await;
    ended
}

fn keepalive() -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(KEEPALIVE_EVERY)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_PROBES)
}

/// What a handshake comes to. `None` when it takes longer than `within`, or when it is time to stop before.
pub async fn handshake<S>(
    handshake: impl Future<Output = io::Result<S>>,
    within: Duration,
    stop: &Stop,
) -> Option<io::Result<S>> {
    tokio::select! {
        biased;
        () = stop.stopped() => None,
        done = timeout(within, handshake) => done.ok(),
    }
}

/// Answers the requests of a connection until its end. Once asked to stop, no more are read, and the connection ends when
/// those that are being answered are. A connection that is upgraded to another protocol is over for this function: the service goes on
/// with it (`hyper::upgrade::on`).
pub async fn serve_http<S, B>(
    http: &auto::Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: S,
    stop: &Stop,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
    S::Future: 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    TokioExecutor: HttpServerConnExec<S::Future, B>,
{
    let mut connection = pin!(http.serve_connection_with_upgrades(TokioIo::new(stream), service));
    tokio::select! {
        biased;
        ended = connection.as_mut() => return ended,
        () = stop.stopped() => connection.as_mut().graceful_shutdown(),
    }
    connection.await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::stop::Stopper;

    async fn listener() -> TcpListener {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
    }

    /// Says how it goes: one byte at the beginning.
    async fn greet(mut socket: TcpStream, stop: Stop) {
        socket.write_all(b"!").await.unwrap();
        stop.stopped().await;
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_wait_for_one_to_end() {
        let (stopper, stop) = Stopper::new();
        let listener = listener().await;
        let address = listener.local_addr().unwrap();
        let limits = Limits {
            connections: Some(1),
            drain: Duration::from_secs(5),
        };
        let running = tokio::spawn(accept(listener, limits, stop, |mut socket: TcpStream, _| async move {
            socket.write_all(b"!").await.unwrap();
            let _ = socket.read_u8().await;
        }));
        let mut first = TcpStream::connect(address).await.unwrap();
        assert_eq!(first.read_u8().await.unwrap(), b'!');
        let mut second = TcpStream::connect(address).await.unwrap();
        let greeted = timeout(Duration::from_millis(50), second.read_u8()).await;
        assert!(greeted.is_err(), "the second connection is served beside the first");
        drop(first);
        assert_eq!(second.read_u8().await.unwrap(), b'!');
        drop(second);
        stopper.stop();
        assert!(running.await.unwrap());
    }

    #[tokio::test]
    async fn peers_are_asked_whether_they_are_still_there() {
        let (stopper, stop) = Stopper::new();
        let listener = listener().await;
        let address = listener.local_addr().unwrap();
        let limits = Limits {
            connections: None,
            drain: Duration::from_secs(5),
        };
        let (told, mut asked) = tokio::sync::mpsc::channel(1);
        let running = tokio::spawn(accept(listener, limits, stop, move |socket: TcpStream, _| {
            let told = told.clone();
            async move {
                let options = SockRef::from(&socket);
                let every = [options.tcp_keepalive_time(), options.tcp_keepalive_interval()];
                let every = every.map(Result::unwrap);
                let asking = (
                    options.keepalive().unwrap(),
                    every,
                    options.tcp_keepalive_retries().unwrap(),
                );
                told.send(asking).await.unwrap();
            }
        }));
        let _socket = TcpStream::connect(address).await.unwrap();
        let every = Duration::from_secs(15);
        assert_eq!(asked.recv().await, Some((true, [every, every], 9)));
        stopper.stop();
        assert!(running.await.unwrap());
    }

    #[tokio::test]
    async fn connections_end_with_the_loop_or_are_cut() {
        let (stopper, stop) = Stopper::new();
        let listener = listener().await;
        let address = listener.local_addr().unwrap();
        let limits = Limits {
            connections: None,
            drain: Duration::from_millis(20),
        };
        let running = tokio::spawn(accept(listener, limits, stop, greet));
        let mut socket = TcpStream::connect(address).await.unwrap();
        assert_eq!(socket.read_u8().await.unwrap(), b'!');
        stopper.stop();
        assert!(running.await.unwrap(), "the connection ended when asked to");
        assert!(TcpStream::connect(address).await.is_err());

        let (stopper, stop) = Stopper::new();
        let listener = self::listener().await;
        let address = listener.local_addr().unwrap();
        let running = tokio::spawn(accept(listener, limits, stop, |mut socket: TcpStream, _| async move {
            socket.write_all(b"!").await.unwrap();
            std::future::pending::<()>().await;
        }));
        let mut socket = TcpStream::connect(address).await.unwrap();
        assert_eq!(socket.read_u8().await.unwrap(), b'!');
        stopper.stop();
        assert!(!running.await.unwrap(), "the connection was cut");
        assert!(socket.read_u8().await.is_err());
    }
}
