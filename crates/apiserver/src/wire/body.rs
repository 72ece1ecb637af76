//! What a response carries: bytes, or a stream of watch frames.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Frame, SizeHint};

/// The body of a response.
pub struct Body(Content);

enum Content {
    /// Everything at once.
    Full(Option<Bytes>),
    /// Piece by piece, as events happen.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    pub(crate) fn stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Body(Content::Stream(Box::pin(frames)))
    }

    /// Nothing.
    pub fn empty() -> Self {
        Body(Content::Full(None))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        let bytes = bytes.into();
        Body(Content::Full((!bytes.is_empty()).then_some(bytes)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Content::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Stream(stream) => {
                // A panic while making a frame ends this watch, not its connection.
                let next = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context)));
                next.unwrap_or(Poll::Ready(None))
                    .map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Content::Full(bytes) => f
                .debug_tuple("Full")
                .field(&bytes.as_ref().map_or(0, Bytes::len))
                .finish(),
            Content::Stream(_) => f.write_str("Stream"),
        }
    }
}
