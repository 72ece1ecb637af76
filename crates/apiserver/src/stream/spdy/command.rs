//! The streams of a command over SPDY: the client opens one for each that it asked for, and says by a header which it is.

use std::io;
use std::time::Duration;

use http::{HeaderMap, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::handshake;
use super::session::{self, Sender, Stream, StreamReader, Streams};
use crate::stream::remote_command::{RemoteCommand, SizeReader, StdinEnds, Wanted, end_of, pipes};
use crate::stream::{Upgrade, node};
use crate::wire::body::Body;

const PROTOCOLS: [&str; 4] = [
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
];

/// How long a client may take to open its streams. Upstream gives up after the same time, and leaves the connection open without a word
/// until it has been idle for long; here it is closed.
const OPENING: Duration = Duration::from_secs(30);

/// Answers with a SPDY session that carries the streams of a command, and closes when that has ended.
pub(crate) fn run(headers: &HeaderMap, command: RemoteCommand) -> Response<Body> {
    if let Some(why) = command.refusal {
        return node::bad_request(why);
    }
    let protocol = match handshake::accept(headers, &PROTOCOLS) {
        Ok(protocol) => protocol,
        Err(refusal) => return node::as_it_is(*refusal),
    };
    let version = match protocol.get(..3) {
        Some("v4.") => 4,
        Some("v3.") => 3,
        Some("v2.") => 2,
        _ => 1,
    };
    let upgrade = Upgrade::new(move |connection| {
        session::serve(connection, move |streams| async move {
            // Nobody is left to tell of a connection that broke.
            let _ = carry(streams, version, command).await;
        })
    });
    handshake::accepted(protocol, Body::upgrade(upgrade))
}

/// The streams of a command, as the client opened them.
#[derive(Default)]
struct Opened {
    error: Option<Stream>,
    stdin: Option<Stream>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    resize: Option<Stream>,
}

impl Opened {
    /// Waits for as many streams as the client asked for, and accepts all that come. As upstream has it, the last one of a kind is the one
    /// that is used, one that was not asked for counts like any other, and one of no kind is left alone.
    async fn all(streams: &mut Streams, wanted: Wanted, version: u8) -> io::Result<Opened> {
        let mut opened = Opened::default();
        let sizes = wanted.tty && version >= 3;
        let mut missing = 1 + [wanted.stdin, wanted.stdout, wanted.stderr, sizes]
            .iter()
            .filter(|wanted| **wanted)
            .count();
        while missing > 0 {
            let stream = streams.next().await.ok_or(io::ErrorKind::UnexpectedEof)?;
            stream.sender.accept().await?;
            let place = match stream.headers.get("streamtype") {
                "error" => &mut opened.error,
                "stdin" => &mut opened.stdin,
                "stdout" => &mut opened.stdout,
                "stderr" => &mut opened.stderr,
                "resize" if version >= 3 => &mut opened.resize,
                _ => continue,
            };
            *place = Some(stream);
            missing -= 1;
        }
        Ok(opened)
    }
}

async fn carry(mut streams: Streams, version: u8, command: RemoteCommand) -> io::Result<()> {
    let RemoteCommand {
        wanted, failure, run, ..
    } = command;
    let opened = timeout(OPENING, Opened::all(&mut streams, wanted, version)).await??;
    let (for_command, ends) = pipes(wanted);
    let sender = |stream: &Option<Stream>| stream.as_ref().map(|stream| stream.sender.clone());
    let (error, stdout, stderr) = (sender(&opened.error), sender(&opened.stdout), sender(&opened.stderr));
    let ended = async {
        let (end, stdout, stderr) = tokio::join!(
            run(for_command, StdinEnds(true)),
            send(stdout, ends.stdout),
            send(stderr, ends.stderr),
        );
        stdout.and(stderr)?;
        let Some(error) = error else { return Ok(()) };
        if let Some(text) = end_of(&end, failure, version) {
            error.send(text.into()).await?;
        }
        error.finish().await
    };
    let rest = async {
        // Nothing else is expected of the client; as upstream, a stream that comes now is not answered.
        while streams.next().await.is_some() {}
        std::future::pending::<()>().await;
    };
    let receiving = async {
        let reader = |stream: Option<Stream>| stream.map(|stream| stream.reader);
        tokio::join!(
            receive_stdin(reader(opened.stdin), ends.stdin),
            receive_sizes(reader(opened.resize), ends.sizes),
        );
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = ended => ended,
        () = rest => Ok(()),
        () = receiving => Ok(()),
    }
}

/// Sends what the command writes, or throws it away if the client did not ask for it.
async fn send(to: Option<Sender>, mut from: impl tokio::io::AsyncRead + Unpin) -> io::Result<()> {
    match to {
        Some(to) => {
            to.send_all(from).await?;
            to.finish().await
        }
        None => tokio::io::copy(&mut from, &mut tokio::io::sink()).await.map(|_| ()),
    }
}

/// Passes on what the client sends. A command that reads no more loses the rest.
async fn receive_stdin(from: Option<StreamReader>, to: Option<tokio::io::DuplexStream>) {
    if let (Some(mut from), Some(mut to)) = (from, to) {
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
        // Dropping the reader says that nothing more is wanted.
    }
}

async fn receive_sizes(from: Option<StreamReader>, mut sizes: SizeReader) {
    if let Some(mut from) = from {
        let mut buffer = [0; 256];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            sizes.push(&buffer[..read]);
        }
    }
    sizes.end();
}
