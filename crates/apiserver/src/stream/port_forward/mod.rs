//! Ports of Pods, forwarded to clients: over SPDY, over SPDY inside a WebSocket, and over the channels of a WebSocket.
//!
//! All of them end in [`copy`]: bytes between a stream of the client and a connection to the port.

pub(crate) mod channels;
pub(crate) mod spdy;
pub(crate) mod tunnel;

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWriteExt as _};

use super::Connection;
use super::containers::PodContainers;
use super::pieces::Pieces;

/// The Pod whose ports are forwarded.
#[derive(Clone)]
pub(crate) struct ForwardedPod {
    pub(crate) name: String,
    pub(crate) containers: PodContainers,
}

impl ForwardedPod {
    /// What a client is told of a port that cannot be forwarded, in the words of container runtimes, which know no uid.
    fn complaint(&self, port: u16, why: &io::Error) -> String {
        format!("error forwarding port {port} to pod {}, uid : {why}", self.name)
    }

    /// Connects to a port.
    async fn connect(&self, port: u16) -> io::Result<Box<dyn Connection>> {
        let connected = self.containers.connect(port).await;
        connected.map_err(|error| io::Error::new(error.kind(), format!("failed to connect to port {port}: {error}")))
    }
}

/// Copies bytes between a client and a port, until the port has no more to say. The client's end is passed on, and ends nothing else:
/// a server that answers what it has read goes on.
async fn copy<S, Fut>(
    port: Box<dyn Connection>,
    mut from_client: impl AsyncRead + Unpin,
    to_client: S,
) -> io::Result<()>
where
    S: Fn(Bytes) -> Fut,
    Fut: Future<Output = io::Result<()>>,
{
    let (reading, mut writing) = tokio::io::split(port);
    let upwards = async {
        // A port that reads no more loses the rest; what it still writes is wanted.
        let _ = tokio::io::copy(&mut from_client, &mut writing).await;
        let _ = writing.shutdown().await;
        std::future::pending::<io::Result<()>>().await
    };
    let downwards = async {
        let mut pieces = Pieces::of(reading);
        while let Some(piece) = pieces.next().await? {
            to_client(piece).await?;
        }
        Ok(())
    };
    tokio::select! {
        done = downwards => done,
        never = upwards => never,
    }
}
