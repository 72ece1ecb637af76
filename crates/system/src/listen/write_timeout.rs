//! A socket whose writes fail when the peer stops reading.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A socket whose write fails with [`io::ErrorKind::TimedOut`] when it makes no progress for a time.
#[derive(Debug)]
pub struct WriteTimeout<S> {
    socket: S,
    timeout: Duration,
    /// Set while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    stalled: Stalled,
}

/// Whether a write to a [`WriteTimeout`] waits for the peer, for those who make what is written: what they make meanwhile would only be
/// kept in memory.
#[derive(Clone, Debug, Default)]
pub struct Stalled(Arc<StalledState>);

#[derive(Debug, Default)]
struct StalledState {
    stalled: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Stalled {
    /// Ready while no write waits.
    pub fn poll_clear(&self, context: &Context<'_>) -> Poll<()> {
        if !self.0.stalled.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = self.0.waiting.lock();
        // Looked at once more under the lock: whoever goes on wakes those who wait under it.
        if !self.0.stalled.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|known| known.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    fn set(&self, stalled: bool) {
        if self.0.stalled.swap(stalled, Ordering::AcqRel) && !stalled {
            let waiting = std::mem::take(&mut *self.0.waiting.lock());
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

impl<S> WriteTimeout<S> {
    /// Limits how long a write may wait for the peer.
    pub fn new(socket: S, timeout: Duration) -> Self {
        WriteTimeout {
            socket,
            timeout,
            waiting: None,
            stalled: Stalled::default(),
        }
    }

    /// Whether a write waits, now and later.
    pub fn stalled(&self) -> Stalled {
        self.stalled.clone()
    }

    fn limit<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.stalled.set(written.is_pending());
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.timeout;
        let timer = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + timeout)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer has stopped reading",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_stops_reading_is_given_up() {
        let (socket, _peer) = duplex(4);
        let began = Instant::now();
        let error = WriteTimeout::new(socket, TIMEOUT).write_all(&[0; 5]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), TIMEOUT.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn who_makes_what_is_written_waits_while_the_peer_does_not_read() {
        let (socket, mut peer) = duplex(4);
        let mut socket = WriteTimeout::new(socket, TIMEOUT);
        let stalled = socket.stalled();
        let clear = || std::future::poll_fn(|context| stalled.poll_clear(context));
        clear().await;
        let writing = tokio::spawn(async move { socket.write_all(&[0; 6]).await.map(|()| socket) });
        tokio::task::yield_now().await;
        let cleared = clear();
        tokio::pin!(cleared);
        assert!(now(cleared.as_mut()).await.is_pending());
        peer.read_exact(&mut [0; 6]).await.unwrap();
        cleared.await;
        writing.await.unwrap().unwrap();
    }

    /// What a future says now.
    async fn now<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_is_waited_for_as_long_as_it_reads() {
        let (socket, mut peer) = duplex(1);
        let reading = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(TIMEOUT / 2).await;
                peer.read_u8().await.unwrap();
            }
        });
        WriteTimeout::new(socket, TIMEOUT).write_all(&[0; 10]).await.unwrap();
        reading.await.unwrap();
    }
}
