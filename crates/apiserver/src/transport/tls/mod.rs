//! TLS on a connection, without a buffer while nothing is on its way: rustls' own connections keep 4 KB to read into for as long as they live,
//! and most connections wait nearly all the time. Here rustls is given the bytes (its unbuffered interface), and this keeps them only as long
//! as a record is incomplete, not read yet or not sent yet.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is read at once: about a record.
const READ: usize = 16 * 1024;
/// How much is encrypted at once: a record.
const RECORD: usize = 16 * 1024;
/// What a record is longer than what it carries, at most; if it were more, it would be noticed.
const OVERHEAD: usize = 64;
/// How much of what is to be sent waits encrypted.
const MAX_OUTGOING: usize = 32 * 1024;
/// How long what is read may be before it is understood: rustls' own limit for a message of the handshake.
const MAX_INCOMING: usize = 0xffff;

/// The server's end of a TLS connection.
pub(super) struct TlsStream<S> {
    socket: S,
    tls: UnbufferedServerConnection,
    /// The beginning of a record or a message of which more is to come.
    incoming: Vec<u8>,
    /// What was decrypted and not read yet.
    received: Bytes,
    outgoing: Outgoing,
    /// Whether the peer has said that nothing more comes.
    has_ended: bool,
    /// Whether the peer was told that nothing more comes.
    is_closed: bool,
    /// Whether something went wrong. Nothing that comes later can be trusted.
    has_failed: bool,
}

/// Records that are not sent yet.
#[derive(Default)]
struct Outgoing {
    records: Vec<u8>,
    sent: usize,
}

/// What is to be encrypted.
enum ToEncrypt<'d> {
    Nothing,
    Data(&'d [u8]),
    CloseNotify,
}

/// Why rustls has not written a record.
enum NotWritten {
    /// So much room is needed.
    Room(usize),
    Failed(io::Error),
}

impl From<EncodeError> for NotWritten {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::InsufficientSize(size) => NotWritten::Room(size.required_size),
            EncodeError::AlreadyEncoded => NotWritten::Failed(io::Error::other(error)),
        }
    }
}

impl From<EncryptError> for NotWritten {
    fn from(error: EncryptError) -> Self {
        match error {
            EncryptError::InsufficientSize(size) => NotWritten::Room(size.required_size),
            EncryptError::EncryptExhausted => NotWritten::Failed(io::Error::other(error)),
        }
    }
}

impl Outgoing {
    fn len(&self) -> usize {
        self.records.len() - self.sent
    }

    /// Adds what `write` writes, for which `room` bytes should be enough.
    fn add<E: Into<NotWritten>>(
        &mut self,
        room: usize,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
    ) -> io::Result<()> {
        let (start, mut room) = (self.records.len(), room);
        loop {
            self.records.resize(start + room, 0);
            match write(&mut self.records[start..]).map_err(Into::into) {
                Ok(written) => {
                    self.records.truncate(start + written);
                    return Ok(());
                }
                Err(NotWritten::Room(needed)) if needed > room => room = needed,
                Err(NotWritten::Room(_)) => return Err(io::Error::other("a record does not fit into its room")),
                Err(NotWritten::Failed(error)) => {
                    self.records.truncate(start);
                    return Err(error);
                }
            }
        }
    }

    /// Sends everything, and gives its room back.
    fn poll_send<S: AsyncWrite + Unpin>(&mut self, socket: &mut S, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.len() > 0 {
            let sent = ready!(Pin::new(&mut *socket).poll_write(context, &self.records[self.sent..]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += sent;
        }
        *self = Outgoing::default();
        Poll::Ready(Ok(()))
    }
}

impl<S> TlsStream<S> {
    /// The connection below.
    pub(super) fn socket(&self) -> &S {
        &self.socket
    }

    /// What is known of the peer.
    pub(super) fn state(&self) -> &rustls::CommonState {
        &self.tls
    }

    /// Understands what was read, as far as it is complete, and encrypts what is to be sent. What was received is put into `read`, as far as
    /// there is room.
    fn process(&mut self, mut read: Option<&mut ReadBuf<'_>>, mut to_encrypt: ToEncrypt<'_>) -> io::Result<()> {
        if self.has_failed {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        loop {
            let UnbufferedStatus { mut discard, state, .. } = self.tls.process_tls_records(&mut self.incoming);
            let is_done = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(io::Error::other)?;
                        discard += record.discard;
                        keep(record.payload, read.as_deref_mut(), &mut self.received);
                    }
                    false
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    self.outgoing.add(0, |room| data.encode(room))?;
                    false
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    // It is sent before anything that comes later.
                    data.done();
                    false
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.has_ended = true;
                    false
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    match std::mem::replace(&mut to_encrypt, ToEncrypt::Nothing) {
                        ToEncrypt::Nothing => true,
                        ToEncrypt::Data(data) => {
                            self.outgoing
                                .add(data.len() + OVERHEAD, |room| traffic.encrypt(data, room))?;
                            // It may have made something else to be said, such as that other keys are used from now on.
                            false
                        }
                        ToEncrypt::CloseNotify => {
                            self.outgoing.add(OVERHEAD, |room| traffic.queue_close_notify(room))?;
                            true
                        }
                    }
                }
                // Nothing more is said on either side, or more must be read first.
                Ok(_) => true,
                Err(error) => {
                    self.has_failed = true;
                    self.incoming.drain(..discard);
                    self.add_alert();
                    return Err(io::Error::new(io::ErrorKind::InvalidData, error));
                }
            };
            self.incoming.drain(..discard);
            if self.incoming.is_empty() {
                self.incoming = Vec::new();
            }
            if is_done {
                return match to_encrypt {
                    ToEncrypt::Data(_) => Err(io::ErrorKind::BrokenPipe.into()),
                    _ => Ok(()),
                };
            }
        }
    }

    /// The peer is told what is wrong with what it sent. rustls gives out what it has to say before it looks at what was read, which it must
    /// not do again.
    fn add_alert(&mut self) {
        while self.tls.wants_write() {
            let UnbufferedStatus { discard, state, .. } = self.tls.process_tls_records(&mut self.incoming);
            let Ok(ConnectionState::EncodeTlsData(mut data)) = state else {
                return;
            };
            if self.outgoing.add(0, |room| data.encode(room)).is_err() {
                return;
            }
            self.incoming.drain(..discard);
        }
    }
}

/// Puts what was received where it fits.
fn keep(payload: &[u8], read: Option<&mut ReadBuf<'_>>, received: &mut Bytes) {
    let fitting = match read {
        // What came before is read before.
        Some(read) if received.is_empty() => {
            let fitting = payload.len().min(read.remaining());
            read.put_slice(&payload[..fitting]);
            fitting
        }
        _ => 0,
    };
    if fitting < payload.len() {
        *received = [&received[..], &payload[fitting..]].concat().into();
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Does the handshake.
    pub(super) async fn accept(config: Arc<ServerConfig>, socket: S) -> io::Result<TlsStream<S>> {
        let tls = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = TlsStream {
            socket,
            tls,
            incoming: Vec::new(),
            received: Bytes::new(),
            outgoing: Outgoing::default(),
            has_ended: false,
            is_closed: false,
            has_failed: false,
        };
        poll_fn(|context| stream.poll_handshake(context)).await?;
        Ok(stream)
    }

    fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let processed = self.process(None, ToEncrypt::Nothing);
            let sent = self.outgoing.poll_send(&mut self.socket, context);
            processed?;
            ready!(sent)?;
            if !self.tls.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_incoming(context))?;
        }
    }

    /// Reads something from the socket.
    fn poll_incoming(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut room = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut read))?;
        if read.filled().is_empty() {
            let why = "the peer has closed the connection without saying so";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, why)));
        }
        if self.incoming.len() + read.filled().len() > MAX_INCOMING + READ {
            let why = "a message of the peer is too long";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
        }
        self.incoming.extend_from_slice(read.filled());
        Poll::Ready(Ok(()))
    }

    fn poll_encrypt(&mut self, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.outgoing.len() >= MAX_OUTGOING {
            ready!(self.outgoing.poll_send(&mut self.socket, context))?;
        }
        let data = &data[..data.len().min(RECORD)];
        self.process(None, ToEncrypt::Data(data))?;
        // What cannot be sent now is sent by the next write, or a flush.
        if let Poll::Ready(Err(error)) = self.outgoing.poll_send(&mut self.socket, context) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(data.len()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, read: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = read.filled().len();
        if read.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if !self.received.is_empty() {
            let fitting = self.received.len().min(read.remaining());
            read.put_slice(&self.received[..fitting]);
            self.received.advance(fitting);
            return Poll::Ready(Ok(()));
        }
        while !self.has_ended {
            if !self.has_failed {
                ready!(self.poll_incoming(context))?;
            }
            if let Err(error) = self.process(Some(read), ToEncrypt::Nothing) {
                // Whatever comes of it, this is what went wrong.
                let this = &mut *self;
                let _ = this.outgoing.poll_send(&mut this.socket, context);
                return Poll::Ready(Err(error));
            }
            if read.filled().len() > before {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_encrypt(context, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut filled = slices.iter().filter(|slice| !slice.is_empty());
        match (filled.next(), filled.next()) {
            (None, _) => Poll::Ready(Ok(0)),
            (Some(data), None) => self.poll_encrypt(context, data),
            _ => {
                // What belongs together goes in one record.
                let mut data = Vec::with_capacity(slices.iter().map(|slice| slice.len()).sum::<usize>().min(RECORD));
                for slice in slices {
                    let fitting = slice.len().min(RECORD - data.len());
                    data.extend_from_slice(&slice[..fitting]);
                }
                self.poll_encrypt(context, &data)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(this.outgoing.poll_send(&mut this.socket, context))?;
        Pin::new(&mut this.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.is_closed {
            this.is_closed = true;
            // A connection that broke has no such end.
            let _ = this.process(None, ToEncrypt::CloseNotify);
        }
        ready!(this.outgoing.poll_send(&mut this.socket, context))?;
        Pin::new(&mut this.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
