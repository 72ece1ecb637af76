//! Response bodies that end when the listener stops.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use kubewright_system::stop::Stop;

use crate::wire::body::Body;

/// A response's body that ends when the listener does, if it would not end by itself.
pub(super) struct Stoppable {
    body: Body,
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Stoppable {
    pub(super) fn new(body: Body, stop: &Stop) -> Self {
        let endless = body.size_hint().exact().is_none();
        Stoppable {
            body,
            stop: endless.then(|| Box::pin(stop.stopped()) as _),
        }
    }
}

impl http_body::Body for Stoppable {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending()
            && let Some(stop) = &mut self.stop
            && stop.as_mut().poll(context).is_ready()
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
