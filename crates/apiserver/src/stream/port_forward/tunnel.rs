//! SPDY inside a WebSocket, as clients since Kubernetes 1.31 forward ports: every binary message is a piece of the SPDY connection.

use std::io;

use http::Response;
use tokio::io::{AsyncWriteExt as _, DuplexStream, WriteHalf, duplex, split};
use tokio::sync::Mutex;

use super::ForwardedPod;
use super::spdy;
use crate::stream::pieces::Pieces;
use crate::stream::websocket::frame::{self, CloseCode, Opcode, Reader, Received};
use crate::stream::websocket::{Demand, Handshake, handshake};
use crate::stream::{self, Connection, Upgrade};
use crate::wire::body::Body;

const PROTOCOLS: [&str; 1] = ["SPDY/3.1+portforward.k8s.io"];
/// How many bytes wait between the WebSocket and the session inside it.
const BUFFER: usize = 64 * 1024;

/// Whether the client of a WebSocket wants a tunnel.
pub(crate) fn is_requested(handshake: Handshake<'_>) -> bool {
    let mut offered = handshake.offered();
    offered.any(|name| name.starts_with("SPDY/3.1+") && name.ends_with(".k8s.io"))
}

/// Answers with a WebSocket over which ports of a Pod are forwarded, as long as `life` does not end.
pub(crate) fn run(
    handshake: Handshake<'_>,
    pod: ForwardedPod,
    life: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let accepted = match handshake::accept(handshake, Demand::Protocols(&PROTOCOLS)) {
        Ok(accepted) => accepted,
        Err(refusal) => return *refusal,
    };
    let upgrade = Upgrade::new(move |connection| async move {
        let (inside, outside) = duplex(BUFFER);
        // The session ends when the WebSocket does, since its connection does, and the WebSocket when the session does.
        tokio::join!(spdy::serve(inside, pod, life), carry(connection, outside));
    });
    accepted.response(Body::upgrade(upgrade))
}

async fn write(to: &Mutex<WriteHalf<Box<dyn Connection>>>, frame: &[u8]) -> io::Result<()> {
    let mut writing = to.lock().await;
    writing.write_all(frame).await?;
    writing.flush().await
}

/// Carries the bytes of a session in messages, until either side ends it.
async fn carry(connection: Box<dyn Connection>, session: DuplexStream) {
    let (reading, writing) = split(connection);
    let (mut from_session, mut to_session) = split(session);
    let writing = Mutex::new(writing);
    let mut reader = Reader::in_pieces(reading);
    let incoming = async {
        loop {
            let written = match reader.next().await {
                Ok(Some(Received::Data(payload))) => to_session.write_all(&payload).await,
                Ok(Some(Received::Ping(payload))) => write(&writing, &frame::write(Opcode::Pong, &payload)).await,
                Ok(Some(Received::Pong)) => Ok(()),
                Ok(Some(Received::Unmasked)) => return CloseCode::ProtocolError,
                Ok(Some(Received::Close) | None) | Err(_) => return CloseCode::Normal,
            };
            if written.is_err() {
                return CloseCode::Normal;
            }
        }
    };
    let outgoing = async {
        let mut pieces = Pieces::of(&mut from_session);
        while let Ok(Some(piece)) = pieces.next().await {
            if write(&writing, &frame::write(Opcode::Binary, &piece)).await.is_err() {
                break;
            }
        }
        CloseCode::Normal
    };
    let code = tokio::select! {
        code = incoming => code,
        code = outgoing => code,
    };
    // Nobody is left to tell of a connection that cannot be closed in order.
    let _ = write(&writing, &frame::close(code)).await;
    let _ = writing.lock().await.shutdown().await;
    drop((from_session, to_session));
    stream::drain(reader.into_inner()).await;
}
