//! The WebSocket protocol. Here only the server speaks: watches and logs. What a client sends is read, for its pings and its end, and
//! thrown away. The streams of a command are in [`channels`].

pub(crate) mod channels;
pub(in crate::stream) mod frame;
pub(in crate::stream) mod handshake;

use std::pin::pin;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::{HeaderMap, Response};
use tokio::io::{AsyncWriteExt as _, split};

use super::{Connection, Upgrade};
use crate::wire::body::Body;
use frame::{CloseCode, Opcode, Reader, Received};
pub(crate) use handshake::{Demand, Handshake, offered_token};

/// Whether the headers ask for a WebSocket.
pub(crate) fn is_requested(headers: &HeaderMap) -> bool {
    super::asks_for(headers, "websocket")
}

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Binary,
}

/// Answers with a WebSocket on which each item of the stream is a message, and which closes with the stream.
pub(crate) fn send_all(
    handshake: Handshake<'_>,
    demand: Demand<'_>,
    form: Form,
    messages: impl Stream<Item = Bytes> + Send + 'static,
) -> Response<Body> {
    let accepted = match handshake::accept(handshake, demand) {
        Ok(accepted) => accepted,
        Err(refusal) => return *refusal,
    };
    // Of the protocols that handlers know, these two differ only in how they write bytes.
    let in_base64 = matches!(demand, Demand::Protocols(_)) && accepted.protocol.starts_with("base64.");
    let messages = messages.map(move |message| match (in_base64, form) {
        (true, _) => frame::write(Opcode::Text, BASE64_STANDARD.encode(&message).as_bytes()),
        (false, Form::Text) => frame::write(Opcode::Text, &message),
        (false, Form::Binary) => frame::write(Opcode::Binary, &message),
    });
    let upgrade = Upgrade::new(move |connection| speak(connection, messages));
    accepted.response(Body::upgrade(upgrade))
}

/// Sends all frames, and closes the connection behind them or when the client does.
async fn speak(connection: Box<dyn Connection>, frames: impl Stream<Item = Vec<u8>> + Send) {
    let (reading, mut writing) = split(connection);
    let mut reader = Reader::new(reading);
    let mut frames = pin!(frames);
    loop {
        let frame = tokio::select! {
            biased;
            received = reader.next() => match received {
                Ok(Some(Received::Data(_) | Received::Pong)) => continue,
                Ok(Some(Received::Ping(payload))) => frame::write(Opcode::Pong, &payload),
                Ok(Some(Received::Unmasked)) => {
                    let _ = writing.write_all(&frame::close(CloseCode::ProtocolError)).await;
                    break;
                }
                Ok(Some(Received::Close) | None) | Err(_) => break,
            },
            frame = frames.next() => match frame {
                Some(frame) => frame,
                None => break,
            },
        };
        if writing.write_all(&frame).await.is_err() || writing.flush().await.is_err() {
            return;
        }
    }
    // Nobody is left to tell of a connection that cannot be closed in order.
    let _ = writing.write_all(&frame::close(CloseCode::Normal)).await;
    let _ = writing.shutdown().await;
}
