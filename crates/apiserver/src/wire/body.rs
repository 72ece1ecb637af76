//! What a response carries: bytes, a stream of watch frames, or what its connection is upgraded to.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::io::DuplexStream;

use crate::stream::Upgrade;

/// How many bytes a connection without a socket holds before its writer waits.
const IN_PROCESS_BUFFER: usize = 64 * 1024;

/// The body of a response.
pub struct Body(Content);

enum Content {
    /// Everything at once.
    Full(Option<Bytes>),
    /// Piece by piece, as events happen.
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// As another server sends it.
    Proxied(UnsyncBoxBody<Bytes, io::Error>),
    /// Nothing, and then what the connection is used for once it stops being HTTP.
    Upgrade(Upgrade),
}

impl Body {
    pub(crate) fn stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Body(Content::Stream(Box::pin(frames)))
    }

    /// What another server sends. An error ends it without an end.
    pub(crate) fn proxied(body: UnsyncBoxBody<Bytes, io::Error>) -> Self {
        Body(Content::Proxied(body))
    }

    /// Whether it comes piece by piece, as events happen.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.0, Content::Stream(_))
    }

    pub(crate) fn upgrade(upgrade: Upgrade) -> Self {
        Body(Content::Upgrade(upgrade))
    }

    /// Takes what the connection is upgraded to; the body is empty afterwards.
    pub(crate) fn take_upgrade(&mut self) -> Option<Upgrade> {
        match std::mem::replace(&mut self.0, Content::Full(None)) {
            Content::Upgrade(upgrade) => Some(upgrade),
            content => {
                self.0 = content;
                None
            }
        }
    }

    /// The same body, which drops `held` once it ends.
    pub(crate) fn holding(self, held: impl Send + 'static) -> Self {
        Body(match self.0 {
            Content::Stream(frames) => Content::Stream(Box::pin(frames.map(move |frame| {
                let _ = &held;
                frame
            }))),
            Content::Proxied(body) => Content::Proxied(
                body.map_frame(move |frame| {
                    let _ = &held;
                    frame
                })
                .boxed_unsync(),
            ),
            content => content,
        })
    }

    /// Nothing.
    pub fn empty() -> Self {
        Body(Content::Full(None))
    }

    /// The connection behind an answer of 101 Switching Protocols, for requests that came without a socket; `None` behind every
    /// other answer. The server's side goes on in a task of the runtime that this is called in, until the connection is dropped.
    pub fn into_connection(mut self) -> Option<DuplexStream> {
        let upgrade = self.take_upgrade()?;
        let (client, server) = tokio::io::duplex(IN_PROCESS_BUFFER);
        tokio::spawn(upgrade.run(server));
        Some(client)
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
    /// Why a response that another server sends broke off; those of this server do not.
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.0 {
            Content::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Upgrade(_) => Poll::Ready(None),
            Content::Proxied(body) => Pin::new(body).poll_frame(context),
            Content::Stream(stream) => {
                // A panic while making a frame ends this watch, not its connection.
                let next = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context)));
                next.unwrap_or(Poll::Ready(None))
                    .map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Full(bytes) => bytes.is_none(),
            Content::Upgrade(_) => true,
            Content::Proxied(body) => body.is_end_stream(),
            Content::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Content::Stream(_) => SizeHint::default(),
            Content::Proxied(body) => body.size_hint(),
            Content::Upgrade(_) => SizeHint::with_exact(0),
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
            Content::Proxied(_) => f.write_str("Proxied"),
            Content::Upgrade(_) => f.write_str("Upgrade"),
        }
    }
}
