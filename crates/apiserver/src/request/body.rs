//! The body of a request that nobody has read yet: whole for what this server answers, piece by piece for what it passes on.

use std::convert::Infallible;
use std::future::{Future, ready};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};

use super::ReceivedBody;
use crate::service::OutgoingBody;

/// A body as a transport has it.
pub(crate) trait RequestBody: Send {
    /// What ends the request without an answer.
    type Error;

    /// Reads all of it, within the limits of the transport.
    fn whole(self) -> impl Future<Output = Result<ReceivedBody, Self::Error>> + Send;

    /// Reads it as it comes.
    fn stream(self) -> OutgoingBody;
}

impl RequestBody for Bytes {
    type Error = Infallible;

    fn whole(self) -> impl Future<Output = Result<ReceivedBody, Infallible>> + Send {
        ready(Ok(Ok(self)))
    }

    fn stream(self) -> OutgoingBody {
        Full::new(self).map_err(|never| match never {}).boxed_unsync()
    }
}
