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
pub(super) struct WebSocket {
    connection: Box<dyn Connection>,
    /// Whether each message begins with the number of a channel.
    has_channels: bool,
}

impl WebSocket {
    /// A connection over which this protocol was agreed on.
    pub(super) fn new(connection: Box<dyn Connection>, protocol: &str) -> Self {
        WebSocket {
            connection,
            has_channels: protocol.ends_with("channel.k8s.io"),
        }
    }

    pub(super) async fn send(&mut self, frame: &ClientFrame) -> io::Result<()> {
        let mask = [1, 2, 3, 4];
        let mut payload = payload_of(frame);
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
        self.connection.write_all(&bytes).await?;
        self.connection.flush().await
    }

    /// The next frame by the name of its kind, or `None` at the end of the connection.
    pub(super) async fn frame(&mut self) -> io::Result<Option<Value>> {
        let mut head = [0; 2];
        // A server that hangs up may do so with something unread, which resets the connection.
        match self.connection.read_exact(&mut head).await {
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
            126 => u64::from(self.connection.read_u16().await?),
            127 => self.connection.read_u64().await?,
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.connection.read_exact(&mut payload).await?;
        let of_channel = self.has_channels.then(|| noted_channel(head[0], &payload)).flatten();
        Ok(Some(of_channel.unwrap_or_else(|| noted(head[0], &payload))))
    }
}

/// What a frame of the client carries, behind the number of its channel.
fn payload_of(frame: &ClientFrame) -> Vec<u8> {
    let payload = frame.payload.repeat(frame.times).into_bytes();
    match (frame.channel, frame.opcode) {
        (None, _) => payload,
        (Some(channel), 1) => format!("{channel}{}", BASE64.encode(payload)).into_bytes(),
        (Some(channel), _) => [&[channel][..], &payload].concat(),
    }
}

/// A whole message as what its channel carries: JSON, text, or bytes in base64. `None` if it is not one.
fn noted_channel(first: u8, message: &[u8]) -> Option<Value> {
    let (channel, payload) = match first {
        0x81 => (message.first()?.checked_sub(b'0')?, BASE64.decode(&message[1..]).ok()?),
        0x82 => (*message.first()?, message[1..].to_vec()),
        _ => return None,
    };
    let is_text = |text: &str| text.chars().all(|letter| letter == '\n' || !letter.is_control());
    Some(
        match (serde_json::from_slice::<Value>(&payload), String::from_utf8(payload)) {
            (Ok(status @ Value::Object(_)), _) => json!({"channel": channel, "json": status}),
            (_, Ok(text)) if is_text(&text) => json!({"channel": channel, "text": text}),
            (_, Ok(text)) => json!({"channel": channel, "bytes": BASE64.encode(text)}),
            (_, Err(error)) => json!({"channel": channel, "bytes": BASE64.encode(error.as_bytes())}),
        },
    )
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
