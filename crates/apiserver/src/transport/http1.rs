//! HTTP/1.1 on a connection. hyper reads the requests and writes the answers; a stream of events that waits is taken from it, since hyper's
//! buffers are several times what such a stream needs, and most watches wait nearly all the time.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version, header};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubewright_system::stop::Stop;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::lent::{Lending, ResponseBody, Watched, poll_gone};
use super::stop::Stoppable;

/// Answers the requests of a connection until its end, as `listen::serve_http` does.
pub(super) async fn serve<S, A, F>(http: &http1::Builder, mut stream: S, answer: A, stop: &Stop)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = io::Result<Response<Stoppable>>> + 'static,
{
    let mut read_before = Bytes::new();
    loop {
        // Boxed, so that a stream of events does not keep the room.
        let until_waiting = Box::pin(serve_until_waiting(http, stream, read_before, &answer, stop));
        let Some(mut waiting) = until_waiting.await else {
            return;
        };
        let is_reusable = waiting.write_events().await;
        Waiting {
            stream,
            read_before,
            ..
        } = waiting;
        if !is_reusable || stop.is_stopping() {
            // Only the peer would care.
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// Answers requests until the connection ends, or until the answer to one is a stream of events that waits.
async fn serve_until_waiting<S, A, F>(
    http: &http1::Builder,
    stream: S,
    read_before: Bytes,
    answer: &A,
    stop: &Stop,
) -> Option<Waiting<S>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = io::Result<Response<Stoppable>>> + 'static,
{
    let lending = Lending::default();
    let service = service_fn(|request: Request<Incoming>| {
        let is_lendable = may_be_followed(&request);
        let (answered, lending) = (answer(request), lending.clone());
        async move {
            let response = answered.await?;
            let is_lent = is_lendable && is_chunked(&response);
            Ok::<_, io::Error>(response.map(|body| {
                if is_lent {
                    lending.lend(body)
                } else {
                    ResponseBody::Own(body)
                }
            }))
        }
    });
    let stream = TokioIo::new(Watched::new(stream, read_before, lending.clone()));
    let mut connection = http.serve_connection(stream, service).with_upgrades();
    let mut stopped = Some(Box::pin(stop.stopped()));
    let body = poll_fn(|context| {
        loop {
            if Pin::new(&mut connection).poll(context).is_ready() {
                return Poll::Ready(None);
            }
            let Some(stopping) = &mut stopped else {
                return Poll::Pending;
            };
            if stopping.as_mut().poll(context).is_ready() {
                stopped = None;
                Pin::new(&mut connection).graceful_shutdown();
            } else {
                return lending
                    .take_waiting()
                    .map_or(Poll::Pending, |body| Poll::Ready(Some(body)));
            }
        }
    });
    let body = body.await?;
    let parts = connection.into_parts()?;
    let (stream, unused) = parts.io.into_inner().into_parts();
    // What was read before is all with hyper, or none of what came later is.
    let read_before = if unused.is_empty() {
        Bytes::copy_from_slice(&parts.read_buf)
    } else {
        [&parts.read_buf[..], &unused[..]].concat().into()
    };
    Some(Waiting {
        stream,
        read_before,
        body,
    })
}

/// Whether another request may follow this one, and its answer has pieces of any number.
fn may_be_followed(request: &Request<Incoming>) -> bool {
    let closes = |headers: &HeaderMap| {
        let mut values = headers.get_all(header::CONNECTION).iter();
        values.any(|value| {
            value
                .as_bytes()
                .to_ascii_lowercase()
                .windows(5)
                .any(|part| part == b"close")
        })
    };
    request.version() == Version::HTTP_11
        && request.method() == Method::GET
        && request.body().is_end_stream()
        && !closes(request.headers())
}

/// Whether hyper will write an answer in chunks, and nothing but chunks.
fn is_chunked(response: &Response<Stoppable>) -> bool {
    let own = [header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH];
    response.status() == StatusCode::OK
        && response.body().is_events()
        && !own.iter().any(|name| response.headers().contains_key(name))
}

/// A connection on which a stream of events waits; all that came before is written.
struct Waiting<S> {
    stream: S,
    /// What the client has sent of the next request.
    read_before: Bytes,
    body: Stoppable,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Waiting<S> {
    /// Writes events as they come. Whether another request may follow.
    async fn write_events(&mut self) -> bool {
        loop {
            let next = poll_fn(|context| {
                if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
                    return Poll::Ready(Some(frame));
                }
                poll_gone(&mut self.stream, &mut self.read_before, context).map(|()| None)
            });
            let (chunk, is_last) = match next.await {
                Some(Some(Ok(frame))) => match frame.into_data() {
                    // An empty chunk would be the end.
                    Ok(data) if !data.is_empty() => (chunk(&data), false),
                    _ => continue,
                },
                Some(None) => (b"0\r\n\r\n".to_vec(), true),
                // The client is gone, or must see that the answer broke off.
                Some(Some(Err(_))) | None => return false,
            };
            let written = async {
                self.stream.write_all(&chunk).await?;
                self.stream.flush().await
            };
            if written.await.is_err() {
                return false;
            }
            if is_last {
                return true;
            }
        }
    }
}

fn chunk(data: &[u8]) -> Vec<u8> {
    let length = format!("{:X}\r\n", data.len());
    [length.as_bytes(), data, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::stream;
    use kubewright_system::listen::Stalled;
    use kubewright_system::stop::Stopper;
    use parking_lot::Mutex;
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
    use tokio::sync::mpsc;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::wire::body::Body;

    type Events = mpsc::Receiver<&'static str>;

    /// A client of a server that answers `/events` with what is sent here, once, and everything else with its path.
    struct Conversation {
        client: DuplexStream,
        events: mpsc::Sender<&'static str>,
        stopper: Stopper,
        served: JoinHandle<()>,
    }

    impl Conversation {
        fn begin() -> Self {
            let (client, connection) = duplex(1 << 16);
            let (events, received) = mpsc::channel(8);
            let (stopper, stop) = Stopper::new();
            let received = Arc::new(Mutex::new(Some(received)));
            let served = tokio::spawn(async move {
                let answer = |request: Request<Incoming>| {
                    let events = (request.uri().path() == "/events")
                        .then(|| received.lock().take())
                        .flatten();
                    let body = match events {
                        Some(events) => Body::stream(stream::unfold(events, next_event)),
                        None => Body::from(request.uri().path().to_owned()),
                    };
                    let body = Stoppable::new(body, &stop, &Stalled::default());
                    async move { Ok(Response::new(body)) }
                };
                let mut http = http1::Builder::new();
                serve(http.auto_date_header(false), connection, answer, &stop).await;
            });
            Conversation {
                client,
                events,
                stopper,
                served,
            }
        }

        async fn send(&mut self, text: &str) {
            self.client.write_all(text.as_bytes()).await.unwrap();
        }

        /// The next bytes must be these.
        async fn expect(&mut self, text: &str) {
            let mut read = vec![0; text.len()];
            self.client.read_exact(&mut read).await.unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), text);
        }

        async fn expect_end(mut self) {
            let mut rest = Vec::new();
            self.client.read_to_end(&mut rest).await.unwrap();
            assert_eq!(String::from_utf8(rest).unwrap(), "");
            self.served.await.unwrap();
        }
    }

    async fn next_event(mut events: Events) -> Option<(Bytes, Events)> {
        let event = events.recv().await?;
        Some((event.into(), events))
    }

    const EVENTS: &str = "GET /events HTTP/1.1\r\nhost: h\r\n\r\n";
    const STREAM: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    const NEXT: &str = "GET /next HTTP/1.1\r\nhost: h\r\n\r\n";
    const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n/next";

    #[tokio::test]
    async fn a_connection_is_used_again_after_its_events() {
        let mut conversation = Conversation::begin();
        conversation.send(NEXT).await;
        conversation.expect(ANSWER).await;
        conversation.send(EVENTS).await;
        conversation.expect(STREAM).await;
        for event in ["one", "", "a second event"] {
            conversation.events.send(event).await.unwrap();
        }
        conversation.expect("3\r\none\r\nE\r\na second event\r\n").await;
        // A part of the next request comes while the first is still answered.
        let (first, second) = NEXT.split_at(10);
        conversation.send(first).await;
        conversation.events.send("last").await.unwrap();
        conversation.expect("4\r\nlast\r\n").await;
        let (other, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut conversation.events, other));
        conversation.expect("0\r\n\r\n").await;
        conversation.send(second).await;
        conversation.expect(ANSWER).await;
    }

    #[tokio::test]
    async fn events_end_when_their_client_is_gone() {
        let mut conversation = Conversation::begin();
        conversation.send(EVENTS).await;
        conversation.expect(STREAM).await;
        drop(conversation.client);
        conversation.events.closed().await;
        conversation.served.await.unwrap();
    }

    #[tokio::test]
    async fn events_and_their_connection_end_when_it_is_time_to_stop() {
        let mut conversation = Conversation::begin();
        conversation.send(EVENTS).await;
        conversation.expect(STREAM).await;
        conversation.events.send("one").await.unwrap();
        conversation.expect("3\r\none\r\n").await;
        conversation.stopper.stop();
        conversation.expect("0\r\n\r\n").await;
        conversation.expect_end().await;
    }

    #[tokio::test]
    async fn a_client_that_wants_no_other_answer_gets_an_end() {
        let mut conversation = Conversation::begin();
        conversation
            .send("GET /events HTTP/1.1\r\nhost: h\r\nconnection: Close\r\n\r\n")
            .await;
        conversation
            .expect("HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        conversation.events.send("one").await.unwrap();
        conversation.expect("3\r\none\r\n").await;
        let (other, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut conversation.events, other));
        conversation.expect("0\r\n\r\n").await;
        conversation.expect_end().await;
    }
}
