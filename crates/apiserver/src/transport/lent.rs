//! A body that is lent to hyper, so that it can be taken back while nothing of it is on its way.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stop::Stoppable;

/// What is known of the body that a connection has lent to hyper. HTTP/1.1 has one answer at a time.
#[derive(Clone, Default)]
pub(super) struct Lending(Arc<State>);

#[derive(Default)]
struct State {
    body: Mutex<LentBody>,
    /// Whether everything that hyper has written is with the peer, or with the system.
    is_flushed: AtomicBool,
}

#[derive(Default)]
struct LentBody {
    body: Option<Stoppable>,
    /// Whether the body had nothing to say when it was asked last.
    waits: bool,
}

impl Lending {
    /// Lends a body.
    pub(super) fn lend(&self, body: Stoppable) -> ResponseBody {
        *self.0.body.lock() = LentBody {
            body: Some(body),
            waits: false,
        };
        ResponseBody::Lent(self.clone())
    }

    /// Takes back a body that waits. hyper asks a body only when its head is written, and flushes a connection only when it holds nothing
    /// more to write: so nothing of the answer is lost.
    pub(super) fn take_waiting(&self) -> Option<Stoppable> {
        let mut lent = self.0.body.lock();
        if lent.waits && self.0.is_flushed.load(Ordering::Acquire) {
            lent.body.take()
        } else {
            None
        }
    }
}

/// The body of an answer, as hyper has it.
pub(super) enum ResponseBody {
    /// One that hyper keeps to its end.
    Own(Stoppable),
    /// One that can be taken back.
    Lent(Lending),
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if let ResponseBody::Lent(lending) = self {
            lending.0.body.lock().body = None;
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut *self {
            ResponseBody::Own(body) => Pin::new(body).poll_frame(context),
            ResponseBody::Lent(lending) => {
                let mut lent = lending.0.body.lock();
                let Some(body) = &mut lent.body else {
                    return Poll::Ready(None);
                };
                let frame = Pin::new(body).poll_frame(context);
                lent.waits = frame.is_pending();
                frame
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Own(body) => body.is_end_stream(),
            ResponseBody::Lent(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Own(body) => body.size_hint(),
            ResponseBody::Lent(_) => SizeHint::default(),
        }
    }
}

/// A connection that begins with what was read of it before, and knows whether all that was written is flushed.
pub(super) struct Watched<S> {
    stream: S,
    read_before: Bytes,
    lending: Lending,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, read_before: Bytes, lending: Lending) -> Self {
        Watched {
            stream,
            read_before,
            lending,
        }
    }

    /// The connection, and what was read before and is not used yet.
    pub(super) fn into_parts(self) -> (S, Bytes) {
        (self.stream, self.read_before)
    }

    fn note<T>(&self, written: Poll<io::Result<T>>, is_flushed: bool) -> Poll<io::Result<T>> {
        self.lending.0.is_flushed.store(is_flushed, Ordering::Release);
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read_before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let length = self.read_before.len().min(buffer.remaining());
        buffer.put_slice(&self.read_before[..length]);
        self.read_before.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written, false)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(written, false)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        let is_flushed = matches!(flushed, Poll::Ready(Ok(())));
        self.note(flushed, is_flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Reads ahead while an answer is sent: ready when the peer is gone. What it has sent for the next request is kept, and then no more is read.
pub(super) fn poll_gone<S: AsyncRead + Unpin>(
    stream: &mut S,
    read_ahead: &mut Bytes,
    context: &mut Context<'_>,
) -> Poll<()> {
    if !read_ahead.is_empty() {
        return Poll::Pending;
    }
    let mut room = [0; 512];
    let mut buffer = ReadBuf::new(&mut room);
    let read = ready!(Pin::new(stream).poll_read(context, &mut buffer));
    if read.is_err() || buffer.filled().is_empty() {
        return Poll::Ready(());
    }
    *read_ahead = Bytes::copy_from_slice(buffer.filled());
    Poll::Pending
}
