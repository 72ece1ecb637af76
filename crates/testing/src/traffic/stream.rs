//! The body of a watch, which a test can end.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tower::BoxError;

/// What ends watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Only those of this resource.
    pub(crate) resource: Option<String>,
    /// Whether they are told that what they would go on from is gone.
    pub(crate) expired: bool,
}

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version","reason":"Expired","code":410}}"#,
    "\n"
);

pin_project! {
    /// A body that ends when it is cut.
    pub(super) struct Cuttable<B> {
        #[pin]
        inner: B,
        // Ends with the cut, if there is one.
        cut: Pin<Box<dyn Future<Output = Cut> + Send>>,
        ended: bool,
    }
}

impl<B> Cuttable<B> {
    /// A body that ends with the first cut of `resource` from now on.
    pub(super) fn new(inner: B, resource: &str, mut cuts: watch::Receiver<Vec<Cut>>) -> Self {
        let resource = resource.to_owned();
        let seen = cuts.borrow_and_update().len();
        let cut = async move {
            let is_ours = |cut: &&Cut| cut.resource.as_ref().is_none_or(|wanted| *wanted == resource);
            let found = cuts
                .wait_for(|cuts| cuts.iter().skip(seen).any(|cut| is_ours(&cut)))
                .await;
            let found = found
                .ok()
                .and_then(|cuts| cuts.iter().skip(seen).find(is_ours).cloned());
            match found {
                Some(cut) => cut,
                // Nobody is left to cut it.
                None => std::future::pending().await,
            }
        };
        Cuttable {
            inner,
            cut: Box::pin(cut),
            ended: false,
        }
    }
}

impl<B> Body for Cuttable<B>
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
        if let Poll::Ready(cut) = this.cut.as_mut().poll(context) {
            *this.ended = true;
            let last = cut
                .expired
                .then(|| Ok(Frame::data(Bytes::from_static(EXPIRED.as_bytes()))));
            return Poll::Ready(last);
        }
        this.inner.poll_frame(context).map_err(Into::into)
    }
}
