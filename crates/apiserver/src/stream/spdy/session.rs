//! A SPDY session, the server's side: the client opens streams, and a handler answers them.
//!
//! Upstream's implementation, which all clients of Kubernetes share, has no windows: it never sends an update of one, so a server that
//! minded them would stop after 64 KiB. A reader that is slow makes the connection wait instead, as there: what a stream holds is
//! bounded, and nothing more is read until it has room. Updates are sent, for clients that do wait for them.

use std::collections::HashMap;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf, split};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::frame::{Decoder, Encoder, Frame, GoAwayCode, MAX_PIECE, Received, ResetCode, StreamId};
use super::headers::Headers;
use crate::stream::idle::Activity;
use crate::stream::pieces::Pieces;
use crate::stream::{CLOSING, Connection};

/// How many streams a client may have open at once.
const MAX_STREAMS: usize = 1024;
/// How many pieces of data wait for the reader of a stream.
const WAITING_PIECES: usize = 8;
/// How many frames wait to be written.
const WAITING_FRAMES: usize = 8;
/// How many new streams wait for the handler.
const WAITING_STREAMS: usize = 8;
/// How much of a window is used before the client hears that it is open again.
const WINDOW: u32 = 32 * 1024;
/// How often a silent client is written to, so that a connection whose client has vanished ends.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Serves a session: `handler` gets the streams that the client opens. The session ends with the handler; a handler whose client is gone, or
/// silent for too long, is dropped.
pub(crate) async fn serve<F, Fut>(connection: impl Connection, handler: F)
where
    F: FnOnce(Streams) -> Fut,
    Fut: Future<Output = ()>,
{
    let (reading, writing) = split(connection);
    let (frames, outgoing) = mpsc::channel(WAITING_FRAMES);
    let (opened, streams) = mpsc::channel(WAITING_STREAMS);
    let last = AtomicU32::new(0);
    let activity = &Activity::begun();
    let mut read = pin!(async {
        let mut receiver = Receiver {
            activity,
            frames: frames.clone(),
            opened,
            open: HashMap::new(),
            last: &last,
            consumed: 0,
        };
        receiver.run(reading).await
    });
    let mut write = pin!(write_frames(writing, outgoing, activity));
    let ended = {
        let handler = handler(Streams { opened: streams });
        tokio::select! {
            () = handler => GoAwayCode::Ok,
            () = activity.idle() => GoAwayCode::Ok,
            _ = &mut write => return,
            ended = &mut read => match ended {
                Err(ReadError::Protocol) => GoAwayCode::ProtocolError,
                Ok(()) | Err(ReadError::Broken) => return,
            },
        }
    };
    let say = async {
        let last = last.load(Relaxed);
        let _ = frames.send(Frame::GoAway { last, code: ended }).await;
        std::future::pending::<()>().await;
    };
    // What the client still sends is read, since closing a socket with something unread would take back what was written.
    let _ = timeout(CLOSING, async {
        if ended == GoAwayCode::Ok {
            let written = tokio::select! {
                written = &mut write => written.is_ok(),
                _ = &mut read => false,
                () = say => false,
            };
            if written {
                let _ = read.await;
            }
        } else {
            tokio::select! {
                _ = write => {}
                () = say => {}
            }
        }
    })
    .await;
}

/// The streams that a client opens.
pub(crate) struct Streams {
    opened: mpsc::Receiver<Stream>,
}

impl Streams {
    /// Waits for the next stream, which waits to be accepted; `None` if the client opens no more.
    pub(crate) async fn next(&mut self) -> Option<Stream> {
        self.opened.recv().await
    }
}

/// A stream that a client opened. Dropping it throws away what the client sends on it, and does not end it: see [`Sender`].
pub(crate) struct Stream {
    pub(crate) headers: Headers,
    /// What the client sends.
    pub(crate) reader: StreamReader,
    pub(crate) sender: Sender,
}

/// The server's side of a stream. Sending waits for the client, and fails once the connection is gone.
#[derive(Clone)]
pub(crate) struct Sender {
    id: StreamId,
    frames: mpsc::Sender<Frame>,
}

impl Sender {
    /// The number of the stream.
    pub(crate) fn id(&self) -> StreamId {
        self.id
    }

    /// Accepts the stream.
    pub(crate) async fn accept(&self) -> io::Result<()> {
        let headers = Headers::default();
        self.send_frame(Frame::SynReply {
            stream: self.id,
            headers,
        })
        .await
    }

    pub(crate) async fn send(&self, payload: Bytes) -> io::Result<()> {
        let (stream, fin) = (self.id, false);
        self.send_frame(Frame::Data { stream, payload, fin }).await
    }

    /// Ends the server's side.
    pub(crate) async fn finish(&self) -> io::Result<()> {
        let (stream, payload, fin) = (self.id, Bytes::new(), true);
        self.send_frame(Frame::Data { stream, payload, fin }).await
    }

    /// Ends the stream in both directions.
    pub(crate) async fn reset(&self, code: ResetCode) -> io::Result<()> {
        self.send_frame(Frame::RstStream { stream: self.id, code }).await
    }

    /// Sends all that is read, and does not end the stream.
    pub(crate) async fn send_all(&self, from: impl AsyncRead + Unpin) -> io::Result<()> {
        let mut pieces = Pieces::of(from);
        while let Some(piece) = pieces.next().await? {
            self.send(piece).await?;
        }
        Ok(())
    }

    async fn send_frame(&self, frame: Frame) -> io::Result<()> {
        let sent = self.frames.send(frame).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// What a client sends on a stream. It ends where the client ends it, and where the client resets the stream.
pub(crate) struct StreamReader {
    pieces: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl AsyncRead for StreamReader {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.current.is_empty() {
            match ready!(self.pieces.poll_recv(context)) {
                Some(piece) => self.current = piece,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.current.len().min(to.remaining());
        to.put_slice(&self.current[..length]);
        self.current.advance(length);
        Poll::Ready(Ok(()))
    }
}

/// Writes frames up to the one that ends the session, and pings where there is nothing to write.
async fn write_frames(
    mut writing: impl AsyncWrite + Unpin,
    mut frames: mpsc::Receiver<Frame>,
    activity: &Activity,
) -> io::Result<()> {
    let mut encoder = Encoder::new();
    let mut bytes = Vec::new();
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The server's pings have even numbers.
    let mut ping = 2_u32;
    loop {
        let frame = tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => {
                    activity.note();
                    frame
                }
                None => return Ok(()),
            },
            _ = pings.tick() => {
                ping = ping.wrapping_add(2).max(2);
                Frame::Ping(ping)
            }
        };
        bytes.clear();
        encoder.encode(&frame, &mut bytes);
        writing.write_all(&bytes).await?;
        if matches!(frame, Frame::GoAway { .. }) {
            return writing.shutdown().await;
        }
        if frames.is_empty() {
            writing.flush().await?;
        }
    }
}

/// Why nothing more is read.
enum ReadError {
    /// The client sent what is no SPDY.
    Protocol,
    /// The connection is gone.
    Broken,
}

/// Takes what the client sends to where it belongs.
struct Receiver<'a> {
    activity: &'a Activity,
    frames: mpsc::Sender<Frame>,
    opened: mpsc::Sender<Stream>,
    /// The streams that the client has not ended, with how much of each one's window is used.
    open: HashMap<StreamId, (mpsc::Sender<Bytes>, u32)>,
    /// The last stream that the client opened.
    last: &'a AtomicU32,
    /// How much of the session's window is used.
    consumed: u32,
}

impl Receiver<'_> {
    /// Reads until the client ends the session.
    async fn run(&mut self, mut reading: impl AsyncRead + Unpin) -> Result<(), ReadError> {
        let mut decoder = Decoder::new();
        let mut buffer = BytesMut::new();
        loop {
            while let Some(received) = decoder.decode(&mut buffer).map_err(|_| ReadError::Protocol)? {
                self.activity.note();
                if matches!(received, Received::GoAway) {
                    return Ok(());
                }
                self.take(received).await.map_err(|_| ReadError::Broken)?;
            }
            buffer.reserve(MAX_PIECE);
            let read = reading.read_buf(&mut buffer).await;
            if read.map_err(|_| ReadError::Broken)? == 0 {
                return Ok(());
            }
        }
    }

    async fn take(&mut self, received: Received) -> Result<(), mpsc::error::SendError<Frame>> {
        match received {
            Received::SynStream { stream, headers, fin } => self.open(stream, headers, fin).await,
            Received::Data { stream, payload, fin } => {
                self.deliver(stream, payload).await?;
                if fin {
                    self.open.remove(&stream);
                }
                Ok(())
            }
            Received::RstStream(stream) | Received::Headers { stream, fin: true } => {
                self.open.remove(&stream);
                Ok(())
            }
            // Even numbers answer the server's own pings.
            Received::Ping(id) if id % 2 == 1 => self.frames.send(Frame::Ping(id)).await,
            Received::Ping(_)
            | Received::Headers { .. }
            | Received::SynReply(_)
            | Received::GoAway
            | Received::Ignored => Ok(()),
        }
    }

    async fn open(
        &mut self,
        stream: StreamId,
        headers: Headers,
        fin: bool,
    ) -> Result<(), mpsc::error::SendError<Frame>> {
        if stream.is_multiple_of(2) || stream <= self.last.load(Relaxed) {
            let code = ResetCode::ProtocolError;
            return self.frames.send(Frame::RstStream { stream, code }).await;
        }
        self.last.store(stream, Relaxed);
        if self.open.len() >= MAX_STREAMS {
            self.open.retain(|_, (pieces, _)| !pieces.is_closed());
        }
        let code = ResetCode::RefusedStream;
        let refusal = Frame::RstStream { stream, code };
        if self.open.len() >= MAX_STREAMS {
            return self.frames.send(refusal).await;
        }
        let (sender, pieces) = mpsc::channel(WAITING_PIECES);
        let opened = Stream {
            headers,
            reader: StreamReader {
                pieces,
                current: Bytes::new(),
            },
            sender: Sender {
                id: stream,
                frames: self.frames.clone(),
            },
        };
        // Nobody takes streams once the handler has ended.
        if self.opened.send(opened).await.is_err() {
            return self.frames.send(refusal).await;
        }
        if !fin {
            self.open.insert(stream, (sender, 0));
        }
        Ok(())
    }

    /// Hands data to the reader of their stream, and opens the windows again. Data of a stream that is gone are thrown away.
    async fn deliver(&mut self, stream: StreamId, payload: Bytes) -> Result<(), mpsc::error::SendError<Frame>> {
        let length = payload.len() as u32;
        if length == 0 {
            return Ok(());
        }
        if let Some((pieces, consumed)) = self.open.get_mut(&stream) {
            let _ = pieces.send(payload).await;
            *consumed += length;
            if *consumed >= WINDOW {
                let more = std::mem::take(consumed);
                self.frames.send(Frame::WindowUpdate { stream, more }).await?;
            }
        }
        self.consumed += length;
        if self.consumed >= WINDOW {
            let more = std::mem::take(&mut self.consumed);
            self.frames.send(Frame::WindowUpdate { stream: 0, more }).await?;
        }
        Ok(())
    }
}
