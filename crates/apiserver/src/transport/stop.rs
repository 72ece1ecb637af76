//! Response bodies that end when the listener stops, and wait while the client does not read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use kubewright_system::listen::Stalled;
use kubewright_system::stop::Stop;

use crate::wire::body::Body;

/// A response's body. One that would not end by itself ends when the listener does, and makes nothing that could not be written now:
/// what happens meanwhile stays where all watches find it.
pub(super) struct Stoppable {
    body: Body,
    endless: Option<Endless>,
}

struct Endless {
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    stalled: Stalled,
}

impl Stoppable {
    pub(super) fn new(body: Body, stop: &Stop, stalled: &Stalled) -> Self {
        let is_endless = body.size_hint().exact().is_none();
        Stoppable {
            body,
            endless: is_endless.then(|| Endless {
                stop: Box::pin(stop.stopped()),
                stalled: stalled.clone(),
            }),
        }
    }

    /// Whether this is a stream of this server's own: pieces, and nothing else, as events happen.
    pub(super) fn is_events(&self) -> bool {
        self.body.is_stream()
    }
}

impl http_body::Body for Stoppable {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Stoppable { body, endless } = &mut *self;
        let is_stalled = endless
            .as_ref()
            .is_some_and(|endless| endless.stalled.poll_clear(context).is_pending());
        let frame = if is_stalled {
            Poll::Pending
        } else {
            Pin::new(body).poll_frame(context)
        };
        if frame.is_pending()
            && let Some(endless) = endless
            && endless.stop.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::stream;
    use http::Response;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use kubewright_system::listen::WriteTimeout;
    use kubewright_system::stop::Stopper;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const PIPE: usize = 4096;
    const FRAME: usize = 1024;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_made_for_a_client_that_does_not_read() {
        let made = Arc::new(AtomicUsize::new(0));
        let (socket, mut client) = duplex(PIPE);
        let socket = WriteTimeout::new(socket, Duration::from_hours(1));
        let (stalled, count) = (socket.stalled(), Arc::clone(&made));
        let (_stopper, stop) = Stopper::new();
        let service = service_fn(move |_| {
            let count = Arc::clone(&count);
            // Events without end, each at once.
            let events = stream::repeat_with(move || {
                count.fetch_add(1, Ordering::AcqRel);
                Bytes::from_static(&[b'x'; FRAME])
            });
            let body = Stoppable::new(Body::stream(events), &stop, &stalled);
            async move { Ok::<_, Infallible>(Response::new(body)) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        // The clock moves once nothing else can.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let unread = made.load(Ordering::Acquire);
        assert!(unread <= 16 + PIPE / FRAME, "{unread} frames were made");
        // It goes on where it stopped.
        let mut read = vec![0; 64 * FRAME];
        client.read_exact(&mut read).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let more = made.load(Ordering::Acquire);
        assert!((63..=80 + PIPE / FRAME).contains(&more), "{more} frames were made");
    }
}
