//! Several streams over one WebSocket, as clients of `exec` speak it: each message begins with the number of its channel.
//!
//! | channel | carries |
//! |---|---|
//! | 0 | what the command reads |
//! | 1, 2 | its output and its messages |
//! | 3 | how it ended: a `Status` since version 4, before that a sentence about what went wrong |
//! | 4 | the size of the client's terminal |
//! | 255 | since version 5: the number of a channel that the client closes |

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, WriteHalf, duplex, split};
use tokio::sync::Mutex;

use super::frame::{self, CloseCode, Opcode, Reader, Received};
use super::handshake::{self, Demand, Handshake};
use crate::stream::exec::{ExecEnd, ExecStreams};
use crate::stream::{Connection, Upgrade};
use crate::wire::body::Body;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSE: u8 = 255;

/// How many bytes wait between a command and its client, in each direction.
const BUFFER: usize = 64 * 1024;
/// How many bytes of a stream a message has at most.
const MESSAGE: usize = 32 * 1024;

/// The streams that a client asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

/// Whether what a client sends has an end other than that of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StdinEnds(pub(crate) bool);

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Protocol {
    version: u8,
    in_base64: bool,
}

const PROTOCOLS: [&str; 6] = [
    "",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "v5.channel.k8s.io",
];

impl Protocol {
    fn named(name: &str) -> Self {
        let version = match name.get(..3) {
            Some("v5.") => 5,
            Some("v4.") => 4,
            _ => 1,
        };
        Protocol {
            version,
            in_base64: name.contains("base64."),
        }
    }

    fn message(self, channel: u8, payload: &[u8]) -> Vec<u8> {
        if self.in_base64 {
            let text = format!("{channel}{}", BASE64_STANDARD.encode(payload));
            return frame::write(Opcode::Text, text.as_bytes());
        }
        let mut message = Vec::with_capacity(payload.len() + 1);
        message.push(channel);
        message.extend_from_slice(payload);
        frame::write(Opcode::Binary, &message)
    }

    /// The channel of a message and what it carries; `None` for one that means nothing.
    fn read(self, message: &Bytes) -> Option<(u8, Bytes)> {
        let channel = *message.first()?;
        if !self.in_base64 {
            return Some((channel, message.slice(1..)));
        }
        let payload = BASE64_STANDARD.decode(&message[1..]).ok()?;
        Some((channel.checked_sub(b'0')?, payload.into()))
    }
}

/// Answers with a WebSocket that carries the streams of a command, and closes when that has ended.
pub(crate) fn run<F, Fut>(handshake: Handshake<'_>, wanted: Wanted, command: F) -> Response<Body>
where
    F: FnOnce(ExecStreams, StdinEnds) -> Fut + Send + 'static,
    Fut: Future<Output = ExecEnd> + Send + 'static,
{
    let accepted = match handshake::accept(handshake, Demand::Protocols(&PROTOCOLS)) {
        Ok(accepted) => accepted,
        Err(refusal) => return *refusal,
    };
    let protocol = Protocol::named(&accepted.protocol);
    let upgrade = Upgrade::new(move |connection| carry(connection, protocol, wanted, command));
    accepted.response(Body::upgrade(upgrade))
}

async fn carry<F, Fut>(connection: Box<dyn Connection>, protocol: Protocol, wanted: Wanted, command: F)
where
    F: FnOnce(ExecStreams, StdinEnds) -> Fut,
    Fut: Future<Output = ExecEnd>,
{
    let (reading, writing) = split(connection);
    let client = Client {
        writing: Mutex::new(writing),
        protocol,
    };
    let (stdin, to_stdin) = duplex(BUFFER);
    let (from_stdout, stdout) = duplex(BUFFER);
    let (from_stderr, stderr) = duplex(BUFFER);
    let streams = ExecStreams {
        stdin: Box::pin(stdin),
        stdout: Box::pin(stdout),
        stderr: Box::pin(stderr),
    };
    let to_stdin = wanted.stdin.then_some(to_stdin);
    let ended = async {
        // Tells the client that the connection stands.
        let first = match wanted {
            Wanted { stdout: true, .. } => STDOUT,
            Wanted { stderr: true, .. } => STDERR,
            _ => STATUS,
        };
        client.send(first, b"").await?;
        let (end, stdout, stderr) = tokio::join!(
            command(streams, StdinEnds(!wanted.stdin || protocol.version >= 5)),
            client.copy(STDOUT, from_stdout, wanted.stdout),
            client.copy(STDERR, from_stderr, wanted.stderr),
        );
        stdout.and(stderr)?;
        client.send_end(&end).await
    };
    let closed = tokio::select! {
        ended = ended => ended.is_ok(),
        received = client.receive(reading, to_stdin) => received.is_ok(),
    };
    if closed {
        client.close().await;
    }
}

/// The client of a command, as the command's side of the connection sees it.
struct Client {
    writing: Mutex<WriteHalf<Box<dyn Connection>>>,
    protocol: Protocol,
}

impl Client {
    async fn write(&self, frame: &[u8]) -> io::Result<()> {
        let mut writing = self.writing.lock().await;
        writing.write_all(frame).await?;
        writing.flush().await
    }

    async fn send(&self, channel: u8, payload: &[u8]) -> io::Result<()> {
        self.write(&self.protocol.message(channel, payload)).await
    }

    /// Sends what the command writes, until it closes the stream.
    async fn copy(&self, channel: u8, mut from: DuplexStream, wanted: bool) -> io::Result<()> {
        let mut buffer = vec![0; MESSAGE];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            if wanted {
                self.send(channel, &buffer[..read]).await?;
            }
        }
    }

    /// Says how the command ended.
    async fn send_end(&self, end: &ExecEnd) -> io::Result<()> {
        let status = status_of(end);
        if self.protocol.version >= 4 {
            return self.send(STATUS, status.to_string().as_bytes()).await;
        }
        match status["message"].as_str() {
            Some(message) => self.send(STATUS, message.as_bytes()).await,
            None => Ok(()),
        }
    }

    /// Passes on what the client sends, until it closes the connection. The error is that of a connection that broke.
    async fn receive(&self, reading: impl AsyncRead + Unpin, mut stdin: Option<DuplexStream>) -> io::Result<()> {
        let mut reader = Reader::keeping(reading);
        loop {
            match reader.next().await? {
                Some(Received::Data(message)) => {
                    let Some((channel, payload)) = self.protocol.read(&message) else {
                        continue;
                    };
                    match channel {
                        STDIN => {
                            // A command that reads no more loses the rest.
                            if let Some(open) = &mut stdin
                                && open.write_all(&payload).await.is_err()
                            {
                                stdin = None;
                            }
                        }
                        CLOSE if self.protocol.version >= 5 => match payload[..] {
                            [STDIN] => stdin = None,
                            [0..=4] => {}
                            _ => return Ok(()),
                        },
                        _ => {}
                    }
                }
                Some(Received::Ping(payload)) => self.write(&frame::write(Opcode::Pong, &payload)).await?,
                Some(Received::Pong) => {}
                Some(Received::Unmasked) => {
                    return self.write(&frame::close(CloseCode::ProtocolError)).await;
                }
                Some(Received::Close) | None => return Ok(()),
            }
        }
    }

    async fn close(&self) {
        // Nobody is left to tell of a connection that cannot be closed in order.
        let _ = self.write(&frame::close(CloseCode::Normal)).await;
        let _ = self.writing.lock().await.shutdown().await;
    }
}

/// How a command ended, in upstream's words.
fn status_of(end: &ExecEnd) -> Value {
    match end {
        ExecEnd::Exited(0) => json!({ "metadata": {}, "status": "Success" }),
        ExecEnd::Exited(code) => json!({
            "metadata": {},
            "status": "Failure",
            "message": format!("command terminated with non-zero exit code: command terminated with exit code {code}"),
            "reason": "NonZeroExitCode",
            "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
        }),
        ExecEnd::Failed(why) => json!({
            "metadata": {},
            "status": "Failure",
            "message": format!("Internal error occurred: {why}"),
            "reason": "InternalError",
            "details": { "causes": [{ "message": why }] },
            "code": 500,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_a_byte_or_a_digit() {
        let binary = Protocol::named("v4.channel.k8s.io");
        assert_eq!(binary.message(1, b"hi"), [0x82, 3, 1, b'h', b'i']);
        assert_eq!(
            binary.read(&Bytes::from_static(b"\0hi")),
            Some((0, Bytes::from_static(b"hi")))
        );
        let text = Protocol::named("v4.base64.channel.k8s.io");
        assert_eq!(text.message(2, b"hi"), *b"\x81\x052aGk=");
        assert_eq!(
            text.read(&Bytes::from_static(b"0aGk=")),
            Some((0, Bytes::from_static(b"hi")))
        );
        for nothing in [&b""[..], b"0*", b"!aGk="] {
            assert_eq!(text.read(&Bytes::copy_from_slice(nothing)), None, "{nothing:?}");
        }
        assert_eq!(binary.read(&Bytes::new()), None);
    }

    #[test]
    fn versions_are_told_by_the_name_of_the_protocol() {
        let versions = PROTOCOLS.map(|name| {
            let protocol = Protocol::named(name);
            (protocol.version, protocol.in_base64)
        });
        let expected = [(1, false), (1, false), (1, true), (4, false), (4, true), (5, false)];
        assert_eq!(versions, expected);
    }
}
