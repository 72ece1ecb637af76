//! What an answer consists of: all of it at once, or pieces as they come.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

/// The body of an [`HttpResponse`](super::HttpResponse).
///
/// ```
/// use kubewright_runtime::serve::{HttpResponse, ResponseBody};
///
/// let answer = HttpResponse::new(ResponseBody::from("hello"));
/// # drop(answer);
/// ```
pub struct ResponseBody(Content);

enum Content {
    Whole(Full<Bytes>),
    Pieces(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl ResponseBody {
    /// Pieces as they come. The next one is asked for when the client has taken most of those before, so that a slow client is not
    /// waited for by whoever makes them. A stream that has no end of its own must end when the server stops.
    pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        ResponseBody(Content::Pieces(Box::pin(pieces)))
    }
}

impl<T: Into<Bytes>> From<T> for ResponseBody {
    fn from(whole: T) -> Self {
        ResponseBody(Content::Whole(Full::new(whole.into())))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Content::Whole(whole) => Pin::new(whole).poll_frame(context),
            Content::Pieces(pieces) => pieces
                .as_mut()
                .poll_next(context)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(whole) => whole.is_end_stream(),
            Content::Pieces(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(whole) => whole.size_hint(),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Content::Whole(_) => "ResponseBody(whole)",
            Content::Pieces(_) => "ResponseBody(pieces)",
        })
    }
}
