//! Several streams over one WebSocket, as clients of `exec` speak it: each message begins with the number of its channel.
//!
//! | channel | carries |
//! |---|---|
//! | 0 | what the command reads |
//! | 1, 2 | its output and its messages |
//! | 3 | how it ended: a `Status` since version 4, before that a sentence about what went wrong |
//! | 4 | the size of the client's terminal |
//! | 255 | since version 5: the number of a channel that the client closes |

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Response;
use tokio::io::{AsyncRead, AsyncWriteExt as _, DuplexStream, WriteHalf, split};
use tokio::sync::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::frame::{self, CloseCode, Opcode, Reader, Received};
use super::handshake::{self, Demand, Handshake};
use crate::stream::idle::Activity;
use crate::stream::pieces::Pieces;
use crate::stream::remote_command::{RemoteCommand, SizeReader, StdinEnds, Wanted, end_of, internal_error, pipes};
use crate::stream::{self, Connection, Upgrade, node};
use crate::wire::body::Body;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

/// How often a silent client is written to, so that a connection whose client has vanished ends.
const PING_EVERY: Duration = Duration::from_secs(30);

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stream) struct Protocol {
    version: u8,
    in_base64: bool,
}

/// What upstream's nodes speak.
const PROTOCOLS: [&str; 5] = [
    "",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
];
/// What upstream's API server speaks, and translates for the node. It is spoken with every client that knows it.
const TRANSLATED: [&str; 1] = ["v5.channel.k8s.io"];

impl Protocol {
    pub(in crate::stream) fn named(name: &str) -> Self {
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
pub(crate) fn run(handshake: Handshake<'_>, command: RemoteCommand) -> Response<Body> {
    let is_translated = handshake.offered().any(|name| TRANSLATED.contains(&name));
    if let (Some(why), false) = (command.refusal, is_translated) {
        return node::bad_request(why);
    }
    let known: &[&str] = if is_translated { &TRANSLATED } else { &PROTOCOLS };
    let accepted = match handshake::accept(handshake, Demand::Protocols(known)) {
        Ok(accepted) => accepted,
        Err(refusal) if is_translated => return *refusal,
        Err(refusal) => return node::refused_handshake(*refusal),
    };
    let protocol = Protocol::named(&accepted.protocol);
    let upgrade = Upgrade::new(move |connection| async move {
        match command.refusal {
            Some(why) => refuse(connection, protocol, why).await,
            None => carry(connection, protocol, command).await,
        }
    });
    accepted.response(Body::upgrade(upgrade))
}

/// Tells a client why the node does not take its request.
async fn refuse(connection: Box<dyn Connection>, protocol: Protocol, why: &str) {
    let (reading, writing) = split(connection);
    let client = Client::new(writing, protocol);
    let status = internal_error(&format!("unable to upgrade connection: {why}")).to_string();
    for payload in [&b""[..], status.as_bytes()] {
        if client.send(STATUS, payload).await.is_err() {
            return;
        }
    }
    client.close().await;
    stream::drain(reading).await;
}

async fn carry(connection: Box<dyn Connection>, protocol: Protocol, command: RemoteCommand) {
    let (mut reading, writing) = split(connection);
    let client = Client::new(writing, protocol);
    let RemoteCommand {
        wanted, failure, run, ..
    } = command;
    let (streams, ends) = pipes(wanted);
    let (stdin, sizes) = (ends.stdin, ends.sizes);
    let ended = async {
        // Tells the client that the connection stands.
        let first = match wanted {
            Wanted { stdout: true, .. } => STDOUT,
            Wanted { stderr: true, .. } => STDERR,
            _ => STATUS,
        };
        client.send(first, b"").await?;
        let running = run(streams, StdinEnds(!wanted.stdin || protocol.version >= 5));
        // A connection that broke ends the command, which may never write again and find out.
        let (end, (), ()) = tokio::try_join!(
            async { Ok(running.await) },
            client.copy(STDOUT, ends.stdout, wanted.stdout),
            client.copy(STDERR, ends.stderr, wanted.stderr),
        )?;
        match end_of(&end, failure, protocol.version) {
            Some(text) => client.send(STATUS, &text).await,
            None => Ok(()),
        }
    };
    let closed = tokio::select! {
        ended = ended => ended.is_ok(),
        received = client.receive(&mut reading, stdin, sizes) => received.is_ok(),
        _ = client.ping() => false,
        () = client.idle() => true,
    };
    if closed {
        client.close().await;
        stream::drain(reading).await;
    }
}

/// The client of channels, as the server's side of the connection sees it.
pub(in crate::stream) struct Client {
    writing: Mutex<WriteHalf<Box<dyn Connection>>>,
    protocol: Protocol,
    activity: Activity,
}

impl Client {
    pub(in crate::stream) fn new(writing: WriteHalf<Box<dyn Connection>>, protocol: Protocol) -> Self {
        Client {
            writing: Mutex::new(writing),
            protocol,
            activity: Activity::begun(),
        }
    }

    /// The channel of a message that the client sent, and what it carries; `None` for one that means nothing.
    pub(in crate::stream) fn read(&self, message: &Bytes) -> Option<(u8, Bytes)> {
        self.activity.note();
        self.protocol.read(message)
    }

    /// Waits until nothing was said for as long as a connection may be idle. As upstream has it, pings are not what is said.
    pub(in crate::stream) async fn idle(&self) {
        self.activity.idle().await;
    }

    pub(in crate::stream) async fn write(&self, frame: &[u8]) -> io::Result<()> {
        let mut writing = self.writing.lock().await;
        writing.write_all(frame).await?;
        writing.flush().await
    }

    pub(in crate::stream) async fn send(&self, channel: u8, payload: &[u8]) -> io::Result<()> {
        self.activity.note();
        self.write(&self.protocol.message(channel, payload)).await
    }

    /// Sends what the command writes, until it closes the stream.
    async fn copy(&self, channel: u8, from: DuplexStream, wanted: bool) -> io::Result<()> {
        let mut pieces = Pieces::of(from);
        while let Some(piece) = pieces.next().await? {
            if wanted {
                self.send(channel, &piece).await?;
            }
        }
        Ok(())
    }

    /// Writes pings. The error is that of a connection that broke.
    pub(in crate::stream) async fn ping(&self) -> io::Result<Infallible> {
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pings.tick().await;
            self.write(&frame::write(Opcode::Ping, b"")).await?;
        }
    }

    /// Passes on what the client sends, until it closes the connection. The error is that of a connection that broke.
    async fn receive(
        &self,
        reading: impl AsyncRead + Unpin,
        mut stdin: Option<DuplexStream>,
        mut sizes: SizeReader,
    ) -> io::Result<()> {
        let mut reader = Reader::keeping(reading);
        loop {
            match reader.next().await? {
                Some(Received::Data(message)) => {
                    let Some((channel, payload)) = self.read(&message) else {
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
                        RESIZE => sizes.push(&payload),
                        CLOSE if self.protocol.version >= 5 => match payload[..] {
                            [STDIN] => stdin = None,
                            [RESIZE] => sizes.end(),
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

    pub(in crate::stream) async fn close(&self) {
        // Nobody is left to tell of a connection that cannot be closed in order.
        let _ = self.write(&frame::close(CloseCode::Normal)).await;
        let _ = self.writing.lock().await.shutdown().await;
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
        let versions = PROTOCOLS.iter().chain(&TRANSLATED).map(|name| {
            let protocol = Protocol::named(name);
            (protocol.version, protocol.in_base64)
        });
        let expected = [(1, false), (1, false), (1, true), (4, false), (4, true), (5, false)];
        assert_eq!(versions.collect::<Vec<_>>(), expected);
    }
}
