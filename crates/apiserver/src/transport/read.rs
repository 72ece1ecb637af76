//! Reading a request's body without ever holding much more than the limit.

use std::fmt::Display;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;

use crate::request::{MAX_BODY, ReceivedBody};
use crate::wire::status::Status;

/// How much more than the limit is read, and dropped: a client that is still sending when it is answered may take the end of its HTTP/2
/// stream for an error, and never see the answer.
const DROPPED: usize = 64 * 1024 * 1024;

/// The whole body, without a copy where it comes in one piece. A body above the limit is cut right behind it: the
/// pipeline sees that it is too long and answers 413 in its place (H10).
///
/// The error is the answer to a body that broke off.
pub(super) async fn whole<B>(body: B) -> ReceivedBody
where
    B: Body<Data = Bytes>,
    B::Error: Display,
{
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    let mut is_too_long = false;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.is_empty() {
            first = data;
        } else {
            if joined.is_empty() {
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&data);
        }
        if first.len().max(joined.len()) > MAX_BODY {
            is_too_long = true;
            break;
        }
    }
    let mut dropped = 0;
    while is_too_long
        && dropped < DROPPED
        && let Some(Ok(frame)) = body.frame().await
    {
        dropped += frame.data_ref().map_or(0, Bytes::len);
    }
    Ok(if joined.is_empty() { first } else { joined.freeze() })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    fn pieces(count: usize, piece: &'static [u8]) -> impl Body<Data = Bytes, Error = Infallible> {
        let frames = (0..count).map(move |_| Ok(Frame::data(Bytes::from_static(piece))));
        StreamBody::new(stream::iter(frames))
    }

    #[tokio::test]
    async fn pieces_are_joined_in_order() {
        assert_eq!(whole(pieces(0, b"ab")).await.unwrap(), "");
        assert_eq!(whole(pieces(1, b"ab")).await.unwrap(), "ab");
        assert_eq!(whole(pieces(3, b"ab")).await.unwrap(), "ababab");
    }

    #[tokio::test]
    async fn an_endless_body_is_cut_behind_the_limit() {
        static PIECE: &[u8] = &[b' '; 16 * 1024];
        let body = whole(pieces(usize::MAX, PIECE)).await.unwrap();
        assert!(body.len() > MAX_BODY);
        assert!(body.len() <= MAX_BODY + PIECE.len());
    }

    #[tokio::test]
    async fn a_body_above_the_limit_is_taken_to_its_end() {
        static PIECE: &[u8] = &[b' '; 16 * 1024];
        let mut taken = 0;
        let frames = (0..2 * MAX_BODY / PIECE.len()).map(|_| {
            taken += PIECE.len();
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(PIECE)))
        });
        let body = whole(StreamBody::new(stream::iter(frames))).await.unwrap();
        assert!(body.len() <= MAX_BODY + PIECE.len());
        assert_eq!(taken, 2 * MAX_BODY);
    }
}
