//! Forwarded ports over the channels of a WebSocket, as `kube` forwards them: the query names the ports, and each has two channels, one
//! for data in both directions and one for what went wrong. The first message of a channel is its port.

use std::io;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Response;
use tokio::io::{AsyncRead, AsyncWriteExt as _, DuplexStream, duplex, split};

use super::{ForwardedPod, copy};
use crate::stream::websocket::channels::{Client, Protocol};
use crate::stream::websocket::frame::{self, CloseCode, Opcode, Reader, Received};
use crate::stream::websocket::{Demand, Handshake, handshake};
use crate::stream::{self, Connection, Upgrade, node};
use crate::wire::body::Body;

const PROTOCOLS: [&str; 3] = ["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"];
/// How many bytes wait between a client and a port.
const BUFFER: usize = 64 * 1024;

/// Answers with a WebSocket that has two channels for each of the ports, as long as `life` does not end.
pub(crate) fn run(
    handshake: Handshake<'_>,
    pod: ForwardedPod,
    ports: Vec<u16>,
    life: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let accepted = match handshake::accept(handshake, Demand::Protocols(&PROTOCOLS)) {
        Ok(accepted) => accepted,
        Err(refusal) => return node::refused_handshake(*refusal),
    };
    let protocol = Protocol::named(&accepted.protocol);
    let upgrade = Upgrade::new(move |connection| carry(connection, protocol, pod, ports, life));
    accepted.response(Body::upgrade(upgrade))
}

async fn carry(
    connection: Box<dyn Connection>,
    protocol: Protocol,
    pod: ForwardedPod,
    ports: Vec<u16>,
    life: impl Future<Output = ()>,
) {
    let (mut reading, writing) = split(connection);
    let client = Client::new(writing, protocol);
    let (inputs, readers): (Vec<_>, Vec<_>) = ports.iter().map(|_| duplex(BUFFER)).unzip();
    let forwarding = async {
        let forwards = ports.iter().zip(readers).enumerate();
        let forwards = forwards.map(|(index, (port, reader))| forward(&client, &pod, index, *port, reader));
        join_all(forwards).await.into_iter().collect::<Result<Vec<()>, _>>()
    };
    let closed = tokio::select! {
        forwarded = forwarding => forwarded.is_ok(),
        received = receive(&client, &mut reading, inputs) => received.is_ok(),
        _ = client.ping() => false,
        () = client.idle() => true,
        () = life => true,
    };
    if closed {
        client.close().await;
        stream::drain(reading).await;
    }
}

/// Forwards one port to its two channels. The error is that of a connection that broke.
async fn forward(client: &Client, pod: &ForwardedPod, index: usize, port: u16, reader: DuplexStream) -> io::Result<()> {
    // There are no more ports than channels have numbers for.
    let [data, error] = [index * 2, index * 2 + 1].map(|channel| channel as u8);
    for channel in [data, error] {
        client.send(channel, &port.to_le_bytes()).await?;
    }
    let forwarded = async {
        let connection = pod.connect(port).await?;
        copy(connection, reader, move |piece: Bytes| async move {
            client.send(data, &piece).await
        })
        .await
    };
    match forwarded.await {
        Ok(()) => Ok(()),
        Err(why) => {
            let why = pod.complaint(port, &why);
            client.send(error, why.as_bytes()).await
        }
    }
}

/// Passes on what the client sends, until it closes the connection. The error is that of a connection that broke.
async fn receive(client: &Client, reading: impl AsyncRead + Unpin, inputs: Vec<DuplexStream>) -> io::Result<()> {
    let mut inputs: Vec<Option<DuplexStream>> = inputs.into_iter().map(Some).collect();
    let mut reader = Reader::keeping(reading);
    loop {
        match reader.next().await? {
            Some(Received::Data(message)) => {
                let Some((channel, payload)) = client.read(&message) else {
                    continue;
                };
                // Nothing is read of the channels for what went wrong.
                let input = inputs.get_mut(usize::from(channel / 2)).filter(|_| channel % 2 == 0);
                if let Some(place) = input
                    && let Some(open) = place
                    && open.write_all(&payload).await.is_err()
                {
                    *place = None;
                }
            }
            Some(Received::Ping(payload)) => client.write(&frame::write(Opcode::Pong, &payload)).await?,
            Some(Received::Pong) => {}
            Some(Received::Unmasked) => {
                return client.write(&frame::close(CloseCode::ProtocolError)).await;
            }
            Some(Received::Close) | None => return Ok(()),
        }
    }
}
