//! What listens on the ports of Pods: answers as the case has them, by method and path, in the form of its extension API servers.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::ServePort;
use crate::extension::{self, Extensions};
use crate::target::TransportError;

/// Serves the answers that `extensions` has under a key.
pub(crate) fn serving(extensions: &Arc<Extensions>, key: &(String, String)) -> ServePort {
    let (extensions, key) = (Arc::clone(extensions), key.clone());
    Arc::new(move |connection| {
        let (extensions, key) = (Arc::clone(&extensions), key.clone());
        Box::pin(async move {
            let answer = service_fn(|request| extension::answer(request, &extensions, &key, None));
            // The API server at the other end says what went wrong.
            let _ = hyper::server::conn::http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(connection), answer)
                .with_upgrades()
                .await;
        })
    })
}

/// An address of this machine that is not loopback: kube-apiserver passes nothing on to that.
pub(crate) fn own_address() -> Result<Ipv4Addr, TransportError> {
    // Nothing is sent: the system only says from which address it would be. The other one is reserved for documentation.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((Ipv4Addr::new(203, 0, 113, 1), 9))?;
    match socket.local_addr()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Ok(*address.ip()),
        other => Err(format!("this machine has only {other}, to which kube-apiserver passes nothing on").into()),
    }
}

/// Listens on a free port of an address, until `tasks` is dropped.
pub(crate) async fn listen(
    address: Ipv4Addr,
    serve: ServePort,
    tasks: &mut JoinSet<()>,
) -> Result<u16, TransportError> {
    let listener = TcpListener::bind((address, 0)).await?;
    let port = listener.local_addr()?.port();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((connection, _)) = listener.accept().await {
            connections.spawn(serve(Box::new(connection)));
        }
    });
    Ok(port)
}
