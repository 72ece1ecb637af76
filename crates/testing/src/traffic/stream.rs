//! The body of a watch that a fault can interrupt.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::BoxError;

use super::lag::{HeldEvents, Release};

/// Ends open watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interruption {
    /// Only those of this resource.
    pub(crate) resource: Option<String>,
    /// Whether they end with the 410 error that their resource version is too old.
    pub(crate) expired: bool,
}

/// The watches that are open, in the order in which they were opened: they are interrupted in this order, so that runs are alike.
#[derive(Debug, Default)]
pub(super) struct OpenWatches(Mutex<Vec<(String, UnboundedSender<Interruption>)>>);

impl OpenWatches {
    /// Tells of the interruption of a watch that is opened now.
    pub(super) fn open(&self, resource: &str) -> UnboundedReceiver<Interruption> {
        let (sender, receiver) = unbounded_channel();
        let mut open = self.0.lock();
        open.retain(|(_, sender)| !sender.is_closed());
        open.push((resource.to_owned(), sender));
        receiver
    }

    /// Ends those that an interruption is about.
    pub(super) fn interrupt(&self, interruption: &Interruption) {
        for (resource, sender) in &*self.0.lock() {
            if interruption.resource.as_ref().is_none_or(|wanted| wanted == resource) {
                // One that nobody reads any more has ended.
                let _ = sender.send(interruption.clone());
            }
        }
    }
}

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

pin_project! {
    /// A body that ends when it is interrupted.
    pub(super) struct InterruptibleBody<B> {
        #[pin]
        inner: B,
        // Completes with the interruption, if there is one.
        interruption: Pin<Box<dyn Future<Output = Interruption> + Send>>,
        held: HeldEvents,
        ended: bool,
    }
}

impl<B> InterruptibleBody<B> {
    /// A body that ends with the first interruption.
    pub(super) fn new(inner: B, mut interruptions: UnboundedReceiver<Interruption>, held: HeldEvents) -> Self {
        let interruption = async move {
            match interruptions.recv().await {
                Some(interruption) => interruption,
                // The record is gone, so that nothing interrupts it any more.
                None => std::future::pending().await,
            }
        };
        InterruptibleBody {
            inner,
            interruption: Box::pin(interruption),
            held,
            ended: false,
        }
    }
}

impl<B> Body for InterruptibleBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(interruption) = this.interruption.as_mut().poll(context) {
            *this.ended = true;
            let last = interruption
                .expired
                .then(|| Ok(Frame::data(Bytes::from_static(EXPIRED.as_bytes()))));
            return Poll::Ready(last);
        }
        loop {
            match this.held.poll_release(context) {
                Release::Event(event) => return Poll::Ready(Some(Ok(Frame::data(event)))),
                Release::Expired => {
                    *this.ended = true;
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(EXPIRED.as_bytes())))));
                }
                Release::Nothing => {}
            }
            let frame = match this.inner.as_mut().poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => return other.map_err(Into::into),
            };
            let said = match frame.into_data() {
                Ok(said) => said,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if let Some(said) = this.held.take(said) {
                return Poll::Ready(Some(Ok(Frame::data(said))));
            }
        }
    }
}
