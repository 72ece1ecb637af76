//! A WebSocket as a client has it: the handshake, and frames as they are, whatever they mean.

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use http::header::{CONNECTION, ORIGIN, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::case::ClientFrame;
use crate::target::Connection;

/// The headers of an answer to a handshake.
pub(super) const COMPARED_HEADERS: [&str; 5] = [
    "connection",
    "sec-websocket-accept",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "upgrade",
];

/// The headers of a handshake, always with the same key.
pub(super) fn handshake() -> [(HeaderName, HeaderValue); 5] {
    [
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        (SEC_WEBSOCKET_KEY, HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==")),
        (ORIGIN, HeaderValue::from_static("http://localhost")),
    ]
}

/// An open WebSocket.
pub(super) struct WebSocket(Box<dyn Connection>);

impl WebSocket {
    pub(super) fn new(connection: Box<dyn Connection>) -> Self {
        WebSocket(connection)
    }

    pub(super) async fn send(&mut self, frame: &ClientFrame) -> io::Result<()> {
        let mask = [1, 2, 3, 4];
        let mut payload = frame.payload.repeat(frame.times).into_bytes();
        let masked = if frame.masked { 0x80 } else { 0 };
        let mut bytes = vec![0x80 | frame.opcode];
        if let Ok(length @ 0..=125) = u8::try_from(payload.len()) {
            bytes.push(masked | length);
        } else {
            bytes.push(masked | 127);
            bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
        if frame.masked {
            bytes.extend_from_slice(&mask);
            for (index, byte) in payload.iter_mut().enumerate() {
                *byte ^= mask[index % 4];
            }
        }
        bytes.append(&mut payload);
        self.0.write_all(&bytes).await?;
        self.0.flush().await
    }

    /// The next frame by the name of its kind, or `None` at the end of the connection.
    pub(super) async fn frame(&mut self) -> io::Result<Option<Value>> {
        let mut head = [0; 2];
        // A server that hangs up may do so with something unread, which resets the connection.
        match self.0.read_exact(&mut head).await {
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let length = match head[1] {
            126 => u64::from(self.0.read_u16().await?),
            127 => self.0.read_u64().await?,
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.0.read_exact(&mut payload).await?;
        Ok(Some(noted(head[0], &payload)))
    }
}

fn noted(first: u8, payload: &[u8]) -> Value {
    let text = || String::from_utf8_lossy(payload).into_owned();
    let mut note = match first & 0x0f {
        1 => match serde_json::from_slice::<Value>(payload) {
            Ok(value) => json!({"text": value, "newline": payload.ends_with(b"\n")}),
            Err(_) => json!({"text": text()}),
        },
        2 => json!({"binary": BASE64.encode(payload)}),
        8 => json!({"close": payload.first_chunk().map(|code| u16::from_be_bytes(*code))}),
        9 => json!({"ping": text()}),
        10 => json!({"pong": text()}),
        opcode => json!({"opcode": opcode, "payload": text()}),
    };
    if first & 0x80 == 0 {
        note["final"] = json!(false);
    }
    note
}
