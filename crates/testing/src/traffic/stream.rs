//! The body of a watch that a fault can interrupt.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tower::BoxError;

/// Ends open watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interruption {
    /// Only those of this resource.
    pub(crate) resource: Option<String>,
    /// Whether they end with the 410 error that their resource version is too old.
    pub(crate) expired: bool,
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
        ended: bool,
    }
}

impl<B> InterruptibleBody<B> {
    /// A body that ends with the first interruption of `resource` from now on.
    pub(super) fn new(inner: B, resource: &str, mut interruptions: watch::Receiver<Vec<Interruption>>) -> Self {
        let resource = resource.to_owned();
        let seen = interruptions.borrow_and_update().len();
        let interruption = async move {
            let is_ours =
                |interruption: &&Interruption| interruption.resource.as_ref().is_none_or(|wanted| *wanted == resource);
            let found = interruptions
                .wait_for(|interruptions| {
                    interruptions
                        .iter()
                        .skip(seen)
                        .any(|interruption| is_ours(&interruption))
                })
                .await;
            let found = found
                .ok()
                .and_then(|interruptions| interruptions.iter().skip(seen).find(is_ours).cloned());
            match found {
                Some(interruption) => interruption,
                // The record is gone, so that nothing interrupts it any more.
                None => std::future::pending().await,
            }
        };
        InterruptibleBody {
            inner,
            interruption: Box::pin(interruption),
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
        let this = self.project();
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
        this.inner.poll_frame(context).map_err(Into::into)
    }
}
